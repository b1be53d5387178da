package command

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/times"
)

func (s *session) queuesShow() *cobra.Command {
	return &cobra.Command{
		Use: "show QUEUE", Short: "Show a queue: what is on it, its pause, its limit", Args: cobra.ExactArgs(1), ValidArgsFunction: s.completeFirstQueue,
		RunE: func(c *cobra.Command, args []string) error {
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			store, queue, err := s.queue(ctx, args[0])
			if err != nil {
				return err
			}
			lines, err := queueLines(ctx, store, []*chime.QueueInfo{queue})
			if err != nil {
				return err
			}
			counts, oldest := "", ""
			if queue.Groups.Waiting > 0 {
				sum, err := countGroups(ctx, chime.NewQueues(store), queue.Name, showCounts)
				if err != nil {
					return err
				}
				counts, oldest = plain.Groups(queue.Groups.MayStart, sum)
			}
			var targets []chime.OutboxTarget
			if queue.Outbox.Waiting > 0 {
				if targets, err = chime.NewQueues(store).Outbox(ctx, queue.Name); err != nil {
					return err
				}
			}
			return s.printer().Item(queue.Name, lines[0], s.queueText(lines[0], counts, oldest, targets))
		},
	}
}

// queueText formats a queue for people. counts describes its groups, and oldest the oldest of their jobs; empty: no job of a group waits. targets are the
// queues to which jobs are on their way.
func (s *session) queueText(q queueLine, counts, oldestOfGroups string, targets []chime.OutboxTarget) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", q.Name, queueState(&q))
	if q.QueueInfo.Blocked(q.Workers > 0) == chime.ReasonUnserved {
		b.WriteString(plain.Queue(q.QueueInfo, false).Sentence + "\n")
	}
	b.WriteString("\n")
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(title, text string) {
		if text != "" {
			fmt.Fprintf(t, "%s\t%s\n", title, output.Printable(text))
		}
	}
	if q.Paused {
		row("Paused", pauseText(q.Note))
		if !q.Note.At.IsZero() {
			row("Since", times.Full(q.Note.At, s.location)+"  "+format.Away(q.Note.At.Sub(q.Now)))
		}
		if !q.Note.Until.IsZero() {
			row("Until", times.Full(q.Note.Until, s.location)+"  "+format.Away(q.Note.Until.Sub(q.Now)))
		}
	}
	row("Limit", cmp.Or(plain.QueueLimit(q.QueueInfo), "none"))
	if q.Groups.Rule != (chime.GroupRule{}) {
		row("Rule of groups", groupRuleText(q.Groups.Rule))
	}
	row("Groups", counts)
	row("Oldest of them", oldestOfGroups)
	row("Waiting", format.Count(q.Waiting))
	row("Oldest", oldest(q.QueueInfo))
	row("Delayed", format.Count(q.Delayed))
	running := "Running"
	if q.Ahead < 0 {
		running = "In flight" // it is not known which of them have begun
	}
	row(running, format.Count(q.Running))
	if q.Ahead > 0 {
		row("Taken ahead", format.Count(q.Ahead))
	}
	if q.Vanished > 0 {
		row("Of vanished workers", format.Count(q.Vanished))
	}
	row("Parked", format.Count(q.Parked))
	row("Dead", format.Count(q.Dead))
	row("To other queues", outboxText(q.QueueInfo))
	for _, target := range targets {
		row("", fmt.Sprintf("%s to %s, the oldest %s", format.Count(target.Waiting), target.Queue, format.Away(target.Oldest.Sub(q.Now))))
		if target.Blocked != "" {
			row("", fmt.Sprintf("could not be brought there, first %s: %s", format.Away(target.BlockedSince.Sub(q.Now)), target.Blocked))
		}
	}
	row("Schedules", format.Count(q.Schedules))
	row("Workers", format.Count(q.Workers))
	if q.Partitions > 1 {
		row("Partitions", fmt.Sprint(q.Partitions))
	}
	if r := q.Rates; r != nil {
		row("A minute", fmt.Sprintf("%s in, %s out, %s failed", format.Rate(r.In), format.Rate(r.Out), format.Rate(r.Failed)))
	}
	row("In all", plain.Totals(q.QueueInfo))
	_ = t.Flush()
	return b.String()
}

// outboxText formats the jobs that are on their way to other queues; empty: no job is on its way.
func outboxText(q *chime.QueueInfo) string {
	if q.Outbox.Waiting == 0 {
		return ""
	}
	text := format.Count(q.Outbox.Waiting) + ", the oldest " + format.Away(q.Outbox.Oldest.Sub(q.Now))
	if q.Outbox.Full {
		text += "; too many: no job of the queue is taken"
	}
	return text
}

// pauseText formats who has paused something, and why.
func pauseText(note chime.Note) string {
	text := "yes"
	if note.By != "" {
		text = "by " + note.By
	}
	if note.Text != "" {
		text += ": " + note.Text
	}
	return text
}

// limitText formats a limit.
func limitText(limit chime.Limit) string {
	return cmp.Or(plain.Limit(limit), "none")
}
