package chime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// Queues shows the queues of a store, pauses and limits them. Create one with NewQueues; the zero value has no store.
type Queues struct {
	store protocol.Store
}

// NewQueues returns the queues of a store. It does no I/O.
func NewQueues(store Store) *Queues { return &Queues{store: protocolOf(store)} }

// QueueInfo describes a queue: its jobs at Now, and counters since it was created. It is the sum over all partitions. What workers hold (Running, Ahead,
// Vanished) is read a moment after what waits: a job that is taken or given to another worker in that moment is counted twice or not at all.
type QueueInfo struct {
	Name       string `json:"name"`       // the name of the queue
	Partitions int    `json:"partitions"` // the number of partitions: 1, unless redisstore.Options.Partitions gave the queue more
	Paused     bool   `json:"paused"`     // workers take no jobs from the queue; enqueuing and placing continue

	Note  Note  `json:"note,omitzero"`  // the note of the pause; if only At is set, there is no note
	Limit Limit `json:"limit,omitzero"` // see [Queues.Limit]

	// LimitUnreadable is true if the limit was edited in Redis so that it cannot be read. Then Limit is zero, and no job of the queue is taken until
	// [Queues.Limit] sets it again.
	LimitUnreadable bool `json:"limit_unreadable,omitempty"`

	Groups GroupCounts `json:"groups,omitzero"` // the counts of its groups; zero: no job is in a group, and groups have no rule and no pause

	Waiting   int64 `json:"waiting"`   // jobs to run now that nobody has taken yet, without occurrences that wait for an earlier one of their schedule to end
	Delayed   int64 `json:"delayed"`   // jobs due later: delayed ones, retries, placed occurrences
	Running   int64 `json:"running"`   // jobs that run
	Ahead     int64 `json:"ahead"`     // jobs that workers have taken ahead of a free slot, for at most 20 ms; -1: not known, because workers hold thousands; then Running has them too
	Vanished  int64 `json:"vanished"`  // jobs of workers that have vanished; within seconds they are given to other workers
	Parked    int64 `json:"parked"`    // jobs that wait for a worker that has a handler for them
	Dead      int64 `json:"dead"`      // jobs that have failed for good and are kept
	Schedules int64 `json:"schedules"` // schedules that place their jobs on it

	Sessions int64 `json:"sessions,omitempty"` // sessions of live workers that hold jobs, or held one in the last second; a worker has one for each partition

	// Outbox counts jobs that follow others of this queue, and are on their way to their own queues: see [OnDone].
	Outbox OutboxCounts `json:"outbox,omitzero"`

	// Oldest is when the job that has waited longest, among those that run next, began to wait: when it was enqueued, or due. Of jobs in groups it
	// considers the first job of each group that may start one; if there are more than 20 such groups, of the 10 whose turn is next and of the 10 that
	// hold the most slots for their weight. Zero: no such job waits, or that job has more than 64 KiB, or was requeued into a group.
	Oldest time.Time `json:"oldest,omitzero"`

	// Next is when the first of the delayed jobs is due, or was. If it is long past, no worker takes the job. Zero: none.
	Next time.Time `json:"next,omitzero"`

	Enqueued int64 `json:"enqueued"` // jobs enqueued, without occurrences of schedules
	Done     int64 `json:"done"`     // jobs that ended well
	Failed   int64 `json:"failed"`   // attempts that failed
	Retried  int64 `json:"retried"`  // failed attempts after which another one follows
	Died     int64 `json:"died"`     // jobs that became dead

	Cancelled int64 `json:"cancelled"` // jobs that Jobs.Cancel has ended
	Expired   int64 `json:"expired"`   // jobs that had not begun when their time was over, see Expire

	Now time.Time `json:"now"` // the store's clock
}

// InFlight returns the number of jobs that workers hold: those that run, those that were taken ahead, and those of vanished workers.
func (q *QueueInfo) InFlight() int64 { return q.Running + max(q.Ahead, 0) + q.Vanished }

