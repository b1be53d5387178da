package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/cmd/chime/internal/progress"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/times"
)

// groupDone is the result of a change of a group, as JSON.
type groupDone struct {
	Queue string           `json:"queue"`
	Group string           `json:"group"`
	Verb  string           `json:"action"`
	Rule  *chime.GroupRule `json:"rule,omitempty"`
}

// groupPurged is the result of a purge of a group, as JSON.
type groupPurged struct {
	groupDone
	chime.BulkResult
}

// queuesGroup has the commands for one group of a queue.
func (s *session) queuesGroup() *cobra.Command {
	c := &cobra.Command{Use: "group", Short: "Show, limit, pause and purge one group of a queue", Args: cobra.NoArgs}
	c.AddCommand(s.groupShow(), s.groupSet(), s.groupReset(), s.groupPause(), s.groupResume(), s.groupPurge())
	for _, below := range c.Commands() {
		below.Args, below.ValidArgsFunction = cobra.ExactArgs(2), s.completeGroup
	}
	return c
}

// completeGroup completes the name of a queue, and then of a group of it.
func (s *session) completeGroup(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return s.completeQueue(c, args, begun)
	}
	store, err := s.store()
	if len(args) > 1 || err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := s.limited(c.Context())
	defer cancel()
	const most = 50
	var keys []string
	for group, err := range chime.NewQueues(store).Groups(ctx, args[0], chime.GroupFilter{Prefix: begun}) {
		if err != nil || len(keys) == most {
			break
		}
		keys = append(keys, group.Key)
	}
	return keys, cobra.ShellCompDirectiveNoFileComp
}

// ruled returns the queues, and the queue with a name. If there is no such queue, the error has what creates one.
func (s *session) ruled(ctx context.Context, name string) (*chime.Queues, *chime.QueueInfo, error) {
	store, queue, err := s.queue(ctx, name)
	var coded *exitError
	if errors.As(err, &coded) && coded.code == exitNotFound {
		err = exit(exitNotFound, "%w; the first job, schedule or worker that uses a name creates its queue", err)
	}
	if err != nil {
		return nil, nil, err
	}
	return chime.NewQueues(store), queue, nil
}

// onGroup returns a command that changes one group, and prints what was done.
func (s *session) onGroup(use, short, verb, did string, change func(ctx context.Context, queues *chime.Queues, queue, group string) error) *cobra.Command {
	return s.changes(&cobra.Command{
		Use: use + " QUEUE GROUP", Short: short,
		RunE: func(c *cobra.Command, args []string) error {
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			queues, queue, err := s.ruled(ctx, args[0])
			if err != nil {
				return err
			}
			if err := change(ctx, queues, queue.Name, args[1]); err != nil {
				return err
			}
			return s.printer().Item(args[1], groupDone{Queue: queue.Name, Group: args[1], Verb: verb}, did+" group "+output.Printable(args[1])+" of "+queue.Name+".\n")
		},
	})
}

func (s *session) groupPause() *cobra.Command {
	note := pauseFlags{}
	c := s.onGroup("pause", "Pause a group: none of its jobs starts any more, running jobs continue", "pause", "Paused",
		func(ctx context.Context, queues *chime.Queues, queue, group string) error {
			paused, err := s.note(note, s.Now())
			if err != nil {
				return err
			}
			return queues.PauseGroup(ctx, queue, group, paused)
		})
	note.add(c)
	return c
}

func (s *session) groupResume() *cobra.Command {
	return s.onGroup("resume", "Resume a paused group", "resume", "Resumed",
		func(ctx context.Context, queues *chime.Queues, queue, group string) error {
			return queues.ResumeGroup(ctx, queue, group)
		})
}

func (s *session) groupReset() *cobra.Command {
	return s.onGroup("reset", "Remove the own rule of a group: the queue's rule applies to it again, and a pause remains", "reset", "Removed the rule of",
		func(ctx context.Context, queues *chime.Queues, queue, group string) error {
			return queues.ResetGroup(ctx, queue, group)
		})
}

// ruledGroup returns a group, with its queue as ruled does.
func (s *session) ruledGroup(ctx context.Context, queue, group string) (*chime.Queues, *chime.QueueInfo, *chime.GroupInfo, error) {
	queues, found, err := s.ruled(ctx, queue)
	if err != nil {
		return nil, nil, nil, err
	}
	info, err := queues.Group(ctx, found.Name, group)
	return queues, found, info, err
}

