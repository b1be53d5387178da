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

// Trigger runs a schedule's job once, now or at the time of [In] or [At], also if the schedule is paused or completed. ErrNotFound: no schedule has
// that name. ErrMaxUnfinished: the schedule has its maximum of unfinished runs, see [MaxUnfinished], and no run with that ID. ErrGroupFull: the run's
// group has as many jobs waiting as its rule allows, and the run was to begin now. The run is a separate job: it uses up no run of the schedule, changes no planned occurrence, and may run beside an occurrence with any overlap policy. The run goes to the
// schedule's queue and has the schedule's name in [Job.Schedule]. Its planned instant is when the run was accepted.
//
// Settings that the call does not have are taken from the schedule: the job's name, Args, MaxAttempts, Timeout, Retry, Keep, OnDone and OnDeath; a Header
// has the entries of both. If neither sets MaxAttempts, it is 5, as for an occurrence. The schedule's settings are those of now: a later change
// does not reach a waiting run. With Keep, [Jobs.Wait] can wait for its end.
//
// The run's ID is the schedule's name, "#", and 14 characters, or the text of the option ID: 1 to 200 bytes. With the option ID, no other run is
// added while a run with that ID exists. None is added either within 24 hours after that run was accepted; the option Once sets another time. The
// receipt has the ID also after an error of the store, when the run may exist or not. Then repeat the call with ID(receipt.ID), which is safe: an
// ID that begins with the schedule's name and "#" is used unchanged. IDs are known on the schedule's queue: after a move to another queue, the same
// ID runs again. If the name of one schedule begins with the name of another one and "#" ("a" and "a#b"), the two share the IDs that begin with the
// longer name.
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
	if found[0].Refused != nil {
		return receipt, found[0].Refused
	}
	d, err := schedule.Read(found[0].Definition)
	if err != nil {
		return receipt, err
	}
	if d.Sealed != nil {
		return receipt, protocol.SealedBy(d.Sealed)
	}
	job, err := run.job(receipt.Queue, d)
	if err != nil {
		return receipt, err
	}
	sent, err := s.enqueuer.One(ctx, job)
	receipt.Existing, receipt.Full = sent.Existing, sent.Full
	if err == nil && receipt.Existing {
		fillStates(ctx, s.store, []*Receipt{&receipt})
	}
	return receipt, err
}

// manualOnce is how long the ID of a manual run bars another one, if the caller has set an ID and no Once.
const manualOnce = 24 * time.Hour

// A manualRun is a call of Trigger.
type manualRun struct {
	triggerSettings
	schedule string
	id       string // of the job
	payload  []byte // if args were given
}

// newManualRun checks the options of a call. It returns all problems, joined.
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

// job returns the job to enqueue. Settings that the call does not have come from the schedule's definition.
func (r *manualRun) job(queue string, d *schedule.Definition) (*enqueue.Job, error) {
	stored := jobSettings{attemptSettings: attemptSettings{maxAttempts: d.MaxAttempts, timeout: d.Timeout}, group: d.Group}
	if of := d.Details; of != nil {
		stored.retry, stored.header, stored.keep, stored.onDone, stored.onDeath = of.Retry, of.Header, of.Keep, of.OnDone, of.OnDeath
	}
	said := r.jobSettings.or(stored)
	if err := checkHeaderSize(said.header); err != nil {
		return nil, fmt.Errorf("with the schedule's entries: %w", err)
	}
	groups, err := checkFollowers(said.details(), queue)
	if err != nil {
		return nil, err
	}
	payload := d.Payload
	if r.other {
		payload = r.payload
	}
	return &enqueue.Job{
		Name: d.JobName, Queue: queue, ID: r.id, Own: r.own, Once: r.once, Schedule: r.schedule, MaxUnfinished: d.MaxUnfinished, In: r.in, At: r.at, Expire: r.expire,
		MaxAttempts: said.maxAttempts, Timeout: said.timeout, Details: said.details(), Group: said.group, FollowsIn: groups, Args: payload,
	}, nil
}

// Backfilled is the result of [Schedules.Backfill].
type Backfilled struct {
	Placed   int       `json:"placed"`            // occurrences that run now
	Skipped  int       `json:"skipped,omitempty"` // occurrences that were not placed, because the schedule had its maximum of unfinished runs, see [MaxUnfinished]
	Existing int       `json:"existing"`          // occurrences that already wait, run, are to be retried or are parked
	Next     time.Time `json:"next,omitzero"`     // the range from here on remains: call again; zero: the range is finished
}

