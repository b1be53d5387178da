package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/cmd/chime/internal/progress"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/times"
)

// A backfillPlan counts the occurrences of a range.
type backfillPlan struct {
	Schedule string    `json:"schedule"`
	Count    int       `json:"count"` // of occurrences in the range; if More is true, there are more
	More     bool      `json:"more,omitempty"`
	First    time.Time `json:"first,omitzero"`
	Last     time.Time `json:"last,omitzero"`
}

const (
	planPage = 1000
	maxPlan  = 1_000_000 // occurrences that are counted
)

func (s *session) schedulesBackfill() *cobra.Command {
	from, to, dry := "", "", false
	c := &cobra.Command{
		Use: "backfill NAME --from T --to T", Short: "Run past occurrences of a schedule, again or for the first time", Args: cobra.ExactArgs(1),
		Long: "Run a schedule's occurrences at or after --from and before --to. Those that ran before run again; those that wait or run\n" +
			"now do not change. It shows their number and asks. Ctrl-C stops it between steps of 500, and it prints where to continue.",
		RunE: func(c *cobra.Command, names []string) error {
			if from == "" || to == "" {
				return usage("want --from and --to")
			}
			begin, err := s.instant("--from", from, time.Time{})
			if err != nil {
				return err
			}
			end, err := s.instant("--to", to, time.Time{})
			if err != nil {
				return err
			}
			if !end.After(begin) {
				return usage("--to %q: want a time after --from", to)
			}
			plan, err := s.planBackfill(c.Context(), names[0], begin, end)
			if err != nil {
				return err
			}
			if dry || plan.Count == 0 {
				return s.printer().Item(plan.Schedule, plan, "Backfilling runs "+s.planned(plan)+"\n")
			}
			if s.readOnly {
				return exit(exitRefused, "--read-only: %s changes something without --dry-run; nothing was done", c.CommandPath())
			}
			_, _ = fmt.Fprintf(s.Err, "%s: %s Those that ran before run again.\n", output.Printable(plan.Schedule), s.planned(plan))
			if err := s.confirm(c.Context(), "Run them?"); err != nil {
				return err
			}
			return s.backfill(c.Context(), plan, begin, end)
		},
		ValidArgsFunction: s.completeSchedule,
	}
	c.Flags().StringVar(&from, "from", "", "the first `time` that runs")
	c.Flags().StringVar(&to, "to", "", "the `time` before which occurrences run")
	c.Flags().BoolVar(&dry, "dry-run", false, "print their number, and run none")
	return c
}

// planned formats how many occurrences there are: "8,760 occurrences, from … to …".
func (s *session) planned(p *backfillPlan) string {
	switch {
	case p.Count == 0:
		return "no occurrence: the schedule has passed none in this range."
	case p.Count == 1:
		return "1 occurrence, at " + times.Full(p.First, s.location) + "."
	case p.More:
		return fmt.Sprintf("%s occurrences or more, from %s on.", format.Count(p.Count), times.Full(p.First, s.location))
	}
	return fmt.Sprintf("%s occurrences, from %s to %s.", format.Count(p.Count), times.Full(p.First, s.location), times.Full(p.Last, s.location))
}

// planBackfill counts the occurrences of a range.
func (s *session) planBackfill(ctx context.Context, name string, from, to time.Time) (*backfillPlan, error) {
	schedules, err := s.theSchedules()
	if err != nil {
		return nil, err
	}
	plan := &backfillPlan{Schedule: name}
	for !from.IsZero() && !plan.More {
		var times []time.Time
		if times, from, err = s.backfillTimes(ctx, schedules, name, from, to); err != nil {
			return nil, err
		}
		if len(times) == 0 {
			break
		}
		if plan.Count == 0 {
			plan.First = times[0].UTC()
		}
		plan.Last = times[len(times)-1].UTC()
		plan.Count += len(times)
		plan.More = plan.Count >= maxPlan && !from.IsZero()
	}
	return plan, nil
}

func (s *session) backfillTimes(ctx context.Context, schedules *chime.Schedules, name string, from, to time.Time) ([]time.Time, time.Time, error) {
	limited, cancel := s.limited(ctx)
	defer cancel()
	times, next, err := schedules.BackfillTimes(limited, name, from, to, planPage)
	return times, next, s.noSchedule(limited, name, err)
}

// backfill places the occurrences, step by step.
func (s *session) backfill(ctx context.Context, plan *backfillPlan, from, to time.Time) error {
	schedules, err := s.theSchedules()
	if err != nil {
		return err
	}
	bar := progress.New(s.Process, "backfill")
	var all chime.Backfilled
	for all.Next = from; !all.Next.IsZero(); {
		var step chime.Backfilled
		if err = ctx.Err(); err == nil {
			step, err = s.backfillStep(ctx, schedules, plan.Schedule, all.Next, to)
			all.Placed, all.Existing, all.Next = all.Placed+step.Placed, all.Existing+step.Existing, step.Next
		}
		if err != nil {
			break
		}
		bar.Set(all.Placed+all.Existing, plan.Count)
	}
	bar.End()
	text := fmt.Sprintf("Placed %s occurrences", format.Count(all.Placed))
	if all.Existing > 0 {
		text += fmt.Sprintf("; %s wait or run already and were not changed", format.Count(all.Existing))
	}
	text += ".\n"
	if err == nil {
		return s.printer().Item(plan.Schedule, all, text)
	}
	if all.Placed+all.Existing > 0 {
		s.warn("placed %s occurrences; continue with --from %s", format.Count(all.Placed), all.Next.UTC().Format(time.RFC3339))
		if ctx.Err() == nil {
			return &exitError{exitPart, err}
		}
	}
	return err
}

func (s *session) backfillStep(ctx context.Context, schedules *chime.Schedules, name string, from, to time.Time) (chime.Backfilled, error) {
	limited, cancel := s.limited(context.WithoutCancel(ctx)) // Ctrl-C stops between steps
	defer cancel()
	return schedules.Backfill(limited, name, from, to)
}
