package retry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// CheckTimeout is how long one check of the store may take, unless a caller has less time.
const CheckTimeout = 10 * time.Second

// Until repeats do until one of three things happens: do succeeds; its error wraps protocol.ErrUnfit or one of final, for which waiting cannot
// help; ctx ends. When ctx ends it returns the last error that contains more than the end of ctx. A nil outage logs nothing.
func Until(ctx context.Context, outage *Outage, action string, do func(context.Context) error, final ...error) error {
	var cause error
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
		if cause == nil || ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
			cause = err
		}
		if ctx.Err() == nil {
			outage.Begin(action, action, err, now)
		}
		Sleep(ctx, Delay(failures))
	}
	return cmp.Or(cause, ctx.Err())
}

// WaitFit returns nil as soon as the store can be trusted with jobs. It returns an error that wraps protocol.ErrUnfit if waiting cannot help, or
// an error once ctx has ended.
func WaitFit(ctx context.Context, store protocol.Store, outage *Outage) error {
	return Until(ctx, outage, "check", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, CheckTimeout)
		defer cancel()
		return store.Check(ctx)
	})
}

// A FitCheck checks a store until the check succeeds, which is usually the first time. It is safe for concurrent use.
type FitCheck struct {
	store   protocol.Store
	timeout time.Duration
	checked chan bool // holds one value: whether the check has succeeded; a caller takes it while it checks
}

// NewFitCheck returns a check that takes at most the timeout each time.
func NewFitCheck(store protocol.Store, timeout time.Duration) *FitCheck {
	f := &FitCheck{store: store, timeout: timeout, checked: make(chan bool, 1)}
	f.checked <- false
	return f
}

// Check returns err if the store cannot be trusted with jobs, or if ctx has ended before that is known. If the check fails for another reason it
// returns that as trouble: the caller's next call fails for the same reason.
func (f *FitCheck) Check(ctx context.Context) (trouble, err error) {
	var fit bool
	select {
	case fit = <-f.checked:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { f.checked <- fit }()
	if fit {
		return nil, nil
	}
	limited, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	trouble = f.store.Check(limited)
	switch fit = trouble == nil; {
	case errors.Is(trouble, protocol.ErrUnfit):
		return nil, trouble
	case trouble != nil && ctx.Err() != nil && !errors.Is(trouble, ctx.Err()):
		return trouble, fmt.Errorf("%w; the store's last error: %w", ctx.Err(), trouble)
	}
	return trouble, nil
}
