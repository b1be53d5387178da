package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime"
)

// The jobs of the shop. Jobs without arguments get nil.
type (
	order   struct{ Customer, Card string }
	message struct{ To string }
	picture struct{ File string }
)

var (
	report    = chime.Define[any]("report")
	invoice   = chime.Define[any]("invoice", chime.MaxAttempts(2), chime.Retry(chime.Fixed(2*time.Second)))
	weather   = chime.Define[any]("weather", chime.Retry(chime.Fixed(3*time.Second)))
	export    = chime.Define[any]("export", chime.Queue("exports"))
	payment   = chime.Define[order]("payment", chime.MaxAttempts(1))
	mail      = chime.Define[message]("mail", chime.Queue("mail"), chime.MaxAttempts(1))
	thumbnail = chime.Define[picture]("thumbnail", chime.Queue("media"), chime.Timeout(2*time.Minute))
	letter    = chime.Define[message]("letter", chime.Queue("archive"))
	fax       = chime.Define[message]("fax") // no handler here takes it: such jobs are parked
)

// handle registers the handlers.
func handle(worker *chime.Worker) {
	report.Handle(worker, func(_ context.Context, job *chime.Job, _ any) error {
		job.Note("42 orders")
		return job.Return(map[string]int{"orders": 42})
	})
	invoice.Handle(worker, func(context.Context, *chime.Job, any) error {
		return errors.New("dial tcp 10.0.0.7:631: connect: connection refused") // the printer is off
	})
	weather.Handle(worker, func(_ context.Context, job *chime.Job, _ any) error {
		if job.Attempt == 1 {
			return errors.New("weather.example: 503 Service Unavailable")
		}
		return nil
	})
	export.Handle(worker, func(ctx context.Context, _ *chime.Job, _ any) error { return pause(ctx, 1500*time.Millisecond) })
	payment.Handle(worker, func(_ context.Context, job *chime.Job, args order) error {
		return fmt.Errorf("the bank refuses order %s of %q: limit exceeded", job.ID, args.Customer)
	})
	mail.Handle(worker, func(_ context.Context, _ *chime.Job, args message) error {
		if args.To == "" {
			return errors.New("no recipient")
		}
		return nil
	})
	thumbnail.Handle(worker, func(ctx context.Context, job *chime.Job, _ picture) error {
		for percent := range 100 {
			if err := job.Progress(map[string]int{"percent": percent}); err != nil {
				return err
			}
			if err := pause(ctx, 600*time.Millisecond); err != nil {
				return err
			}
		}
		return nil
	})
	letter.Handle(worker, func(context.Context, *chime.Job, message) error { return nil })
}

// pause waits for a step of a job, or until the job has to end.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
