package command

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
)

// keptForWait is how long the result of an awaited run is kept if the schedule does not set it.
const keptForWait = 10 * time.Minute

func (s *session) schedulesTrigger() *cobra.Command {
	args, wait, limit := "", false, 5*time.Minute
	c := &cobra.Command{
		Use: "trigger NAME", Short: "Run a schedule's job once, now", Args: cobra.ExactArgs(1),
		Long: "Run a schedule's job once, now, also if it is paused or has completed. Its planned occurrences do not change. With --wait it exits with 1 if the\n" +
			"run did not end as done, and with 124 if --for has passed.",
		RunE: func(c *cobra.Command, names []string) error {
			if limit <= 0 {
				return usage("--for %s: want more than 0s", limit)
			}
			var options []chime.TriggerOption
			value, err := s.readArgs(args)
			if err != nil {
				return err
			}
			if value != nil {
				options = append(options, chime.Args(value))
			}
			found, err := s.getSchedule(c.Context(), names[0])
			if err != nil {
				return err
			}
			if wait && found.Keep == 0 {
				options = append(options, chime.Keep(keptForWait))
			}
			schedules, err := s.theSchedules()
			if err != nil {
				return err
			}
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			receipt, err := schedules.Trigger(ctx, found.Name, options...)
			if err != nil {
				return s.noSchedule(ctx, found.Name, err)
			}
			name := receipt.Queue + "/" + receipt.ID
			if !wait {
				return s.printer().Item(name, receipt, "Triggered as job "+output.Printable(name)+".\n")
			}
			s.say("waits for job %s", output.Printable(name))
			return s.awaitRun(c.Context(), receipt, limit)
		},
		ValidArgsFunction: s.completeSchedule,
	}
	c.Flags().StringVar(&args, "args", "", "arguments instead of the schedule's, `JSON`; - reads them from standard input, because other users can see the arguments of a command")
	c.Flags().BoolVar(&wait, "wait", false, "wait until the run has ended, and print its outcome")
	c.Flags().DurationVar(&limit, "for", limit, "with --wait: how `long`")
	return s.changes(c)
}

// awaitRun waits for the end of a manual run, and prints its outcome.
func (s *session) awaitRun(ctx context.Context, receipt chime.Receipt, limit time.Duration) error {
	store, err := s.store()
	if err != nil {
		return err
	}
	name := receipt.Queue + "/" + receipt.ID
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ended := waited{Queue: receipt.Queue, ID: receipt.ID, Outcome: chime.RunDone}
	var otherwise *chime.JobError
	switch err = chime.NewJobs(store).Wait(waiting, receipt.Queue, receipt.ID, nil); {
	case errors.As(err, &otherwise):
		ended.Outcome, ended.Error = otherwise.Outcome, otherwise.Message
	case err != nil && waiting.Err() != nil && ctx.Err() == nil:
		return exit(exitTimeout, "job %s has not ended within %s; it was triggered all the same", name, limit)
	case err != nil:
		return err
	}
	if err := s.printer().Item(name, ended, "Job "+output.Printable(name)+" ended: "+string(ended.Outcome)+".\n"); err != nil {
		return err
	}
	if otherwise != nil {
		return exit(exitFailed, "job %s ended as %s: %s", name, ended.Outcome, ended.Error)
	}
	return nil
}
