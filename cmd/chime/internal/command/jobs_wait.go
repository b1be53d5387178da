package command

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/wire"
)

// waited is the end of a job as JSON.
type waited struct {
	Queue   string           `json:"queue"`
	ID      string           `json:"id"`
	Outcome chime.RunOutcome `json:"outcome"`
	Error   string           `json:"error,omitempty"`
	Result  json.RawMessage  `json:"result,omitempty"`
	Hex     []byte           `json:"result_bytes,omitempty"` // a result that is neither JSON nor msgpack
}

func (s *session) jobsWait() *cobra.Command {
	limit := 5 * time.Minute
	c := &cobra.Command{
		Use: "wait [QUEUE/]ID", Short: "Wait until a job has ended, and print its result", Args: cobra.ExactArgs(1),
		Long: "Wait until a job has ended, and print its result. The job must have been enqueued with Keep; otherwise its result is not stored.\n" +
			"It exits with 1 if the job did not end as done, with 3 if the job is gone and has no result, and with 124 if --for has passed.",
		RunE: func(c *cobra.Command, args []string) error {
			if limit <= 0 {
				return usage("--for %s: want more than 0s", limit)
			}
			job, err := s.findJob(c.Context(), args[0])
			if err != nil {
				return err
			}
			store, err := s.store()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), limit) // bounds the wait; --timeout bounds the search above
			defer cancel()
			var result []byte
			err = chime.NewJobs(store).Wait(ctx, job.Queue, job.ID, &result)
			value := waited{Queue: job.Queue, ID: job.ID, Outcome: chime.RunDone}
			var ended *chime.JobError
			switch {
			case errors.As(err, &ended):
				value.Outcome, value.Error = ended.Outcome, ended.Message
			case ctx.Err() != nil && c.Context().Err() == nil:
				return exit(exitTimeout, "job %s has not ended within %s", nameOf(job), limit)
			case errors.Is(err, chime.ErrNotFound):
				return exit(exitNotFound, "job %s has ended, or was deleted, and no result is kept", nameOf(job))
			case err != nil:
				return err
			}
			text := string(value.Outcome)
			if len(result) > 0 {
				if decoded, ok := wire.View(result); ok {
					value.Result = decoded
				} else {
					value.Hex = result
				}
				text = shownData(result)
			}
			if printed := s.printer().Item(nameOf(job), value, text+"\n"); printed != nil {
				return printed
			}
			if err != nil {
				return exit(exitFailed, "job %s ended as %s: %s", nameOf(job), value.Outcome, value.Error)
			}
			return nil
		},
	}
	c.Flags().DurationVar(&limit, "for", limit, "the `time` to wait")
	return c
}
