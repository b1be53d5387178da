package batch

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
)

// A Store is what a reporter calls.
type Store interface {
	protocol.BatchStore
	PageJobs(ctx context.Context, call protocol.JobPageCall) (protocol.JobPage, error)
}

const (
	maxReporting  = 16                    // partitions that are reported at one time
	maxNoted      = 10_000                // partitions that are remembered; a poll names the others again
	reportPause   = 10 * time.Millisecond // between two reports of one partition
	reportEvery   = time.Second           // how often the counts of a partition are reported while members are left
	reportTimeout = 30 * time.Second
	tendEvery     = 10 * time.Second // how often the homes are asked while there are batches, and a random part of up to the same time
	tendFor       = 30 * time.Minute // how long after an answer that showed one
)

// A Reporter brings the counts of partitions to the homes of their batches, and ends batches of which no member is left. While there are batches it asks
// the homes from time to time what others have left undone. The store does each step once, however many reporters take it.
//
//	noted ──► due ──► read the counts ──► bring them to the homes ──► note that ──► idle
//	           ▲                                  │ no member is left: ask each partition again, and end the batch
//	           └────── failed: later again ───────┘
//
// It is safe for concurrent use.
type Reporter struct {
	store  Store
	carry  func(protocol.Partition)
	log    *slog.Logger
	logged retry.LogLimiter
	notify chan struct{} // due has changed, or a report has ended; capacity 1

	mu       sync.Mutex
	due      map[protocol.Partition]time.Time
	active   map[protocol.Partition]bool
	failures map[protocol.Partition]int
	seen     time.Time     // when an answer showed that there are batches; zero: none has
	looks    bool          // the homes are asked now, see Look
	tended   time.Time     // when the homes are asked next
	idle     chan struct{} // closed when nothing is left to do now; nil: nobody waits
}

// NewReporter returns a reporter that has nothing to do. It calls carry for each home that has jobs for other partitions.
func NewReporter(store Store, carry func(protocol.Partition), log *slog.Logger) *Reporter {
	return &Reporter{
		store: store, carry: carry, log: log, notify: make(chan struct{}, 1),
		due: make(map[protocol.Partition]time.Time), active: make(map[protocol.Partition]bool), failures: make(map[protocol.Partition]int),
	}
}

// Note records what an answer shows: a partition has counts that are to be reported now, or soon. It does not block.
func (r *Reporter) Note(p protocol.Partition, reports, batches bool) {
	if !reports && !batches {
		return
	}
	now := time.Now()
	r.mu.Lock()
	wakes := r.seen.IsZero()
	r.seen = now
	if wakes {
		r.tended = now.Add(tendEvery + rand.N(tendEvery))
	}
	at, known := r.due[p]
	next := now.Add(reportEvery) // a change is reported so much later, and no answer may show that
	switch {
	case reports && r.active[p]:
		next = now.Add(reportPause)
	case reports:
		next = now
	}
	if !known && len(r.due) < maxNoted || known && r.failures[p] == 0 && next.Before(at) {
		r.due[p], wakes = next, true
	}
	r.mu.Unlock()
	if wakes {
		r.wake()
	}
}

// Look asks the homes once, whether or not an answer has shown that there are batches. Answers do not show batches without members, nor batches whose record is to be
// forgotten.
func (r *Reporter) Look() {
	r.mu.Lock()
	r.looks = true
	r.mu.Unlock()
	r.wake()
}

func (r *Reporter) wake() {
	select {
	case r.notify <- struct{}{}:
	default:
	}
}

// Run reports until ctx ends.
func (r *Reporter) Run(ctx context.Context) {
	var reports sync.WaitGroup
	defer reports.Wait()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		begun, tends, wait := r.begin(time.Now())
		for _, p := range begun {
			reports.Go(func() { r.ended(p, time.Now(), r.report(ctx, p), ctx.Err() != nil) })
		}
		if tends {
			reports.Go(func() { r.tend(ctx) })
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-r.notify:
		case <-timer.C:
		}
	}
}

