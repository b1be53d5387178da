package chime

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A Sample shows the activity of a queue in a minute or in an hour, and its state at the end, as the sum over all partitions. [Queues.Samples]
// returns them, for charts.
type Sample struct {
	At     time.Time `json:"at"`     // when the minute or the hour began, by the store's clock
	Covers int       `json:"covers"` // 1; more if samples were missed: it counts this many minutes or hours, and the last of them began at At

	Enqueued  int64 `json:"enqueued,omitempty"`  // jobs enqueued, without occurrences of schedules
	Done      int64 `json:"done,omitempty"`      // jobs that ended well
	Failed    int64 `json:"failed,omitempty"`    // attempts that failed
	Retried   int64 `json:"retried,omitempty"`   // failed attempts after which another one follows
	Died      int64 `json:"died,omitempty"`      // jobs that became dead
	Cancelled int64 `json:"cancelled,omitempty"` // jobs that Jobs.Cancel has ended
	Expired   int64 `json:"expired,omitempty"`   // jobs that had not begun when their time was over, see Expire
	Skipped   int64 `json:"skipped,omitempty"`   // occurrences that were dropped because the one before was running
	Missed    int64 `json:"missed,omitempty"`    // occurrences that did not run because they were too late

	Waiting int64         `json:"waiting,omitempty"` // jobs to run now that nobody had taken yet
	Delayed int64         `json:"delayed,omitempty"` // jobs due later: delayed ones, retries, placed occurrences
	Running int64         `json:"running,omitempty"` // jobs that workers held
	Parked  int64         `json:"parked,omitempty"`  // jobs that waited for a worker that has a handler for them
	Dead    int64         `json:"dead,omitempty"`    // jobs that had failed for good and were kept
	Oldest  time.Duration `json:"-"`                 // about how long the next job to run had waited; 0: there was none. In JSON: oldest_ms

	Lateness Histogram `json:"lateness,omitzero"` // the time from when an occurrence was due to its first start
	Wait     Histogram `json:"wait,omitzero"`     // the time from when a job was enqueued, or due, to its start; for each attempt, except after a crash
	Run      Histogram `json:"run,omitzero"`      // duration of each attempt

	Jobs []JobSample `json:"jobs,omitempty"` // the same for each job name, in the order of the names
}

// A JobSample shows the activity of jobs of one name. The first hundred names of an hour are counted; all others are counted as one, named "?".
type JobSample struct {
	Name   string    `json:"name"`             // the name of the jobs
	Done   int64     `json:"done,omitempty"`   // attempts that ended well
	Failed int64     `json:"failed,omitempty"` // attempts that failed
	Run    Histogram `json:"run,omitzero"`     // how long the attempts took
}

// MarshalJSON encodes Oldest in milliseconds, as oldest_ms.
func (s Sample) MarshalJSON() ([]byte, error) {
	type plain Sample
	return json.Marshal(struct {
		plain
		OldestMS int64 `json:"oldest_ms,omitempty"`
	}{plain(s), s.Oldest.Milliseconds()})
}

// Samples returns the samples of a queue that begin in [from, to), the oldest first. step is time.Minute or time.Hour. Samples of minutes are
// kept for 25 hours and samples of hours for 92 days; from and to may be that far apart. ErrNotFound: the queue was never used. An
// [InvalidError]: another step, or a range that is too long or ends before it begins.
//
// The scheduler that leads takes a sample of each queue once a minute. Each queue has its own instant, in the 45 s after the full minute. So there
// is no sample yet of the current minute and hour, and events of a minute may be counted in the next sample. If no scheduler runs, a worker takes a
// sample about every three minutes. If nobody took a sample in a minute, that minute has none, and the next sample has a larger Covers. Every job
// that the queue counts from its first sample on is in exactly one sample of a minute, and in exactly one of an hour.
//
// Counting begins with the queue's first sample, which shows only the queue's state: jobs that were enqueued or done before are in no sample.
// It is taken within two minutes after an enqueuer, a worker or a schedule first used the queue. If no scheduler leads, it is taken within
// about three minutes after the start of a worker. It is later if no worker serves the queue and there are thousands of queues, because these
// are sampled in turn.
//
// The histograms, and Jobs, come from the workers. A worker sends them every few seconds with a call that it makes anyway. If a worker vanishes,
// only the part that it had not sent is missing.
//
// The cost of a call is the size of its result: 25 hours of a busy queue are 1500 entries of about 200 bytes for each partition, read in steps of
// 500, and each step costs the server a millisecond.
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