// Get returns a queue; ErrNotFound if no job, schedule or worker has ever used it.
func (q *Queues) Get(ctx context.Context, queue string) (*QueueInfo, error) {
	if err := q.check(ctx, queue); err != nil {
		return nil, fmt.Errorf("chime: get queue %.40q: %w", queue, err)
	}
	infos, err := q.infos(ctx, []string{queue})
	if err != nil {
		return nil, fmt.Errorf("chime: get queue %q: %w", queue, err)
	}
	if len(infos) == 0 {
		return nil, fmt.Errorf("chime: get queue %q: %w", queue, ErrNotFound)
	}
	return infos[0], nil
}

// List returns every queue that a job, a schedule or a worker has used, in the order of the names. Invalid entries of the store's registry
// are skipped.
func (q *Queues) List(ctx context.Context) ([]*QueueInfo, error) {
	if err := q.ready(ctx); err != nil {
		return nil, fmt.Errorf("chime: list queues: %w", err)
	}
	names, err := q.names(ctx)
	if err == nil {
		var infos []*QueueInfo
		if infos, err = q.infos(ctx, names); err == nil {
			return infos, nil
		}
	}
	return nil, fmt.Errorf("chime: list queues: %w", err)
}

// names returns all names, in order, without repetitions.
func (q *Queues) names(ctx context.Context) ([]string, error) {
	var all []string
	for cursor := ""; ; {
		some, next, err := q.store.Queues(ctx, cursor)
		if err != nil {
			return nil, err
		}
		for _, queue := range some {
			all = append(all, queue.Queue)
		}
		if cursor = next; cursor == "" {
			slices.Sort(all)
			return slices.Compact(all), nil
		}
	}
}

// Pause stops taking jobs from a queue until Resume; ErrNotFound if the queue was never used. Running jobs continue, and so do enqueuing and
// the placing of occurrences. A pause survives restarts. A note is shown in QueueInfo; if several are given, the last one counts. A queue that
// is already paused remains paused, and keeps its note unless a new one is given.
func (q *Queues) Pause(ctx context.Context, queue string, note ...Note) error {
	var kept Note
	for _, n := range note {
		if err := n.validate(); err != nil {
			return fmt.Errorf("chime: pause queue %.40q: %w", queue, err)
		}
		kept = n
	}
	return q.pause(ctx, "pause", queue, true, kept)
}

// Resume ends the pause of a queue; ErrNotFound if the queue was never used. A queue that is not paused does not change.
func (q *Queues) Resume(ctx context.Context, queue string) error {
	return q.pause(ctx, "resume", queue, false, Note{})
}

func (q *Queues) pause(ctx context.Context, action, queue string, paused bool, note Note) error {
	if err := q.check(ctx, queue); err != nil {
		return fmt.Errorf("chime: %s queue %.40q: %w", action, queue, err)
	}
	if err := q.store.PauseQueue(ctx, queue, paused, protocol.Note(note)); err != nil {
		return fmt.Errorf("chime: %s queue %q: %w", action, queue, err)
	}
	return nil
}

// Delete removes a queue if it is empty: if it has no jobs in any state, no kept results and no schedules. If the queue is not empty, it remains,
// and the error is an ErrConflict whose text has the numbers of its jobs, results and schedules. [Queues.Purge] and [Schedules.Delete] remove jobs
// and schedules; results expire as Keep sets. Delete also removes the queue's pause, its limit, its counters, and the times for which Once bars
// IDs.
//
// Using its name later creates the queue again, with the same number of partitions. An enqueuer or a schedule does that; so does a worker that
// serves it, within four minutes. A job that is enqueued meanwhile is never lost: either Delete finds it, or the queue is created again.
//
// If Delete fails for another reason it may be called again. ErrNotFound: no job, schedule or worker has ever used the queue, or it is deleted.
func (q *Queues) Delete(ctx context.Context, queue string) error {
	if err := q.check(ctx, queue); err != nil {
		return fmt.Errorf("chime: delete queue %.40q: %w", queue, err)
	}
	remains, err := q.store.DeleteQueue(ctx, queue)
	if err == nil && remains != (protocol.QueueRemains{}) {
		err = &queueInUse{remains}
	}
	if err != nil {
		return fmt.Errorf("chime: delete queue %q: %w", queue, err)
	}
	return nil
}

