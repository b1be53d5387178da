package pages

import (
	"context"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/history"
)

const (
	summaryFor  = time.Hour        // then it is read again, even if nothing of the schedule has ended, because failures become older than a day
	summaryLook = 10 * time.Second // reading ends this long after the last request
	readMost    = 20 * time.Second // time limit of a batch
	batchMost   = 2 * readAtOnce   // number of schedules in a batch for which no request waits
	batchEvery  = 2 * time.Second  // interval of batches, of some 35 commands each; it is longer if reading a batch takes long
)

// summaries caches the summaries of many schedules' histories, for lists that are sorted by them. A history has kilobytes, a summary some bytes. They
// are read in batches while there are requests. Reading takes at most a hundredth of the time for any number of viewers: ten thousand schedules take
// ten minutes. A summary is read again when something of its schedule has ended.
type summaries struct {
	read func(context.Context, []*chime.Schedule) ([]history.History, error)

	mu    sync.Mutex
	known map[string]summary
	want  []*chime.Schedule // the schedules of the last request
	asked time.Time
	reads bool // a batch is running, or the next one is planned

	ctx     context.Context
	stop    context.CancelFunc
	reading sync.WaitGroup
}

type summary struct {
	history.History
	stamp stamp
	at    time.Time // time of the reading
}

func newSummaries(read func(context.Context, []*chime.Schedule) ([]history.History, error)) *summaries {
	ctx, stop := context.WithCancel(context.Background())
	return &summaries{read: read, known: map[string]summary{}, ctx: ctx, stop: stop}
}

// close ends the reading.
func (all *summaries) close() {
	all.stop()
	all.reading.Wait()
}

// of returns the summaries of schedules, in their order. Those that were not read yet are not Known. The first request waits for a batch.
func (all *summaries) of(ctx context.Context, schedules []*chime.Schedule) ([]history.History, error) {
	began := time.Now()
	all.mu.Lock()
	all.want, all.asked = schedules, began
	batch := all.next(readAtOnce)
	first := !all.reads && len(batch) > 0
	all.reads = all.reads || first
	all.mu.Unlock()
	if first {
		if err := all.readBatch(ctx, batch); err != nil {
			all.end()
			return nil, err
		}
		all.reading.Go(func() { all.goOn(time.Since(began)) })
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	found := make([]history.History, len(schedules))
	for i, s := range schedules {
		found[i] = all.known[s.Name].History
	}
	return found, nil
}

// goOn reads batch after batch, until all requested summaries are known or there are no more requests. took is the duration of the previous batch.
func (all *summaries) goOn(took time.Duration) {
	for {
		pause := time.NewTimer(min(max(agePerRead*took, batchEvery), summaryLook)) // so that reading takes a hundredth of the time
		select {
		case <-pause.C:
		case <-all.ctx.Done():
			pause.Stop()
			all.end()
			return
		}
		all.mu.Lock()
		batch := all.next(batchMost)
		if len(batch) == 0 || time.Since(all.asked) > summaryLook {
			all.reads = false
			all.mu.Unlock()
			return
		}
		all.mu.Unlock()
		began := time.Now()
		if all.readBatch(all.ctx, batch) != nil { // the next request gets the error
			all.end()
			return
		}
		took = time.Since(began)
	}
}

func (all *summaries) end() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.reads = false
}

// next returns the schedules of the next batch. Schedules that were never read come first.
func (all *summaries) next(most int) (batch []*chime.Schedule) {
	var stale []*chime.Schedule
	for _, s := range all.want {
		known, ok := all.known[s.Name]
		switch {
		case len(batch) == most:
			return batch
		case !ok:
			batch = append(batch, s)
		case len(stale) < most && (known.stamp != stampOf(s) || time.Since(known.at) > summaryFor):
			stale = append(stale, s)
		}
	}
	return append(batch, stale[:min(len(stale), most-len(batch))]...)
}

// readBatch reads some summaries together.
func (all *summaries) readBatch(ctx context.Context, batch []*chime.Schedule) error {
	ctx, cancel := context.WithTimeout(ctx, readMost)
	defer cancel()
	at := time.Now()
	read, err := all.read(ctx, batch)
	if err != nil {
		return err
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.known) > 2*maxDirectory { // most of them belong to deleted schedules
		clear(all.known)
	}
	for i, s := range batch {
		all.known[s.Name] = summary{read[i], stampOf(s), at}
	}
	return nil
}
