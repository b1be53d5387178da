package command

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/times"
)

func (s *session) next() *cobra.Command {
	flags := runFlags{}
	c := &cobra.Command{
		Use: "next [RULE]", Short: "List the next runs of a rule", GroupID: groupRules, Args: cobra.MaximumNArgs(1),
		Long: "next lists the runs of a rule, which is cron text or JSON. Each run has its time in this machine's zone (or --zone), in the rule's zone if it\n" +
			"differs, in UTC, and the time until then. Runs that a clock change moves or repeats are marked, and so is the run at creation. It needs no store.",
		Example: "  chime next '30 2 * * *' --rule-zone Europe/Berlin -n 3 --from 2027-03-27\n" +
			`  chime next '{"frequency": "month", "schedule": {"monthDays": [-1], "hours": [18]}}'`,
		RunE: func(c *cobra.Command, args []string) error {
			l, err := flags.list(c, s, args)
			if err != nil {
				return err
			}
			if len(l.runs) == 0 {
				s.noteEmpty("it has no run in this range")
			}
			if s.zone != "" && l.Rule.TimeZone == "" && l.Zone() == time.UTC && s.location.String() != "UTC" {
				s.noteEmpty("the rule has no zone, so it is in UTC: --zone only sets the zone of the times shown, --rule-zone sets the rule's")
			}
			return s.printer().List(s.runTable(l))
		},
	}
	flags.declare(c)
	return c
}

// noteEmpty reports on standard error that a table is empty. Only people see it.
func (s *session) noteEmpty(text string) {
	if output.Format(s.format) == output.Table {
		_, _ = s.Err.Write([]byte(text + "\n"))
	}
}

// A runJSON is a run of a rule.
type runJSON struct {
	At     time.Time `json:"at"`
	Clock  string    `json:"clock"` // the time in the rule's zone
	Zone   string    `json:"zone"`
	InMS   int64     `json:"in_ms"` // from now
	Remark string    `json:"remark,omitempty"`
}

// runTable returns the table of runs. It has a column for the rule's zone if that differs from the session's zone.
func (s *session) runTable(l *runList) output.List {
	other := false
	for _, run := range l.runs {
		_, here := run.In(s.location).Zone()
		_, there := run.In(l.Zone()).Zone()
		other = other || here != there
	}
	list := output.List{Columns: make([]output.Column, 4)}
	if other {
		list.Columns = append(list.Columns, output.Column{})
	}
	now := s.Now()
	for _, run := range l.runs {
		at, remark := run.UTC().Format(time.RFC3339), l.Remark(run)
		cells := []string{times.Full(run, s.location), at, format.Away(run.Sub(now)), remark}
		if other {
			cells = []string{cells[0], run.In(l.Zone()).Format("Mon 15:04:05 MST"), cells[1], cells[2], remark}
		}
		list.Items = append(list.Items, output.Item{Name: at, Cells: cells, Value: runJSON{
			At: run.UTC(), Clock: run.In(l.Zone()).Format("2006-01-02T15:04:05-07:00"), Zone: l.Zone().String(), InMS: run.Sub(now).Milliseconds(), Remark: remark,
		}})
	}
	return list
}