// A queueInUse is the ErrConflict for a queue that is not deleted.
type queueInUse struct{ remains protocol.QueueRemains }

func (e *queueInUse) Error() string {
	return fmt.Sprintf("it is in use and not deleted: it has %v; purge it, delete its schedules, wait for its running jobs, and try again", e.remains)
}

func (e *queueInUse) Unwrap() error { return ErrConflict }

// check refuses invalid input before a call to the store.
func (q *Queues) check(ctx context.Context, queue string) error {
	if err := q.ready(ctx); err != nil {
		return err
	}
	return protocol.CheckName("queue", queue)
}

func (q *Queues) ready(ctx context.Context) error {
	switch {
	case q.store == nil:
		return errNilStore
	case ctx == nil:
		return errNilContext
	}
	return nil
}

// infos returns those of the queues that exist.
func (q *Queues) infos(ctx context.Context, queues []string) ([]*QueueInfo, error) {
	stats, err := q.store.QueueStats(ctx, queues)
	if err != nil {
		return nil, err
	}
	infos := make([]*QueueInfo, 0, len(stats))
	for _, s := range stats {
		if s.Partitions == 0 {
			continue
		}
		if s.AheadUnknown {
			s.Running, s.Ahead = s.Running+s.Ahead, -1
		}
		infos = append(infos, &QueueInfo{
			Name: s.Queue, Partitions: s.Partitions, Paused: s.Paused, Note: Note(s.Note), Limit: Limit(s.Limit), Groups: groupCounts(s.Groups), LimitUnreadable: s.LimitUnreadable,
			Outbox:  OutboxCounts(s.Outbox),
			Waiting: s.Waiting, Delayed: s.Delayed, Running: s.Running, Ahead: s.Ahead, Vanished: s.Vanished, Parked: s.Parked, Dead: s.Dead, Schedules: s.Schedules, Sessions: s.Sessions, Oldest: oldest(&s), Next: s.FirstDue,
			Enqueued: s.Enqueued, Done: s.Done, Failed: s.Failed, Retried: s.Retried, Died: s.Died, Cancelled: s.Cancelled, Expired: s.Expired, Now: s.Now.UTC(),
		})
	}
	return infos, nil
}

// oldest returns since when the longest-waiting job waits, of those at the front of each partition, of those that are due, and of those that groups
// start next.
func oldest(s *protocol.QueueStats) (since time.Time) {
	if s.FirstDue.Before(s.Now) {
		since = s.FirstDue
	}
	if at := s.FirstInLine; !at.IsZero() && (since.IsZero() || at.Before(since)) {
		since = at
	}
	for _, head := range s.Heads {
		at := time.Time{}
		if len(head.Body) > 0 {
			message, err := wire.DecodeEnvelope(head.Body)
			if err == nil {
				at = message.Planned
			}
		} else if _, instant, ok := protocol.CutOccurrence(head.ID); ok {
			at, _ = time.Parse(time.RFC3339, instant) // zero if it is not an instant
		}
		if !at.IsZero() && (since.IsZero() || at.Before(since)) {
			since = at
		}
	}
	return since.UTC()
}

