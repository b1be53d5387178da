//go:build unix

package chaos

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// A History records the events of the child processes and the faults, outside the server. Its methods are safe for concurrent use. The fields may
// be read when the run is over.
type History struct {
	mu sync.Mutex

	Jobs      map[string]*Job
	Batches   map[string]*Batch
	Processes []*Process
	Down      []Window                // the server did not answer
	Kills     []time.Time             // when the server was killed
	Emptied   Window                  // from the kill until it was up again without its files; zero: it was not emptied
	Rollbacks []Rollback              // slots that returned to an earlier state
	Puts      map[string]*PutSchedule // schedules of the changer
	Problems  []string                // unreadable lines, and processes that ended by themselves

	Logged  map[string]int // lines of the children's logs, by event
	Served  time.Time      // when the latest run began
	lastEnd time.Time
}

// NewHistory returns an empty history.
func NewHistory() *History {
	return &History{Jobs: map[string]*Job{}, Batches: map[string]*Batch{}, Puts: map[string]*PutSchedule{}, Logged: map[string]int{}}
}

// Add adds a process to the history.
func (h *History) Add(name string) *Process {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := &Process{Name: name}
	h.Processes = append(h.Processes, p)
	return p
}

// Note changes the history under its lock.
func (h *History) Note(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

// Problem records something that must not happen.
func (h *History) Problem(format string, args ...any) {
	h.Note(func() { h.Problems = append(h.Problems, fmt.Sprintf(format, args...)) })
}

// AddLine records a line of a process.
func (h *History) AddLine(p *Process, line string) {
	e, err := ParseEvent(line)
	if err != nil {
		h.Problem("%s: %v", p.Name, err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch e.Verb {
	case Offered:
		b := h.batch(e.Key)
		b.Jobs, b.Offered = int(e.Number), e.At
		b.Queue, b.Group, _ = strings.Cut(e.More, " ")
	case Repeated:
		h.batch(e.Key).Repeats++
	case Accepted:
		h.batch(e.Key).Accepted = e.At
	case Begun:
		j := h.job(e.Key)
		words := strings.Fields(e.More)
		j.Runs = append(j.Runs, Run{Process: p, Fence: e.Number, Begun: e.At, Queue: words[len(words)-1]})
		h.Served = e.At
	case Ended:
		h.end(p, e)
	case Putting, Put, Deleting, Deleted:
		h.schedule(e.Key).add(e)
	case Logged:
		h.Logged[e.Key]++
		if e.Key == "session.lost" || e.Key == "session.expired" || e.Key == cutOffEvent {
			p.Lost = append(p.Lost, e.At)
		}
		if e.Key == "leader.elected" {
			p.Elected = e.At
		}
	default:
		h.Problems = append(h.Problems, fmt.Sprintf("%s: event %q: unknown verb", p.Name, line))
	}
}

// job returns a job, and adds it if it is new.
func (h *History) job(key string) *Job {
	j := h.Jobs[key]
	if j == nil {
		j = &Job{Key: key}
		if _, planned, occurrence := strings.Cut(key, "@"); occurrence {
			at, err := time.Parse(time.RFC3339, planned)
			if err != nil {
				h.Problems = append(h.Problems, fmt.Sprintf("occurrence %q: %v", key, err))
			}
			j.Planned = at
		} else {
			j.Batch = h.batch(batchOf(key))
		}
		h.Jobs[key] = j
	}
	return j
}

// batch returns a batch, and adds it if it is new: a worker's lines about its jobs may be read before the enqueuer's line.
func (h *History) batch(key string) *Batch {
	b := h.Batches[key]
	if b == nil {
		b = &Batch{Key: key}
		h.Batches[key] = b
	}
	return b
}

// schedule returns a schedule of the changer, and adds it if it is new.
func (h *History) schedule(name string) *PutSchedule {
	s := h.Puts[name]
	if s == nil {
		s = &PutSchedule{Name: name}
		h.Puts[name] = s
	}
	return s
}

// end records how a run ended.
func (h *History) end(p *Process, e Event) {
	if j := h.Jobs[e.Key]; j != nil {
		for i := range j.Runs {
			if r := &j.Runs[i]; r.Process == p && r.Fence == e.Number && r.Outcome == Unended {
				r.Ended, r.Outcome = e.At, Outcome(e.More)
				h.lastEnd = e.At
				return
			}
		}
	}
	h.Problems = append(h.Problems, fmt.Sprintf("%s: the run of %s with fence %d ended, but did not begin", p.Name, e.Key, e.Number))
}

// jobKey returns the key of the i-th job of a batch.
func jobKey(batch string, i int) string { return fmt.Sprintf("%s/%d", batch, i) }

func batchOf(key string) string {
	batch, _, _ := strings.Cut(key, "/")
	return batch
}

// since returns the lowest fence after the server was emptied: fences are drawn from the clock.
func (h *History) since() int64 {
	if h.Emptied.To.IsZero() {
		return 0
	}
	return h.Emptied.From.UnixMicro()
}

// up records that the server answers again after it went down at an instant.
func (h *History) up(from time.Time) {
	h.Note(func() {
		for i := range h.Down {
			if h.Down[i].From.Equal(from) {
				h.Down[i].To = time.Now()
			}
		}
	})
}

// slack is the largest difference between the timestamps that two processes give to the same moment: a process may wait for a processor before it
// writes its line.
const slack = 500 * time.Millisecond

// The causes that need a rollback.
const (
	backCause     = "its queue went back"
	twoHomesCause = "its schedule lived in two queues"
)

// Cause returns why a job was given to another run after this one, or an empty text if there was no cause. next is the run with the next fence.
func (h *History) Cause(j *Job, r, next Run) string {
	begin, end := r.taken(), next.Begun
	p := r.Process
	switch {
	case r.Queue == next.Queue && (r.Outcome == Failed || r.Outcome == Snoozed || r.Outcome == CutOff): // else it comes back in its own queue
		return string(r.Outcome)
	case j.Batch != nil && j.Batch.Repeats > 0:
		return "enqueued again, its outcome was unknown"
	case !h.Emptied.From.IsZero() && h.Emptied.reaches(begin, end):
		return "the server was emptied"
	case !p.Killed.IsZero() && p.Killed.Before(end.Add(slack)):
		return "its process was killed"
	case overlapping(p.Stops, begin, end):
		return "its process was stopped"
	case overlapping(p.Cuts, begin, end), overlapping(h.Down, begin, end):
		return "its process was cut off"
	case slices.ContainsFunc(h.Rollbacks, func(b Rollback) bool { return b.mayRepeat(r, next) }):
		return backCause
	case h.doubled(j, r, next):
		return twoHomesCause
	case p.lost(begin, end):
		return "its session was lost"
	}
	return ""
}

// troubled reports whether the run's process or the server had a fault before end that may have cost the process its session.
func (h *History) troubled(r Run, end time.Time) bool {
	p := r.Process
	begin := r.taken()
	return !p.Killed.IsZero() && !p.Killed.After(end) || overlapping(p.Stops, begin, end) || overlapping(p.Cuts, begin, end) ||
		overlapping(h.Down, begin, end) || p.lost(begin, end) || h.lostOn(r.Queue, begin, end)
}

// mayLose reports whether the store may have lost accepted jobs of a batch: it was emptied, or their queue returned to a state before them.
func (h *History) mayLose(b *Batch) bool {
	return b.Offered.Before(h.Emptied.To) || h.lostOn(b.Queue, b.Offered, b.Accepted)
}

// lostOn reports whether a slot may have lost something that was written in a span.
func (h *History) lostOn(slot string, begin, end time.Time) bool {
	return slices.ContainsFunc(h.Rollbacks, func(b Rollback) bool { return b.lost(slot, begin, end) })
}

// forgotten reports whether the server may not know that a job has begun, because its queue returned to a state before that.
func (h *History) forgotten(j *Job) bool {
	first := j.byFence()[0]
	return h.lostOn(first.Queue, first.taken(), first.Begun.Add(slack))
}

// uncounted returns 1 if the server may have lost the count of each run of a job that finished, and 0 otherwise.
func (h *History) uncounted(j *Job) int {
	for _, r := range j.Runs {
		if r.Outcome == Done && r.Fence >= h.since() && !h.lostOn(r.Queue, r.taken(), r.settled()) {
			return 0
		}
	}
	return 1
}
