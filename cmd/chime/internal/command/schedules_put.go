package command

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/definition"
	"github.com/chimejobs/chime/internal/rules"
	"github.com/chimejobs/chime/recurrence"
)

// A putCommand has the flags and the definition of chime schedules put.
type putCommand struct {
	ruleFlags
	job, queue, group string
	revision          int64

	noImmediateRun                                   bool
	overlap, misfire                                 string
	grace, spread, timeout                           time.Duration
	pauseAfter, keepRuns, maxAttempts, maxUnfinished int

	rule  recurrence.Recurrence
	given *definition.Definition
	first string // what happens at the creation, for the question; empty: nothing
}

func (s *session) schedulesPut() *cobra.Command {
	p := putCommand{}
	c := &cobra.Command{
		Use: "put NAME [RULE]", Short: "Create a schedule, or change it", Args: cobra.RangeArgs(1, 2),
		Long: "Create a schedule, or change the one of that name. It shows what is different and asks. RULE is cron text or JSON; instead, a file may\n" +
			"contain what chime schedules export prints. Fields that are not given do not change. If the schedule has changed in the meantime, nothing is done.",
		Example: "  chime schedules put report '0 9 * * 1-5' --rule-zone Europe/Berlin --queue mail\n  chime schedules put report -f report.json --revision 4",
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("revision") && p.revision < 1 {
				return usage("--revision %d: want 1 or more, as chime schedules show prints", p.revision)
			}
			return p.run(c, s, args)
		},
		ValidArgsFunction: s.completeSchedule,
	}
	p.declare(c)
	c.Flags().StringVar(&p.job, "job", "", "`name` of its jobs (default the schedule's)")
	c.Flags().StringVar(&p.queue, "queue", "", "`name` of the queue that they go to (default \"default\")")
	c.Flags().StringVar(&p.group, "group", "", "`key` of the group of its jobs; empty: none")
	c.Flags().BoolVar(&p.noImmediateRun, "no-immediate-run", false, "do not run it when it is created, as a rule without a start does")
	c.Flags().StringVar(&p.overlap, "overlap", "", "`policy` if the previous run has not ended: skip, wait, cancel or allow")
	c.Flags().StringVar(&p.misfire, "misfire", "", "`policy` for missed runs: run_once, skip or catch_up")
	c.Flags().DurationVar(&p.grace, "grace", 0, "how late a run may begin before it is missed")
	c.Flags().DurationVar(&p.spread, "spread", 0, "runs are due up to this much later, by the schedule's name")
	c.Flags().DurationVar(&p.timeout, "timeout", 0, "timeout of an attempt of its jobs")
	c.Flags().IntVar(&p.pauseAfter, "pause-after", 0, "pause it after this many consecutive dead jobs; 0: never")
	c.Flags().IntVar(&p.maxUnfinished, "max-unfinished", 0, "how many of its runs may be unfinished: more are skipped; 0: any number")
	c.Flags().IntVar(&p.keepRuns, "keep-runs", 0, "how many runs its history keeps")
	c.Flags().IntVar(&p.maxAttempts, "max-attempts", 0, "how often a job is tried")
	c.Flags().Int64Var(&p.revision, "revision", 0, "change it only if it is at this revision")
	_ = c.RegisterFlagCompletionFunc("queue", s.completeQueue)
	return s.changes(c)
}

func (p *putCommand) run(c *cobra.Command, s *session, args []string) error {
	name := args[0]
	text, err := p.text(s, args[1:])
	if err != nil {
		return err
	}
	if p.given, p.rule, err = definition.Read(text, p.zone); err != nil {
		return &exitError{exitUsage, err}
	}
	if p.given.Name != "" && p.given.Name != name {
		return usage("the definition has the name %q, and you put it as %q: remove the name from it", p.given.Name, name)
	}
	if p.job != "" {
		p.given.JobName = p.job
	}
	if p.queue != "" {
		p.given.Queue = p.queue
	}
	p.setOptions(c)
	old, err := p.stored(c, s, name)
	if err != nil {
		return err
	}
	created := s.Now()
	if old != nil {
		created = old.Created
	}
	job, err := rules.NewJob(p.rule, created)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if _, is := job.AtCreation(); is && old == nil && !p.given.NoImmediateRun {
		p.first = " It runs now, when it is created."
	}
	return p.change(c, s, name, old)
}

