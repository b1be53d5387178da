package enqueue

import (
	"container/list"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	maxOutcomes = 100_000 // jobs
	outcomeAge  = time.Hour
	// If the store does not know a call that is younger than sealAge, the call was not carried out: the store remembers the last call of an
	// enqueuer for an hour.
	sealAge = 50 * time.Minute
)

// outcomes remembers the jobs whose caller has received an error although the store has them, or may have them. A caller that repeats such a
// job under its ID receives the answer that the job exists, even if it has ended meanwhile.
//
//	                              the store answers
//	under way ─────────────────────────────────────────────────► carried out ──repeated──► answered, not sent
//	    │                                      the seal: yes          ▲
//	    └── its time is up ──► unknown, ─────────────────────────────┘
//	                           unsealed        the seal: no, and not later
//	                              └──────────────────────────────► forgotten ──repeated──► sent
//
// A call that is under way is not in outcomes. The goroutine that sends for its partition adds it when the answer comes, before the next call
// to that partition, which may contain the repetition. A partition has at most one unsealed call: it is sealed before the next one. So when a
// repetition is about to be sent, the outcome of the first call is known.
//
// If an ID is the application's own, it is answered once: the next job with this ID may be another one. A job that this process cancels or deletes
// is forgotten, so its ID can be enqueued again.
type outcomes struct {
	size     atomic.Int64              // of all maps below: 0 lets a call skip the lock
	removals func() *protocol.Removals // nil in tests

	mu       sync.Mutex
	watching bool                     // for removed jobs: while something is remembered
	known    map[jobKey]*list.Element // carried out
	oldest   list.List                // of knownJob, by age
	unsealed map[protocol.Partition]*unsealedCall
	growths  map[jobKey]*unsealedCall // unsealed calls that have added jobs to batches, by these jobs
	grown    time.Time                // no growth began earlier
	unknown  int                      // jobs in unsealed and growths
}

type jobKey struct {
	partition protocol.Partition
	id        string
}

type knownJob struct {
	jobKey
	own bool
	at  time.Time
}

// An unsealedCall is a call whose outcome is unknown. It is carried out as a whole, or not at all. If it was, the seal returns which of its jobs were refused: those
// whose group was full, and manual runs of schedules with too many unfinished runs.
type unsealedCall struct {
	caller string // that of the queue at that time: a queue that was not used for long gets another one
	number int64
	seal   int64 // the number of the seal; 0: none was sent
	began  time.Time
	jobs   int
	items  []unsealedItem // without jobs that were removed since
}

type unsealedItem struct {
	id    string
	own   bool
	index int // in the call
}

// add remembers items that the store has carried out.
func (o *outcomes) add(partition protocol.Partition, items []protocol.EnqueueItem) {
	if len(items) == 0 {
		return
	}
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.watch()
	for i := range items {
		o.addOne(partition, items[i].ID, items[i].Own, now)
	}
	o.bound(now)
}

func (o *outcomes) addOne(partition protocol.Partition, id string, own bool, now time.Time) {
	job := knownJob{jobKey: jobKey{partition, id}, own: own, at: now}
	if element := o.known[job.jobKey]; element != nil {
		element.Value = job
		o.oldest.MoveToBack(element)
		return
	}
	job.id = strings.Clone(job.id) // it may share the memory of many IDs
	if o.known == nil {
		o.known = make(map[jobKey]*list.Element)
	}
	o.known[job.jobKey] = o.oldest.PushBack(job)
}

// newUnsealed returns a call whose outcome is unknown. began: by this process's clock.
func newUnsealed(caller string, number int64, items []protocol.EnqueueItem, began time.Time) *unsealedCall {
	unsealed := &unsealedCall{caller: caller, number: number, began: began, jobs: len(items), items: make([]unsealedItem, len(items))}
	for i := range items {
		unsealed.items[i] = unsealedItem{strings.Clone(items[i].ID), items[i].Own, i}
	}
	return unsealed
}

// addUnknown remembers a call whose outcome is unknown, and when it began by this process's clock.
func (o *outcomes) addUnknown(call *protocol.EnqueueCall, began time.Time) {
	unsealed := newUnsealed(call.Caller, call.Number, call.Items, began)
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.watch()
	o.forget(call.Partition)
	if o.unsealed == nil {
		o.unsealed = make(map[protocol.Partition]*unsealedCall)
	}
	o.unsealed[call.Partition] = unsealed
	o.unknown += len(unsealed.items)
	o.bound(time.Now())
}

