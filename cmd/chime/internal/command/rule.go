package command

import (
	"cmp"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/rules"
	"github.com/chimejobs/chime/recurrence"
)

// ruleFlags name the rule of a command.
type ruleFlags struct {
	file string
	zone string
}

const maxRuleFile = 2 << 20 // more than a definition with the largest rule and arguments

func (f *ruleFlags) declare(c *cobra.Command) {
	c.Flags().StringVarP(&f.file, "file", "f", "", "`file` that has the rule, as cron text or JSON; - is standard input")
	c.Flags().StringVar(&f.zone, "rule-zone", "", "IANA `name` of the rule's zone, if it names none (default UTC)")
}

// text returns the rule as it was typed: the argument if it is given, else the file.
func (f *ruleFlags) text(s *session, args []string) (string, error) {
	switch {
	case len(args) > 0 && f.file != "":
		return "", usage("RULE and --file %q: want one of them", f.file)
	case len(args) > 0:
		return args[0], nil
	case f.file == "":
		return "", usage("want a RULE, as '30 2 * * *' or JSON, or -f FILE")
	}
	in := s.In
	if f.file != "-" {
		file, err := os.Open(f.file)
		if err != nil {
			return "", usage("--file: %w", err)
		}
		defer func() { _ = file.Close() }() // it was only read
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, maxRuleFile+1))
	if err != nil {
		return "", usage("--file: %w", err)
	}
	if len(text) > maxRuleFile {
		return "", usage("--file %q: has more than %d bytes", f.file, maxRuleFile)
	}
	return string(text), nil
}

func (f *ruleFlags) read(s *session, args []string) (recurrence.Recurrence, error) {
	text, err := f.text(s, args)
	if err != nil {
		return recurrence.Recurrence{}, err
	}
	rule, err := rules.Read(text, f.zone)
	if err != nil {
		return rule, &exitError{exitUsage, err}
	}
	return rule, nil
}

// runFlags select the runs of a rule that a command shows.
type runFlags struct {
	ruleFlags
	n                    int
	from, until, created string
	noImmediateRun       bool
}

const maxRuns = 500

func (f *runFlags) declare(c *cobra.Command) {
	f.ruleFlags.declare(c)
	c.Flags().IntVarP(&f.n, "runs", "n", 10, "how many runs, 1 to 500")
	c.Flags().BoolVar(&f.noImmediateRun, "no-immediate-run", false, "leave out the run that a rule without a start has when the schedule is created")
	c.Flags().StringVar(&f.from, "from", "", "the earliest `time` of a run (default now)")
	c.Flags().StringVar(&f.until, "until", "", "the `time` before which runs are shown (default: no end)")
	c.Flags().StringVar(&f.created, "created", "", "the `time` at which the schedule was created: a rule without a start begins then (default now, or --from if that is earlier)")
}

// A runList is the runs of a rule that a command shows.
type runList struct {
	*rules.Job
	words string // the rule in words, with its run at creation
	from  time.Time
	runs  []time.Time
}

// list reads the flags and lists the runs.
func (f *runFlags) list(c *cobra.Command, s *session, args []string) (*runList, error) {
	if f.n < 1 || f.n > maxRuns {
		return nil, usage("--runs %d: want 1 to %d", f.n, maxRuns)
	}
	now := s.Now()
	from, err := s.instant("--from", f.from, now)
	if err != nil {
		return nil, err
	}
	until, err := s.instant("--until", f.until, time.Time{})
	if err != nil {
		return nil, err
	}
	if !until.IsZero() && until.Before(from) {
		return nil, usage("--until %q: want a time after --from", f.until)
	}
	created := now
	if from.Before(now) {
		created = from
	}
	if created, err = s.instant("--created", f.created, created); err != nil {
		return nil, err
	}
	rule, err := f.read(s, args)
	if err != nil {
		return nil, err
	}
	job, err := rules.NewJob(rule, created)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	if f.noImmediateRun {
		job = job.WithoutFirst()
	}
	runs, err := job.Coming(c.Context(), from, until, f.n)
	if err != nil {
		return nil, &exitError{cmp.Or(code(c.Context().Err()), exitUsage), err}
	}
	words := (&chime.Schedule{Recurrence: rule, NoImmediateRun: f.noImmediateRun}).String()
	return &runList{Job: job, words: words, from: from, runs: runs}, nil
}