// Backfill runs a schedule's occurrences at or after from and before to, each with its own planned instant and ID, even if they ran before: a new
// schedule can run for last year, and a schedule with wrong results can run again. A call places at most 500 occurrences, the oldest first, and
// fewer if arguments are long: about 1 MiB of jobs. Next is where the next call must begin:
//
//	for from := begin; !from.IsZero(); {
//		filled, err := schedules.Backfill(ctx, name, from, end)
//		...
//		from = filled.Next
//	}
//
// The instants are those of the schedule's stored recurrence, in its time zone, from its StartTime to its EndTime. Without a StartTime the rule is
// also extended to instants before the schedule's creation, with the same period and phase as after it. The run at creation is not included. The
// last instant is that of the last occurrence that the schedule itself has placed, or the instant that a change or a pause has set instead. Later
// instants will be placed by the schedule itself. A later "to" counts as that last instant. So for a paused schedule you can run what it missed
// before the pause, and for a resumed or completed one everything up to that last instant. Backfilled occurrences use up nothing of the Count, the
// misfire policy ignores them, and they change no planned occurrence.
//
// An occurrence that already waits for a worker, runs, is to be retried or is parked is not placed again, but counted in Existing. A dead one
// starts again with its first attempt; one that ended long ago runs again. Concurrent calls place each occurrence once, as long as it has not
// ended; calling again for a range that has ended runs it again.
//
// With OverlapAllow all placed occurrences wait for workers like other jobs. With every other policy they run one after the other, the oldest
// first, and never beside an occurrence of the schedule. The schedule's own next occurrence has priority over all that wait. A backfilled
// occurrence in its first attempt is not cancelled when the schedule's own occurrence is due, and does not cause that one to be skipped. So the
// schedule's own occurrence waits for at most one backfilled run. A backfilled occurrence that failed waits for its retry while others run, like
// every retry. With OverlapCancel it ends as superseded if a later occurrence is running when its retry is due. Backfilled attempts are recorded
// like all others: in [Schedules.Runs], Schedule.Last, Unfinished (from now on), and the counters Done, Failed, Dead, Superseded and Cancelled, but
// not in Placed and Started. Occurrences that wait for their turn are listed as waiting jobs but are not counted in [QueueInfo].Waiting. They run
// with the schedule's current arguments, even if the schedule is later changed, paused or deleted; [Jobs.Cancel] and Delete with DeleteWaiting end
// the waiting ones. After the schedule moves to another queue, occurrences that were placed before run in the old queue, and a call does not find
// them there.
//
// Cost: a waiting occurrence is stored with its arguments, like a job, so a year of hours takes some MB. A call makes few requests. Each has at
// most 500 occurrences, or 2,000 divided by the number of worker sessions of the queue if that is less.
//
// If from is zero, before 1970 or after 2199, or to is before from, the error is an *InvalidError. ErrNotFound: no schedule has that name. If this
// program cannot read the definition, that is an error and nothing changes. If somebody changes or moves the schedule meanwhile, the call
// reads it again and continues; if that happens repeatedly, the error is a *[ConflictError]. With any error the counts contain what is known to
// be done, and Next where to continue. If a reply was lost, some occurrences may be placed that are not counted.
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

// checkRange refuses a range that is empty by mistake, or whose instants cannot be stored.
func checkRange(from, to time.Time) error {
	if year := from.UTC().Year(); year < 1970 || year > 2199 {
		return protocol.Invalid("from", from.UTC().Format(time.RFC3339), "the years 1970 to 2199")
	}
	if to.Before(from) {
		return protocol.Because(protocol.Invalid("to", to.UTC().Format(time.RFC3339), "from or later"), "is before from")
	}
	return nil
}

// backfill places the next occurrences from filled.Next on, and adds them to filled.
func (s *Schedules) backfill(ctx context.Context, name string, to time.Time, filled *Backfilled) error {
	found, plan, err := s.planOf(ctx, name)
	if err != nil {
		return err
	}
	if plan.Sealed != nil {
		return protocol.SealedBy(plan.Sealed)
	}
	if found.Refused != nil {
		return found.Refused
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
		answer, err = s.store.Backfill(ctx, protocol.Backfilling{Name: name, Revision: plan.Revision, MaxUnfinished: plan.MaxUnfinished, Group: plan.Group, Jobs: jobs})
	}
	filled.Placed += answer.Placed
	filled.Existing += answer.Existing
	filled.Skipped += answer.Full
	if filled.Next = next; answer.Done < len(times) {
		filled.Next = times[answer.Done]
	}
	return err
}

// backfillEnd returns the end of a range that may run again: later occurrences than the schedule's cursor belong to the schedule.
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

// BackfillTimes returns the planned instants of the occurrences that [Schedules.Backfill] would read in a range, the oldest first: at most n,
// 1 to 1000. next is where to continue; zero: there are no more. It changes nothing, and does not check which of them already wait or run. Its
// errors are those of Backfill.
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

// planOf is readPlan for a schedule that is placed. If it was created a moment ago and is not placed yet, planOf places it first.
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

// backfilledBody returns the job of an occurrence that does not come from the schedule's own cursor: it has its own body.
func backfilledBody(plan *schedule.Plan, name string, at time.Time) []byte {
	job := plan.Job(name, at)
	var details wire.Details
	if job.Details != nil {
		details = *job.Details // a copy: the plan's details are shared
	}
	details.Enqueued = time.Now()
	job.Details = &details
	return job.Encode()
}

const (
	maxUpcoming = 1000
	maxSoonest  = 500
)

// Upcoming returns the planned instants of a schedule's next n runs, n from 1 to 1000. Upcoming returns fewer if the schedule's count or end comes
// before that, and nothing if the schedule is paused or completed. ErrNotFound: no schedule has that name. An occurrence that is placed and not yet
// taken is the first of them, even if its instant has passed; occurrences that are caught up come first too. A cancelled one is not included. With
// a [Spread] each is due [Schedule.Offset] later. Upcoming places nothing, and cannot predict whether a run will be skipped because the last one
// still runs.
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

// Soonest returns the n live schedules, 1 to 500, whose next occurrences are due first, over all queues, in that order; fewer if fewer exist. If
// a schedule waits for its next occurrence to be placed, because the last one was taken a moment ago, it is sorted by that next occurrence, and
// its Next is set to it. A schedule that this program cannot read is left out; List returns it with an error.
//
// It reads at most 10,000 delayed jobs of each partition of a queue, and 500 schedules that wait to be placed: if more jobs than that
// wait for a retry, or if many schedules were declared a moment ago, schedules may be missing.
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

// soonest reads the schedules that the store returns. An occurrence may be taken meanwhile: then its schedule's next one is computed.
func (s *Schedules) soonest(ctx context.Context, n int) ([]*Schedule, error) {
	coming, err := s.store.Soonest(ctx, n, nil)
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
