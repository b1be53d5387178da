package chime

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strconv"
	"time"

	"github.com/chimejobs/chime/internal/enqueue"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/tick"
	"github.com/chimejobs/chime/recurrence"
)

// Schedules creates, reads and deletes schedules while programs run, for schedules that come from users' data. Schedules that
// belong to the program are declared with [Scheduler.Schedule]. NewSchedules makes one; the zero value has no store.
type Schedules struct {
	store    protocol.Store
	fit      *retry.FitCheck
	enqueuer *enqueue.Enqueuer // of manual runs
}

// NewSchedules returns the schedules of a store. It does no I/O.
func NewSchedules(store Store) *Schedules {
	s := &Schedules{store: protocolOf(store)}
	if s.store != nil {
		s.fit = retry.NewFitCheck(s.store, retry.CheckTimeout)
		s.enqueuer = enqueue.New(s.store, enqueue.Options{Log: slog.Default(), MaxPayload: defaultMaxPayload, SendTimeout: defaultSendTimeout})
	}
	return s
}

// Put creates a schedule, or changes the one of that name, places its next occurrence, and returns the schedule as it is stored
// then. The same definition again changes nothing. Name, recurrence and ScheduleOptions are those of [Scheduler.Schedule].
//
// With IfRevision only the schedule that the caller has seen is changed, and with IfAbsent none: else the error is a *[ConflictError] with
// what is stored, or with IfRevision ErrNotFound if nothing is. Without these the last one to put wins.
//
// What a newer version of chime has written, in a form that this one cannot read, stays as it is: the error says so.
//
// After an error of the store the schedule may be stored all the same: Put it again. A rule that never fires is refused before
// anything is written; for some rules that depends on when the name was created. The first call checks the store: a store that
// cannot be trusted with jobs is refused with an error that wraps ErrUnfit.
func (s *Schedules) Put(ctx context.Context, name string, rec recurrence.Recurrence, options ...PutOption) (*Schedule, error) {
	declared, err := declaration(name, rec, options)
	if err != nil {
		return nil, fmt.Errorf("chime: put schedule %.40q: %w", name, err)
	}
	if err := s.ready(ctx); err != nil {
		return nil, fmt.Errorf("chime: put schedule %q: %w", name, err)
	}
	if err := s.checkStart(ctx, name, rec); err != nil {
		return nil, fmt.Errorf("chime: put schedule %q: %w", name, err)
	}
	var answer protocol.DeclareAnswer
	for range maxConflicts {
		answer = tick.Declare(ctx, s.store, []protocol.Declaration{declared})[0]
		if answer.Err = s.conflict(ctx, name, answer.Err); !errors.Is(answer.Err, ErrNotFound) || !declared.Absent {
			break // else what was in the way was deleted meanwhile
		}
	}
	if answer.Err != nil {
		return nil, fmt.Errorf("chime: put schedule %q: %w", name, answer.Err)
	}
	if answer.Newer {
		_, err := schedule.Read(answer.Stored)
		return nil, fmt.Errorf("chime: put schedule %q: it stays as it is: %w", name, err)
	}
	if answer.Owed != nil {
		// If this fails the leader does it within seconds: the schedule is stored, and owed its occurrence.
		placed, err := s.place(ctx, *answer.Owed)
		if err == nil && placed.Placed > 0 && answer.New {
			return stored(created(answer, placed)) // it is read only if not all of it is known
		}
	}
	return s.Get(ctx, name)
}

const maxConflicts = 4 // in a row with a schedule that is gone when it is read

// conflict adds to a conflict what is stored. If that is gone, the error is ErrNotFound.
func (s *Schedules) conflict(ctx context.Context, name string, err error) error {
	if !errors.Is(err, ErrConflict) {
		return err
	}
	found, failed := s.store.Find(ctx, []string{name})
	if failed != nil {
		return errors.Join(err, failed)
	}
	if found[0].Name == "" {
		return ErrNotFound
	}
	there, failed := stored(found[0])
	if failed != nil {
		there = unread(found[0])
	}
	return &ConflictError{Schedule: there}
}

// ready returns an error if nothing may be written into the store.
func (s *Schedules) ready(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	_, err := s.fit.Check(ctx)
	return err
}

// A placed is a placement that the store has answered.
type placed struct {
	protocol.Placement
	protocol.PlaceAnswer
}

