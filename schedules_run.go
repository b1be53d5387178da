package chime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
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

const (
	maxUpcoming = 1000
	maxSoonest  = 500
)

// Upcoming returns the planned instants of a schedule's next n runs, n from 1 to 1000, as it stands: fewer if its count or its end comes
// before that, none if it is paused or has completed; ErrNotFound if there is none of that name. An occurrence that is placed and that
// nobody has taken yet is the first of them, also where its instant has passed; so are those that are caught up. One that was cancelled is none of them. With a [Spread] each is due
// [Schedule.Offset] later. Nothing is placed for it, and whether a run will be skipped because the last one is not over nobody knows.
func (s *Schedules) Upcoming(ctx context.Context, name string, n int) ([]time.Time, error) {
	err := s.check(ctx, name)
	if err == nil && (n < 1 || n > maxUpcoming) {
		err = protocol.Invalid("n", strconv.Itoa(n), fmt.Sprintf("1 to %d", maxUpcoming))
	}
	if err != nil {
		return nil, fmt.Errorf("chime: upcoming runs of a schedule: %w", err)
	}
	found, plan, err := s.readPlan(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("chime: upcoming runs of schedule %q: %w", name, err)
	}
	return plan.UpcomingOf(&found, n), nil
}

// Soonest returns the n live schedules, 1 to 500, whose next occurrences are due first, over all queues, in that order; fewer if there are
// not so many. One that is owed its next occurrence, because the last one was taken a moment ago, stands where that will be, and has it as
// Next. A schedule that this program cannot read is left out; List tells of it.
//
// It looks at no more than 10,000 delayed jobs of each partition of a queue, and at 500 schedules that are owed: where more jobs than that
// wait for a retry, or where a backlog was declared a moment ago, schedules may be missing.
func (s *Schedules) Soonest(ctx context.Context, n int) ([]*Schedule, error) {
	err := s.usable(ctx)
	if err == nil && (n < 1 || n > maxSoonest) {
		err = protocol.Invalid("n", strconv.Itoa(n), fmt.Sprintf("1 to %d", maxSoonest))
	}
	if err != nil {
		return nil, fmt.Errorf("chime: soonest schedules: %w", err)
	}
	all, err := s.soonest(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("chime: soonest schedules: %w", err)
	}
	return all, nil
}

// soonest reads the schedules that the store names. An occurrence may be taken meanwhile: then its schedule is owed the next one.
func (s *Schedules) soonest(ctx context.Context, n int) ([]*Schedule, error) {
	coming, err := s.store.Soonest(ctx, n)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(coming))
	for i := range coming {
		names[i] = coming[i].Name
	}
	slices.Sort(names)
	found, err := s.store.Find(ctx, slices.Compact(names))
	if err != nil {
		return nil, err
	}
	var all []*Schedule
	for i := range found {
		if found[i].Name == "" {
			continue
		}
		one, err := stored(found[i])
		if err != nil || one.State != StateLive {
			continue
		}
		if one.Next.IsZero() {
			plan, err := schedule.Compile(found[i].Definition)
			if err != nil {
				continue
			}
			next := plan.UpcomingOf(&found[i], 1)
			if len(next) == 0 {
				continue
			}
			one.Next = next[0]
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b *Schedule) int {
		return cmp.Or(a.Next.Add(a.Offset).Compare(b.Next.Add(b.Offset)), cmp.Compare(a.Name, b.Name))
	})
	return all[:min(n, len(all))], nil
}
