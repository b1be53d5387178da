package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// A History is what the processes have seen, outside the server. Its methods are safe for concurrent use. The judge reads it when all has ended.
type History struct {
	mu sync.Mutex

	Jobs      map[string]*Job // by key
	Batches   []*Batch        // in the order in which they were offered
	Acts      []*Done
	Processes []*Process
	Faults    []Happened
	Rests     []time.Time // when a rest began
	Repaired  []time.Time // when sweeps and a repair had run, after slots had gone back
	Problems  Findings    // what was found while the plan ran
	Runs      int
	Began     time.Time // when the plan began
}

// A Job is what is known of a job. Its key is its argument, or the ID of an occurrence or of a manual run.
type Job struct {
	Key, ID, Queue, Group string
	Batch                 string // of which it is a member

	Offered  time.Time // zero: not enqueued by an act
	Accepted time.Time // zero: unknown
	Times    int       // how often it was accepted as a new job
	Asked    int       // how often a call to add it has begun
	Begins   []Run
}

// A Run is one run of a job's handler.
type Run struct {
	Process      *Process
	Fence        int64
	Queue        string
	Begun, Ended time.Time // Ended is zero if the process vanished before
	Outcome      Outcome
}

// An Outcome is how a run ended, as its handler saw it.
type Outcome string

const (
	Unended   Outcome = "unended"
	OK        Outcome = "done"
	Failed    Outcome = "failed"
	Discarded Outcome = "discarded"
	Snoozed   Outcome = "snoozed"
	CutOff    Outcome = "cut off" // its ctx ended
)

// A Process is one life of an actor.
type Process struct {
	Name    string
	Begun   time.Time
	Gone    time.Time   // killed, or asked to end
	Killed  bool        // it vanished
	Lost    []time.Time // when it logged that a session was lost or silent
	Kept    int         // how many outcomes it still had when it ended, as it logged: the server did not confirm them
	retired bool        // Run has returned
}

// A Done is an act that was carried out.
type Done struct {
	Act
	Key    string // of the job
	Keys   string // the beginning of the keys of the jobs that it enqueued
	ID     string
	Queue  string
	Begun  time.Time
	Ended  time.Time
	Result string // what the call returned
	Err    error
	From   time.Time // of a backfill
}

// A Happened is a fault that happened. A slot that goes back has the state of From again at To.
type Happened struct {
	Fault
	From, To time.Time
}

func newHistory() *History { return &History{Jobs: map[string]*Job{}, Began: time.Now()} }

// note changes the history under its lock.
func (h *History) note(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

// job returns a job; the lock is held.
func (h *History) job(key string) *Job {
	j := h.Jobs[key]
	if j == nil {
		j = &Job{Key: key}
		h.Jobs[key] = j
	}
	return j
}

// begin records that a run begins, and returns a function that records its end.
func (h *History) begin(p *Process, key, id, queue string, fence int64) (end func(Outcome)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	j := h.job(key)
	j.Queue = queue
	j.ID = id
	at := len(j.Begins)
	j.Begins = append(j.Begins, Run{Process: p, Fence: fence, Queue: queue, Begun: time.Now(), Outcome: Unended})
	h.Runs++
	return func(outcome Outcome) {
		h.note(func() { j.Begins[at].Ended, j.Begins[at].Outcome = time.Now(), outcome })
	}
}

// byFence returns the runs in the order in which they were taken.
func (j *Job) byFence() []Run {
	runs := slices.Clone(j.Begins)
	slices.SortStableFunc(runs, func(a, b Run) int { return int(a.Fence - b.Fence) })
	return runs
}

// done returns how many runs have finished well.
func (j *Job) done() (n int) {
	for _, r := range j.Begins {
		if r.Outcome == OK {
			n++
		}
	}
	return n
}

// schedule returns the schedule of an occurrence and its planned instant, or an empty text.
func (j *Job) schedule() (name string, planned time.Time) {
	name, instant, ok := strings.Cut(j.Key, "@")
	if !ok {
		return "", time.Time{}
	}
	planned, err := time.Parse(time.RFC3339, instant)
	if err != nil {
		return "", time.Time{}
	}
	return name, planned
}

// A Finding is something that must not happen.
type Finding struct {
	Kind string
	Text string
}

// Findings are what a run or the judge has found.
type Findings []Finding

func (f *Findings) add(kind, format string, args ...any) {
	*f = append(*f, Finding{kind, fmt.Sprintf(format, args...)})
}

// Kinds returns the kinds of findings, sorted.
func (f Findings) Kinds() []string {
	var kinds []string
	for _, finding := range f {
		kinds = append(kinds, finding.Kind)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// The kinds of findings.
const (
	lost        = "lost"        // an accepted job did not end
	doubled     = "doubled"     // a job ran again without a cause
	refenced    = "refenced"    // two runs have one fence
	started     = "started"     // a cancelled job started, or an occurrence of a deleted schedule
	exceeded    = "exceeded"    // more jobs ran than a limit permits
	overtaken   = "overtaken"   // a job overtook another one of its ordered group
	overlapped  = "overlapped"  // two occurrences ran at once
	unaccounted = "unaccounted" // an instant has neither run nor is it counted
	homeless    = "homeless"    // a schedule lives in no queue, in two, or although it was deleted
	stuck       = "stuck"       // work was left when everything rested
	damaged     = "damaged"     // Verify has found something
	miscounted  = "miscounted"  // a count of the server does not fit the history
	early       = "early"       // a batch ended before its last member
	refused     = "refused"     // a call failed although no fault was active
	broken      = "broken"      // a role ended by itself
)

// problem records a finding.
func (h *History) problem(kind, format string, args ...any) {
	h.note(func() { h.Problems.add(kind, format, args...) })
}
