package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/plain"
)

func (s *session) queues() *cobra.Command {
	c := &cobra.Command{Use: "queues", Short: "Show, pause, limit and purge queues", GroupID: groupStore, Args: cobra.NoArgs}
	c.AddCommand(s.queuesList(), s.queuesShow(), s.queuesErrors(), s.queuesGroups(), s.queuesGroup(), s.queuesRule(), s.queuesPause(), s.queuesResume(), s.queuesLimit(), s.queuesPurge(), s.queuesDelete())
	return c
}

func (s *session) queuesList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List all queues with what is on them", Args: cobra.NoArgs,
		Long: "List all queues with what is on them. IN/MIN counts enqueued jobs and occurrences of schedules a minute, OUT/MIN jobs that became done, dead or\n" +
			"cancelled, FAIL/MIN failed attempts: averages of the last five minutes. OLDEST shows how long the first job has waited.",
		RunE: func(c *cobra.Command, _ []string) error {
			store, err := s.store()
			if err != nil {
				return err
			}
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			queues, err := chime.NewQueues(store).List(ctx)
			if err != nil {
				return err
			}
			lines, err := queueLines(ctx, store, queues)
			if err != nil {
				return err
			}
			if len(lines) == 0 {
				s.noteNothing(ctx, "no queue yet: the first job, schedule or worker that uses a name creates its queue")
			}
			return s.printer().List(queueList(lines))
		},
	}
}

func queueList(lines []queueLine) output.List {
	right := func(title string) output.Column { return output.Column{Title: title, Right: true} }
	list := output.List{Columns: []output.Column{
		{Title: "QUEUE", Most: 16}, {Title: "STATE"}, right("WAIT"), right("DELAYED"), right("RUN"), right("DEAD"), right("PARKED"), right("OLDEST"),
		right("IN/MIN"), right("OUT/MIN"), right("FAIL/MIN"), right("WORKERS"),
	}}
	for _, q := range lines {
		in, out, failed := "", "", ""
		if r := q.Rates; r != nil {
			in, out, failed = format.Rate(r.In), format.Rate(r.Out), format.Rate(r.Failed)
		}
		list.Items = append(list.Items, output.Item{Name: q.Name, Value: q, Cells: []string{
			q.Name, queueState(&q), format.Count(q.Waiting), format.Count(q.Delayed), plain.Running(q.QueueInfo), format.Count(q.Dead), format.Count(q.Parked), oldest(q.QueueInfo),
			in, out, failed, format.Count(q.Workers),
		}})
	}
	return list
}

func queueState(q *queueLine) string { return plain.Queue(q.QueueInfo, q.Workers > 0).String() }

// oldest is how long the first job of a queue has waited.
func oldest(q *chime.QueueInfo) string {
	if q.Oldest.IsZero() {
		return ""
	}
	return format.Span(max(0, q.Now.Sub(q.Oldest)))
}

// queue returns the queue with a name.
func (s *session) queue(ctx context.Context, name string) (chime.Store, *chime.QueueInfo, error) {
	store, err := s.store()
	if err != nil {
		return nil, nil, err
	}
	info, err := chime.NewQueues(store).Get(ctx, name)
	return store, info, s.unknownQueue(ctx, store, name, err)
}

// unknownQueue adds a suggested name to an error that a queue does not exist.
func (s *session) unknownQueue(ctx context.Context, store chime.Store, name string, err error) error {
	if !errors.Is(err, chime.ErrNotFound) {
		return err
	}
	var names []string
	if queues, failed := chime.NewQueues(store).List(ctx); failed == nil {
		for _, queue := range queues {
			names = append(names, queue.Name)
		}
	}
	others := ""
	if len(names) == 0 {
		if others = s.otherNamespaces(ctx); others != "" {
			others = "; " + others
		}
	}
	return exit(exitNotFound, "queue %q: not found%s%s", name, didYouMean(name, names), others)
}
