package chime

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A Sample is what a queue did in a minute or in an hour, and how it stood at the end, all its partitions together. [Queues.Samples] returns
// them, for charts.
type Sample struct {
	At     time.Time `json:"at"`     // when the minute or the hour began, by the store's clock
	Covers int       `json:"covers"` // 1; more where samples were missed: so many minutes or hours, the last of which began at At, are counted in it

	Enqueued  int64 `json:"enqueued,omitempty"`  // jobs enqueued, without occurrences of schedules
	Done      int64 `json:"done,omitempty"`      // jobs that ended well
	Failed    int64 `json:"failed,omitempty"`    // attempts that failed
	Retried   int64 `json:"retried,omitempty"`   // failed attempts that another one follows
	Died      int64 `json:"died,omitempty"`      // jobs that were given up
	Cancelled int64 `json:"cancelled,omitempty"` // jobs that Jobs.Cancel has ended
	Skipped   int64 `json:"skipped,omitempty"`   // occurrences that were dropped because the one before was running
	Missed    int64 `json:"missed,omitempty"`    // occurrences that did not run because they were too late

	Waiting int64         `json:"waiting,omitempty"` // jobs to run now that nobody had taken yet
	Delayed int64         `json:"delayed,omitempty"` // jobs due later: delayed ones, retries, placed occurrences
	Running int64         `json:"running,omitempty"` // jobs that workers held
	Parked  int64         `json:"parked,omitempty"`  // jobs that waited for a worker that has a handler for them
	Dead    int64         `json:"dead,omitempty"`    // jobs that were given up and kept
	Oldest  time.Duration `json:"-"`                 // how long the first of those to run had waited, about; 0: there was none. In JSON: oldest_ms

	Lateness Histogram `json:"lateness,omitzero"` // from when an occurrence was due to its first start
	Wait     Histogram `json:"wait,omitzero"`     // from when a job was enqueued, or due, to its start; each attempt, but for those after a crash
	Run      Histogram `json:"run,omitzero"`      // of each attempt

	Jobs []JobSample `json:"jobs,omitempty"` // the same by the name of the job, in the order of the names
}

// A JobSample is what jobs of one name did. A hundred names are counted, those that come first in an hour; all others are one, named "?".
type JobSample struct {
	Name   string    `json:"name"`             // of the job
	Done   int64     `json:"done,omitempty"`   // attempts that ended well
	Failed int64     `json:"failed,omitempty"` // attempts that failed
	Run    Histogram `json:"run,omitzero"`     // how long the attempts took
}

// MarshalJSON has Oldest in milliseconds, as oldest_ms.
func (s Sample) MarshalJSON() ([]byte, error) {
	type plain Sample
	return json.Marshal(struct {
		plain
		OldestMS int64 `json:"oldest_ms,omitempty"`
	}{plain(s), s.Oldest.Milliseconds()})
}

// Samples returns the samples of a queue that begin in [from, to), the oldest first. step is time.Minute, of which the last 25 hours are
// kept, or time.Hour, of which the last 92 days are; from and to may lie that far apart. ErrNotFound if the queue was never named; an
// [InvalidError] for another step, and a range that runs backwards or is too long.
//
// The scheduler that leads takes a sample of each queue once a minute, at an instant of the queue's own in the three quarters of a minute that
// follow. So the minute under way is not among the samples, nor the hour, and what happened in a minute may be told with the next.
// Where no scheduler runs, a worker takes a sample about every three minutes. Where nobody did, a minute has no sample, and the next one says
// how many it Covers; every job that the queue counts from its first sample on is in one sample of a minute, and in one of an hour.
//
// Counting begins with the queue's first sample, which says only how the queue stood: what was enqueued or done before is in no sample. It is
// taken within two minutes of when the queue was first named, by an enqueuer, a worker or a schedule; within about three of the start of a
// worker where no scheduler leads; later if no worker serves the queue and there are thousands, for then they are looked after in turn.
//
// The histograms, and Jobs, come from the workers, which send them every few seconds with a call that they make anyway: what a worker
// had not sent when it vanished is missing, and nothing else is.
//
// A call reads what it returns: 25 hours of a busy queue, 1500 entries of some 200 bytes a partition, in steps of 500, which cost the
// server a millisecond each.
func (q *Queues) Samples(ctx context.Context, queue string, from, to time.Time, step time.Duration) ([]Sample, error) {
	err := q.check(ctx, queue)
	if err == nil {
		err = checkSampleRange(from, to, step)
	}
	if err != nil {
		return nil, fmt.Errorf("chime: samples of queue %.40q: %w", queue, err)
	}
	found, err := q.store.Samples(ctx, queue, from, to, step)
	if err != nil {
		return nil, fmt.Errorf("chime: samples of queue %q: %w", queue, err)
	}
	samples := make([]Sample, len(found))
	for i := range found {
		samples[i] = newSample(&found[i])
	}
	return samples, nil
}

