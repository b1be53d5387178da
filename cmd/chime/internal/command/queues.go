package command

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
)

func (s *session) queues() *cobra.Command {
	c := &cobra.Command{Use: "queues", Short: "Show, pause, limit and purge queues", GroupID: groupStore, Args: cobra.NoArgs}
	c.AddCommand(s.queuesList())
	return c
}

func (s *session) queuesList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List all queues with what is on them", Args: cobra.NoArgs,
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
			return s.printer().List(queueList(queues))
		},
	}
}

func queueList(queues []*chime.QueueInfo) output.List {
	list := output.List{Columns: []output.Column{
		{Title: "QUEUE"}, {Title: "STATE"}, {Title: "WAIT", Right: true}, {Title: "DELAYED", Right: true}, {Title: "RUN", Right: true},
		{Title: "DEAD", Right: true}, {Title: "PARKED", Right: true},
	}}
	for _, q := range queues {
		state := "● live"
		if q.Paused {
			state = "‖ paused"
		}
		list.Items = append(list.Items, output.Item{Name: q.Name, Value: q, Cells: []string{
			q.Name, state, count(q.Waiting), count(q.Delayed), count(q.Running), count(q.Dead), count(q.Parked),
		}})
	}
	return list
}

// count formats a number for people: 1,204.
func count(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
