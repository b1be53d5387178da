package pages

import (
	"fmt"
	"slices"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/history"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/svg"
	"github.com/chimejobs/chime/recurrence"
)

// A past has everything that is known about the past occurrences of a schedule: the runs, and why the others did not run.
type past struct {
	of     *chime.Schedule
	series *recurrence.Series
	now    time.Time
	kept   time.Time // every run that was planned from here on is kept
	ruled  time.Time // what was planned after it is what the rule plans. Of the time before, only what was placed is known: the rule was another one, or paused
	days   []chime.RunDay
	hand   func(worker string) Hand // nil: the worker is not needed

	ran   map[int64][]*chime.RunInfo // by the planned second: the attempts of an occurrence, newest first
	open  map[int64]*chime.JobInfo   // by the planned second: occurrences that have not ended
	gaps  []gap
	extra []time.Time // instants that were placed and that the rule does not plan after ruled, such as the run at creation
}

// A gap is the time from the planned time of an occurrence until a worker took it. Occurrences planned in between were skipped.
type gap struct{ planned, taken time.Time }

// A Fate is the outcome of an occurrence.
type Fate struct {
	Planned  time.Time
	State    plain.State
	Run      *chime.RunInfo // its last attempt; nil: no attempt is kept
	Late     time.Duration  // the lateness of its first attempt; 0: not late, or not known
	Instead  *time.Time     // if it was skipped: the planned time of the occurrence that was taken instead
	Taken    time.Time      // if it was skipped: when that one was taken
	Open     *chime.JobInfo // its job if it has not ended; nil: it has ended, or nothing is known
	Attempts int            // number of kept attempts
	On       Hand           // the worker of the last attempt
	tone     svg.Tone
}

// newPast combines the runs, the open jobs and the rule. Runs are ordered newest first.
func newPast(of *chime.Schedule, series *recurrence.Series, runs []*chime.RunInfo, days []chime.RunDay, open []*chime.JobInfo, hand func(string) Hand, now time.Time) *past {
	p := &past{of: of, series: series, now: now, days: days, hand: hand, ran: map[int64][]*chime.RunInfo{}, open: map[int64]*chime.JobInfo{}}
	attempts := 0
	for _, run := range runs {
		if run.ID == occurrenceID(of.Name, run.Planned) {
			p.ran[run.Planned.Unix()] = append(p.ran[run.Planned.Unix()], run)
			attempts++
		}
	}
	for _, job := range open {
		if job.State != chime.JobDelayed { // a delayed job is described by its due time
			p.open[job.Planned.Unix()] = job
		}
	}
	p.kept, p.ruled = of.Created.Truncate(time.Second), of.Created
	// A change, a pause and a resume draw a revision, which is their instant in microseconds.
	if drawn := time.UnixMicro(of.Revision); drawn.After(of.Created) && !drawn.After(now) {
		p.ruled = drawn
	}
	// Runs that were counted but are not kept were removed. Each attempt that succeeded or failed is a run, and so is each dropped occurrence.
	counted := of.Counters.Done + of.Counters.Failed + of.Counters.Skipped
	if len(runs) >= of.KeepRuns || counted > int64(attempts) {
		p.kept = now
		if len(runs) > 0 {
			p.kept = runs[len(runs)-1].Planned
		}
	}
	for second, attempts := range p.ran {
		first := attempts[len(attempts)-1]
		taken := first.Started
		if taken.IsZero() {
			taken = first.Ended
		}
		p.gaps = append(p.gaps, gap{time.Unix(second, 0), taken})
		p.placed(time.Unix(second, 0))
	}
	for second := range p.open {
		p.placed(time.Unix(second, 0))
	}
	if of.State == chime.StateLive && !of.Next.IsZero() && !of.Next.After(now) {
		p.placed(of.Next)
	}
	slices.SortFunc(p.gaps, func(a, b gap) int { return a.planned.Compare(b.planned) })
	slices.SortFunc(p.extra, time.Time.Compare)
	p.extra = slices.CompactFunc(p.extra, time.Time.Equal)
	return p
}

// changedAfter reports whether the schedule was changed, paused or resumed after an instant, so that it is not known what it planned then.
func (p *past) changedAfter(at time.Time) bool {
	return p.ruled.After(p.of.Created) && at.Before(p.ruled)
}

// placed notes an occurrence that was placed. Those that the rule plans are found by the rule.
func (p *past) placed(planned time.Time) {
	if next, ok := p.series.Next(planned.Add(-time.Second)); !planned.After(p.ruled) || !ok || !next.Equal(planned) {
		p.extra = append(p.extra, planned)
	}
}

