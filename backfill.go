package chime

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/wire"
)

// Backfilled says what a [Schedules.Backfill] has done.
type Backfilled struct {
	Placed   int       `json:"placed"`        // occurrences that run now
	Existing int       `json:"existing"`      // occurrences that wait, run, are to be retried or are parked already
	Next     time.Time `json:"next,omitzero"` // the range from here on is left: call again; zero: none is
}

// Backfill runs a schedule's occurrences at or after from and before to now, each with its own planned instant and ID, whether they ran
// before or not: a schedule that is new runs for last year, one whose results were wrong runs again. A call places at most 500, the oldest first,
// and fewer where arguments are long: about 1 MiB of jobs. Next says where to go on:
//
//	for from := begin; !from.IsZero(); {
//		filled, err := schedules.Backfill(ctx, name, from, end)
//		...
//		from = filled.Next
//	}
//
// The instants are those of the schedule's recurrence as it is stored, in its time zone, from its StartTime to its EndTime. Without a StartTime
// they go back before the creation as well, in step with those after it; the run at creation is none of them. They do not go beyond the
// occurrence that the schedule itself has placed last, or what a change or a pause has put in its place: what follows is the schedule's, and for it
// a later to is the same as that one. So of a paused schedule what was missed before the pause can be run, and of one that is resumed or
// has completed all until then. They use up nothing of the Count, the misfire policy does not pass them over, and they move nothing that is
// planned.
//
// One that waits for a worker, runs, is to be retried or is parked is not placed again, but counted in Existing. One that is dead begins
// anew; one that ended long ago runs again. Callers at the same time place each once, as long as it has not ended; whoever calls again for a
// range that has ended runs it again.
//
// Under OverlapAllow all that is placed waits for workers like other jobs. Under every other policy they run one after the other, the
// oldest first, and none beside an occurrence of the schedule. The schedule's own next occurrence goes before all that wait; at its
// first attempt a backfilled one is not cancelled for it, nor does it make it skip, so it comes at most one run late. One that failed
// is retried beside the rest, as always, and under OverlapCancel then ends as superseded if it finds a later one running.
// They are attempts as any other: in [Schedules.Runs], Schedule.Last, Unfinished (from now on), and the counters Done, Failed, Dead,
// Superseded and Cancelled, but not in Placed and Started. Those that wait for their turn are listed as waiting jobs and not counted in
// [QueueInfo].Waiting. They run with the schedule's arguments of now, whatever is changed, paused or
// deleted later; [Jobs.Cancel] and Delete with DeleteWaiting end what waits. After a move to another queue those that were placed before run
// in the old one, and a call does not find them there.
//
// Cost: an occurrence that waits is kept with the arguments, as a job is, so a year of hours takes some MB. A call makes few requests of at
// most 500 occurrences, or 2,000 divided by the number of worker sessions of the queue.
//
// A from that is zero, before 1970 or after 2199, and a to before from, is an *InvalidError. ErrNotFound: there is no schedule of that name. A
// definition that this program cannot read is an error, and left alone. Where somebody changes or moves the schedule meanwhile, the call
// reads it again and goes on, and is a *[ConflictError] if that happens time and again. With any error the counts say what was done, as
// far as it is known, and Next where to go on; of a reply that was lost some may have been placed that are not counted.
func (s *Schedules) Backfill(ctx context.Context, name string, from, to time.Time) (Backfilled, error) {
	filled := Backfilled{Next: from}
	if err := errors.Join(s.check(ctx, name), checkRange(from, to)); err != nil {
		return filled, fmt.Errorf("chime: backfill schedule %.40q: %w", name, err)
	}
	err := s.ready(ctx)
	for tries := 0; err == nil; tries++ {
		err = s.backfill(ctx, name, to, &filled)
		if !errors.Is(err, ErrConflict) || tries == maxConflicts {
			break
		}
		err = nil // it is read again
	}
	if err = s.conflict(ctx, name, err); err != nil {
		return filled, fmt.Errorf("chime: backfill schedule %q: %w", name, err)
	}
	return filled, nil
}

// checkRange refuses a range that has no meaning, or whose instants could not be stored.
func checkRange(from, to time.Time) error {
	if year := from.UTC().Year(); year < 1970 || year > 2199 {
		return protocol.Invalid("from", from.UTC().Format(time.RFC3339), "the years 1970 to 2199")
	}
	if to.Before(from) {
		return protocol.Because(protocol.Invalid("to", to.UTC().Format(time.RFC3339), "from or later"), "is before from")
	}
	return nil
}

