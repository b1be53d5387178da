package command

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/times"
)

// queueDone is the result of a change of a queue, as JSON.
type queueDone struct {
	Queue string       `json:"queue"`
	Verb  string       `json:"action"`
	Limit *chime.Limit `json:"limit,omitempty"`
	Until time.Time    `json:"until,omitzero"` // of a pause
}

func (s *session) queuesPause() *cobra.Command {
	note := pauseFlags{}
	c := &cobra.Command{
		Use: "pause QUEUE", Short: "Pause a queue: no more jobs are taken from it, running jobs continue", Args: cobra.ExactArgs(1), ValidArgsFunction: s.completeFirstQueue,
		RunE: func(c *cobra.Command, args []string) error {
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			store, queue, err := s.queue(ctx, args[0])
			if err != nil {
				return err
			}
			paused, err := s.note(note, queue.Now)
			if err != nil {
				return err
			}
			if err := chime.NewQueues(store).Pause(ctx, queue.Name, paused); err != nil {
				return err
			}
			return s.printer().Item(queue.Name, queueDone{Queue: queue.Name, Verb: "pause", Until: paused.Until}, "Paused "+queue.Name+s.until(paused)+".\n")
		},
	}
	note.add(c)
	return s.changes(c)
}

func (s *session) queuesResume() *cobra.Command {
	return s.changes(&cobra.Command{
		Use: "resume QUEUE", Short: "Resume a paused queue", Args: cobra.ExactArgs(1), ValidArgsFunction: s.completeFirstQueue,
		RunE: func(c *cobra.Command, args []string) error {
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			store, queue, err := s.queue(ctx, args[0])
			if err != nil {
				return err
			}
			if err := chime.NewQueues(store).Resume(ctx, queue.Name); err != nil {
				return err
			}
			return s.printer().Item(queue.Name, queueDone{Queue: queue.Name, Verb: "resume"}, "Resumed "+queue.Name+".\n")
		},
	})
}

func (s *session) queuesLimit() *cobra.Command {
	running, starts := 0, ""
	c := &cobra.Command{
		Use: "limit QUEUE", Short: "Limit how many jobs of a queue run at once, and how many begin per time", Args: cobra.ExactArgs(1),
		Long:              "Limit how many jobs of a queue run at once, and how many begin per time, over all workers. A limit that is not given does not change; 0 removes it.",
		Example:           "  chime queues limit mail --running 10 --starts 100/1m\n  chime queues limit mail --running 0 --starts 0",
		ValidArgsFunction: s.completeFirstQueue,
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("running") && !c.Flags().Changed("starts") {
				return usage("want --running or --starts, or both; 0 removes a limit")
			}
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			store, queue, err := s.queue(ctx, args[0])
			if err != nil {
				return err
			}
			limit := queue.Limit
			if c.Flags().Changed("running") {
				limit.Running = running
			}
			if c.Flags().Changed("starts") {
				if limit.Starts, limit.Per, err = readStarts(starts); err != nil {
					return err
				}
			}
			if err := chime.NewQueues(store).Limit(ctx, queue.Name, limit); err != nil {
				return err
			}
			return s.printer().Item(queue.Name, queueDone{Queue: queue.Name, Verb: "limit", Limit: &limit}, "Limit of "+queue.Name+": "+limitText(limit)+".\n")
		},
	}
	c.Flags().IntVar(&running, "running", 0, "the number of jobs at once, over all workers; 0: no limit")
	c.Flags().StringVar(&starts, "starts", "", "the number of starts in a time, `N/D` as 100/1m; 0: no limit")
	return s.changes(c)
}

// readStarts reads a number of starts and the time that they are counted in.
func readStarts(text string) (n int, per time.Duration, err error) {
	if text == "0" {
		return 0, 0, nil
	}
	number, span, found := strings.Cut(text, "/")
	n, err = strconv.Atoi(number)
	if !found || err != nil {
		return 0, 0, usage("--starts %q: want a number and a time as 100/1m, or 0", text)
	}
	if span != "" && (span[0] < '0' || span[0] > '9') {
		span = "1" + span // 10/s
	}
	if per, err = time.ParseDuration(span); err != nil {
		per, err = times.ParseSpan(span)
	}
	if err != nil {
		return 0, 0, usage("--starts %q: want a number and a time as 100/1m, or 0", text)
	}
	return n, per, nil
}

func (s *session) queuesDelete() *cobra.Command {
	return s.changes(&cobra.Command{
		Use: "delete QUEUE", Short: "Delete an empty queue", Args: cobra.ExactArgs(1), ValidArgsFunction: s.completeFirstQueue,
		Long: "Delete an empty queue with its pause, its limit and its counts. It is created again when its name is used.",
		RunE: func(c *cobra.Command, args []string) error {
			store, queue, err := s.queue(c.Context(), args[0])
			if err != nil {
				return err
			}
			if err := s.confirm(c.Context(), fmt.Sprintf("Delete queue %s, its limit and its counts?", queue.Name)); err != nil {
				return err
			}
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			err = chime.NewQueues(store).Delete(ctx, queue.Name)
			if errors.Is(err, chime.ErrConflict) {
				return exit(exitRefused, "%w; chime queues purge %s deletes its jobs", err, queue.Name)
			}
			if err != nil {
				return err
			}
			return s.printer().Item(queue.Name, queueDone{Queue: queue.Name, Verb: "delete"}, "Deleted "+queue.Name+".\n")
		},
	})
}

// user returns the name of the user for notes, shortened to the limit of a note.
func (s *session) user() string {
	name := s.Env("USER")
	if len(name) > 100 {
		return ""
	}
	return strings.ToValidUTF8(name, "")
}