// occurrenceID returns the ID of a schedule's occurrence.
func occurrenceID(schedule string, planned time.Time) string {
	return schedule + "@" + planned.UTC().Format(time.RFC3339)
}

// instants returns the instants in [from, to) and not after now that the rule has planned since it is as it is now, and those that were placed
// otherwise. They are in order, and at most the given number.
func (p *past) instants(from, to time.Time, most int) (all []time.Time, whole bool) {
	if now := p.now.Add(time.Second); to.After(now) {
		to = now
	}
	for _, at := range p.extra {
		if !at.Before(from) && at.Before(to) {
			all = append(all, at)
		}
	}
	whole = true
	if first := p.ruled.Truncate(time.Second).Add(time.Second); from.Before(first) {
		from = first
	}
	for at := range p.series.Between(from, to) {
		if len(all) >= most {
			whole = false
			break
		}
		all = append(all, at)
	}
	slices.SortFunc(all, time.Time.Compare)
	return all, whole
}

// fate returns the outcome of the occurrence of a past instant.
func (p *past) fate(planned time.Time) Fate {
	f := Fate{Planned: planned}
	second := planned.Unix()
	if job := p.open[second]; job != nil {
		f.Open, f.State, f.tone = job, plain.JobInfo(job, chime.Reason{}, p.now), svg.Run
	}
	if runs := p.ran[second]; len(runs) > 0 {
		f.Run, f.Attempts = runs[0], len(runs)
		if p.hand != nil {
			f.On = p.hand(f.Run.Worker)
		}
		f.Late, _ = history.Lateness(p.of, runs[len(runs)-1])
		if f.Open == nil {
			f.State, f.tone = plain.Outcome(f.Run.Outcome), toneOf(f.Run.Outcome)
		}
	}
	if f.State.Word == "" {
		p.explain(&f)
	}
	return f
}

// The words for occurrences without a run, in addition to the outcomes.
const (
	notKept  = "not kept"
	noRecord = "no record"
)

// explain describes why an occurrence has no run.
func (p *past) explain(f *Fate) {
	set := func(symbol, word, sentence string, tone svg.Tone) {
		f.State, f.tone = plain.State{Symbol: symbol, Word: word, Sentence: sentence}, tone
	}
	due := f.Planned.Add(p.of.Offset)
	switch {
	case p.of.State == chime.StateLive && !p.of.Next.IsZero() && !f.Planned.Before(p.of.Next):
		set(plain.Warning, "late", "It is due, but no worker has taken it yet.", svg.Late)
		return
	case due.After(p.now):
		set(plain.Idle, string(chime.JobDelayed), "It is due very soon.", svg.Off)
		return
	}
	if over := p.passedOver(f.Planned); over != nil {
		set(plain.Idle, string(chime.RunMissed), "It did not run: no worker took it in time.", svg.Missed)
		f.Instead, f.Taken = &over.planned, over.taken
		return
	}
	switch {
	case p.of.State == chime.StatePaused && !p.of.Note.At.IsZero() && !f.Planned.Before(p.of.Note.At.Truncate(time.Second)):
		set(plain.Stopped, "paused", "It did not run: the schedule was paused."+saidBy(p.of.Note), svg.Paused)
	case f.Planned.Before(p.kept):
		set(plain.Idle, notKept, fmt.Sprintf("Its outcome is not kept: this schedule keeps only its last %s runs.", format.Count(p.of.KeepRuns)), svg.Off)
	case p.now.Sub(due) < plain.LateAfter:
		set(plain.Going, "now", "It is being placed or taken.", svg.Run)
	default:
		set(plain.Idle, noRecord, "It did not run: at that time the schedule was paused or had another rule, or no scheduler ran.", svg.Missed)
	}
}

// passedOver finds the occurrence that was taken instead of a skipped one.
func (p *past) passedOver(planned time.Time) *gap {
	i, found := slices.BinarySearchFunc(p.gaps, planned, func(g gap, at time.Time) int { return g.planned.Compare(at) })
	if found || i == 0 {
		return nil
	}
	if before := &p.gaps[i-1]; before.taken.After(planned) {
		return before
	}
	return nil
}

// saidBy returns a sentence with the person who paused something and the reason.
func saidBy(n chime.Note) string {
	switch {
	case n.By != "" && n.Text != "":
		return fmt.Sprintf(" %s paused it: %q.", n.By, n.Text)
	case n.By != "":
		return fmt.Sprintf(" %s paused it.", n.By)
	case n.Text != "":
		return fmt.Sprintf(" The note is %q.", n.Text)
	}
	return ""
}
