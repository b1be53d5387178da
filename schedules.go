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
	"github.com/chimejobs/chime/internal/guardlog"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/tick"
	"github.com/chimejobs/chime/recurrence"
)

// Schedules creates, reads and deletes schedules while programs run, for schedules that come from users' data. Declare schedules that
// belong to the program with [Scheduler.Schedule]. Create one with NewSchedules; the zero value has no store.
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
		s.enqueuer = enqueue.New(s.store, enqueue.Options{Log: guardlog.New(slog.Default()), MaxPayload: defaultMaxPayload, SendTimeout: defaultSendTimeout, Sealing: sealing(s.store)})
	}
	return s
}

// Put creates a schedule, or changes the one with that name. It places the next occurrence and returns the schedule as it is then stored. Putting
// the same definition again changes nothing. Name, recurrence and ScheduleOptions are those of [Scheduler.Schedule].
//
// With IfRevision, Put changes only the revision that the caller has read, and with IfAbsent it only creates. If the stored schedule does not allow
// that, nothing changes and the error is a *[ConflictError] with the stored schedule. With IfRevision, if no schedule is stored, the error is
// ErrNotFound. Without these options the last Put wins.
//
// A schedule that a newer version of chime has written, in a form that this version cannot read, is not changed, and Put returns an error.
//
// After an error of the store the schedule may nevertheless be stored: Put it again. A rule that never fires is refused before anything is written.
// For some rules, whether they ever fire depends on the creation time of the schedule. The first call checks the store. If the store cannot be
// trusted with jobs, the error wraps ErrUnfit.
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
			break // else the conflicting schedule was deleted meanwhile
		}
	}
	if answer.Err != nil {
		return nil, fmt.Errorf("chime: put schedule %q: %w", name, answer.Err)
	}
	if answer.Newer {
		err := schedule.Unchangeable(answer.Stored)
		return nil, fmt.Errorf("chime: put schedule %q: it is not changed: %w", name, err)
	}
	if answer.Owed != nil {
		// If this fails, the leader does it within seconds: the schedule is stored and waits for its occurrence.
		placed, err := s.place(ctx, *answer.Owed)
		if err == nil && placed.Placed > 0 && answer.New {
			return stored(created(answer, placed)) // then everything is known and nothing needs to be read
		}
	}
	return s.Get(ctx, name)
}

const maxConflicts = 4 // in a row, with a schedule that is gone when it is read

// conflict adds the stored schedule to a conflict. If it is gone, the error is ErrNotFound.
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

// ready returns an error if the store must not be written to.
func (s *Schedules) ready(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	_, err := s.fit.Check(ctx)
	return err
}

// A placed is a placement and the store's reply.
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

// checkStart refuses a rule that never fires after its start, if that is the creation. A new schedule's creation is about now: if this
// machine's clock is wrong, a rule may be wrongly accepted or refused at the turn of a day; nothing else depends on it.
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
	return invalidRule(err)
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

// check refuses invalid input before a call to the store.
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

// Get returns a schedule; ErrNotFound if no schedule has that name.
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

// Delete deletes a schedule and its placed occurrence; ErrNotFound if no schedule has that name. A running job of it may finish. A job of it
// that waits for a retry still runs, unless the option is DeleteWaiting. With IfRevision, a schedule with another revision is not deleted, and
// the error is a *[ConflictError].
//
// A running program that has declared the schedule does not declare it again; its next start does. There is one exception. The program reads
// its schedules every few minutes; if Redis loses its data before that, the schedule looks lost, and the program declares it again.
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

// Pause stops a schedule until Resume; ErrNotFound if no schedule has that name. An occurrence that is placed in the future is
// withdrawn; one that is already due still runs. A schedule that is already paused, or has completed, does not change; but the Note of
// this call replaces its note. With IfRevision, only a schedule with that revision is paused; otherwise the error is a *[ConflictError].
// Pausing gives a schedule another revision.
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

// Resume ends the pause of a schedule; ErrNotFound if no schedule has that name. Its misfire policy decides what happens to the
// occurrences that it missed; with SkipGap they count as missed. A schedule that is not paused does not change. With IfRevision, only a
// schedule with that revision is resumed; otherwise the error is a *[ConflictError]. Resuming gives a schedule another revision.
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
		_, _ = s.place(ctx, *answer.Owed) // else the leader places it
	}
	return nil
}

