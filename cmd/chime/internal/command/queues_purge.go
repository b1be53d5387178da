package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/progress"
	"github.com/chimejobs/chime/internal/format"
)

// purged is the result of a purge, as JSON.
type purged struct {
	Queue string `json:"queue"`
	Verb  string `json:"action"`
	chime.BulkResult
}

func (s *session) queuesPurge() *cobra.Command {
	again := ""
	c := &cobra.Command{
		Use: "purge QUEUE --confirm QUEUE", Short: "Delete all jobs of a queue but those that run", Args: cobra.ExactArgs(1),
		Long: "Delete all jobs of a queue: waiting, delayed, retrying, parked and dead ones, also those of schedules. It keeps running jobs, the next occurrence\n" +
			"of each schedule, stored results, and jobs enqueued in the meantime. You have to repeat the queue's name: with --confirm, or when asked.",
		ValidArgsFunction: s.completeFirstQueue,
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("confirm") && again != args[0] {
				return usage("--confirm %q: want the name of the queue, %s", again, args[0])
			}
			store, queue, err := s.queue(c.Context(), args[0])
			if err != nil {
				return err
			}
			if again == "" {
				if err := s.confirmName(c.Context(), purgeQuestion(queue), queue.Name); err != nil {
					return err
				}
			}
			return s.purge(c.Context(), store, queue)
		},
	}
	c.Flags().StringVar(&again, "confirm", "", "the `name` of the queue again")
	_ = c.RegisterFlagCompletionFunc("confirm", s.completeQueue)
	return s.changes(c)
}

func purgeQuestion(q *chime.QueueInfo) string {
	return fmt.Sprintf("Delete %s waiting, %s delayed, %s parked and %s dead jobs of queue %s?",
		format.Count(q.Waiting), format.Count(q.Delayed), format.Count(q.Parked), format.Count(q.Dead), q.Name)
}

func (s *session) purge(ctx context.Context, store chime.Store, queue *chime.QueueInfo) error {
	bar := progress.New(s.Process, "purge")
	defer bar.End()
	total := int(queue.Waiting + queue.Delayed + queue.Parked + queue.Dead)
	result, err := chime.NewQueues(store).Purge(ctx, queue.Name, queue.Name, func(r chime.BulkResult) { bar.Set(r.Looked, total) })
	bar.End()
	switch sofar := format.Plural(result.Changed, "job", "jobs") + " deleted"; {
	case err != nil && ctx.Err() != nil:
		return exit(exitInterrupted, "interrupted; %s. Waiting jobs are still deleted within minutes; run the same command again for the rest", sofar)
	case err != nil && result.Changed > 0:
		return exit(exitPart, "%s; then: %w. Run the same command again to continue", sofar, err)
	case err != nil:
		return err
	}
	value := purged{Queue: queue.Name, Verb: "purge", BulkResult: result}
	return s.printer().Item(queue.Name, value, format.Plural(result.Changed, "job", "jobs")+" of "+queue.Name+" deleted.\n")
}