// A GroupSum counts groups of a queue that have jobs waiting to run now: those that may start one, and the others by the reason that holds them up. If
// several reasons apply to a group, it is counted for the first of them in the order of [GroupBlock]. A pause and a limit of the queue do not count: they
// hold up all groups.
type GroupSum struct {
	MayStart GroupTally `json:"may_start"` // the next job may start
	Paused   GroupTally `json:"paused"`    // the group is paused
	Ordered  GroupTally `json:"ordered"`   // it is ordered, and a job of it has not ended
	Running  GroupTally `json:"running"`   // as many of its jobs run as its rule allows
	Starts   GroupTally `json:"starts"`    // as many of its jobs have started within Per as its rule allows

	Now  time.Time `json:"now"`            // the store's clock
	Next string    `json:"next,omitempty"` // the group after which the count continues; empty: all groups after the given one are counted
}

// A GroupTally counts groups of one kind.
type GroupTally struct {
	Groups int64 `json:"groups"` // how many

	// Oldest is about when the job began to wait that has waited longest, among the jobs that are first in their groups. Requeued jobs are left out:
	// their place does not show since when they wait. Zero: no group, or only groups whose first job was requeued.
	Oldest time.Time `json:"oldest,omitzero"`
	Group  string    `json:"group,omitempty"` // the group of that job
}

// Plus returns the sum of two tallies, with the older of the two jobs.
func (t GroupTally) Plus(other GroupTally) GroupTally {
	t.Groups += other.Groups
	if !other.Oldest.IsZero() && (t.Oldest.IsZero() || other.Oldest.Before(t.Oldest)) {
		t.Oldest, t.Group = other.Oldest, other.Group
	}
	return t
}

// Blocked returns the tally of all groups that may not start their next job.
func (s GroupSum) Blocked() GroupTally {
	return s.Paused.Plus(s.Ordered).Plus(s.Running).Plus(s.Starts)
}

// Plus returns the sum of this sum and of the next groups: it has Now and Next of other.
func (s GroupSum) Plus(other GroupSum) GroupSum {
	return GroupSum{
		MayStart: s.MayStart.Plus(other.MayStart), Paused: s.Paused.Plus(other.Paused), Ordered: s.Ordered.Plus(other.Ordered),
		Running: s.Running.Plus(other.Running), Starts: s.Starts.Plus(other.Starts), Now: other.Now, Next: other.Next,
	}
}

// CountGroups counts groups of a queue that have jobs waiting: at most 500, those after the group after, in the order of their keys. An empty after begins
// with the first group. To count all groups, continue with Next, and add the sums with Plus; a group that changes meanwhile may be counted twice or not at
// all. A call takes the store about 2 ms, and writes nothing. QueueInfo.Groups has counts that take it no time, but not of blocked groups.
//
// CountGroups fails with ErrNotFound if no job, schedule or worker has ever used the queue, and with an [InvalidError] for a queue with several partitions
// and if after cannot be the key of a group.
func (q *Queues) CountGroups(ctx context.Context, queue, after string) (*GroupSum, error) {
	err := q.check(ctx, queue)
	if after != "" {
		err = errors.Join(err, protocol.CheckID("after", after))
	}
	var sum protocol.GroupSum
	if err == nil {
		sum, err = q.store.CountGroups(ctx, queue, after)
	}
	if err != nil {
		return nil, fmt.Errorf("chime: count groups of queue %.40q: %w", queue, err)
	}
	return &GroupSum{
		MayStart: groupTally(sum.MayStart), Paused: groupTally(sum.Paused), Ordered: groupTally(sum.Ordered), Running: groupTally(sum.Running),
		Starts: groupTally(sum.Starts), Now: sum.Now.UTC(), Next: sum.Next,
	}, nil
}

func groupTally(t protocol.GroupTally) GroupTally {
	return GroupTally{Groups: t.Groups, Oldest: t.Since.UTC(), Group: t.Key}
}

