package pages

import (
	"fmt"
	"slices"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/history"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/svg"
	"github.com/chimejobs/chime/recurrence"
)

// A past is what is known of the occurrences of a schedule until now: of those that ran, and why the others did not.
type past struct {
	of     *chime.Schedule
	series *recurrence.Series
	now    time.Time
	kept   time.Time // of what was planned from here on, every run is kept
	days   []chime.RunDay
	hand   func(worker string) Hand // nil: nobody asks who it was

	ran   map[int64][]*chime.RunInfo // by the planned second: the attempts of an occurrence, the newest first
	open  map[int64]*chime.JobInfo   // by the planned second: occurrences that have not ended
	gaps  []gap
	extra []time.Time // planned instants that ran and are no matches of the rule, as the one at creation
}

// A gap is the time between when an occurrence was planned and when somebody took it. What was planned within it was passed over.
type gap struct{ planned, taken time.Time }

// A Fate is what became of an occurrence.
type Fate struct {
	Planned  time.Time
	State    plain.State
	Run      *chime.RunInfo // its last attempt; nil: it has none that is kept
	Late     time.Duration  // of its first attempt; 0: it was not, or is not known
	Instead  *time.Time     // passed over: when the occurrence was planned that was taken in place of this one, and others
	Taken    time.Time      // passed over: when that one was taken
	Open     *chime.JobInfo // it has not ended; nil: it has, or nothing is known
	Attempts int            // that are kept
	On       Hand           // that made the last of them
	tone     svg.Tone
}

// newPast puts together what is known. Runs come with the newest first.
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
		if job.State != chime.JobDelayed { // that it is due says more
			p.open[job.Planned.Unix()] = job
		}
	}
	p.kept = of.Created.Truncate(time.Second)
	// What was counted and is not kept was forgotten. Each attempt that ended well or failed, and each occurrence that was dropped, is a run.
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
		planned := time.Unix(second, 0)
		p.gaps = append(p.gaps, gap{planned, taken})
		if next, ok := series.Next(planned.Add(-time.Second)); !ok || !next.Equal(planned) {
			p.extra = append(p.extra, planned)
		}
	}
	slices.SortFunc(p.gaps, func(a, b gap) int { return a.planned.Compare(b.planned) })
	slices.SortFunc(p.extra, time.Time.Compare)
	return p
}

// occurrenceID is the ID of a schedule's occurrence.
func occurrenceID(schedule string, planned time.Time) string {
	return schedule + "@" + planned.UTC().Format(time.RFC3339)
}

// instants are those that were planned in [from, to) and not after now, in order, as the rule is today, with those that ran all the same; at
// most so many.
func (p *past) instants(from, to time.Time, most int) (all []time.Time, whole bool) {
	if from.Before(p.of.Created.Truncate(time.Second)) {
		from = p.of.Created.Truncate(time.Second)
	}
	if now := p.now.Add(time.Second); to.After(now) {
		to = now
	}
	for _, at := range p.extra {
		if !at.Before(from) && at.Before(to) {
			all = append(all, at)
		}
	}
	whole = true
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

// fate says what became of the occurrence of an instant that has passed.
func (p *past) fate(planned time.Time) Fate {
	f := Fate{Planned: planned}
	second := planned.Unix()
	if job := p.open[second]; job != nil {
		f.Open, f.State, f.tone = job, plain.JobInfo(job, p.now), svg.Run
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

// The words for occurrences that no run tells of, besides those of outcomes.
const (
	notKept  = "not kept"
	noRecord = "no record"
)

// explain says why there is no run of an occurrence.
func (p *past) explain(f *Fate) {
	say := func(symbol, word, sentence string, tone svg.Tone) {
		f.State, f.tone = plain.State{Symbol: symbol, Word: word, Sentence: sentence}, tone
	}
	due := f.Planned.Add(p.of.Offset)
	switch {
	case p.of.State == chime.StateLive && !p.of.Next.IsZero() && !f.Planned.Before(p.of.Next):
		say(plain.Warning, "late", "It is due, and no worker has taken it yet.", svg.Late)
		return
	case due.After(p.now):
		say(plain.Idle, string(chime.JobDelayed), "It is due in a moment.", svg.Off)
		return
	}
	if over := p.passedOver(f.Planned); over != nil {
		say(plain.Idle, string(chime.RunMissed), "It did not run: nobody took it in time.", svg.Missed)
		f.Instead, f.Taken = &over.planned, over.taken
		return
	}
	switch {
	case p.of.State == chime.StatePaused && !p.of.Note.At.IsZero() && !f.Planned.Before(p.of.Note.At.Truncate(time.Second)):
		say(plain.Stopped, "paused", "It did not run: the schedule was paused."+saidBy(p.of.Note), svg.Paused)
	case f.Planned.Before(p.kept):
		say(plain.Idle, notKept, fmt.Sprintf("What became of it is not kept: this schedule keeps its last %d runs.", p.of.KeepRuns), svg.Off)
	case p.now.Sub(due) < plain.LateAfter:
		say(plain.Going, "now", "It is being placed, or taken.", svg.Run)
	default:
		say(plain.Idle, noRecord, "It did not run: the schedule was paused then, or had another rule, or no scheduler ran.", svg.Missed)
	}
}

// passedOver finds the occurrence that was taken in place of one.
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

// saidBy is who has paused something, and why, as a sentence of its own.
func saidBy(n chime.Note) string {
	switch {
	case n.By != "" && n.Text != "":
		return fmt.Sprintf(" %s paused it: %q.", n.By, n.Text)
	case n.By != "":
		return fmt.Sprintf(" %s paused it.", n.By)
	case n.Text != "":
		return fmt.Sprintf(" The note says %q.", n.Text)
	}
	return ""
}
