package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/times"
)

// maxArgs limits the arguments, in bytes: an enqueuer accepts no more.
const maxArgs = 1 << 20

func (s *session) jobsEnqueue() *cobra.Command {
	var args, queue, in, at, id string
	c := &cobra.Command{
		Use: "enqueue NAME", Short: "Enqueue a job, now or later", Args: cobra.ExactArgs(1),
		Example: "  chime jobs enqueue report --queue mail --args '{\"customer\": \"c1\"}' --in 10m --id c1",
		RunE: func(c *cobra.Command, names []string) error {
			if in != "" && at != "" {
				return usage("--in and --at: want one of them")
			}
			var options []chime.EnqueueOption
			if queue != "" {
				options = append(options, chime.Queue(queue))
			}
			if id != "" {
				options = append(options, chime.ID(id))
			}
			if in != "" {
				d, err := times.ParseSpan(in)
				if err != nil {
					return usage("--in %q: %w", in, err)
				}
				options = append(options, chime.In(d))
			}
			if at != "" {
				t, err := s.instant("--at", at, time.Time{})
				if err != nil {
					return err
				}
				options = append(options, chime.At(t))
			}
			value, err := s.readArgs(args)
			if err != nil {
				return err
			}
			store, err := s.store()
			if err != nil {
				return err
			}
			enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{SendTimeout: s.connect.Timeout, Logger: slog.New(slog.DiscardHandler)})
			receipt, err := enqueuer.Enqueue(c.Context(), names[0], value, options...)
			if err != nil {
				return err
			}
			name := receipt.Queue + "/" + receipt.ID
			text := fmt.Sprintf("Enqueued %s.\n", output.Printable(name))
			if receipt.Existing {
				text = fmt.Sprintf("Job %s exists already%s. Nothing was added.\n", output.Printable(name), s.standing(c.Context(), store, receipt))
			}
			return s.printer().Item(name, receipt, text)
		},
	}
	c.Flags().StringVar(&args, "args", "", "the arguments, `JSON`; - reads them from standard input, because other users can see the arguments of a command")
	c.Flags().StringVar(&queue, "queue", "", "`name` of the queue (default \"default\")")
	c.Flags().StringVar(&in, "in", "", "run it after a `duration` as 90s, 10m or 3d")
	c.Flags().StringVar(&at, "at", "", "run it at a `time`")
	c.Flags().StringVar(&id, "id", "", "an `ID` of your own: no second job is added while one with this ID exists")
	_ = c.RegisterFlagCompletionFunc("queue", s.completeQueue)
	return s.changes(c)
}

// standing formats the state of the job of a receipt; it is empty if the state is not known.
func (s *session) standing(ctx context.Context, store chime.Store, of chime.Receipt) string {
	ctx, cancel := s.limited(ctx)
	defer cancel()
	job, err := chime.NewJobs(store).Get(ctx, of.Queue, of.ID)
	if err != nil {
		return ""
	}
	return " and is " + string(job.State)
}

// readArgs reads the arguments of a job; nil if it has none.
func (s *session) readArgs(text string) (any, error) {
	if text == "-" {
		read, err := io.ReadAll(io.LimitReader(s.In, maxArgs+1))
		if err != nil {
			return nil, err
		}
		text = string(read)
		if len(text) > maxArgs {
			return nil, usage("--args: standard input is longer than %d bytes", maxArgs)
		}
	}
	if text == "" {
		return nil, nil
	}
	if !json.Valid([]byte(text)) {
		return nil, usage("--args: want JSON as {\"customer\": \"c1\"}")
	}
	return json.RawMessage(text), nil
}