// Purge deletes the jobs of a queue, and keeps nothing of them: waiting, delayed, retrying, parked and dead ones, also those of schedules. It does
// not delete: jobs that workers hold; the next occurrence of each schedule, if no worker has taken it yet; occurrences that wait for the turn of
// their [Group]; kept results; the schedules; the queue itself. again is the queue's name once more, as a protection against mistakes.
//
// It works in steps of at most 500 jobs. After each step it calls progress, unless that is nil, with the sum of all steps. Jobs that come after
// Purge began remain: all that are enqueued to run now, and all that are parked or become dead since. Delayed and retrying jobs are deleted last,
// in the order in which they are due. When Purge comes to them it counts them, and reads only that many. Until a job is purged it exists, so
// enqueuing another one with its ID adds nothing. Nor does it once if an earlier call with this ID has failed with an unknown outcome, see [ID].
//
// If ctx ends, or the store fails, Purge stops and returns what it has done, with the error. If a worker or a scheduler runs, the jobs that
// were waiting are still deleted, within minutes; only the others need another call. ErrNotFound: no job, schedule or worker has ever used
// the queue.
func (q *Queues) Purge(ctx context.Context, queue, again string, progress func(BulkResult)) (BulkResult, error) {
	p := purge{queues: q, queue: queue, progress: progress}
	err := q.check(ctx, queue)
	if again != queue {
		err = errors.Join(err, protocol.Invalid("again", again, "the queue's name once more"))
	}
	if err == nil {
		err = p.run(ctx)
	}
	if err != nil {
		err = fmt.Errorf("chime: purge queue %.40q: %w", queue, err)
	}
	return p.result, err
}

// A purge deletes the jobs of a queue.
type purge struct {
	queues   *Queues
	queue    string
	progress func(BulkResult)
	result   BulkResult
	reported BulkResult // the last value that progress got
}

func (p *purge) run(ctx context.Context) error {
	stats, err := p.queues.store.QueueStats(ctx, []string{p.queue})
	switch {
	case err != nil:
		return err
	case stats[0].Partitions == 0:
		return ErrNotFound
	}
	began := stats[0].Now.Add(time.Millisecond)
	for index := range stats[0].Partitions { // in all of them, so that later jobs remain
		done, err := p.queues.store.BeginPurge(ctx, protocol.Partition{Queue: p.queue, Index: index})
		if p.add(done); err != nil {
			return err
		}
	}
	for index := range stats[0].Partitions {
		if err := p.waiting(ctx, protocol.Partition{Queue: p.queue, Index: index}); err != nil {
			return err
		}
	}
	for _, state := range []JobState{JobParked, JobDead, JobDelayed, JobRetrying} {
		if err := p.others(ctx, state, began); err != nil {
			return err
		}
	}
	return nil
}

// waiting deletes the jobs of a partition that waited when the purge began.
func (p *purge) waiting(ctx context.Context, partition protocol.Partition) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		done, err := p.queues.store.PurgeStep(ctx, partition)
		if p.add(done); err != nil || !done.More {
			return err
		}
	}
}

// others deletes the jobs of another state.
func (p *purge) others(ctx context.Context, state JobState, began time.Time) error {
	jobs := &Jobs{store: p.queues.store}
	b := bulk{
		jobs: jobs, filter: JobFilter{Queue: p.queue, State: state}, states: []JobState{state}, change: jobs.delete,
		progress: p.report, before: p.result,
	}
	if state == JobParked || state == JobDead {
		b.filter.Before = began
	}
	done, err := b.run(ctx)
	p.result = p.result.plus(done)
	return err
}

// add adds the result of a step.
func (p *purge) add(done protocol.PurgeAnswer) {
	p.result = p.result.plus(BulkResult{Changed: done.Changed, Gone: done.Looked - done.Changed, Looked: done.Looked})
	p.report(p.result)
}

// report passes the result so far to progress, if it has changed.
func (p *purge) report(so BulkResult) {
	if p.progress != nil && so != p.reported {
		p.reported = so
		p.progress(so)
	}
}
