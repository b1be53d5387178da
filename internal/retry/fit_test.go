package retry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

var errLost = errors.New("connection lost")

type checkStore struct {
	protocol.Store
	check func() error
}

func (s checkStore) Check(context.Context) error { return s.check() }

func TestWaitFitWaitsForTheStoreAndLogsThat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged strings.Builder
		logger := slog.New(slog.NewTextHandler(&logged, nil))
		up := time.Now().Add(5 * time.Minute)
		checks := 0
		store := checkStore{check: func() error {
			if checks++; time.Now().Before(up) {
				return errLost
			}
			return nil
		}}
		if err := WaitFit(t.Context(), store, &Outage{Log: logger, Role: "worker"}); err != nil {
			t.Error(err)
		}
		if late := time.Since(up); late < 0 || late > maxDelay || checks > 700 {
			t.Errorf("WaitFit returned %v after the store was fit, with %d checks; want at most %v and 700", late, checks, maxDelay)
		}
		if n := strings.Count(logged.String(), "WARN"); n < 4 || n > 7 || strings.Count(logged.String(), "INFO") != 1 || !strings.Contains(logged.String(), "chime: worker: a call to the store failed, trying again\" event=store.trouble action=check") {
			t.Errorf("want 4 to 7 warnings with event and action, and one line at the end; logged:\n%s", logged.String())
		}
	})
}

func TestWaitFitReturnsErrUnfitAtOnce(t *testing.T) {
	store := checkStore{check: func() error { return fmt.Errorf("too old: %w", protocol.ErrUnfit) }}
	if err := WaitFit(t.Context(), store, nil); !errors.Is(err, protocol.ErrUnfit) {
		t.Errorf("got %v, want %v", err, protocol.ErrUnfit)
	}
}

func TestWaitFitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		store := checkStore{check: func() error { return errLost }}
		if err := WaitFit(ctx, store, nil); !errors.Is(err, errLost) || time.Since(start) != time.Minute {
			t.Errorf("got %v after %v, want the store's error after a minute", err, time.Since(start))
		}
	})
}

// A check that fails without a result blocks no caller; if ctx has ended meanwhile, the error contains both reasons.
func TestAFitCheckThatFailsIsNoVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing, took := errLost, time.Second
		f := NewFitCheck(checkStore{check: func() error {
			time.Sleep(took) // the duration of the check
			return failing
		}}, CheckTimeout)
		if trouble, err := f.Check(t.Context()); !errors.Is(trouble, errLost) || err != nil {
			t.Errorf("got %v, %v; want the trouble and no error", trouble, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), took/2)
		defer cancel()
		if trouble, err := f.Check(ctx); !errors.Is(trouble, errLost) || !errors.Is(err, errLost) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ctx has ended: got %v, %v; want both reasons", trouble, err)
		}
		failing = fmt.Errorf("too old: %w", protocol.ErrUnfit)
		if trouble, err := f.Check(t.Context()); trouble != nil || !errors.Is(err, protocol.ErrUnfit) {
			t.Errorf("unfit: got %v, %v", trouble, err)
		}
		failing = nil
		for range 2 {
			if trouble, err := f.Check(t.Context()); trouble != nil || err != nil {
				t.Errorf("fit: got %v, %v", trouble, err)
			}
			failing = protocol.ErrUnfit // it is not checked again
		}
	})
}
