package chime

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/chimejobs/chime/recurrence"
)

// Schedules creates, reads and deletes schedules while programs run, for those that come from users' data. Declare what
// belongs to the program with Scheduler.Schedule.
type Schedules struct {
	store Store
}

// NewSchedules returns the schedules of a store.
func NewSchedules(store Store) *Schedules { return &Schedules{store: store} }

// A Schedule is a named recurrence with the job that it makes, as it is stored.
type Schedule struct {
	Name       string
	JobName    string
	Queue      string
	Recurrence recurrence.Recurrence
	Payload    []byte // the encoded arguments of its jobs

	Created  time.Time // when the name first appeared, by the store's clock, whole seconds
	Revision int64     // grows with every change
	State    ScheduleState

	Overlap        OverlapPolicy
	Misfire        MisfirePolicy
	Grace          time.Duration
	NoImmediateRun bool
	MaxAttempts    int           // 0: the worker's default
	Timeout        time.Duration // 0: the handler's or the worker's default

	Next     time.Time // the occurrence that is placed and not yet taken; zero: none is
	Used     int       // runs used up of the recurrence's Count
	Counters ScheduleCounters
}

// ScheduleCounters count a schedule's occurrences since it was created.
type ScheduleCounters struct {
	Placed     int64 // placed and not given back
	Started    int64
	Skipped    int64 // due while another one was running (OverlapSkip, or no place to wait)
	Missed     int64 // passed over by the misfire policy
	CaughtUp   int64 // run late by MisfireCatchUp
	Superseded int64 // ended waiting for a retry when the next one came
}

// Put creates a schedule, or changes the one of that name, and places its next occurrence. The same definition again changes
// nothing. It takes the rules and options of Scheduler.Schedule.
func (s *Schedules) Put(ctx context.Context, name string, rec recurrence.Recurrence, options ...ScheduleOption) (*Schedule, error) {
	declared, err := declaration(name, rec, options)
	if err != nil {
		return nil, fmt.Errorf("chime: schedule %q: %w", name, err)
	}
	answer := s.store.Declare(ctx, []Declaration{declared})[0]
	if answer.Err != nil {
		return nil, fmt.Errorf("chime: put schedule %q: %w", name, answer.Err)
	}
	if answer.Owed != nil {
		// What fails here a worker or the leader does within seconds: the schedule is stored and owed its occurrence.
		_ = s.place(ctx, *answer.Owed)
	}
	return s.Get(ctx, name)
}

func (s *Schedules) place(ctx context.Context, owed Owed) error {
	p, err := newPlan(owed.Definition)
	if err != nil {
		return err
	}
	return s.store.Place(ctx, []Placement{p.next(owed)})[0].Err
}

// Get returns a schedule; ErrNotFound if there is none of that name.
func (s *Schedules) Get(ctx context.Context, name string) (*Schedule, error) {
	if err := checkName("name", name); err != nil {
		return nil, fmt.Errorf("chime: get schedule: %w", err)
	}
	found, err := s.store.Find(ctx, []string{name})
	if err != nil {
		return nil, fmt.Errorf("chime: get schedule %q: %w", name, err)
	}
	if found[0].Name == "" {
		return nil, fmt.Errorf("chime: get schedule %q: %w", name, ErrNotFound)
	}
	return stored(found[0])
}

const listStep = 10_000

// List goes through all schedules in the order of their names. It ends after the first error. A schedule that cannot be read
// (a newer version wrote it) comes with its name and an error that wraps nothing of ErrNotFound; the list goes on.
func (s *Schedules) List(ctx context.Context) iter.Seq2[*Schedule, error] {
	return func(yield func(*Schedule, error) bool) {
		for after := ""; ; {
			page, err := s.store.List(ctx, after, listStep)
			if err != nil {
				yield(nil, fmt.Errorf("chime: list schedules: %w", err))
				return
			}
			for _, found := range page {
				schedule, err := stored(found)
				if err != nil {
					schedule = &Schedule{Name: found.Name, Queue: found.Partition.Queue}
				}
				if !yield(schedule, err) {
					return
				}
				after = found.Name
			}
			if len(page) < listStep {
				return
			}
		}
	}
}

// Delete removes a schedule and its placed occurrence; ErrNotFound if there is none of that name. A job of it that is running
// may finish; one that waits for a retry still runs.
func (s *Schedules) Delete(ctx context.Context, name string) error {
	if err := checkName("name", name); err != nil {
		return fmt.Errorf("chime: delete schedule: %w", err)
	}
	found, err := s.store.Remove(ctx, name)
	if err != nil {
		return fmt.Errorf("chime: delete schedule %q: %w", name, err)
	}
	if !found {
		return fmt.Errorf("chime: delete schedule %q: %w", name, ErrNotFound)
	}
	return nil
}

// Pause stops a schedule: what is placed in the future is withdrawn, what is due already still runs.
func (s *Schedules) Pause(ctx context.Context, name string) error {
	if _, err := s.store.PauseSchedule(ctx, name, true); err != nil {
		return fmt.Errorf("chime: pause schedule %q: %w", name, err)
	}
	return nil
}

// Resume lets a paused schedule go on; what it missed is treated as its misfire policy says.
func (s *Schedules) Resume(ctx context.Context, name string) error {
	owed, err := s.store.PauseSchedule(ctx, name, false)
	if err != nil {
		return fmt.Errorf("chime: resume schedule %q: %w", name, err)
	}
	if owed.Name != "" {
		_ = s.place(ctx, owed) // else the leader does
	}
	return nil
}

// stored reads a schedule from the form in which it is kept.
func stored(found Stored) (*Schedule, error) {
	p, err := newPlan(found.Definition)
	if err != nil {
		return nil, fmt.Errorf("chime: schedule %q: %w", found.Name, err)
	}
	schedule := &Schedule{
		Name: found.Name, JobName: p.Job, Queue: found.Partition.Queue, Recurrence: p.Recurrence, Payload: p.payload(),
		Created: p.Created, Revision: p.Revision, State: ScheduleState(p.State),
		Overlap: p.Overlap, Misfire: p.Misfire, Grace: p.grace, NoImmediateRun: p.NoImmediateRun, MaxAttempts: p.MaxAttempts, Timeout: p.timeout,
		Used: found.Cursor.Used,
		Counters: ScheduleCounters{
			Placed: found.Placed, Started: found.Started, Skipped: found.Skipped, Missed: found.Missed, CaughtUp: found.CaughtUp,
			Superseded: found.Superseded,
		},
	}
	if found.Waiting {
		schedule.Next = found.Cursor.At
	}
	return schedule, nil
}
