package command

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/times"
)

func (s *session) queues() *cobra.Command {
	c := &cobra.Command{Use: "queues", Short: "Show, pause, limit and purge queues", GroupID: groupStore, Args: cobra.NoArgs}
	c.AddCommand(s.queuesList(), s.queuesShow(), s.queuesPause(), s.queuesResume(), s.queuesLimit(), s.queuesPurge(), s.queuesDelete())
	return c
}

func (s *session) queuesList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List all queues with what is on them", Args: cobra.NoArgs,
		Long: "List all queues with what is on them. IN/MIN are jobs enqueued a minute, and occurrences of schedules; OUT/MIN jobs that are done, dead or\n" +
			"cancelled; FAIL/MIN attempts that failed: all on average over the last five minutes. OLDEST is how long the first job has waited.",
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
				s.tellNone("no queue yet: the first job, schedule or worker that names one makes it")
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
			in, out, failed = rate(r.In), rate(r.Out), rate(r.Failed)
		}
		list.Items = append(list.Items, output.Item{Name: q.Name, Value: q, Cells: []string{
			q.Name, queueState(q.QueueInfo), count(q.Waiting), count(q.Delayed), count(q.Running), count(q.Dead), count(q.Parked), oldest(q.QueueInfo),
			in, out, failed, count(int64(q.Workers)),
		}})
	}
	return list
}

func queueState(q *chime.QueueInfo) string { return plain.Queue(q).String() }

// oldest is how long the first job of a queue has waited.
func oldest(q *chime.QueueInfo) string {
	if q.Oldest.IsZero() {
		return ""
	}
	return times.Took(max(0, q.Now.Sub(q.Oldest)))
}

// rate is a number a minute: 1,204, or 0.4 where it is small.
func rate(n float64) string {
	if n > 0 && n < 10 {
		return strconv.FormatFloat(n, 'f', 1, 64)
	}
	return count(int64(n + 0.5))
}

// queue returns a queue that is named.
func (s *session) queue(ctx context.Context, name string) (chime.Store, *chime.QueueInfo, error) {
	store, err := s.store()
	if err != nil {
		return nil, nil, err
	}
	info, err := chime.NewQueues(store).Get(ctx, name)
	return store, info, s.unknownQueue(ctx, store, name, err)
}

// unknownQueue adds to an error that there is no such queue the name that may have been meant.
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
	return exit(exitNotFound, "queue %q: not found%s", name, didYouMean(name, names))
}

// count formats a number for people: 1,204.
func count(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