// checkSampleRange refuses an invalid range of samples.
func checkSampleRange(from, to time.Time, step time.Duration) error {
	longest := protocol.KeptMinutes
	switch step {
	case time.Minute:
	case time.Hour:
		longest = protocol.KeptHours
	default:
		return protocol.Invalid("step", step.String(), "1m0s or 1h0m0s")
	}
	switch length := to.Sub(from); {
	case length < 0:
		return protocol.Because(protocol.Invalid("to", to.Format(time.RFC3339), "an instant after from"), "is before from")
	case length > longest:
		return protocol.Because(protocol.Invalid("from", from.Format(time.RFC3339), fmt.Sprintf("at most %v before to, with a step of %v", longest, step)), "is too early")
	}
	return nil
}

func newSample(s *protocol.Sample) Sample {
	sample := Sample{
		At: s.At, Covers: s.Covers,
		Enqueued: s.Enqueued, Done: s.Done, Failed: s.Failed, Retried: s.Retried, Died: s.Died, Cancelled: s.Cancelled, Expired: s.Expired, Skipped: s.Skipped, Missed: s.Missed,
		Waiting: s.Waiting, Delayed: s.Delayed, Running: s.Running, Parked: s.Parked, Dead: s.Dead, Oldest: s.Oldest,
		Lateness: Histogram(s.Lateness), Wait: Histogram(s.Wait), Run: Histogram(s.Run),
	}
	for _, name := range s.Names {
		sample.Jobs = append(sample.Jobs, JobSample{Name: name.Name, Done: name.Done, Failed: name.Failed, Run: Histogram(name.Run)})
	}
	return sample
}

// A Histogram counts durations in 16 buckets: of at most 1, 2.5, 5, 10, 25, 50, 100, 250 and 500 ms, 1, 2.5, 5, 15, 60 and 300 s, and above. A
// duration is counted in the first bucket whose bound it does not exceed.
type Histogram [16]int64

// Bound returns the longest duration that the i-th bucket counts, i from 0 to 15. The last bucket counts everything above 300 s and has no upper
// bound; Bound returns 300 s for it too.
func (h Histogram) Bound(i int) time.Duration { return protocol.Durations{}.Bound(i) }

// Count returns the number of durations.
func (h Histogram) Count() (n int64) {
	for _, in := range h {
		n += in
	}
	return n
}

// Add returns the sum of both, to combine samples or queues.
func (h Histogram) Add(other Histogram) Histogram {
	for i, n := range other {
		h[i] += n
	}
	return h
}

