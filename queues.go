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

// Queues shows what is on the queues of a store, pauses and limits them. NewQueues makes one; the zero value has no store.
type Queues struct {
	store protocol.Store
}

// NewQueues returns the queues of a store. It does no I/O.
func NewQueues(store Store) *Queues { return &Queues{store: protocolOf(store)} }

// QueueInfo is a queue as it stands: what it holds at Now, and what has happened on it since it was first seen. All its
// partitions are counted together.
type QueueInfo struct {
	Name       string `json:"name"`       // of the queue
	Partitions int    `json:"partitions"` // 1, unless redisstore.Options.Partitions gave it more
	Paused     bool   `json:"paused"`     // nothing is taken from it; enqueuing and placing go on

	Note  Note  `json:"note,omitzero"`  // of the pause; At alone: it has no note
	Limit Limit `json:"limit,omitzero"` // see [Queues.Limit]

	Waiting   int64 `json:"waiting"`   // jobs to run now that nobody has taken yet, without occurrences that wait for an earlier one of their schedule to end
	Delayed   int64 `json:"delayed"`   // jobs due later: delayed ones, retries, placed occurrences
	Running   int64 `json:"running"`   // jobs that workers hold: those that run, and those taken ahead of a free slot, which wait for at most 20 ms
	Parked    int64 `json:"parked"`    // jobs that wait for a worker that has a handler for them
	Dead      int64 `json:"dead"`      // jobs that were given up and are kept
	Schedules int64 `json:"schedules"` // schedules that live on it

	Sessions int64 `json:"sessions,omitempty"` // of workers, one a partition, that hold jobs or have held one within the last second

	// Oldest is since when that job waits which has waited longest of those to run next: when it was enqueued, or due. Zero: none waits, or
	// it is one of more than 64 KiB.
	Oldest time.Time `json:"oldest,omitzero"`

	Enqueued int64 `json:"enqueued"` // jobs enqueued, without occurrences of schedules
	Done     int64 `json:"done"`     // jobs that ended well
	Failed   int64 `json:"failed"`   // attempts that failed
	Retried  int64 `json:"retried"`  // failed attempts that another one follows
	Died     int64 `json:"died"`     // jobs that were given up

	Cancelled int64 `json:"cancelled"` // jobs that Jobs.Cancel has ended

	Now time.Time `json:"now"` // the store's clock
}

// Get returns a queue; ErrNotFound if no job, schedule or worker has ever named it.
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

// List returns every queue that a job, a schedule or a worker has named, in the order of the names. An entry of the store's registry
// that is no queue's is passed over.
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

// names are all names, in order, each once.
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

// Pause stops taking jobs from a queue until Resume; ErrNotFound if it was never named. Jobs that run go on, and so do
// enqueuing and the placing of occurrences. It outlives restarts. With a note, of which the last counts, QueueInfo says why. A queue that is
// paused already stays so, with its note unless another one is given.
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

// Resume lets a paused queue go on; ErrNotFound if it was never named. A queue that is not paused stays so.
func (q *Queues) Resume(ctx context.Context, queue string) error {
	return q.pause(ctx, "resume", queue, false, Note{})
}

func (q *Queues) pause(ctx context.Context, act, queue string, paused bool, note Note) error {
	if err := q.check(ctx, queue); err != nil {
		return fmt.Errorf("chime: %s queue %.40q: %w", act, queue, err)
	}
	if err := q.store.PauseQueue(ctx, queue, paused, protocol.Note(note)); err != nil {
		return fmt.Errorf("chime: %s queue %q: %w", act, queue, err)
	}
	return nil
}

// Delete removes a queue on which nothing is: no job in any state, no result that is kept, no schedule. Else the queue stays, with an
// ErrConflict that says how many there are of what: [Queues.Purge] and [Schedules.Delete] take them away, results last as long as Keep says.
// With it go its pause, its limit, its counts, and for how long an ID is not to be enqueued again, as Once says.
//
// Who uses its name later makes the queue anew, with as many partitions as it had: so does an enqueuer, a schedule, or a worker that serves
// it, within four minutes. A job that is enqueued meanwhile is never lost: either Delete finds it, or the queue is a new one.
//
// If it fails for another reason it may be called again. ErrNotFound: no job, schedule or worker has ever named the queue, or it is deleted.
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

