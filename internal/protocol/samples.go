package protocol

import (
	"context"
	"time"
)

// SampleStore keeps samples of queues, from which charts are drawn.
type SampleStore interface {
	// Sample takes a sample of each partition that lacks the samples of at least this many whole minutes, 1 or more, at most MaxSwept
	// partitions. Other partitions are not changed: so any process may call it at any time, as often as it likes. Answers are in
	// the order of the partitions.
	Sample(ctx context.Context, partitions []Partition, missing int) []SampleAnswer

	// Samples returns the samples of a queue whose At is in [from, to), all partitions together, the oldest first. step is a minute or an
	// hour. It writes nothing. ErrNotFound if the queue is not registered.
	Samples(ctx context.Context, queue string, from, to time.Time, step time.Duration) ([]Sample, error)
}

// A SampleAnswer is the answer for one partition.
type SampleAnswer struct {
	Err   error
	Now   time.Time
	Taken bool // false: fewer minutes were missing
}

const (
	KeptMinutes = 25 * time.Hour      // how far back samples by the minute go
	KeptHours   = 92 * 24 * time.Hour // and those by the hour
	MaxMeasured = 100                 // job names that are counted separately; the others are counted under OtherNames
	OtherNames  = "?"
)

// A Sample has the changes of a queue in a minute or an hour, and its depths at the end.
type Sample struct {
	At     time.Time // the step begins
	Covers int       // the number of steps that the changes cover, this one is the last; nearly always 1

	Enqueued, Done, Failed, Retried, Died, Cancelled, Skipped, Missed, Expired int64 // changes
	Waiting, Delayed, Running, Parked, Dead                                    int64
	Oldest                                                                     time.Duration // how long the first of the waiting jobs has waited

	Lateness, Wait, Run Durations
	Names               []MeasuredName // in the order of the names
}

// bounds are the upper bounds of all but the last of the Durations.
var bounds = [...]time.Duration{
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute,
}

// Durations count durations by their length: the first those of at most a millisecond, the last those above five minutes.
type Durations [len(bounds) + 1]int64

// Bound returns the longest duration that the i-th of the Durations counts; for the last, the longest of the one before.
func (Durations) Bound(i int) time.Duration { return bounds[min(i, len(bounds)-1)] }

// Add counts a duration.
func (d *Durations) Add(length time.Duration) {
	for i := range bounds {
		if length <= bounds[i] {
			d[i]++
			return
		}
	}
	d[len(bounds)]++
}

// Merge adds the counts of other.
func (d *Durations) Merge(other *Durations) {
	for i, n := range other {
		d[i] += n
	}
}

// Measured has the durations of a session's attempts that have ended since its last call with measurements. Number grows by one with each:
// the same number again is not counted again. It counts only while the store knows the session.
type Measured struct {
	Number              int64 // 1, 2, …
	Lateness, Wait, Run Durations
	Names               []MeasuredName // each once; at most MaxMeasured, and OtherNames

	Shapes []MeasuredShape // of the attempts that failed; each name and shape once; at most MaxMeasuredShapes
}

// A MeasuredName has the sums of the attempts of jobs of one name.
type MeasuredName struct {
	Name         string
	Done, Failed int64 // Failed: attempts
	Run          Durations
}