// unsealedOf returns the unsealed call of a partition; nil: none. Only the goroutine that sends for the partition changes it.
func (o *outcomes) unsealedOf(partition protocol.Partition) *unsealedCall {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.unsealed[partition]
}

// resolve notes the outcome of a partition's unsealed call.
func (o *outcomes) resolve(partition protocol.Partition, answer *protocol.SealAnswer) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	call := o.unsealed[partition]
	if call == nil { // forgotten meanwhile
		return
	}
	o.forget(partition)
	o.addSealed(partition, call, answer, now)
	o.bound(now)
}

// addSealed remembers the items of a call that was sealed, if it has added them.
func (o *outcomes) addSealed(partition protocol.Partition, call *unsealedCall, answer *protocol.SealAnswer, now time.Time) {
	if answer.Sealed != protocol.SealedDone {
		return
	}
	for _, item := range call.items {
		if !slices.Contains(answer.Refused, item.index) {
			o.addOne(partition, item.id, item.own, now)
		}
	}
}

// watch begins to watch for removed jobs, unless it does already. The store does not keep an enqueuer that nobody uses any more.
func (o *outcomes) watch() {
	if o.watching || o.removals == nil || o.oldest.Len()+o.unknown == 0 {
		return
	}
	o.watching = true
	kept := weak.Make(o)
	o.removals().Watch(func(partition protocol.Partition, id string) bool {
		o := kept.Value()
		return o != nil && o.removed(partition, id)
	})
}

// removed forgets a job that was cancelled or deleted. It reports whether the outcomes of other jobs are left.
func (o *outcomes) removed(partition protocol.Partition, id string) (left bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if element := o.known[jobKey{partition, id}]; element != nil {
		o.remove(element)
	}
	if call := o.unsealed[partition]; call != nil {
		o.unknown -= call.drop(id)
	}
	if call := o.growths[jobKey{partition, id}]; call != nil {
		o.unknown -= call.drop(id)
		delete(o.growths, jobKey{partition, id})
	}
	o.bound(time.Now())
	o.watching = o.size.Load() > 0
	return o.watching
}

// drop removes a job, and returns how many items it had.
func (c *unsealedCall) drop(id string) (n int) {
	before := len(c.items)
	c.items = slices.DeleteFunc(c.items, func(item unsealedItem) bool { return item.id == id })
	return before - len(c.items)
}

// forget removes the unsealed call of a partition.
func (o *outcomes) forget(partition protocol.Partition) {
	if call := o.unsealed[partition]; call != nil {
		o.unknown -= len(call.items)
		delete(o.unsealed, partition)
	}
}

// answer reports whether the store has carried out an item in an earlier call whose caller does not know the outcome.
func (o *outcomes) answer(partition protocol.Partition, item *protocol.EnqueueItem, now time.Time) bool {
	if !item.Own && item.Schedule == "" { // its ID is new
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	element := o.known[jobKey{partition, item.ID}]
	if element == nil {
		return false
	}
	job := element.Value.(knownJob)
	old := now.Sub(job.at) > outcomeAge
	if job.own || old {
		o.remove(element)
		o.count()
	}
	return !old
}

func (o *outcomes) remove(element *list.Element) {
	delete(o.known, element.Value.(knownJob).jobKey)
	o.oldest.Remove(element)
}

// bound removes outcomes that are too old, and the oldest ones if there are too many. Unknown outcomes have at most half of the room.
func (o *outcomes) bound(now time.Time) {
	for partition, call := range o.unsealed {
		if o.unknown > maxOutcomes/2 || now.Sub(call.began) > outcomeAge {
			o.forget(partition)
		}
	}
	o.boundGrowths(now)
	for element := o.oldest.Front(); element != nil; element = o.oldest.Front() {
		if o.oldest.Len()+o.unknown <= maxOutcomes && now.Sub(element.Value.(knownJob).at) <= outcomeAge {
			break
		}
		o.remove(element)
	}
	o.count()
}

func (o *outcomes) count() { o.size.Store(int64(o.oldest.Len() + len(o.unsealed) + len(o.growths))) }

// young reports whether the store would still remember the call if it had carried it out. If the process was suspended, the call has two ages.
func (c *unsealedCall) young(now time.Time) bool {
	return max(now.Sub(c.began), now.Round(0).Sub(c.began.Round(0))) < sealAge
}
