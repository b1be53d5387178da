package rules

import (
	"fmt"
	"strings"
	"time"

	"github.com/chimejobs/chime/recurrence"
)

// A ClockChange is an instant at which the clocks of a zone are set.
type ClockChange struct {
	At            time.Time
	Before, After *time.Location // fixed
}

// by returns how far the clocks are set forward; negative: back.
func (c ClockChange) by() time.Duration {
	return time.Duration(offset(c.At, c.After)-offset(c.At, c.Before)) * time.Second
}

func offset(t time.Time, zone *time.Location) int {
	_, seconds := t.In(zone).Zone()
	return seconds
}

// Shown describes what the clocks show: "Sun 28 Mar 2027 02:00 CET becomes 03:00 CEST".
func (c ClockChange) Shown() string {
	before, after := c.At.In(c.Before), c.At.In(c.After)
	form := "15:04 MST"
	if before.YearDay() != after.YearDay() {
		form = "2 Jan 15:04 MST"
	}
	return before.Format("Mon _2 Jan 2006 15:04 MST") + " becomes " + after.Format(form)
}

// changeAt returns the change of a zone's clocks at an instant.
func changeAt(t time.Time, zone *time.Location) ClockChange {
	fixed := func(t time.Time) *time.Location {
		name, seconds := t.In(zone).Zone()
		return time.FixedZone(name, seconds)
	}
	return ClockChange{At: t, Before: fixed(t.Add(-1)), After: fixed(t)}
}

// maxChanges bounds the search for changes: zones have at most two a year, and some changes affect only the name.
const maxChanges = 500

// ClockChanges returns the next n changes of the rule's zone after an instant; fewer if there are fewer.
func (j *Job) ClockChanges(after time.Time, n int) []ClockChange {
	var changes []ClockChange
	for range maxChanges {
		_, end := after.In(j.zone).ZoneBounds()
		if end.IsZero() {
			break
		}
		if c := changeAt(end, j.zone); c.by() != 0 {
			if changes = append(changes, c); len(changes) == n {
				break
			}
		}
		after = end
	}
	return changes
}

// Remark describes what is special about a run: it is the one at the creation, or a clock change affects it: "02:30 does not exist on this day".
// Empty: nothing.
func (j *Job) Remark(run time.Time) string {
	text := j.changed(run)
	first, is := j.AtCreation()
	switch {
	case !is || !run.Equal(first):
		return text
	case text != "":
		return FirstRun + "; " + text
	}
	return FirstRun
}

// FirstRun is the remark on a run at the creation of a schedule.
const FirstRun = "runs when it is created"

// changed describes the effect of a clock change on a run.
func (j *Job) changed(run time.Time) string {
	start, end := run.In(j.zone).ZoneBounds()
	if !start.IsZero() {
		switch c := changeAt(start, j.zone); {
		case c.by() > 0 && run.Sub(start) < c.by() && j.moved(run):
			return c.skipped(run) + " does not exist on this day"
		case c.by() < 0 && run.Sub(start) < -c.by():
			return clock(run.In(c.After)) + " comes twice on this day, this is the second"
		}
	}
	if !end.IsZero() {
		if c := changeAt(end, j.zone); c.by() < 0 && end.Sub(run) <= -c.by() {
			return clock(run.In(c.Before)) + " comes twice on this day, this is the first"
		}
	}
	return ""
}

// moved reports whether a run in the hour after a gap belongs to a time in the gap.
func (j *Job) moved(run time.Time) bool {
	if !j.series.Matches(run) { // the run at creation
		return false
	}
	if j.skip == nil {
		return j.Rule.ClockChanges == recurrence.ClockOnce && j.followsClock()
	}
	return !j.skip.Matches(run)
}

// followsClock reports whether the rule uses clock times, and not elapsed time.
func (j *Job) followsClock() bool {
	return j.Rule.Frequency >= recurrence.Day || j.Rule.Cron != "" && !strings.Contains(strings.ToLower(j.Rule.Cron), "@every")
}

// skipped returns what the clocks would have shown at an instant if they had not been set forward.
func (c ClockChange) skipped(run time.Time) string {
	before, after := run.In(c.Before), run.In(c.After)
	if before.YearDay() != after.YearDay() {
		return before.Format("2 Jan ") + clock(before)
	}
	return clock(before)
}

// clock formats the time of day, without seconds if they are zero.
func clock(t time.Time) string {
	if t.Second() == 0 {
		return t.Format("15:04")
	}
	return t.Format(time.TimeOnly)
}

// maxEffects is how many runs Effect lists.
const maxEffects = 3

// Effect describes the effect of a change of the clocks on the job's runs.
func (j *Job) Effect(c ClockChange) string {
	from, until := c.At, c.At.Add(c.by())
	if c.by() < 0 {
		from, until = c.At.Add(c.by()), c.At.Add(-c.by())
	}
	named, more := []string{}, 0
	add := func(text string) {
		if len(named) == maxEffects {
			more++
			return
		}
		named = append(named, text)
	}
	if dropped := j.dropped(c); dropped != nil {
		for run := range dropped.Between(from, until) {
			if !j.series.Matches(run) {
				add(c.skipped(run) + " does not exist and does not run")
			}
		}
	}
	for run := range j.series.Between(from, until) {
		switch {
		case c.by() > 0 && j.moved(run):
			add(c.skipped(run) + " does not exist and runs at " + clock(run.In(c.After)))
		case c.by() < 0 && run.Before(c.At):
			again := "runs the first time"
			if j.series.Matches(run.Add(-c.by())) {
				again = "runs both times"
			}
			add(clock(run.In(c.Before)) + " comes twice and " + again)
		}
	}
	switch {
	case len(named) == 0:
		return "no run is affected"
	case more > 0:
		return fmt.Sprintf("%s; and %d more", strings.Join(named, "; "), more)
	}
	return strings.Join(named, "; ")
}

// dropped returns the series in which times that a rule drops at a change run later; nil if the rule drops none.
func (j *Job) dropped(c ClockChange) *recurrence.Series {
	if c.by() < 0 || j.Rule.ClockChanges == recurrence.ClockOnce {
		return nil
	}
	return variant(j.Rule, recurrence.ClockOnce, j.created)
}