func (s *session) groupSet() *cobra.Command {
	var flags groupRuleFlags
	c := &cobra.Command{
		Use: "set QUEUE GROUP", Short: "Set the own rule of a group: its weight, its limits and its order",
		Long: "Set the own rule of a group. It applies from the next job that starts, also to jobs that wait already. " + groupRuleHelp +
			"\n0 means that the group has the value of the queue's rule, which chime queues rule sets.",
		Example: "  chime queues group set exports tenant-42 --weight 5 --running 10\n  chime queues group set exports tenant-42 --running none --starts 0",
		RunE: func(c *cobra.Command, args []string) error {
			if err := flags.given(c); err != nil {
				return err
			}
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			queues, queue, group, err := s.ruledGroup(ctx, args[0], args[1])
			if err != nil {
				return err
			}
			rule, err := flags.read(c, group.Own)
			if err != nil {
				return err
			}
			if err := queues.SetGroup(ctx, queue.Name, args[1], rule); err != nil {
				return err
			}
			return s.printer().Item(args[1], groupDone{Queue: queue.Name, Group: args[1], Verb: "set", Rule: &rule},
				"Rule of group "+output.Printable(args[1])+" of "+queue.Name+": "+groupRuleText(rule)+".\n")
		},
	}
	flags.add(c)
	return s.changes(c)
}

func (s *session) groupShow() *cobra.Command {
	return &cobra.Command{
		Use: "show QUEUE GROUP", Short: "Show a group: its jobs, its rule, its pause, and what blocks it",
		RunE: func(c *cobra.Command, args []string) error {
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			_, queue, group, err := s.ruledGroup(ctx, args[0], args[1])
			if err != nil {
				return err
			}
			return s.printer().Item(group.Key, group, s.groupText(group, queue))
		},
	}
}

// groupText formats a group for people.
func (s *session) groupText(g *chime.GroupInfo, q *chime.QueueInfo) string {
	state := plain.Group(g)
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n%s\n\n", output.Printable(g.Key), state.String(), output.Printable(state.Sentence))
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(title, text string) {
		if text != "" {
			fmt.Fprintf(t, "%s\t%s\n", title, output.Printable(text))
		}
	}
	row("Queue", q.Name)
	if g.Paused {
		row("Paused", pauseText(g.Note))
		if !g.Note.At.IsZero() {
			row("Since", times.Full(g.Note.At, s.location)+"  "+format.Away(g.Note.At.Sub(q.Now)))
		}
		if !g.Note.Until.IsZero() {
			row("Until", times.Full(g.Note.Until, s.location)+"  "+format.Away(g.Note.Until.Sub(q.Now)))
		}
	}
	if !g.Until.IsZero() {
		row("Next start", times.Full(g.Until, s.location)+"  "+format.Away(g.Until.Sub(q.Now)))
	}
	row("Blocked by", g.By)
	row("Waiting", format.Count(g.Waiting))
	row("Running", format.Count(g.Running))
	if !g.OldestSince.IsZero() {
		row("Oldest", format.Span(max(0, q.Now.Sub(g.OldestSince)))+"  "+g.Oldest)
	}
	row("Own rule", groupRuleText(g.Own))
	row("In effect", groupRuleText(g.Effective))
	_ = t.Flush()
	return b.String()
}

func (s *session) groupPurge() *cobra.Command {
	again := ""
	c := &cobra.Command{
		Use: "purge QUEUE GROUP --confirm GROUP", Short: "Delete the jobs of a group that wait",
		Long: "Delete the jobs of a group that wait to run now. It keeps running, delayed, retrying, parked and dead ones, and jobs enqueued in the meantime:\n" +
			"chime jobs delete --filter 'queue:QUEUE group:GROUP' deletes these. You have to repeat the group's name: with --confirm, or when asked.",
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("confirm") && again != args[1] {
				return usage("--confirm %q: want the name of the group, %s", again, args[1])
			}
			queues, queue, err := s.ruled(c.Context(), args[0])
			if err != nil {
				return err
			}
			group, err := queues.Group(c.Context(), queue.Name, args[1])
			if err != nil {
				return err
			}
			if again == "" {
				question := fmt.Sprintf("Delete %s of group %s of queue %s?", format.Plural(group.Waiting, "waiting job", "waiting jobs"), output.Printable(group.Key), queue.Name)
				if err := s.confirmName(c.Context(), question, group.Key); err != nil {
					return err
				}
			}
			return s.purgeGroup(c.Context(), queues, queue.Name, group)
		},
	}
	c.Flags().StringVar(&again, "confirm", "", "the `name` of the group again")
	return s.changes(c)
}

func (s *session) purgeGroup(ctx context.Context, queues *chime.Queues, queue string, group *chime.GroupInfo) error {
	bar := progress.New(s.Process, "purge")
	defer bar.End()
	result, err := queues.PurgeGroup(ctx, queue, group.Key, func(r chime.BulkResult) { bar.Set(r.Looked, int(group.Waiting)) })
	bar.End()
	switch sofar := format.Plural(result.Changed, "job", "jobs") + " deleted"; {
	case err != nil && ctx.Err() != nil:
		return exit(exitInterrupted, "interrupted; %s. Run the same command again for the rest", sofar)
	case err != nil && result.Changed > 0:
		return exit(exitPart, "%s; then: %w. Run the same command again to continue", sofar, err)
	case err != nil:
		return err
	}
	value := groupPurged{groupDone{Queue: queue, Group: group.Key, Verb: "purge"}, result}
	return s.printer().Item(group.Key, value, format.Plural(result.Changed, "job", "jobs")+" of group "+output.Printable(group.Key)+" of "+queue+" deleted.\n")
}