// Quantile returns the approximate p-quantile of the durations: 0.5 is the median, 0.99 the 99th percentile. Its precision is one bucket: durations
// are assumed to be spread evenly in it. A duration longer than 300 s counts as 300 s. Without durations the result is 0. A p below 0 counts as 0,
// and above 1 as 1.
func (h Histogram) Quantile(p float64) time.Duration {
	all := h.Count()
	if all <= 0 || math.IsNaN(p) {
		return 0
	}
	rank := max(math.Ceil(min(max(p, 0), 1)*float64(all)), 1) // position of the wanted duration, from 1
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

// An ErrorShape is what failed attempts of jobs of one name have in common: their error, without the parts that differ from job to job. It remains when a
// retry has succeeded and the job is gone.
type ErrorShape struct {
	Job string `json:"job"` // the name of the jobs; "?": jobs of other names, of which there were too many

	// Shape is the first line of the error, with # in place of numbers and of text in quotes, at most 200 bytes. Empty: it is not known, because the store
	// seals errors ([WithCodec]), or there were too many different ones at the same time.
	Shape string `json:"shape,omitempty"`

	Failed int64     `json:"failed"`  // attempts that failed so
	First  time.Time `json:"first"`   // when the first of them failed, by the store's clock
	Last   time.Time `json:"last"`    // when the last one failed
	LastID string    `json:"last_id"` // the ID of the job that failed last

	Hours    []ErrorHour    `json:"hours,omitempty"`    // the last 24 hours in which attempts failed so, oldest first
	Versions []ErrorVersion `json:"versions,omitempty"` // the last versions of programs in which they failed, at most three a partition; most attempts first
}

// An ErrorHour counts the failed attempts of an hour.
type ErrorHour struct {
	Hour   time.Time `json:"hour"`   // its beginning
	Failed int64     `json:"failed"` // attempts that failed in it
}

// An ErrorVersion counts the failed attempts in one version of a program.
type ErrorVersion struct {
	Version string `json:"version"` // as [ParseWorker] returns it
	Failed  int64  `json:"failed"`  // attempts that failed in it
}

// Errors returns the shapes of the last errors of a queue, the one that failed last first. job: only of jobs of this name; empty: of all names.
// ErrNotFound: the queue was never used.
//
// Each partition keeps about a hundred shapes of all names, with at most 32 KiB. Those that have not failed for longest are removed. Workers send shapes
// every few seconds with a call that they make anyway. If a worker vanishes, the part that it had not sent is missing. Attempts whose workers vanished,
// and jobs that became dead without an attempt, are not counted.
func (q *Queues) Errors(ctx context.Context, queue, job string) ([]ErrorShape, error) {
	err := q.check(ctx, queue)
	if err != nil {
		return nil, fmt.Errorf("chime: errors of queue %.40q: %w", queue, err)
	}
	found, err := q.store.Shapes(ctx, queue)
	if err != nil {
		return nil, fmt.Errorf("chime: errors of queue %q: %w", queue, err)
	}
	type key struct{ job, shape string }
	merged := map[key]*protocol.ErrorShape{}
	for i := range found {
		of := &found[i]
		if job != "" && of.Name != job {
			continue
		}
		if sum := merged[key{of.Name, of.Shape}]; sum != nil {
			mergeShape(sum, of)
		} else {
			merged[key{of.Name, of.Shape}] = of
		}
	}
	shapes := make([]ErrorShape, 0, len(merged))
	for _, of := range merged {
		shapes = append(shapes, newErrorShape(of))
	}
	slices.SortFunc(shapes, func(a, b ErrorShape) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(b.Failed, a.Failed), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Shape, b.Shape))
	})
	return shapes, nil
}

// mergeShape adds what another partition has counted of a shape.
func mergeShape(to, from *protocol.ErrorShape) {
	to.Count += from.Count
	if from.First.Before(to.First) {
		to.First = from.First
	}
	if from.Last.After(to.Last) {
		to.Last, to.ID = from.Last, from.ID
	}
	for hour, n := range from.Hours {
		to.Hours[hour] += n
	}
	for version, n := range from.Versions {
		to.Versions[version] += n
	}
}

func newErrorShape(of *protocol.ErrorShape) ErrorShape {
	shape := ErrorShape{Job: of.Name, Shape: of.Shape, Failed: of.Count, First: of.First, Last: of.Last, LastID: of.ID}
	for _, hour := range slices.SortedFunc(maps.Keys(of.Hours), time.Time.Compare) {
		shape.Hours = append(shape.Hours, ErrorHour{hour, of.Hours[hour]})
	}
	for version, n := range of.Versions {
		shape.Versions = append(shape.Versions, ErrorVersion{version, n})
	}
	slices.SortFunc(shape.Versions, func(a, b ErrorVersion) int {
		return cmp.Or(cmp.Compare(b.Failed, a.Failed), cmp.Compare(a.Version, b.Version))
	})
	return shape
}

// MarshalJSON encodes the shape with its instants in UTC.
func (s ErrorShape) MarshalJSON() ([]byte, error) {
	type fields ErrorShape // without methods
	s.First, s.Last = s.First.UTC(), s.Last.UTC()
	return json.Marshal(fields(s))
}

// MarshalJSON encodes the hour in UTC.
func (h ErrorHour) MarshalJSON() ([]byte, error) {
	type fields ErrorHour // without methods
	h.Hour = h.Hour.UTC()
	return json.Marshal(fields(h))
}