// unread returns the known fields of a schedule that this program cannot read.
func unread(found protocol.Stored) *Schedule {
	return &Schedule{Name: found.Name, Queue: found.Partition.Queue, Owner: found.Owner.Name, Revision: schedule.RevisionOf(found.Definition)}
}

// stored decodes a stored schedule.
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
		Overlap: OverlapPolicy(d.Overlap), Misfire: MisfirePolicy(d.Misfire), Grace: d.Grace, NoImmediateRun: d.Recurrence.NoImmediateRun,
		MaxAttempts: d.MaxAttempts, Timeout: d.Timeout,
		Spread: d.Spread, Offset: d.Offset,
		KeepRuns: d.Keeps(), PauseAfter: d.PauseAfter, MaxUnfinished: d.MaxUnfinished, Group: d.Group, Last: lastRun(found.Last),
		Meta: d.Meta, Owner: found.Owner.Name, Version: found.Owner.Version,
		Used: found.Cursor.Used, Counters: ScheduleCounters(found.Counters), DatesUntil: d.Recurrence.DatesEnd(),
	}
	if of := d.Details; of != nil {
		s.Header, s.Keep, s.Retry, s.onDone, s.onDeath = of.Header, of.Keep, RetryPolicy{of.Retry}, of.OnDone, of.OnDeath
		s.OnDone, s.OnDeath = nameOfBody(of.OnDone), nameOfBody(of.OnDeath)
	}
	if d.Sealed != nil {
		s.Sealed = shownKey(protocol.SealedBy(d.Sealed))
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

// A ScheduleFilter selects the schedules to list: a schedule must match every field that is set. The zero value selects all.
type ScheduleFilter struct {
	Prefix  string        // their names begin with it; at most 200 bytes of UTF-8 without control or format characters
	Queue   string        // their jobs go to this queue
	Owner   string        // they were declared by a scheduler with this SchedulerOptions.Owner
	Group   string        // their jobs belong to exactly this group, see [Group]
	State   ScheduleState // live, paused or completed
	Failing bool          // their last outcome is RunFailed or RunDead
	After   string        // their names come after this name, which need not exist: to continue, set the Name of the last schedule of a page
	Limit   int           // the maximum number of schedules: 1 to 500; 0: all. They are read in one page unless other fields leave some out
}

// validate returns the filter's problems.
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
	if f.Group != "" {
		bad = append(bad, protocol.CheckID("ScheduleFilter.Group", f.Group))
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

// fits reports whether to list a schedule. The state and the group of an unreadable one are unknown: it is listed.
func (f ScheduleFilter) fits(s *Schedule, unreadable error) bool {
	if f.Owner != "" && s.Owner != f.Owner {
		return false
	}
	return unreadable != nil || (f.Group == "" || s.Group == f.Group) && (f.State == "" || s.State == f.State) && (!f.Failing || s.Last.failing())
}

const (
	schedulesPerPage    = 200 // without a Limit
	maxSchedulesPerPage = 500
)

// page returns how many names to read next for a caller who has got had schedules.
func (f ScheduleFilter) page(had int) int {
	if f.Limit == 0 || f.Owner != "" || f.Group != "" || f.State != "" || f.Failing {
		return schedulesPerPage
	}
	return f.Limit - had
}

// A schedulePage is some schedules in the order of their names, or the reason why they could not be read.
type schedulePage struct {
	found []protocol.Stored
	last  string // the next page follows this name; empty: this is the last page
	err   error
}

// List iterates over the schedules that match a filter, in the order of their names. Without a Limit it reads a page of a hundred ahead of the
// caller. A schedule that is created, deleted or changed meanwhile may be listed or not; every other one is listed once. Prefix, Queue and
// After skip schedules of a long list at little or no cost; the other fields read the schedules that they leave out.
//
// After an error of the store or of the filter, which comes with a nil schedule, the list ends. A schedule may be unreadable for this program,
// because a newer version wrote it or because it was edited by hand. Such a schedule is listed with its name, queue, owner and revision and an
// error of its own; then the list continues.
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
		had := 0 // how many the caller has got
		next := s.readAhead(ctx, filter, filter.After, filter.page(had))
		defer func() { // the page that is being read is not needed any more
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

// readAhead begins to read a page. The page always arrives, with or without an error.
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