// A queueInUse is the ErrConflict of a queue that is not deleted.
type queueInUse struct{ remains protocol.QueueRemains }

func (e *queueInUse) Error() string {
	return fmt.Sprintf("it is in use and stays: it has %v; purge it, delete its schedules, wait for what runs, and try again", e.remains)
}

func (e *queueInUse) Unwrap() error { return ErrConflict }

// check refuses what no call to the store is needed for.
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

// infos returns those of the queues that there are.
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
		infos = append(infos, &QueueInfo{
			Name: s.Queue, Partitions: s.Partitions, Paused: s.Paused, Note: Note(s.Note), Limit: Limit(s.Limit),
			Waiting: s.Waiting, Delayed: s.Delayed, Running: s.Running, Parked: s.Parked, Dead: s.Dead, Schedules: s.Schedules, Sessions: s.Sessions, Oldest: oldest(&s),
			Enqueued: s.Enqueued, Done: s.Done, Failed: s.Failed, Retried: s.Retried, Died: s.Died, Cancelled: s.Cancelled, Now: s.Now.UTC(),
		})
	}
	return infos, nil
}

// oldest is since when the job waits that has waited longest of those at the front of each partition and of those that are due.
func oldest(s *protocol.QueueStats) (since time.Time) {
	if s.FirstDue.Before(s.Now) {
		since = s.FirstDue
	}
	for _, head := range s.Heads {
		at := time.Time{}
		if len(head.Body) > 0 {
			message, err := wire.DecodeEnvelope(head.Body)
			if err == nil {
				at = message.Planned
			}
		} else if _, instant, ok := protocol.CutOccurrence(head.ID); ok {
			at, _ = time.Parse(time.RFC3339, instant) // zero where it is none
		}
		if !at.IsZero() && (since.IsZero() || at.Before(since)) {
			since = at
		}
	}
	return since.UTC()
}

// Purge deletes the jobs of a queue, and keeps nothing of them: waiting, delayed, retrying, parked and dead ones, also those of schedules. What
// stays: jobs that workers hold; the next occurrence of each schedule, which nobody has taken yet; results that are kept; the schedules
// themselves and the queue. again is the queue's name once more, so that nobody purges a queue by a slip.
//
// It goes in steps of at most 500 jobs, and after each progress, unless it is nil, hears of all that was done so far. What comes after
// Purge began stays: all that is enqueued to run now; what is parked or given up since. Of delayed and retrying jobs it looks at as many as there are when their
// turn comes, which is last, those first that are due first. Until its turn comes, a job that is to be purged counts as existing for who enqueues another one with its ID.
//
// If ctx ends, or the store fails, it stops and returns what it has done, with the error. The jobs that waited go nevertheless, within minutes, if a
// worker or a scheduler runs: only the others need another call. ErrNotFound: no job, schedule or worker has ever named the queue.
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
	told     BulkResult // what progress has heard last
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
	for index := range stats[0].Partitions { // in all of them, so that what comes from now on stays
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
		progress: p.tell, before: p.result,
	}
	if state == JobParked || state == JobDead {
		b.filter.Before = began
	}
	done, err := b.run(ctx)
	p.result = p.result.plus(done)
	return err
}

// add notes what a step has done.
func (p *purge) add(done protocol.PurgeAnswer) {
	p.result = p.result.plus(BulkResult{Changed: done.Changed, Gone: done.Looked - done.Changed, Looked: done.Looked})
	p.tell(p.result)
}

// tell tells progress how far the purge is, if anything was done since.
func (p *purge) tell(so BulkResult) {
	if p.progress != nil && so != p.told {
		p.told = so
		p.progress(so)
	}
}
