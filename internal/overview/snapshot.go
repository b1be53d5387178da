package overview

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/plain"
)

// A Snapshot has the data of one poll: everything that a frame shows.
type Snapshot struct {
	At     time.Time     // the store's clock
	Leader *chime.Leader // the leader; nil: no permission to read it
	Window Window        // of the charts

	Flow     Flow
	Queues   []Queue
	Next     []*chime.Schedule // schedules with the next occurrences, then the paused ones of Keep; see Rest
	Running  []*chime.JobInfo  // some of the running jobs
	Held     int64             // number of running jobs
	Failures []Group           // of the last hour
	Known    []chime.Acknowledgement
	Workers  []Worker

	Notes map[Panel]string // why a panel is incomplete
}

// Served returns a function that reports whether a live worker serves a queue. It is always true if the workers are not known.
func (s *Snapshot) Served() func(queue string) bool {
	if s.Notes[Workers] != "" {
		return func(string) bool { return true }
	}
	served := map[string]bool{}
	for _, w := range s.Workers {
		for queue, weight := range w.Queues {
			served[queue] = served[queue] || weight > 0
		}
	}
	return func(queue string) bool { return served[queue] }
}

// Unserved returns the queues that no live worker serves and that are not paused: those with jobs to run now, and those whose jobs are due later: delayed
// ones, or the next occurrences of schedules. Nobody runs any of them.
func Unserved(s *Snapshot) (waiting, later []string) {
	served := s.Served()
	for _, q := range s.Queues {
		overdue := !q.Next.IsZero() && q.Next.Before(s.At)
		switch {
		case q.Blocked(served(q.Name)) != chime.ReasonUnserved:
		case q.Waiting > 0 || overdue:
			waiting = append(waiting, q.Name)
		case q.Delayed > 0:
			later = append(later, q.Name)
		}
	}
	return waiting, later
}

// Flow is the traffic of all sampled queues.
type Flow struct {
	In, Out, Failed          float64   // jobs a second
	Ins, Outs, Faileds, Late []float64 // a value for each cell of the window, see chart; Late: the 99th percentile, in seconds
	P50, P99                 time.Duration
	Timed                    bool // occurrences have started within the window, so P50 and P99 are known
}

// A Queue is a queue with its traffic.
type Queue struct {
	*chime.QueueInfo
	In, Out, Failed float64   // jobs a minute
	Known           bool      // In, Out and Failed are known
	Growth          float64   // of the number of waiting jobs, per minute, measured by polls
	Watched         bool      // Growth is known
	Outs            []float64 // ended jobs, a value for each cell of the window; empty: not sampled, or not read
}

// A Group has similar failed attempts of one job name, on all queues.
type Group struct {
	Job         string
	Error       string   // as shape.Of returns it; empty: attempts of jobs that are no longer kept
	Queues      []string // on which they failed, in order
	Count       int64
	First, Last time.Time
	Jobs        []*chime.JobInfo // dead and retrying jobs whose last attempt failed with it, newest first
}

// ByJob returns the job name with the most failed attempts in groups, their number, and the number of all failed attempts.
func ByJob(groups []Group) (job string, most, all int64) {
	counts := map[string]int64{}
	for _, g := range groups {
		counts[g.Job] += g.Count
		all += g.Count
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if counts[name] > most {
			job, most = name, counts[name]
		}
	}
	return job, most, all
}

// Split returns the groups of failures that nobody has acknowledged, and those that somebody has.
func (s *Snapshot) Split() (open, known []Group) {
	for _, g := range s.Failures {
		if s.Acknowledged(&g) != nil {
			known = append(known, g)
		} else {
			open = append(open, g)
		}
	}
	return open, known
}

// Acknowledged returns the acknowledgement that holds for a group of failures; nil: none does.
func (s *Snapshot) Acknowledged(g *Group) *chime.Acknowledgement {
	return s.AcknowledgedFailures(g.Job, g.Error, g.Queues)
}

// AcknowledgedFailures returns the acknowledgement that holds for failures of a job name with an error on these queues; nil: none does. The error is the one
// that the job has, not what the application shows of it: so an acknowledgement holds in all programs, whatever they show.
func (s *Snapshot) AcknowledgedFailures(job, err string, queues []string) *chime.Acknowledgement {
	for i := range s.Known {
		if s.Known[i].CoversFailures(job, err, queues, s.At) {
			return &s.Known[i]
		}
	}
	return nil
}

// A Worker is a live worker.
type Worker struct {
	*chime.WorkerInfo
	Counted bool      // Busy is known; if several jobs may share a slot, it is the most that may be busy, see SharesSlots
	Full    time.Time // since when all its slots have been busy, as far as polls have recorded; zero: they are not
}

// SharesSlots reports whether Busy is only the most that may be busy.
func (w Worker) SharesSlots() bool { return plain.SharesSlots(w.WorkerInfo) }

// Address returns the readable name of a worker: host:pid.
func (w Worker) Address() string {
	if w.Host == "" {
		return w.Name
	}
	return w.Host + ":" + strconv.Itoa(w.PID)
}

// A Panel is a panel of the screen.
type Panel int

// The panels, in the order of their keys 1 to 5.
const (
	Queues Panel = iota
	Next
	Running
	Failures
	Workers
	Panels // the number of panels
)

// String returns the panel's title.
func (p Panel) String() string {
	return [Panels]string{"Queues", "Next", "Running", "Failures, last hour", "Workers"}[p]
}
