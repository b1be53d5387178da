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
	maxSampled    = 20 // number of queues whose samples are read: the busiest
	sampledAtOnce = 5  // number of these that a poll reads, after the first poll
	firstEntries  = 10_000
	stepParts     = 12 // a queue is read once in this part of a step, but at most once a minute
)

// A trail has the samples of the busiest queues, one for each step, as far back as needed. Each read reads only new samples. The first read is limited
// to the queues that have about firstEntries samples.
type trail struct {
	step, back time.Duration
	queues     map[string]*sampled
	change     int // number of readings of queues
}

type sampled struct {
	samples []chime.Sample // oldest first
	entries []entry        // the same for Charts; never changed
	read    time.Time
}

// busiest returns the queues with the highest counts.
func busiest(queues []*chime.QueueInfo) []*chime.QueueInfo {
	all := slices.Clone(queues)
	slices.SortStableFunc(all, func(a, b *chime.QueueInfo) int {
		return cmp.Compare(b.Enqueued+b.Done+b.Failed, a.Enqueued+a.Done+a.Failed)
	})
	return all[:min(len(all), maxSampled)]
}

// read reads the new samples of some queues, least recently read first.
func (t *trail) read(ctx context.Context, store *chime.Queues, queues []*chime.QueueInfo, now time.Time) error {
	some, atOnce := busiest(queues), sampledAtOnce
	if t.queues == nil {
		t.queues, atOnce = map[string]*sampled{}, max(1, firstEntries/int(t.back/t.step))
	}
	named := map[string]bool{}
	for _, q := range some {
		named[q.Name] = true
		if t.queues[q.Name] == nil {
			t.queues[q.Name] = &sampled{}
		}
	}
	maps.DeleteFunc(t.queues, func(name string, _ *sampled) bool { return !named[name] })
	again := max(t.step/stepParts, time.Minute)
	some = slices.DeleteFunc(some, func(q *chime.QueueInfo) bool { return now.Sub(t.queues[q.Name].read) < again })
	slices.SortStableFunc(some, func(a, b *chime.QueueInfo) int { return t.queues[a.Name].read.Compare(t.queues[b.Name].read) })
	some = some[:min(len(some), atOnce)]
	t.change += len(some)
	var group sync.WaitGroup
	failed := make([]error, len(some))
	for i, q := range some {
		group.Go(func() { failed[i] = t.catchUp(ctx, store, q.Name, now) })
	}
	group.Wait()
	return cmp.Or(failed...)
}

// catchUp reads the new samples of one queue.
func (t *trail) catchUp(ctx context.Context, store *chime.Queues, queue string, now time.Time) error {
	known, from := t.queues[queue], now.Add(-t.back)
	if n := len(known.samples); n > 0 && known.samples[n-1].At.After(from) {
		from = known.samples[n-1].At.Add(t.step)
	}
	if !from.Before(now) {
		return nil
	}
	fresh, err := store.Samples(ctx, queue, from, now, t.step)
	if err != nil && !errors.Is(err, chime.ErrNotFound) {
		return err
	}
	known.samples = append(known.samples, fresh...)
	known.samples = slices.DeleteFunc(known.samples, func(s chime.Sample) bool { return s.At.Before(now.Add(-t.back)) })
	known.entries = make([]entry, len(known.samples))
	for i := range known.samples {
		known.entries[i] = entryOf(&known.samples[i])
	}
	known.read = now
	return nil
}

// complete reports whether the samples of all these queues were read.
func (t *trail) complete() bool {
	for _, q := range t.queues {
		if q.read.IsZero() {
			return false
		}
	}
	return t.queues != nil
}

// of returns the samples of a queue. It returns nothing if the queue is not one of the busiest or was not read yet.
func (t *trail) of(queue string) []chime.Sample {
	if q := t.queues[queue]; q != nil {
		return q.samples
	}
	return nil
}

// has reports whether the trail reads all these queues.
func (t *trail) has(queues []string) bool {
	return t.queues != nil && !slices.ContainsFunc(queues, func(queue string) bool { return t.queues[queue] == nil })
}

// entriesOf returns the samples of some queues, as far as they were read, and the number of changes.
func (t *trail) entriesOf(queues []string) (all map[string][]entry, change int) {
	all = map[string][]entry{}
	for _, queue := range queues {
		if q := t.queues[queue]; q != nil && !q.read.IsZero() {
			all[queue] = q.entries
		}
	}
	return all, t.change
}

// charts returns the traffic of a queue in a window, from samples.
func (t *trail) charts(queue string, w Window, now time.Time) traffic {
	all := newTraffic(w, now)
	for i := range t.of(queue) {
		s := &t.of(queue)[i]
		begins := s.At.Add(-time.Duration(max(s.Covers, 1)-1) * t.step)
		all.add(begins, s.At.Add(t.step), countedIn(s))
	}
	return all
}
