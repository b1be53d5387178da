package command

import (
	"context"
	"errors"
	"strconv"

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

// acknowledges completes a command that acknowledges, or with --end ends that: it declares its flags, and calls act with their values.
func (s *session) acknowledges(c *cobra.Command, act func(ctx context.Context, of *chime.Acknowledgements, args []string, known chime.Note, ends bool) error) *cobra.Command {
	note, ends := pauseFlags{}, false
	c.RunE = func(c *cobra.Command, args []string) error {
		store, err := s.store()
		if err != nil {
			return err
		}
		known, err := s.note(note, s.Now())
		if err != nil {
			return err
		}
		return act(c.Context(), chime.NewAcknowledgements(store), args, known, ends)
	}
	c.Flags().StringVar(&note.text, "note", "", "why, a `text` of up to 500 bytes")
	c.Flags().StringVar(&note.until, "until", "", "the `instant` at which it is a problem again: "+times.Forms+" (default until it changes)")
	c.Flags().BoolVar(&ends, "end", false, "end the acknowledgement")
	return s.changes(c)
}

// acknowledged returns an error that names what is not acknowledged, if err is ErrNotFound.
func acknowledged(err error, what string) error {
	if errors.Is(err, chime.ErrNotFound) {
		return exit(exitNotFound, "%s: not acknowledged", what)
	}
	return err
}

func (s *session) schedulesAcknowledge() *cobra.Command {
	return s.acknowledges(&cobra.Command{
		Use: "acknowledge NAME…", Short: "Acknowledge that schedules are failing", Args: cobra.MinimumNArgs(1),
		Long: "Acknowledge that schedules are failing: the pages and the metrics list them apart from other problems, until an instant, or until a run is done\n" +
			"or the schedule changes. The schedules run as before.",
		Example: "  chime schedules acknowledge invoices --until +3d --note 'the bank repairs it'", ValidArgsFunction: s.completeSchedules,
	}, func(ctx context.Context, of *chime.Acknowledgements, names []string, known chime.Note, ends bool) error {
		if ends {
			return s.eachSchedule(ctx, names, "no longer acknowledged", func(ctx context.Context, _ *chime.Schedules, name string) error {
				return acknowledged(of.End(ctx, chime.Acknowledgement{Schedule: name}), "schedule "+strconv.Quote(name))
			})
		}
		return s.eachSchedule(ctx, names, "acknowledged"+s.until(known), func(ctx context.Context, _ *chime.Schedules, name string) error {
			return of.AcknowledgeSchedule(ctx, name, known)
		})
	})
}

func (s *session) jobsAcknowledge() *cobra.Command {
	var queues []string
	c := s.acknowledges(&cobra.Command{
		Use: "acknowledge JOB ERROR", Short: "Acknowledge that jobs of a name fail with an error", Args: cobra.ExactArgs(2),
		Long: "Acknowledge that jobs of a name fail with an error, and with those that differ from it only in numbers and in texts in quotes: the pages list them\n" +
			"apart from other problems. chime jobs groups prints the errors.",
		Example: "  chime jobs acknowledge resize 'connection refused' --until +3d --queue media",
	}, func(ctx context.Context, of *chime.Acknowledgements, args []string, known chime.Note, ends bool) (err error) {
		ctx, cancel := s.limited(ctx)
		defer cancel()
		verb, text := "acknowledge", "Acknowledged failures of "+args[0]+s.until(known)+".\n"
		if ends {
			verb, text = "end", "Failures of "+args[0]+" are no longer acknowledged.\n"
			err = acknowledged(of.End(ctx, chime.AcknowledgementOf(args[0], args[1])), "failures of "+args[0]+" with this error")
		} else {
			err = of.AcknowledgeFailures(ctx, args[0], args[1], queues, known)
		}
		if err != nil {
			return err
		}
		return s.printer().Item(args[0], map[string]string{"job": args[0], "action": verb}, text)
	})
	c.Flags().StringSliceVar(&queues, "queue", nil, "only while they fail on these `queues` (default all)")
	return c
}
