package pages

import (
	"context"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/history"
)

const (
	summaryFor  = time.Hour        // then it is read again, whatever the schedule says: failures of a day pass
	summaryLook = 10 * time.Second // after the last one who asked, reading ends
	readMost    = 20 * time.Second // that one batch may take
	batchMost   = 2 * readAtOnce   // schedules of a batch that nobody waits for
	batchEvery  = 2 * time.Second  // or more rarely, where reading one takes long: some 35 commands
)

// summaries are what the histories of many schedules say, for a list in the order of it: a history is kilobytes, a summary some bytes. They are
// read in batches while somebody asks, and reading takes up a hundredth of the time at most, whoever looks: ten thousand take ten minutes. What a schedule
// has ended since is read again.
type summaries struct {
	read func(context.Context, []*chime.Schedule) ([]history.History, error)

	mu    sync.Mutex
	known map[string]summary
	want  []*chime.Schedule // those that were asked for last
	asked time.Time
	reads bool // a batch is under way, or the next one is waited for

	ctx     context.Context
	stop    context.CancelFunc
	reading sync.WaitGroup
}

type summary struct {
	history.History
	stamp stamp
	at    time.Time // when it was read
}

func newSummaries(read func(context.Context, []*chime.Schedule) ([]history.History, error)) *summaries {
	ctx, stop := context.WithCancel(context.Background())
	return &summaries{read: read, known: map[string]summary{}, ctx: ctx, stop: stop}
}

// close ends reading.
func (all *summaries) close() {
	all.stop()
	all.reading.Wait()
}

// of returns the summaries of schedules, in their order, as far as they were read: others are not Known yet. Who asks first waits for a batch.
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

// goOn reads batch after batch, until all is known that was asked for or nobody asks any more. took is how long the one before took.
func (all *summaries) goOn(took time.Duration) {
	for {
		pause := time.NewTimer(min(max(agePerRead*took, batchEvery), summaryLook)) // so that it takes up a hundredth of the time
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
		if all.readBatch(all.ctx, batch) != nil { // who asks next is told
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

// next are those of the schedules that are to be read next: those that were never read first.
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

// readBatch reads some together.
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
	if len(all.known) > 2*maxDirectory { // most of them are of schedules that were deleted
		clear(all.known)
	}
	for i, s := range batch {
		all.known[s.Name] = summary{read[i], stampOf(s), at}
	}
	return nil
}