// backfill places the next occurrences from filled.Next on, and adds them.
func (s *Schedules) backfill(ctx context.Context, name string, to time.Time, filled *Backfilled) error {
	found, plan, err := s.planOf(ctx, name)
	if err != nil {
		return err
	}
	times, next := plan.Between(filled.Next, backfillEnd(&found, plan, to), protocol.MaxItems)
	jobs := make([]protocol.BackfilledJob, 0, len(times))
	bytes := 0
	for i, at := range times {
		body := backfilledBody(plan, name, at)
		if bytes += len(body); i > 0 && bytes > protocol.MaxBytes {
			times, next = times[:i], at
			break
		}
		jobs = append(jobs, protocol.BackfilledJob{ID: schedule.OccurrenceID(name, at), Body: body})
	}
	answer := protocol.BackfillAnswer{}
	if len(jobs) > 0 {
		answer, err = s.store.Backfill(ctx, protocol.Backfilling{Name: name, Revision: plan.Revision, Jobs: jobs})
	}
	filled.Placed += answer.Placed
	filled.Existing += answer.Existing
	if filled.Next = next; answer.Done < len(times) {
		filled.Next = times[answer.Done]
	}
	return err
}

// backfillEnd is what a range that is to be run again ends before: what follows the schedule's cursor is the schedule's.
func backfillEnd(found *protocol.Stored, plan *schedule.Plan, to time.Time) time.Time {
	end := found.Cursor.At.Add(time.Second)
	if found.Cursor.At.IsZero() {
		end = plan.Created // nothing was placed yet
	}
	if to.After(end) {
		return end
	}
	return to
}

// BackfillTimes returns the planned instants of the occurrences that [Schedules.Backfill] would look at in a range, the oldest first: at most n,
// 1 to 1000. next is where to go on; zero: there are no more. It changes nothing, and does not look which of them wait or run already. Its errors
// are those of Backfill.
func (s *Schedules) BackfillTimes(ctx context.Context, name string, from, to time.Time, n int) (times []time.Time, next time.Time, err error) {
	err = errors.Join(s.check(ctx, name), checkRange(from, to))
	if n < 1 || n > maxUpcoming {
		err = errors.Join(err, protocol.Invalid("n", strconv.Itoa(n), fmt.Sprintf("1 to %d", maxUpcoming)))
	}
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("chime: backfill times of schedule %.40q: %w", name, err)
	}
	found, plan, err := s.readPlan(ctx, name)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("chime: backfill times of schedule %q: %w", name, err)
	}
	times, next = plan.Between(from, backfillEnd(&found, plan, to), n)
	return times, next, nil
}

// readPlan reads a schedule, and compiles its definition.
func (s *Schedules) readPlan(ctx context.Context, name string) (protocol.Stored, *schedule.Plan, error) {
	found, err := s.store.Find(ctx, []string{name})
	switch {
	case err != nil:
		return protocol.Stored{}, nil, err
	case found[0].Name == "":
		return protocol.Stored{}, nil, ErrNotFound
	case found[0].Err != nil:
		return protocol.Stored{}, nil, found[0].Err
	}
	plan, err := schedule.Compile(found[0].Definition)
	return found[0], plan, err
}

// planOf is readPlan for a schedule that is placed. One that was created a moment ago, and not placed yet, is placed first.
func (s *Schedules) planOf(ctx context.Context, name string) (protocol.Stored, *schedule.Plan, error) {
	for placed := false; ; placed = true {
		found, plan, err := s.readPlan(ctx, name)
		if err != nil || placed || !found.Cursor.At.IsZero() || plan.State != protocol.StateLive {
			return found, plan, err
		}
		if _, err := s.place(ctx, schedule.OwedBy(&found)); err != nil {
			return protocol.Stored{}, nil, err
		}
	}
}

// backfilledBody is the job of an occurrence that does not come from the schedule's own cursor: with a body of its own.
func backfilledBody(plan *schedule.Plan, name string, at time.Time) []byte {
	job := plan.Job(name, at)
	var details wire.Details
	if job.Details != nil {
		details = *job.Details // the plan's are shared
	}
	details.Enqueued = time.Now()
	job.Details = &details
	return job.Encode()
}
