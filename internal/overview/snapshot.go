package overview

import (
	"strconv"
	"time"

	"github.com/chimejobs/chime"
)

// A Snapshot is what one poll has read: all that a frame is drawn of.
type Snapshot struct {
	At     time.Time     // the store's clock
	Leader *chime.Leader // who leads; nil: this user may not know
	Window Window        // of the charts

	Flow     Flow
	Queues   []Queue
	Next     []*chime.Schedule // whose occurrences are due first
	Running  []*chime.JobInfo  // some of the jobs that run
	Held     int64             // how many run, and were taken ahead
	Failures []Group           // of the last hour
	Workers  []Worker

	Notes map[Panel]string // why a panel does not show all
}

// Flow is what went through all queues that are sampled.
type Flow struct {
	In, Out, Failed          float64   // jobs a second
	Ins, Outs, Faileds, Late []float64 // a value for each cell of the window, see chart; Late: the 99th percentile, in seconds
	P50, P99                 time.Duration
	Timed                    bool // occurrences have started within the window, so P50 and P99 are known
}

// A Queue is one with what went through it.
type Queue struct {
	*chime.QueueInfo
	In, Out, Failed float64   // jobs a minute
	Known           bool      // In, Out and Failed are known
	Growth          float64   // of the jobs that wait, a minute, as polls have seen it
	Watched         bool      // Growth is known
	Outs            []float64 // ended well, a value for each cell of the window; none: not sampled, or not read
}

// A Group is failed attempts that look the same.
type Group struct {
	Queue, Job  string
	Error       string // with # for what differs; empty: attempts of jobs that are no longer kept
	Count       int64
	First, Last time.Time
	Jobs        []*chime.JobInfo // whose last attempt failed so, dead and retrying, newest first
}

// A Worker is one that lives.
type Worker struct {
	*chime.WorkerInfo
	Counted bool      // Busy is known
	Full    time.Time // since when all its slots are busy, as far as it was seen; zero: they are not
}

// Address names a worker as people do: host:pid.
func (w Worker) Address() string {
	if w.Host == "" {
		return w.Name
	}
	return w.Host + ":" + strconv.Itoa(w.PID)
}

// A Panel is one of the screen's.
type Panel int

// The panels, in the order of their keys 1 to 5.
const (
	Queues Panel = iota
	Next
	Running
	Failures
	Workers
	Panels // how many there are
)

// String is the panel's title.
func (p Panel) String() string {
	return [Panels]string{"Queues", "Next", "Running", "Failures, last hour", "Workers"}[p]
}
