package retry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// checkTimeout is how long one check of the store may take.
const checkTimeout = 10 * time.Second

// Until repeats do until it succeeds, ctx ends, or the error of do wraps protocol.ErrUnfit or one of final, for which waiting does
// not help. If ctx ends, the error wraps ctx.Err() and the last error of do. A nil outage logs nothing.
func Until(ctx context.Context, outage *Outage, action string, do func(context.Context) error, final ...error) error {
	for failures := 1; ctx.Err() == nil; failures++ {
		err := do(ctx)
		now := time.Now()
		if err == nil {
			outage.End(action, now)
			return nil
		}
		if errors.Is(err, protocol.ErrUnfit) || slices.ContainsFunc(final, func(f error) bool { return errors.Is(err, f) }) {
			return err
		}
		if ctx.Err() == nil {
			outage.Begin(action, action, err, now)
		}
		if !Sleep(ctx, Delay(failures)) {
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
	return ctx.Err()
}

// WaitFit returns nil as soon as the store can be trusted with jobs, an error that wraps protocol.ErrUnfit if waiting does not
// help, or an error once ctx has ended.
func WaitFit(ctx context.Context, store protocol.Store, outage *Outage) error {
	return Until(ctx, outage, "check", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		return store.Check(ctx)
	})
}

// A FitCheck checks a store until the store is found fit, which is usually the first time. It is safe for concurrent use.
type FitCheck struct {
	store   protocol.Store
	timeout time.Duration
	checked chan bool // holds one value: whether the store was found fit; a caller takes it while it checks
}

// NewFitCheck returns a check that takes at most the timeout each time.
func NewFitCheck(store protocol.Store, timeout time.Duration) *FitCheck {
	f := &FitCheck{store: store, timeout: timeout, checked: make(chan bool, 1)}
	f.checked <- false
	return f
}

// Check returns an error if the store cannot be trusted with jobs. If the check fails for another reason it returns nil, because the
// call that follows meets the same reason.
func (f *FitCheck) Check(ctx context.Context) error {
	var fit bool
	select {
	case fit = <-f.checked:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { f.checked <- fit }()
	if fit {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	err := f.store.Check(ctx)
	if errors.Is(err, protocol.ErrUnfit) {
		return err
	}
	fit = err == nil
	return nil
}
