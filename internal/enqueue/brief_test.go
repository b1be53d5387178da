package enqueue

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A briefStore can end a call after BriefCall. While it hangs, it answers no call before.
type briefStore struct {
	fullStore
	hangs atomic.Bool
	calls []protocol.EnqueueCall
}

func (s *briefStore) Enqueue(ctx context.Context, calls []protocol.EnqueueCall) []protocol.EnqueueAnswer {
	s.calls = append(s.calls, calls[0])
	if end, ok := ctx.Deadline(); calls[0].Brief && (!ok || time.Until(end) > protocol.BriefCall || time.Until(end) < protocol.BriefCall*7/8) {
		panic("the ctx of a brief call does not end in time")
	}
	if s.hangs.Load() {
		time.Sleep(protocol.BriefCall) // fake time
		return []protocol.EnqueueAnswer{{Err: context.DeadlineExceeded}}
	}
	return []protocol.EnqueueAnswer{{Ticket: protocol.EnqueueTicket{Brief: true}}}
}

// A caller whose ctx may end sends a single job itself while the store answers soon. If it does not, the caller waits for BriefCall at most, and a goroutine
// sends the call again.
func TestACallerWhoseCtxMayEndSendsABriefCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &briefStore{fullStore: fullStore{partitions: 1}}
		e := New(store, Options{SendTimeout: time.Minute, Log: slog.New(slog.DiscardHandler)})
		enqueue := func(ctx context.Context) error {
			_, err := e.One(ctx, &Job{Name: "j", Queue: "q"})
			return err
		}
		ctx, cancel := context.WithCancel(t.Context())
		soon, stop := context.WithTimeout(t.Context(), protocol.BriefCall/2)
		defer stop()
		for i, c := range []struct {
			ctx   context.Context
			brief bool
		}{{ctx, false}, {ctx, true}, {soon, false}, {context.Background(), false}, {ctx, true}} { // the first answer has the first ticket
			synctest.Wait() // a goroutine that has sent has ended
			if err := enqueue(c.ctx); err != nil || store.calls[i].Brief != c.brief {
				t.Errorf("call %d: %v, brief %v; want %v", i, err, store.calls[i].Brief, c.brief)
			}
		}
		store.hangs.Store(true)
		time.AfterFunc(protocol.BriefCall/4, cancel)
		began := time.Now()
		err := enqueue(ctx)
		if took := time.Since(began); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "outcome unknown") || took != protocol.BriefCall {
			t.Errorf("with a store that hangs: %v after %v, want context.Canceled after %v, and that the outcome is unknown", err, took, protocol.BriefCall)
		}
		store.hangs.Store(false)
		time.Sleep(10 * time.Second) // fake time
		synctest.Wait()
		if n := len(store.calls); n != 7 || !store.calls[5].Brief || store.calls[6].Brief || store.calls[6].Number != store.calls[5].Number {
			t.Errorf("the calls were %+v, want the last one sent again, with more time", store.calls[5:])
		}
		if err := enqueue(t.Context()); err != nil || len(store.calls) != 8 {
			t.Errorf("after that: %v, %d calls", err, len(store.calls))
		}
	})
}
