package command

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/times"
)

func (s *session) queuesErrors() *cobra.Command {
	job := ""
	c := &cobra.Command{
		Use: "errors QUEUE", Short: "List what the last failed attempts on a queue have in common", Args: cobra.ExactArgs(1), ValidArgsFunction: s.completeFirstQueue,
		Long: "List what the last failed attempts on a queue have in common, the newest first: their errors without the parts that differ from job to job. They\n" +
			"remain when a retry has succeeded and the job is gone. The queue keeps about a hundred of them for each of its partitions.",
		Example: "  chime queues errors mail --job invoice",
		RunE: func(c *cobra.Command, args []string) error {
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			store, queue, err := s.queue(ctx, args[0])
			if err != nil {
				return err
			}
			shapes, err := chime.NewQueues(store).Errors(ctx, queue.Name, job)
			if err != nil {
				return err
			}
			if len(shapes) == 0 {
				s.noteNothing(ctx, "no attempt on queue "+queue.Name+" has failed")
			}
			return s.printer().List(s.errorList(shapes, queue.Now))
		},
	}
	c.Flags().StringVar(&job, "job", "", "only of jobs of this `name`")
	return c
}

// errorList formats shapes of errors as a table; now is the store's clock.
func (s *session) errorList(shapes []chime.ErrorShape, now time.Time) output.List {
	list := output.List{Header: s.timesHeader(), Columns: []output.Column{
		{Title: "FAILED", Right: true}, {Title: "JOB", Most: 16}, {Title: "ERROR", Most: 30}, {Title: "FIRST"}, {Title: "LAST"}, {Title: "VERSIONS", Most: 12}, {Title: "LAST JOB", Most: 12},
	}}
	for _, shape := range shapes {
		var versions []string
		for _, v := range shape.Versions {
			versions = append(versions, v.Version)
		}
		text := shape.Shape
		if text == "" {
			text = "(not known)"
		}
		list.Items = append(list.Items, output.Item{Name: shape.Job, Value: shape, Cells: []string{
			format.Count(shape.Failed), shape.Job, text, times.Short(shape.First, now, s.location), times.Short(shape.Last, now, s.location), strings.Join(versions, " "), shape.LastID,
		}})
	}
	return list
}
