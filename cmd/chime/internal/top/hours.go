package top

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
	maxSampled     = 20 // queues whose samples are read, the busiest
	sampledAtOnce  = 5  // of these a poll, after the first one
	sampledAgain   = time.Minute
	sampledMinutes = 60
)

// hours are the samples of the last hour of the busiest queues. They are read by the minute, each time only the new ones. The zero value
// has none.
type hours struct {
	queues map[string]*hour
}

type hour struct {
	samples []chime.Sample // the oldest first
	read    time.Time
}

// busiest are the queues that have counted most.
func busiest(queues []*chime.QueueInfo) []*chime.QueueInfo {
	all := slices.Clone(queues)
	slices.SortStableFunc(all, func(a, b *chime.QueueInfo) int {
		return cmp.Compare(b.Enqueued+b.Done+b.Failed, a.Enqueued+a.Done+a.Failed)
	})
	return all[:min(len(all), maxSampled)]
}

// read reads what is new of some queues, those first that were not read for longest.
func (h *hours) read(ctx context.Context, store *chime.Queues, queues []*chime.QueueInfo, now time.Time) error {
	some, first := busiest(queues), h.queues == nil
	if first {
		h.queues = map[string]*hour{}
	}
	named := map[string]bool{}
	for _, q := range some {
		named[q.Name] = true
		if h.queues[q.Name] == nil {
			h.queues[q.Name] = &hour{}
		}
	}
	maps.DeleteFunc(h.queues, func(name string, _ *hour) bool { return !named[name] })
	some = slices.DeleteFunc(some, func(q *chime.QueueInfo) bool { return now.Sub(h.queues[q.Name].read) < sampledAgain })
	slices.SortStableFunc(some, func(a, b *chime.QueueInfo) int { return h.queues[a.Name].read.Compare(h.queues[b.Name].read) })
	if !first {
		some = some[:min(len(some), sampledAtOnce)]
	}
	var group sync.WaitGroup
	failed := make([]error, len(some))
	for i, q := range some {
		group.Go(func() { failed[i] = h.queues[q.Name].catchUp(ctx, store, q.Name, now) })
	}
	group.Wait()
	return cmp.Or(failed...)
}

// catchUp reads what is new of one queue.
func (h *hour) catchUp(ctx context.Context, store *chime.Queues, queue string, now time.Time) error {
	from := now.Add(-sampledMinutes * time.Minute)
	if n := len(h.samples); n > 0 && h.samples[n-1].At.After(from) {
		from = h.samples[n-1].At.Add(time.Minute)
	}
	if !from.Before(now) {
		return nil
	}
	fresh, err := store.Samples(ctx, queue, from, now, time.Minute)
	if err != nil && !errors.Is(err, chime.ErrNotFound) {
		return err
	}
	h.samples = append(h.samples, fresh...)
	h.samples = slices.DeleteFunc(h.samples, func(s chime.Sample) bool { return s.At.Before(now.Add(-sampledMinutes * time.Minute)) })
	h.read = now
	return nil
}

// minutes returns one value a minute of the last hour, the oldest first; what one sample covers is spread over its minutes. It is empty
// without samples.
func minutes(samples []chime.Sample, now time.Time, value func(*chime.Sample) float64) []float64 {
	if len(samples) == 0 {
		return nil
	}
	all := make([]float64, sampledMinutes)
	end := now.Truncate(time.Minute) // the minute under way has no sample
	for i := range samples {
		s := &samples[i]
		covers := max(s.Covers, 1)
		for back := range min(covers, sampledMinutes) {
			at := sampledMinutes - int(end.Sub(s.At)/time.Minute) - back
			if at >= 0 && at < sampledMinutes {
				all[at] += value(s) / float64(covers)
			}
		}
	}
	return all
}

// sum adds b to a.
func sum(a, b []float64) []float64 {
	if len(b) > len(a) {
		a, b = slices.Clone(b), a
	}
	for i := range b {
		a[len(a)-len(b)+i] += b[i]
	}
	return a
}
