package service

import (
	"context"
	"errors"
	"time"

	"github.com/chimejobs/chime"
)

const (
	unfinishedInterval = 10 * time.Second // how often Run reads the transitions that others have left
	sweepInterval      = time.Minute      // how often Run reads the collections that are due for a sweep
	sweepAge           = 24 * time.Hour   // how often a collection is swept
	sweepPause         = time.Second      // after each page of schedules
)

// Run finishes the disabling, enabling and deleting of collections, and sweeps, until ctx ends. Errors of the store are logged, and the work is tried
// again. It returns nil, or the errors of the options.
func (s *Service) Run(ctx context.Context) error {
	if s.options.Store == nil {
		_, err := s.schedules.Get(ctx, "options") // chime's error has the details
		return err
	}
	var sweeping chan struct{} // closed when the current sweep has ended; nil: no sweep runs
	defer func() {
		if sweeping != nil {
			<-sweeping
		}
	}()
	begun := false // the version of secrets was read
	look, sweep := time.NewTimer(0), time.NewTimer(0)
	defer look.Stop()
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.unfinished:
			s.report(ctx, "finish changes of collections", s.finishAll(ctx))
		case <-look.C:
			if !begun {
				err := s.beginSeals(ctx)
				begun = err == nil
				s.report(ctx, "read the version of secrets", err)
			}
			s.report(ctx, "finish changes of collections", s.finishAll(ctx))
			look.Reset(unfinishedInterval)
		case <-sweep.C:
			sweeping = make(chan struct{})
			go func(done chan struct{}) {
				defer close(done)
				s.report(ctx, "sweep collections", s.sweepAll(ctx))
			}(sweeping)
		case <-sweeping:
			sweeping = nil
			sweep.Reset(sweepInterval)
		}
	}
}

// report logs an error, unless the error is the end of Run.
func (s *Service) report(ctx context.Context, act string, err error) {
	if err != nil && ctx.Err() == nil {
		s.log.ErrorContext(ctx, "httpapi: could not "+act+"; it will be tried again", "event", "collection.failed", "error", err)
	}
}

// finishAll completes all transitions. If one fails, the others still continue.
func (s *Service) finishAll(ctx context.Context) error {
	var failed error
	for c, err := range s.collections.Unfinished(ctx) {
		if err == nil {
			_, err = s.carryOut(ctx, c, time.Time{})
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// sweepAll sweeps the collections whose last sweep was a day ago, if no other process does.
func (s *Service) sweepAll(ctx context.Context) error {
	pause := func() error {
		timer := time.NewTimer(sweepPause)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return nil
		}
	}
	for {
		due, err := s.collections.Unswept(ctx, sweepAge)
		if err != nil || len(due) == 0 {
			return err
		}
		for _, c := range due {
			mine, err := s.collections.Swept(ctx, c)
			if errors.Is(err, chime.ErrNotFound) || err == nil && !mine {
				continue
			}
			if err == nil {
				err = s.sweep(ctx, c, pause)
			}
			if err := errors.Join(err, pause()); err != nil {
				return err
			}
		}
	}
}
