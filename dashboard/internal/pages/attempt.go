package pages

import (
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/jobfind"
	"github.com/chimejobs/chime/internal/plain"
)

// An Attempt is an attempt that has ended or is running.
type Attempt struct {
	Number  int // 0: not known
	State   plain.State
	Started time.Time // zero: not known
	Ended   time.Time // zero: it is running
	Took    time.Duration
	Worker  string
	On      Hand
	Last    bool // it is the last failed one
	Error   string
	Stack   string // empty: it did not panic, or its stack is not kept
	Note    string

	newest bool // the last failure that is stored with the job: its stack is the job's
}

// attemptsOf returns the attempts of a job, newest first, and the number of attempts before them. The history of its schedule has the durations and
// the first 200 bytes of each error; the job has its last five failures with 500 bytes, and the whole last error. An attempt that both have is shown once.
func (s *Site) attemptsOf(job *chime.JobInfo, runs []*chime.RunInfo) (attempts []Attempt, earlier int) {
	for _, run := range slices.Backward(runs) {
		attempts = append(attempts, Attempt{
			Number: run.Attempt, State: plain.Outcome(run.Outcome), Started: run.Started, Ended: run.Ended, Worker: run.Worker, Error: run.Error, Note: s.hooks.failed(job, run.Note),
		})
	}
	attempts = merged(attempts, storedAttempts(job))
	for i := range attempts {
		if a := &attempts[i]; a.newest {
			a.Stack = s.hooks.failed(job, job.Stack)
		}
		attempts[i].fail(s.hooks.failed(job, attempts[i].Error))
	}
	switch {
	case job.State == chime.JobRunning:
		attempts = append(attempts, Attempt{Number: job.Attempt, State: plain.JobRow(job), Started: job.Started, Worker: job.Worker})
	case job.State == chime.JobDone && len(runs) == 0:
		attempts = append(attempts, Attempt{Number: job.Attempt, State: plain.Outcome(job.Outcome), Started: job.Started, Ended: job.Ended, Note: s.hooks.failed(job, job.Note)})
	}
	for i := range attempts {
		if a := &attempts[i]; !a.Started.IsZero() && !a.Ended.IsZero() {
			a.Took = a.Ended.Sub(a.Started)
		}
	}
	if len(attempts) > 0 {
		earlier = max(0, attempts[0].Number-1)
	}
	slices.Reverse(attempts)
	if i := slices.IndexFunc(attempts, func(a Attempt) bool { return a.Error != "" }); i >= 0 {
		attempts[i].Last = true
	}
	return attempts, earlier
}

// storedAttempts returns the attempts that are stored with the job, oldest first.
func storedAttempts(job *chime.JobInfo) (attempts []Attempt) {
	known := jobfind.Failures(job)
	if len(known) == 0 && job.LastError != "" {
		known = []chime.Failure{{At: jobfind.Since(job), Error: job.LastError}}
	}
	number := job.Attempt - len(known)
	if job.State == chime.JobDead || job.State == chime.JobDone && job.Outcome != chime.RunDone {
		number++ // the last attempt is one of them
	}
	for i, failure := range known {
		a := Attempt{
			Number: max(0, number+i), State: plain.Outcome(chime.RunFailed), Ended: failure.At, Worker: failure.Worker, Error: failure.Error, newest: i == len(known)-1,
		}
		if job.State == chime.JobDead && a.newest {
			a.State = plain.Outcome(chime.RunDead)
		}
		attempts = append(attempts, a)
	}
	return attempts
}

// nearby is the time within which an attempt of the history and a failure of the job with the same error are the same attempt, if they are not of one
// instant: a script ended it by its own clock.
const nearby = time.Minute

// merged adds the failures of a job to the attempts of its schedule's history, both oldest first.
func merged(attempts, failures []Attempt) []Attempt {
	taken := make([]bool, len(attempts))
	find := func(f *Attempt, same func(a *Attempt) bool) bool {
		for i := range attempts {
			if a := &attempts[i]; !taken[i] && same(a) {
				if strings.HasPrefix(strings.ReplaceAll(f.Error, "\t", " "), strings.TrimSuffix(a.Error, "…")) { // the history has no tabs
					a.Error = f.Error
				}
				taken[i], a.newest = true, f.newest
				return true
			}
		}
		return false
	}
	left := slices.DeleteFunc(slices.Clone(failures), func(f Attempt) bool {
		return find(&f, func(a *Attempt) bool { return a.Ended.Sub(f.Ended).Abs() <= time.Millisecond })
	})
	left = slices.DeleteFunc(left, func(f Attempt) bool {
		return find(&f, func(a *Attempt) bool {
			return a.Error != "" && a.Ended.Sub(f.Ended).Abs() < nearby && strings.HasPrefix(strings.ReplaceAll(f.Error, "\t", " "), strings.TrimSuffix(a.Error, "…"))
		})
	})
	all := append(attempts, left...)
	slices.SortStableFunc(all, func(a, b Attempt) int { return a.Ended.Compare(b.Ended) })
	return all
}

// fail sets the error of an attempt. An error that an earlier version stored is one line with \n for the end of a line. If it has the \n\t of a stack, it
// is shown in lines.
func (a *Attempt) fail(text string) {
	a.Error = text
	if first, rest, found := strings.Cut(text, `\n`); found && strings.Contains(text, `\n\t`) && a.Stack == "" {
		a.Error, a.Stack = first, strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(rest)
	}
}
