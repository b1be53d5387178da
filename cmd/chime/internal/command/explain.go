package command

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/rules"
	"github.com/chimejobs/chime/internal/times"
	"github.com/chimejobs/chime/recurrence"
)

func (s *session) explain() *cobra.Command {
	flags := runFlags{}
	c := &cobra.Command{
		Use: "explain [RULE]", Short: "Explain what a rule means", GroupID: groupRules, Args: cobra.MaximumNArgs(1),
		Long: "explain shows what a rule means. The rule is cron text or JSON. It prints the rule in words, as canonical JSON and, if possible, as a rule of\n" +
			"RFC 5545; then the number of runs in twelve months, the effect of the next two clock changes in its zone, and the next runs. It needs no store.",
		Example: "  chime explain '30 2 * * *' --rule-zone Europe/Berlin",
		RunE: func(c *cobra.Command, args []string) error {
			l, err := flags.list(c, s, args)
			if err != nil {
				return err
			}
			e, err := s.explained(c, l)
			if err != nil {
				return err
			}
			var runs strings.Builder
			table := output.Printer{Out: &runs, Format: output.Table}
			if s.ShowsOn {
				table.Width = s.Width() - len(explainIndent)
			}
			if err := table.List(s.runTable(l)); err != nil {
				return err
			}
			return s.printer().Item(e.Words, e, e.text(runs.String()))
		},
	}
	flags.declare(c)
	return c
}

// An explanation has what explain prints about a rule.
type explanation struct {
	Words        string                `json:"words"`
	Rule         recurrence.Recurrence `json:"rule"`
	RRule        string                `json:"rrule,omitempty"`
	NoRRule      string                `json:"no_rrule,omitempty"` // why RFC 5545 cannot express it
	RunsYear     int                   `json:"runs_a_year"`        // in the twelve months after from
	RunsYearMore bool                  `json:"runs_a_year_more,omitempty"`
	ClockChanges []clockChangeJSON     `json:"clock_changes"`
	Runs         []runJSON             `json:"runs"`

	from string
}

type clockChangeJSON struct {
	At     time.Time `json:"at"`
	Shown  string    `json:"shown"`
	Effect string    `json:"effect"`
}

func (s *session) explained(c *cobra.Command, l *runList) (*explanation, error) {
	e := &explanation{
		Words: l.words, Rule: l.Rule, ClockChanges: []clockChangeJSON{}, Runs: []runJSON{}, from: times.Full(l.from, s.location),
	}
	var err error
	if e.RRule, err = l.Rule.RRule(); err != nil {
		e.NoRRule = err.Error()
		if found := recurrence.Errors(err); len(found) > 0 {
			e.NoRRule = found[0].Reason
		}
	}
	if e.RunsYear, err = l.InYear(c.Context(), l.from); err != nil {
		return nil, err
	}
	e.RunsYearMore = e.RunsYear == rules.MaxYear
	for _, change := range l.ClockChanges(l.from, 2) {
		e.ClockChanges = append(e.ClockChanges, clockChangeJSON{At: change.At.UTC(), Shown: change.Shown(), Effect: l.Effect(change)})
	}
	for _, item := range s.runTable(l).Items {
		e.Runs = append(e.Runs, item.Value.(runJSON))
	}
	return e, nil
}

const explainIndent = "        "

// text formats the explanation for people. runs is the table of the next runs.
func (e *explanation) text(runs string) string {
	var b strings.Builder
	b.WriteString(output.Printable(e.Words) + "\n\n")
	part := func(title string, lines ...string) {
		for i, line := range lines {
			if i > 0 {
				title = ""
			}
			fmt.Fprintf(&b, "%-*s%s\n", len(explainIndent), title, line)
		}
	}
	rule, _ := json.Marshal(e.Rule) // its error is always nil
	part("JSON", output.Printable(string(rule)))
	if e.RRule != "" {
		part("RRULE", strings.Split(output.Printable(strings.ReplaceAll(e.RRule, "\n", "\x00")), `\x00`)...)
	} else {
		part("RRULE", "none: "+output.Printable(e.NoRRule))
	}
	number := format.Count(e.RunsYear)
	if e.RunsYearMore {
		number += " or more"
	}
	part("Runs", number+" in the twelve months from "+e.from)
	if len(e.ClockChanges) == 0 {
		part("Clocks", "are not going to change in its zone")
	}
	for i, change := range e.ClockChanges {
		title := ""
		if i == 0 {
			title = "Clocks"
		}
		part(title, change.Shown, "  "+change.Effect)
	}
	if runs == "" {
		part("Next", "never")
	} else {
		part("Next", strings.Split(strings.TrimSuffix(runs, "\n"), "\n")...)
	}
	return b.String()
}
