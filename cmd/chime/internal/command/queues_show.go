package command

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
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
			return s.printer().Item(queue.Name, lines[0], s.queueText(lines[0]))
		},
	}
}

// queueText is a queue for people.
func (s *session) queueText(q queueLine) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n\n", q.Name, queueState(q.QueueInfo))
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(title, text string) {
		if text != "" {
			fmt.Fprintf(t, "%s\t%s\n", title, output.Printable(text))
		}
	}
	if q.Paused {
		row("Paused", pauseText(q.Note))
		if !q.Note.At.IsZero() {
			row("Since", times.Full(q.Note.At, s.location)+"  "+times.Relative(q.Note.At, q.Now))
		}
	}
	row("Limit", limitText(q.Limit))
	row("Waiting", count(q.Waiting))
	row("Oldest", oldest(q.QueueInfo))
	row("Delayed", count(q.Delayed))
	row("Running", count(q.Running))
	row("Parked", count(q.Parked))
	row("Dead", count(q.Dead))
	row("Schedules", count(q.Schedules))
	row("Workers", count(int64(q.Workers)))
	if q.Partitions > 1 {
		row("Partitions", fmt.Sprint(q.Partitions))
	}
	if r := q.Rates; r != nil {
		row("A minute", fmt.Sprintf("%s in, %s out, %s failed", rate(r.In), rate(r.Out), rate(r.Failed)))
	}
	row("In all", fmt.Sprintf("%s enqueued, %s done, %s attempts failed, %s jobs died, %s cancelled",
		count(q.Enqueued), count(q.Done), count(q.Failed), count(q.Died), count(q.Cancelled)))
	_ = t.Flush()
	return b.String()
}

// pauseText says who has paused something, and why.
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

// limitText says what a limit is.
func limitText(limit chime.Limit) string {
	var parts []string
	if limit.Running > 0 {
		parts = append(parts, count(int64(limit.Running))+" at once")
	}
	if limit.Starts > 0 {
		parts = append(parts, count(int64(limit.Starts))+" starts in "+limit.Per.String())
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
