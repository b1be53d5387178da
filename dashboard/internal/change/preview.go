package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/builder"
	"github.com/chimejobs/chime/internal/definition"
	"github.com/chimejobs/chime/internal/rules"
	"github.com/chimejobs/chime/internal/times"
	"github.com/chimejobs/chime/recurrence"
)

const (
	shownRuns   = 10
	maxRuns     = 500         // maximum number of runs in a preview
	previewTime = time.Second // time limit for computing a preview
)

// A Preview shows what a definition will do.
type Preview struct {
	Words    string
	Runs     []PreviewRun
	Zone     string // time zone of the rule
	Warnings []string
	Changes  []definition.Difference // differences from the stored version
	New      bool                    // nothing is stored
}

// A PreviewRun is a planned instant.
type PreviewRun struct {
	At     time.Time
	There  string // local time in the rule's zone
	Remark string // the effect of a clock change on it
}

// preview computes the preview of a draft. If the rule has errors, it records them in the draft and returns nil.
func (d *draft) preview(ctx context.Context, stored *chime.Schedule, now time.Time, n int) (*Preview, error) {
	created := now
	if stored != nil {
		created = stored.Created
	}
	job, err := rules.NewJob(d.rule, created)
	if err != nil {
		d.mistakes = append(d.mistakes, builder.Wrong(err, ruleField(d))...)
		return nil, nil
	}
	words := (&chime.Schedule{Recurrence: d.rule, NoImmediateRun: d.definition.NoImmediateRun}).String()
	if d.definition.NoImmediateRun {
		job = job.WithoutFirst()
	}
	p := &Preview{Words: words, Zone: job.Zone().String(), New: stored == nil}
	if p.Changes, err = d.differences(stored); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, previewTime)
	defer cancel()
	runs, err := job.Coming(ctx, now, time.Time{}, n)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		p.Warnings = append(p.Warnings, fmt.Sprintf("Computing its next runs takes longer than %v: use a later start, or no count.", previewTime))
		return p, nil
	case err != nil:
		p.Warnings = append(p.Warnings, err.Error())
		return p, nil
	}
	used := stored != nil && d.rule.Count > 0 && stored.Used >= d.rule.Count
	if used {
		p.Warnings = append(p.Warnings, fmt.Sprintf("Its count of %d is used up: it has run %d times, and does not run again.", d.rule.Count, stored.Used))
		runs = nil
	}
	for _, run := range runs {
		p.Runs = append(p.Runs, PreviewRun{At: run, There: times.Full(run, job.Zone()), Remark: job.Remark(run)})
	}
	if len(runs) == 0 && !used {
		p.Warnings = append(p.Warnings, "It never runs again: all its instants have passed.")
	}
	p.Warnings = append(p.Warnings, skippedMonths(d.rule)...)
	if len(runs) > 0 {
		for _, c := range job.ClockChanges(now, 2) {
			if effect := job.Effect(c); effect != "no run is affected" {
				p.Warnings = append(p.Warnings, strings.TrimSpace(c.Shown())+": "+effect+".")
			}
		}
	}
	return p, nil
}

// skippedMonths returns warnings for days that some months do not have.
func skippedMonths(rule recurrence.Recurrence) []string {
	if rule.Cron != "" {
		if same, why := builder.FromCron(rule); why == "" {
			rule = same
		}
	}
	if len(rule.MonthDays) == 31 {
		return nil
	}
	var warnings []string
	for _, day := range []int{29, 30, 31} {
		short := func(month time.Month) bool { return lastDay(month) < day }
		if slices.Contains(rule.MonthDays, day) && (len(rule.Months) == 0 || slices.ContainsFunc(rule.Months, short)) {
			warnings = append(warnings, fmt.Sprintf("Months without a day %d are skipped. Use -1 for the last day of every month.", day))
		}
	}
	if slices.ContainsFunc(rule.MonthlyOccurrences, func(o recurrence.NthWeekday) bool { return o.N == 5 || o.N == -5 }) {
		warnings = append(warnings, "Months without a fifth such weekday are skipped.")
	}
	return warnings
}

// lastDay returns the last day of a month in most years.
func lastDay(month time.Month) int { return time.Date(2001, month+1, 0, 0, 0, 0, 0, time.UTC).Day() }

// ruleField returns the field that shows errors of the whole rule.
func ruleField(d *draft) string {
	if d.rule.Cron != "" {
		return builder.Cron
	}
	return builder.Frequency
}