// begin returns the partitions that are due, as many as may be reported now, whether the homes are asked, and how long to wait for the next one.
func (r *Reporter) begin(now time.Time) (begun []protocol.Partition, tends bool, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	wait = time.Hour
	for p, at := range r.due {
		if left := at.Sub(now); left > 0 {
			wait = min(wait, left)
			continue
		}
		if r.active[p] || len(r.active) >= maxReporting {
			continue // it begins when a report ends
		}
		delete(r.due, p)
		r.active[p] = true
		begun = append(begun, p)
	}
	if !r.seen.IsZero() && !now.Before(r.tended) {
		r.tended, tends = now.Add(tendEvery+rand.N(tendEvery)), true
		if now.Sub(r.seen) > tendFor {
			r.seen, tends = time.Time{}, false
		}
	}
	if !r.seen.IsZero() {
		wait = min(wait, r.tended.Sub(now))
	}
	tends, r.looks = tends || r.looks, false
	r.settle(now)
	return begun, tends, wait
}

// ended notes the result of a report.
func (r *Reporter) ended(p protocol.Partition, began time.Time, err error, stops bool) {
	now := time.Now()
	r.mu.Lock()
	delete(r.active, p)
	switch {
	case err == nil:
		delete(r.failures, p)
	case !stops:
		r.failures[p]++
		r.due[p] = retry.After(began, r.failures[p], now)
	}
	r.settle(now)
	r.mu.Unlock()
	r.wake()
	if err != nil && !stops && r.logged.Allow(p.Path(), now) {
		r.log.Warn("chime: the counts of batches could not be reported: trying again", "event", "batch.unreported", "queue", p.Queue, "partition", p.Index, "error", err)
	}
}

// settle closes idle if nothing is left to do now, apart from what fails. The caller holds mu.
func (r *Reporter) settle(now time.Time) {
	if r.idle == nil || len(r.active) > 0 {
		return
	}
	for p, at := range r.due {
		if r.failures[p] == 0 && !at.After(now.Add(reportPause)) {
			return
		}
	}
	close(r.idle)
	r.idle = nil
}

// Finish waits until everything that was noted is reported, except what fails, or ctx ends.
func (r *Reporter) Finish(ctx context.Context) {
	r.mu.Lock()
	if r.idle == nil {
		r.idle = make(chan struct{})
	}
	idle := r.idle
	r.settle(time.Now())
	r.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// report brings the counts of a partition to the homes.
func (r *Reporter) report(ctx context.Context, p protocol.Partition) error {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	for more := true; more; {
		var due []protocol.PartitionCounts
		var err error
		if due, more, err = r.store.DueReports(ctx, p); err != nil || len(due) == 0 {
			return err
		}
		reports := make([]protocol.BatchReport, len(due))
		for i := range due {
			reports[i] = protocol.BatchReport{Counts: due[i]}
		}
		ends, acks, failed := r.bring(ctx, reports)
		if err := r.store.AckReports(ctx, p, acks); err != nil {
			failed = errors.Join(failed, err)
		}
		for _, id := range ends {
			if err := r.end(ctx, id); err != nil {
				failed = errors.Join(failed, err)
			}
		}
		if failed != nil {
			return failed
		}
	}
	return nil
}

// bring brings reports to the homes. It returns the batches that may have ended, and what the homes have now.
func (r *Reporter) bring(ctx context.Context, reports []protocol.BatchReport) (ends []string, acks []protocol.ReportAck, failed error) {
	for i, answer := range r.store.ReportBatches(ctx, reports) {
		counts := &reports[i].Counts
		if answer.Err != nil {
			failed = errors.Join(failed, answer.Err)
			continue
		}
		acks = append(acks, protocol.ReportAck{Batch: counts.Batch, Version: counts.Version, Unknown: answer.Unknown})
		if answer.Ends {
			ends = append(ends, counts.Batch)
		}
	}
	return ends, acks, failed
}

// end ends a batch, and passes its home on to the carrier.
func (r *Reporter) end(ctx context.Context, id string) error {
	before, err := end(ctx, r.store, id)
	if err != nil && !errors.Is(err, protocol.ErrNotFound) {
		return err
	}
	if !before.Ended.IsZero() {
		r.carry(protocol.Home(protocol.HomeOf(id)))
	}
	return nil
}
