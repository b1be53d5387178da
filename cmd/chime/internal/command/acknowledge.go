package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/times"
)

func (s *session) acknowledged() *cobra.Command {
	return &cobra.Command{
		Use: "acknowledged", Short: "List what people have acknowledged: schedules that are failing, and failures of jobs", GroupID: groupStore, Args: cobra.NoArgs,
		Long: "List what people have acknowledged: schedules that are failing, and failures of jobs. The pages and the metrics list these apart from other\n" +
			"problems. chime schedules acknowledge and chime jobs acknowledge add to the list; with --end they remove from it.",
		RunE: func(c *cobra.Command, _ []string) error {
			store, err := s.store()
			if err != nil {
				return err
			}
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			all, err := chime.NewAcknowledgements(store).List(ctx)
			if err != nil {
				return err
			}
			list := output.List{Header: s.timesHeader(), Columns: []output.Column{{Title: "WHAT", Most: 30}, {Title: "BY", Most: 12}, {Title: "SINCE"}, {Title: "UNTIL"}, {Title: "NOTE", Most: 40}}}
			now := s.Now()
			for _, a := range all {
				name, what, until := a.Schedule, "schedule "+a.Schedule, ""
				if name == "" {
					name, what = a.Job, "failures of "+a.Job
				}
				if !a.Note.Until.IsZero() {
					until = times.Short(a.Note.Until, now, s.location)
				}
				list.Items = append(list.Items, output.Item{Name: name, Value: a, Cells: []string{what, a.Note.By, times.Short(a.Note.At, now, s.location), until, a.Note.Text}})
			}
			return s.printer().List(list)
		},
	}
}

// acknowledging declares the flags of a command that acknowledges.
func acknowledging(c *cobra.Command, note *pauseFlags, ends *bool) {
	c.Flags().StringVar(&note.text, "note", "", "why, a `text` of up to 500 bytes")
	c.Flags().StringVar(&note.until, "until", "", "the `instant` at which it is a problem again: "+times.Forms+" (default until it changes)")
	c.Flags().BoolVar(ends, "end", false, "end the acknowledgement")
}

func (s *session) schedulesAcknowledge() *cobra.Command {
	note, ends := pauseFlags{}, false
	c := &cobra.Command{
		Use: "acknowledge NAME…", Short: "Acknowledge that schedules are failing", Args: cobra.MinimumNArgs(1),
		Long: "Acknowledge that schedules are failing: the pages and the metrics list them apart from other problems, until an instant, or until a run is done\n" +
			"or the schedule changes. The schedules run as before.",
		Example: "  chime schedules acknowledge invoices --until +3d --note 'the bank repairs it'",
		RunE: func(c *cobra.Command, names []string) error {
			store, err := s.store()
			if err != nil {
				return err
			}
			known, err := s.note(note, s.Now())
			if err != nil {
				return err
			}
			of, done := chime.NewAcknowledgements(store), "acknowledged"+s.until(known)
			if ends {
				done = "no longer acknowledged"
			}
			return s.eachSchedule(c.Context(), names, done, func(ctx context.Context, _ *chime.Schedules, name string) error {
				if ends {
					return of.End(ctx, chime.Acknowledgement{Schedule: name})
				}
				return of.AcknowledgeSchedule(ctx, name, known)
			})
		},
		ValidArgsFunction: s.completeSchedules,
	}
	acknowledging(c, &note, &ends)
	return s.changes(c)
}

func (s *session) jobsAcknowledge() *cobra.Command {
	note, ends := pauseFlags{}, false
	var queues []string
	c := &cobra.Command{
		Use: "acknowledge JOB ERROR", Short: "Acknowledge that jobs of a name fail with an error", Args: cobra.ExactArgs(2),
		Long: "Acknowledge that jobs of a name fail with an error, and with those that differ from it only in numbers and in texts in quotes: the pages list them\n" +
			"apart from other problems. chime jobs groups prints the errors.",
		Example: "  chime jobs acknowledge resize 'connection refused' --until +3d --queue media",
		RunE: func(c *cobra.Command, args []string) error {
			store, err := s.store()
			if err != nil {
				return err
			}
			known, err := s.note(note, s.Now())
			if err != nil {
				return err
			}
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			of, verb, text := chime.NewAcknowledgements(store), "acknowledge", "Acknowledged failures of "+args[0]+s.until(known)+".\n"
			if ends {
				verb, text = "end", "Failures of "+args[0]+" are no longer acknowledged.\n"
				err = of.End(ctx, chime.AcknowledgementOf(args[0], args[1]))
				if errors.Is(err, chime.ErrNotFound) {
					return exit(exitNotFound, "%w", err)
				}
			} else {
				err = of.AcknowledgeFailures(ctx, args[0], args[1], queues, known)
			}
			if err != nil {
				return err
			}
			return s.printer().Item(args[0], map[string]string{"job": args[0], "action": verb}, text)
		},
	}
	acknowledging(c, &note, &ends)
	c.Flags().StringSliceVar(&queues, "queue", nil, "only while they fail on these `queues` (default all)")
	return s.changes(c)
}
