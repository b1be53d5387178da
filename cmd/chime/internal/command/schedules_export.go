package command

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/definition"
)

func (s *session) schedulesExport() *cobra.Command {
	payload := false
	c := &cobra.Command{
		Use: "export [NAME…]", Short: "Print the definitions of schedules, as JSON that put reads",
		Long: "Print the definitions of all schedules, or of those named, as JSON. chime schedules put NAME -f - reads a line of -o jsonl. Arguments are\n" +
			"exported only with --payload, because they may contain secrets. The jobs that follow when one is done or dead are never exported, and a message reports them.",
		Example: "  chime schedules export report > report.json\n  chime schedules export -o jsonl",
		RunE: func(c *cobra.Command, args []string) error {
			found, unread, err := s.schedulesToExport(c, args)
			if err != nil {
				return err
			}
			list := output.List{}
			for _, schedule := range found {
				d, err := definition.Of(schedule, payload)
				if err != nil {
					return err
				}
				if schedule.OnDone != "" {
					s.warn("schedule %q: its job when done, %q, is not exported", schedule.Name, schedule.OnDone)
				}
				if schedule.OnDeath != "" {
					s.warn("schedule %q: its job on death, %q, is not exported", schedule.Name, schedule.OnDeath)
				}
				list.Items = append(list.Items, output.Item{Name: schedule.Name, Value: d})
			}
			p := s.printer()
			if p.Format == output.Table {
				p.Format = output.JSON
			}
			if len(args) == 1 && p.Format == output.JSON {
				return p.Item(args[0], list.Items[0].Value, "")
			}
			if err := p.List(list); err != nil || unread == nil {
				return err
			}
			return &exitError{exitPart, unread}
		},
		ValidArgsFunction: s.completeSchedules,
	}
	c.Flags().BoolVar(&payload, "payload", false, "with the arguments")
	return c
}

// schedulesToExport returns the schedules with these names, or all if there are no names. The error reports those that cannot be read.
func (s *session) schedulesToExport(c *cobra.Command, names []string) (all []*chime.Schedule, unread, err error) {
	for _, name := range distinct(names) {
		found, err := s.getSchedule(c.Context(), name)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, found)
	}
	if len(names) > 0 {
		return all, nil, nil
	}
	schedules, err := s.theSchedules()
	if err != nil {
		return nil, nil, err
	}
	for found, err := range schedules.List(c.Context(), chime.ScheduleFilter{}) {
		switch {
		case found == nil:
			return nil, nil, err
		case err != nil:
			unread = errors.Join(unread, err)
		default:
			all = append(all, found)
		}
	}
	return all, unread, nil
}