// created is a new schedule as it was stored when its first occurrence was placed.
func created(answer protocol.DeclareAnswer, placed placed) protocol.Stored {
	return protocol.Stored{
		Name: placed.Name, Partition: answer.Partition, Definition: answer.Stored,
		Cursor:  protocol.Cursor{At: placed.Instants[placed.Placed-1].UTC(), Used: placed.Placed, Placed: true},
		Waiting: true,
		Counters: protocol.Counters{
			Placed: int64(placed.Placed), Missed: int64(placed.Missed), CaughtUp: int64(min(placed.CaughtUp, placed.Placed)),
		},
	}
}

// checkStart refuses a rule that never fires after the creation that is its start. A new schedule's creation is about now: if this
// machine's clock is wrong a rule may be accepted or refused wrongly at the turn of a day; nothing else depends on it.
func (s *Schedules) checkStart(ctx context.Context, name string, rec recurrence.Recurrence) error {
	if !rec.StartTime.IsZero() || rec.Frequency == 0 {
		return nil
	}
	created := time.Now()
	found, err := s.store.Find(ctx, []string{name})
	if err != nil {
		return err
	}
	if found[0].Name != "" {
		d, err := schedule.Read(found[0].Definition)
		if err == nil {
			created = d.Created
		}
	}
	_, err = rec.Series(created)
	return err
}

func (s *Schedules) place(ctx context.Context, owed protocol.Owed) (placed, error) {
	var plans schedule.Plans
	var failed error
	next := plans.Next([]protocol.Owed{owed}, func(_ *protocol.Owed, err error) { failed = err })
	if failed != nil {
		return placed{}, failed
	}
	answer := s.store.Place(ctx, next)[0]
	return placed{next[0], answer}, answer.Err
}

// check refuses what no call to the store is needed for.
func (s *Schedules) check(ctx context.Context, name string) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	return protocol.CheckID("name", name)
}

func (s *Schedules) usable(ctx context.Context) error {
	switch {
	case s.store == nil:
		return errNilStore
	case ctx == nil:
		return errNilContext
	}
	return nil
}