// setOptions sets the options that were given as flags.
func (p *putCommand) setOptions(c *cobra.Command) {
	given := c.Flags().Changed
	d := p.given
	if given("no-immediate-run") {
		d.NoImmediateRun = p.noImmediateRun
	}
	if given("group") {
		d.Group = &p.group
	}
	if given("overlap") {
		d.Overlap = p.overlap
	}
	if given("misfire") {
		d.Misfire = p.misfire
	}
	if given("grace") {
		d.GraceMS = p.grace.Milliseconds()
	}
	if given("spread") {
		ms := p.spread.Milliseconds()
		d.SpreadMS = &ms
	}
	if given("timeout") {
		d.TimeoutMS = p.timeout.Milliseconds()
	}
	if given("pause-after") {
		d.PauseAfter = &p.pauseAfter
	}
	if given("max-unfinished") {
		d.MaxUnfinished = &p.maxUnfinished
	}
	if given("keep-runs") {
		d.KeepRuns = &p.keepRuns
	}
	if given("max-attempts") {
		d.MaxAttempts = p.maxAttempts
	}
}

// stored returns the existing schedule, or nil.
func (p *putCommand) stored(c *cobra.Command, s *session, name string) (*chime.Schedule, error) {
	schedules, err := s.theSchedules()
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.limited(c.Context())
	defer cancel()
	old, err := schedules.Get(ctx, name)
	switch {
	case errors.Is(err, chime.ErrNotFound) && p.revision == 0:
		return nil, nil
	case err != nil:
		return nil, s.noSchedule(ctx, name, err)
	case p.revision != 0 && p.revision != old.Revision:
		return nil, exit(exitRefused, "--revision %d: schedule %q is at revision %d; nothing was changed", p.revision, name, old.Revision)
	}
	return old, nil
}

// change shows the differences, asks, and puts the schedule if it has not changed since they were shown.
func (p *putCommand) change(c *cobra.Command, s *session, name string, old *chime.Schedule) error {
	before, options, question := &definition.Definition{}, []chime.PutOption{chime.IfAbsent()}, "Create schedule "+name+"?"+p.first
	if old != nil {
		var err error
		if before, err = definition.Of(old, true); err != nil {
			return err
		}
		options, question = append(old.Options(), chime.IfRevision(old.Revision)), "Change schedule "+name+"?"
	}
	after, err := before.With(p.given)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	changes, err := definition.Differences(before, after)
	if err != nil {
		return err
	}
	if old != nil && len(changes) == 0 {
		return s.printer().Item(name, old, fmt.Sprintf("Schedule %s is already defined so. Nothing was changed.\n", output.Printable(name)))
	}
	if !s.yes {
		s.showDifferences(changes)
	}
	if err := s.confirm(c.Context(), question); err != nil {
		return err
	}
	schedules, err := s.theSchedules()
	if err != nil {
		return err
	}
	ctx, cancel := s.limited(c.Context())
	defer cancel()
	put, err := schedules.Put(ctx, name, p.rule, append(options, p.given.Options()...)...)
	if err != nil {
		return err
	}
	now, err := s.storeNow(c.Context(), put.Queue)
	if err != nil {
		return err
	}
	return s.printer().Item(name, put, fmt.Sprintf("Put schedule %s: %s, next %s.\n", output.Printable(name), output.Printable(put.String()), output.Printable(s.nextOf(put, now))))
}

// showDifferences prints on standard error what will change.
func (s *session) showDifferences(changes []definition.Difference) {
	var b strings.Builder
	for _, d := range changes {
		title := d.Field
		for _, line := range []struct{ sign, text string }{{"-", d.Before}, {"+", d.After}} {
			if line.text != "" {
				fmt.Fprintf(&b, "%-17s%s %s\n", title, line.sign, output.Printable(line.text))
				title = ""
			}
		}
	}
	_, _ = s.Err.Write([]byte(b.String()))
}
