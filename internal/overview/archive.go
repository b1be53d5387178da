package overview

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/chimejobs/chime"
)

const (
	firstRead   = 10_000           // number of samples that the first read reads for all queues together
	laterRead   = 2_500            // and each later read: some 5 ms of Redis's time
	forgetAfter = 10 * time.Minute // a queue is removed this long after its last request
)

// An archive caches the samples of queues, as far back as requested, without the data that no chart shows. Each read reads only new samples. The
// zero value is empty.
type archive struct {
	mu     sync.Mutex // only one read at a time
	kept   map[archived]*kept
	change int // number of changes
}

// archived identifies the samples of a queue with one step.
type archived struct {
	queue string
	step  time.Duration
}

// kept are the samples of a queue.
type kept struct {
	entries     []entry // oldest first
	back        time.Duration
	read, asked time.Time
}

// An entry has the data of a sample that charts show.
type entry struct {
	at               time.Time
	covers           int
	in, out, failed  int64
	waiting, running int64
	late             *chime.Histogram // nil: no occurrence has started
}

func entryOf(s *chime.Sample) entry {
	n := countedIn(s)
	e := entry{s.At, max(s.Covers, 1), n.in, n.out, n.failed, s.Waiting, s.Running, nil}
	if s.Lateness.Count() > 0 {
		late := s.Lateness
		e.late = &late
	}
	return e
}

// readOn reads the new samples of some queues. Queues without samples come first, then the least recently read ones. It returns the samples of all
// queues that were ever read. These are never changed, so callers may keep them.
func (a *archive) readOn(ctx context.Context, store *chime.Queues, queues []string, step, back time.Duration, now time.Time) (all map[string][]entry, change int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kept == nil {
		a.kept = map[archived]*kept{}
	}
	maps.DeleteFunc(a.kept, func(_ archived, k *kept) bool { return now.Sub(k.asked) > forgetAfter })
	room, again := laterRead, max(step/stepParts, time.Minute)
	some := map[string]*kept{}
	for _, queue := range queues {
		k := a.kept[archived{queue, step}]
		if k == nil || k.back < back {
			k = &kept{back: back}
			a.kept[archived{queue, step}] = k
		}
		k.asked, some[queue] = now, k
	}
	if !slices.ContainsFunc(queues, func(queue string) bool { return !some[queue].read.IsZero() }) {
		room = firstRead
	}
	due := slices.DeleteFunc(slices.Clone(queues), func(queue string) bool { return now.Sub(some[queue].read) < again })
	slices.SortStableFunc(due, func(p, q string) int { return some[p].read.Compare(some[q].read) })
	var group sync.WaitGroup
	failed := make([]error, len(due))
	for i, queue := range due {
		if i > 0 && room <= 0 {
			break
		}
		from := some[queue].newSince(step, now)
		room -= int(now.Sub(from)/step) + 1
		a.change++
		group.Go(func() { failed[i] = some[queue].catchUp(ctx, store, queue, from, step, now) })
	}
	group.Wait()
	all = map[string][]entry{}
	for queue, k := range some {
		if !k.read.IsZero() {
			all[queue] = k.entries
		}
	}
	return all, a.change, cmp.Or(failed...)
}

// newSince returns the instant from which samples are new.
func (k *kept) newSince(step time.Duration, now time.Time) time.Time {
	from := now.Add(-k.back)
	if n := len(k.entries); n > 0 && k.entries[n-1].at.After(from) {
		return k.entries[n-1].at.Add(step)
	}
	return from
}

// catchUp reads the samples from an instant on, and drops samples that are too old.
func (k *kept) catchUp(ctx context.Context, store *chime.Queues, queue string, from time.Time, step time.Duration, now time.Time) error {
	if from.Before(now) {
		fresh, err := store.Samples(ctx, queue, from, now, step)
		if err != nil && !errors.Is(err, chime.ErrNotFound) {
			return err
		}
		old, _ := slices.BinarySearchFunc(k.entries, now.Add(-k.back), func(e entry, t time.Time) int { return e.at.Compare(t) })
		entries := slices.Clone(k.entries[old:])
		for i := range fresh {
			entries = append(entries, entryOf(&fresh[i]))
		}
		k.entries = entries
	}
	k.read = now
	return nil
}