// checkSampleRange refuses a range of samples that makes no sense.
func checkSampleRange(from, to time.Time, step time.Duration) error {
	longest := protocol.KeptMinutes
	switch step {
	case time.Minute:
	case time.Hour:
		longest = protocol.KeptHours
	default:
		return protocol.Invalid("step", step.String(), "1m0s or 1h0m0s")
	}
	switch asked := to.Sub(from); {
	case asked < 0:
		return protocol.Because(protocol.Invalid("to", to.Format(time.RFC3339), "an instant after from"), "is before from")
	case asked > longest:
		return protocol.Because(protocol.Invalid("from", from.Format(time.RFC3339), fmt.Sprintf("at most %v before to, with a step of %v", longest, step)), "is too early")
	}
	return nil
}

func newSample(s *protocol.Sample) Sample {
	sample := Sample{
		At: s.At, Covers: s.Covers,
		Enqueued: s.Enqueued, Done: s.Done, Failed: s.Failed, Retried: s.Retried, Died: s.Died, Cancelled: s.Cancelled, Skipped: s.Skipped, Missed: s.Missed,
		Waiting: s.Waiting, Delayed: s.Delayed, Running: s.Running, Parked: s.Parked, Dead: s.Dead, Oldest: s.Oldest,
		Lateness: Histogram(s.Lateness), Wait: Histogram(s.Wait), Run: Histogram(s.Run),
	}
	for _, name := range s.Names {
		sample.Jobs = append(sample.Jobs, JobSample{Name: name.Name, Done: name.Done, Failed: name.Failed, Run: Histogram(name.Run)})
	}
	return sample
}

// A Histogram counts durations in 16 buckets: of at most 1, 2.5, 5, 10, 25, 50, 100, 250 and 500 ms, 1, 2.5, 5, 15, 60 and 300 s, and above. A
// duration is in the first bucket that it fits.
type Histogram [16]int64

// Bound is the longest duration that the i-th bucket counts, i from 0 to 15. That of the last is the one before it, 300 s, for what it counts is
// longer.
func (h Histogram) Bound(i int) time.Duration { return protocol.Durations{}.Bound(i) }

// Count is how many durations it counts.
func (h Histogram) Count() (n int64) {
	for _, in := range h {
		n += in
	}
	return n
}

// Add returns what both count: of some samples together, or of some queues.
func (h Histogram) Add(other Histogram) Histogram {
	for i, n := range other {
		h[i] += n
	}
	return h
}

// Quantile returns about the duration that a part p of all does not exceed: 0.5 for the median, 0.99 for all but one in a hundred. It is exact
// to a bucket: within one, durations are taken to lie evenly. What is longer than 300 s counts as 300 s. Without any duration it is 0, and p is
// taken to be at least 0 and at most 1.
func (h Histogram) Quantile(p float64) time.Duration {
	all := h.Count()
	if all <= 0 || math.IsNaN(p) {
		return 0
	}
	rank := max(math.Ceil(min(max(p, 0), 1)*float64(all)), 1) // of the one that is looked for, from 1 on
	low := time.Duration(0)
	for i, n := range h {
		if high := h.Bound(i); n > 0 && rank <= float64(n) {
			return low + time.Duration(float64(high-low)*rank/float64(n))
		}
		rank -= float64(n)
		low = h.Bound(i)
	}
	return low
}
