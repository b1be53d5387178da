package chime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/enqueue"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/wire"
)

// Trigger runs a schedule's job once, now or when [In] or [At] say, also if the schedule is paused or completed; ErrNotFound if there is none
// of that name. It is a job of its own: it uses up no run of the schedule, moves nothing that is planned, and runs beside an occurrence
// whatever the overlap policy says. It goes to the schedule's queue, names the schedule in [Job.Schedule], and was planned when it was
// accepted.
//
// What the call does not say the schedule says: the job's name, Args, MaxAttempts, Timeout, Retry, Keep and OnDeath; a Header has the
// entries of both. If nobody says how many attempts it has, these are 5, as an occurrence has. It is the schedule as it is now: a later change does not reach a
// run that waits. With Keep, [Jobs.Wait] waits for its end.
//
// The run's ID is the schedule's name, "#", and 14 characters, or what the option ID says: 1 to 200 bytes, and no other run is added while one of that ID
// exists, nor within 24 hours of its acceptance, or what the option Once says. The receipt has the ID also after an error of the store, when it may run or not: ID(receipt.ID) makes the call again,
// which is safe, for an ID that begins with the schedule's name and "#" is taken as it is. IDs are known on the schedule's queue: once it has
// moved to another one, the same ID runs again. And where the name of one schedule is that of another, "#" and more, they share the IDs that begin
// with the longer one.
func (s *Schedules) Trigger(ctx context.Context, name string, options ...TriggerOption) (Receipt, error) {
	job, err := newManualRun(name, options)
	if err = errors.Join(s.check(ctx, name), err); err != nil {
		return Receipt{}, fmt.Errorf("chime: trigger schedule %.40q: %w", name, err)
	}
	receipt, err := s.trigger(ctx, job)
	if err != nil {
		err = fmt.Errorf("chime: trigger schedule %q (ID %q): %w", name, job.id, err)
	}
	return receipt, err
}

func (s *Schedules) trigger(ctx context.Context, run *manualRun) (Receipt, error) {
	receipt := Receipt{ID: run.id}
	found, err := s.store.Find(ctx, []string{run.schedule})
	switch {
	case err != nil:
		return receipt, fmt.Errorf("not sent: %w", err)
	case found[0].Name == "":
		return receipt, ErrNotFound
	case found[0].Err != nil:
		return receipt, found[0].Err
	}
	receipt.Queue = found[0].Partition.Queue
	d, err := schedule.Read(found[0].Definition)
	if err != nil {
		return receipt, err
	}
	job, err := run.job(receipt.Queue, d)
	if err != nil {
		return receipt, err
	}
	sent, err := s.enqueuer.One(ctx, job)
	if receipt.Existing = sent.Existing; err == nil && receipt.Existing {
		fillStates(ctx, s.store, []*Receipt{&receipt})
	}
	return receipt, err
}

// manualOnce is how long the ID of a manual run bars another one, if the caller has chosen it and says nothing else.
const manualOnce = 24 * time.Hour

// A manualRun is what a call says about one.
type manualRun struct {
	triggerSettings
	schedule string
	id       string // of the job
	payload  []byte // if args were given
}

// newManualRun checks what a call says. All that is wrong comes back, joined.
func newManualRun(name string, options []TriggerOption) (*manualRun, error) {
	run := &manualRun{schedule: name}
	for _, option := range options {
		if option == nil {
			run.refuse(errNilOption)
			continue
		}
		option.trigger(&run.triggerSettings)
	}
	for option, given := range map[string]bool{"Replace": run.replace, "ArgsID": run.argsID} {
		if given {
			run.refuse(protocol.Invalid("option of Trigger", option, "Args, or an option of one job"))
		}
	}
	if run.own {
		run.once = cmp.Or(run.once, manualOnce)
	}
	own := enqueue.NewID()
	if run.own && !run.argsID {
		own = strings.TrimPrefix(run.triggerSettings.id, name+"#")
		if err := protocol.CheckID("ID", own); err != nil {
			run.refuse(err)
		}
	}
	run.id = name + "#" + own
	if run.other {
		var err error
		run.payload, err = wire.EncodeStable(run.args)
		if err == nil && len(run.payload) > defaultMaxPayload {
			err = wire.TooLarge(len(run.payload), defaultMaxPayload)
		}
		if err != nil {
			run.refuse(err)
		}
	}
	return run, run.err()
}

// job is the job to enqueue, with what the schedule's definition says about what the call leaves open.
func (r *manualRun) job(queue string, d *schedule.Definition) (*enqueue.Job, error) {
	stored := jobSettings{attemptSettings: attemptSettings{maxAttempts: d.MaxAttempts, timeout: d.Timeout}}
	if of := d.Details; of != nil {
		stored.retry, stored.header, stored.keep, stored.onDeath = of.Retry, of.Header, of.Keep, of.OnDeath
	}
	said := r.jobSettings.or(stored)
	if err := checkHeaderSize(said.header); err != nil {
		return nil, fmt.Errorf("with the schedule's entries: %w", err)
	}
	payload := d.Payload
	if r.other {
		payload = r.payload
	}
	return &enqueue.Job{
		Name: d.JobName, Queue: queue, ID: r.id, Own: r.own, Once: r.once, Schedule: r.schedule, In: r.in, At: r.at,
		MaxAttempts: said.maxAttempts, Timeout: said.timeout, Details: said.details(), Args: payload,
	}, nil
}
