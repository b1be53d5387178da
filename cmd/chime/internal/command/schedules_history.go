package command

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/history"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/times"
)

const maxHistory = 1000 // maximum number of runs that a schedule keeps

func (s *session) schedulesHistory() *cobra.Command {
	n, outcome := 20, ""
	c := &cobra.Command{
		Use: "history NAME", Short: "List the last runs of a schedule", Args: cobra.ExactArgs(1),
		Long: "List the last runs of a schedule that have ended, the newest first, and the occurrences that did not run, with the reason. By default a\n" +
			"schedule keeps 20 of them.",
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case n < 1 || n > maxHistory:
				return usage("--runs %d: want 1 to %d", n, maxHistory)
			case outcome != "" && !slices.Contains(outcomes, outcome):
				return usage("--outcome %q: want %s", outcome, strings.Join(outcomes, ", "))
			}
			schedules, err := s.theSchedules()
			if err != nil {
				return err
			}
			found, err := s.getSchedule(c.Context(), args[0])
			if err != nil {
				return err
			}
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			var runs []*chime.RunInfo
			for run, err := range schedules.Runs(ctx, found.Name) {
				if err != nil {
					return s.noSchedule(ctx, found.Name, err)
				}
				if outcome != "" && string(run.Outcome) != outcome {
					continue
				}
				if runs = append(runs, run); len(runs) == n {
					break
				}
			}
			if len(runs) == 0 {
				s.noteEmpty("no such run is kept")
			}
			return s.printer().List(s.runHistory(found, runs))
		},
		ValidArgsFunction: s.completeSchedule,
	}
	c.Flags().IntVarP(&n, "runs", "n", n, "the maximum number of runs, 1 to 1000")
	c.Flags().StringVar(&outcome, "outcome", "", "only runs with this outcome: "+strings.Join(outcomes, ", "))
	complete(c, "outcome", outcomes...)
	return c
}

// outcomes are the words for the outcomes of runs.
var outcomes = []string{
	string(chime.RunDone), string(chime.RunFailed), string(chime.RunSnoozed), string(chime.RunDead), string(chime.RunCrashed),
	string(chime.RunCancelled), string(chime.RunSuperseded), string(chime.RunExpired), string(chime.RunMissed), string(chime.RunSkipped),
}

func (s *session) runHistory(of *chime.Schedule, runs []*chime.RunInfo) output.List {
	list := output.List{Header: s.timesHeader(), Columns: []output.Column{
		{Title: "PLANNED"}, {Title: "STARTED"}, {Title: "LATE", Right: true}, {Title: "TOOK", Right: true}, {Title: "OUTCOME"}, {Title: "ATTEMPT", Right: true},
		{Title: "WORKER", Most: 16}, {Title: "ERROR", Most: 14},
	}}
	for _, run := range runs {
		cells := []string{times.Full(run.Planned, s.location), "", "", "", plain.Outcome(run.Outcome).String(), "", ranOn(run.Worker), cmpLine(run.Error, run.Note)}
		if run.Manual {
			cells[0] += " by hand"
		}
		if run.Backfilled {
			cells[0] += " backfilled"
		}
		if !run.Started.IsZero() {
			cells[1] = run.Started.In(s.location).Format(time.TimeOnly)
			cells[3] = format.Span(run.Ended.Sub(run.Started))
		}
		if late, ok := history.Lateness(of, run); ok {
			cells[2] = format.Span(late)
		}
		if run.Attempt > 0 {
			cells[5] = strconv.Itoa(run.Attempt)
		}
		list.Items = append(list.Items, output.Item{Name: run.ID, Value: run, Cells: cells})
	}
	return list
}

// cmpLine returns the first line of the first text that is not empty.
func cmpLine(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return format.FirstLine(text)
		}
	}
	return ""
}

// maxReads limits how many histories are read at the same time.
const maxReads = 8

// addHistories reads the histories of schedules. A schedule that was deleted in the meantime gets no history.
func (s *session) addHistories(ctx context.Context, found []*foundSchedule, now time.Time) error {
	schedules, err := s.theSchedules()
	if err != nil {
		return err
	}
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(maxReads)
	for _, f := range found {
		if f.unread != nil || f.Known {
			continue
		}
		reads.Go(func() error {
			var runs []*chime.RunInfo
			for run, err := range schedules.Runs(ctx, f.Name) {
				if errors.Is(err, chime.ErrNotFound) {
					return nil
				}
				if err != nil {
					return err
				}
				runs = append(runs, run)
			}
			f.History = history.Of(f.Schedule, runs, now)
			return nil
		})
	}
	return reads.Wait()
}
