package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/plain"
)

func (s *session) queuesGroups() *cobra.Command {
	limit, filter := 50, chime.GroupFilter{}
	c := &cobra.Command{
		Use: "groups QUEUE", Short: "List the groups of a queue", Args: cobra.ExactArgs(1), ValidArgsFunction: s.completeFirstQueue,
		Long: "List the groups of a queue: first those with jobs that wait, in the order of their names, then the others that have running jobs, a rule or\n" +
			"a pause. BLOCKED shows why a group starts no job: the job that has not ended of an ordered one, and when its next start is allowed. OLDEST shows how\n" +
			"long its first job has waited.",
		Example: "  chime queues groups exports --waiting\n  chime queues groups webhooks --prefix tenant- --paused",
		RunE: func(c *cobra.Command, args []string) error {
			if limit < 1 || limit > maxList {
				return usage("--limit %d: want 1 to %d", limit, maxList)
			}
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			store, queue, err := s.queue(ctx, args[0])
			if err != nil {
				return err
			}
			var groups []*chime.GroupInfo
			next := ""
			for group, err := range chime.NewQueues(store).Groups(ctx, queue.Name, filter) {
				if err != nil {
					return err
				}
				if len(groups) == limit {
					next = groups[limit-1].Next
					break
				}
				groups = append(groups, group)
			}
			if len(groups) == 0 {
				s.noteNothing(ctx, "no group of queue "+queue.Name+" matches")
			}
			list := groupList(groups, queue.Now)
			list.Next = next
			return s.printer().List(list)
		},
	}
	c.Flags().IntVar(&limit, "limit", limit, "groups to list, 1 to 10000")
	c.Flags().StringVar(&filter.Prefix, "prefix", "", "only groups whose names begin with this `text`")
	c.Flags().BoolVar(&filter.Waiting, "waiting", false, "only groups with jobs that wait")
	c.Flags().BoolVar(&filter.Paused, "paused", false, "only groups that are paused")
	c.Flags().StringVar(&filter.After, "after", "", "continue after the previous list, whose last line has the value")
	return c
}

// groupList formats groups as a table; now is the store's clock.
func groupList(groups []*chime.GroupInfo, now time.Time) output.List {
	right := func(title string) output.Column { return output.Column{Title: title, Right: true} }
	list := output.List{Columns: []output.Column{
		{Title: "GROUP", Most: 24}, {Title: "BLOCKED", Most: 24}, right("WAIT"), right("RUN"), right("WEIGHT"), right("OLDEST"), {Title: "LIMIT", Most: 30},
	}}
	for _, g := range groups {
		waited := ""
		if !g.OldestSince.IsZero() {
			waited = format.Span(max(0, now.Sub(g.OldestSince)))
		}
		list.Items = append(list.Items, output.Item{Name: g.Key, Value: g, Cells: []string{
			g.Key, blockedText(g, now), format.Count(g.Waiting), format.Count(g.Running), format.Count(g.Effective.Weight), waited, plain.GroupRule(g.Effective),
		}})
	}
	return list
}

// blockedText formats why a group starts no job: paused, ordered by a-1, starts in 42s.
func blockedText(g *chime.GroupInfo, now time.Time) string {
	text := string(g.Blocked)
	switch {
	case g.Blocked == chime.GroupOrdered && g.By != "":
		text += " by " + g.By
	case g.Blocked == chime.GroupStarts && !g.Until.IsZero():
		text += " " + format.Away(g.Until.Sub(now))
	}
	return text
}

// The groups of a queue are counted by at most this number of calls, 500 groups each.
const (
	showCounts = 10
	topCounts  = 4 // with each poll
)

// countGroups counts the groups of a queue with jobs that wait, in at most this number of calls; if there are more, the sum has a Next.
func countGroups(ctx context.Context, queues *chime.Queues, queue string, calls int) (sum chime.GroupSum, err error) {
	for n := 0; n == 0 || sum.Next != "" && n < calls; n++ {
		some, err := queues.CountGroups(ctx, queue, sum.Next)
		if err != nil {
			return sum, err
		}
		sum = sum.Plus(*some)
	}
	return sum, nil
}