// Get returns a schedule; ErrNotFound if there is none of that name.
func (s *Schedules) Get(ctx context.Context, name string) (*Schedule, error) {
	if err := s.check(ctx, name); err != nil {
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

// Delete deletes a schedule and its placed occurrence; ErrNotFound if there is none of that name. A job of it that runs may finish; a
// job of it that waits for a retry still runs, unless the option is DeleteWaiting. With IfRevision another schedule than the caller has
// seen stays, and the error is a *[ConflictError].
//
// A program that runs and has declared it does not declare it again; its next start does. Only if Redis loses its data before the program
// has looked, which it does every few minutes, the schedule looks lost, and comes back.
func (s *Schedules) Delete(ctx context.Context, name string, options ...ChangeOption) error {
	settings, err := newChangeSettings("Delete", "DeleteWaiting", options)
	if err = errors.Join(s.check(ctx, name), err); err != nil {
		return fmt.Errorf("chime: delete schedule: %w", err)
	}
	found, err := s.store.Remove(ctx, protocol.Removal{Name: name, Revision: settings.revision, Waiting: settings.deleteWaiting})
	if err = s.conflict(ctx, name, err); err == nil && !found {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("chime: delete schedule %q: %w", name, err)
	}
	return nil
}

// Pause stops a schedule until Resume; ErrNotFound if there is none of that name. An occurrence that is placed in the future is
// withdrawn; one that is due already still runs. A schedule that is paused already, or has completed, stays as it is; but the Note of
// this call takes the place of the one that it has. With IfRevision only the schedule that the caller has seen is paused; else the error is
// a *[ConflictError]. Pausing gives a schedule another revision.
func (s *Schedules) Pause(ctx context.Context, name string, options ...ChangeOption) error {
	settings, err := newChangeSettings("Pause", "Note", options)
	if err = errors.Join(s.check(ctx, name), err); err != nil {
		return fmt.Errorf("chime: pause schedule: %w", err)
	}
	_, err = s.store.PauseSchedule(ctx, protocol.Pausing{Name: name, Paused: true, Revision: settings.revision, Note: settings.note})
	if err = s.conflict(ctx, name, err); err != nil {
		return fmt.Errorf("chime: pause schedule %q: %w", name, err)
	}
	return nil
}

// Resume lets a paused schedule go on; ErrNotFound if there is none of that name. Its misfire policy says what becomes of the
// occurrences that it missed; with SkipGap they count as missed. A schedule that is not paused stays as it is. With IfRevision only the
// schedule that the caller has seen is resumed; else the error is a *[ConflictError]. Resuming gives a schedule another revision.
func (s *Schedules) Resume(ctx context.Context, name string, options ...ChangeOption) error {
	settings, err := newChangeSettings("Resume", "SkipGap", options)
	if err = errors.Join(s.check(ctx, name), err); err != nil {
		return fmt.Errorf("chime: resume schedule: %w", err)
	}
	answer, err := tick.Resume(ctx, s.store, protocol.Pausing{Name: name, Revision: settings.revision, SkipGap: settings.skipGap})
	if err = s.conflict(ctx, name, err); err != nil {
		return fmt.Errorf("chime: resume schedule %q: %w", name, err)
	}
	if answer.Owed != nil {
		_, _ = s.place(ctx, *answer.Owed) // else the leader does
	}
	return nil
}

// unread is what is known of a schedule that this program cannot read.
func unread(found protocol.Stored) *Schedule {
	return &Schedule{Name: found.Name, Queue: found.Partition.Queue, Owner: found.Owner.Name, Revision: schedule.RevisionOf(found.Definition)}
}

// stored reads a schedule from the form in which it is kept.
func stored(found protocol.Stored) (*Schedule, error) {
	if found.Err != nil {
		return nil, fmt.Errorf("chime: schedule %q: %w", found.Name, found.Err)
	}
	d, err := schedule.Read(found.Definition)
	if err != nil {
		return nil, fmt.Errorf("chime: schedule %q: %w", found.Name, err)
	}
	s := &Schedule{
		Name: found.Name, JobName: d.JobName, Queue: found.Partition.Queue, Recurrence: d.Recurrence, Payload: d.Payload,
		Created: d.Created, Revision: d.Revision, State: ScheduleState(d.State),
		Overlap: OverlapPolicy(d.Overlap), Misfire: MisfirePolicy(d.Misfire), Grace: d.Grace, NoImmediateRun: d.NoImmediateRun,
		MaxAttempts: d.MaxAttempts, Timeout: d.Timeout,
		Spread: d.Spread, Offset: d.Offset,
		KeepRuns: d.Keeps(), PauseAfter: d.PauseAfter, Last: lastRun(found.Last),
		Meta: d.Meta, Owner: found.Owner.Name, Version: found.Owner.Version,
		Used: found.Cursor.Used, Counters: ScheduleCounters(found.Counters), DatesUntil: d.Recurrence.DatesEnd(),
	}
	if of := d.Details; of != nil {
		s.Header, s.Keep, s.Retry, s.onDeath = of.Header, of.Keep, RetryPolicy{of.Retry}, of.OnDeath
		s.OnDeath = onDeathName(of)
	}
	if s.State == StateLive {
		s.Owed = found.Since
	}
	if s.State == StatePaused {
		s.Note = Note(found.Note)
	}
	switch {
	case found.Waiting:
		s.Next = found.Cursor.At
	case found.Void:
		plan, err := schedule.Compile(found.Definition)
		if err != nil {
			return nil, fmt.Errorf("chime: schedule %q: %w", found.Name, err)
		}
		if next := plan.UpcomingOf(&found, 1); len(next) > 0 {
			s.Next = next[0]
		}
	}
	return s, nil
}

// A ScheduleFilter says which schedules to list: those that fit all of its fields. The zero value: all.
type ScheduleFilter struct {
	Prefix  string        // their names begin so; at most 200 bytes of UTF-8 without control or format characters
	Queue   string        // their jobs go there
	Owner   string        // they were declared by a scheduler with this SchedulerOptions.Owner
	State   ScheduleState // live, paused or completed
	Failing bool          // their last attempt failed, or was the job's last
	After   string        // their names come behind this one, which need not be there: the Name of the last schedule of a page goes on
	Limit   int           // at most so many: 1 to 500, which are read in one page unless other fields leave some out; 0: all
}

// validate returns what is wrong with the filter.
func (f ScheduleFilter) validate() error {
	var bad []error
	if f.Prefix != "" {
		bad = append(bad, protocol.CheckPrefix("ScheduleFilter.Prefix", f.Prefix))
	}
	if f.Queue != "" {
		bad = append(bad, protocol.CheckName("ScheduleFilter.Queue", f.Queue))
	}
	if f.Owner != "" {
		bad = append(bad, protocol.CheckName("ScheduleFilter.Owner", f.Owner))
	}
	switch f.State {
	case "", StateLive, StatePaused, StateCompleted:
	default:
		bad = append(bad, protocol.Invalid("ScheduleFilter.State", string(f.State), "live, paused or completed"))
	}
	if f.After != "" {
		bad = append(bad, protocol.CheckID("ScheduleFilter.After", f.After))
	}
	if f.Limit < 0 || f.Limit > maxSchedulesPerPage {
		bad = append(bad, protocol.Invalid("ScheduleFilter.Limit", strconv.Itoa(f.Limit), "1 to 500, or 0 for all"))
	}
	return errors.Join(bad...)
}

// fits reports whether a schedule is one of those to list. Of one that cannot be read nobody knows how it stands: it is one of them.
func (f ScheduleFilter) fits(s *Schedule, unreadable error) bool {
	if f.Owner != "" && s.Owner != f.Owner {
		return false
	}
	return unreadable != nil || (f.State == "" || s.State == f.State) && (!f.Failing || s.Last.failing())
}

const (
	schedulesPerPage    = 100 // without a Limit
	maxSchedulesPerPage = 500
)

// page is how many names to read next for a caller who had so many schedules.
func (f ScheduleFilter) page(had int) int {
	if f.Limit == 0 || f.Owner != "" || f.State != "" || f.Failing {
		return schedulesPerPage
	}
	return f.Limit - had
}

// A schedulePage is some schedules in the order of their names, or why they could not be read.
type schedulePage struct {
	found []protocol.Stored
	last  string // behind this name the next page goes on; empty: there is none
	err   error
}

// List goes through the schedules that fit a filter, in the order of their names. Without a Limit it reads a page of a hundred ahead of the caller.
// A schedule that is created, deleted or changed meanwhile may be in the list or not; every other one is in it once. Prefix, Queue and
// After cost nothing for what they leave out of a long list, or little; the other fields read what they leave out.
//
// The list ends after an error of the store, or of the filter, which comes with a nil schedule. A schedule that this program cannot read,
// because a newer version wrote it or because it was changed by hand, comes with its name, queue, owner and revision and an error of its own, and
// the list goes on.
func (s *Schedules) List(ctx context.Context, filter ScheduleFilter) iter.Seq2[*Schedule, error] {
	return func(yield func(*Schedule, error) bool) {
		err := s.usable(ctx)
		if err == nil {
			err = filter.validate()
		}
		if err != nil {
			yield(nil, fmt.Errorf("chime: list schedules: %w", err))
			return
		}
		ctx, stop := context.WithCancel(ctx)
		had := 0 // by the caller
		next := s.readAhead(ctx, filter, filter.After, filter.page(had))
		defer func() { // the page that is under way is not wanted any more
			stop()
			if next != nil {
				<-next
			}
		}()
		for next != nil {
			page := <-next
			if next = nil; page.err != nil {
				yield(nil, fmt.Errorf("chime: list schedules: %w", page.err))
				return
			}
			if page.last != "" && filter.Limit == 0 {
				next = s.readAhead(ctx, filter, page.last, schedulesPerPage)
			}
			for _, found := range page.found {
				if found.Name == "" { // deleted meanwhile
					continue
				}
				s, err := stored(found)
				if err != nil {
					s = unread(found)
				}
				if !filter.fits(s, err) {
					continue
				}
				if had++; !yield(s, err) || had == filter.Limit {
					return
				}
			}
			if page.last != "" && filter.Limit > 0 {
				next = s.readAhead(ctx, filter, page.last, filter.page(had))
			}
		}
	}
}

// readAhead begins to read a page. It arrives in every case.
func (s *Schedules) readAhead(ctx context.Context, filter ScheduleFilter, after string, most int) <-chan schedulePage {
	pages := make(chan schedulePage, 1)
	go func() {
		var page schedulePage
		var names []string
		names, page.last, page.err = s.store.Names(ctx, protocol.NameRange{After: after, Prefix: filter.Prefix, Queue: filter.Queue, Max: most})
		if page.err == nil && len(names) > 0 {
			page.found, page.err = s.store.Find(ctx, names)
		}
		pages <- page
	}()
	return pages
}
