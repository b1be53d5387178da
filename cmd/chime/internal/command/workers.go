package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/times"
)

func (s *session) workers() *cobra.Command {
	c := &cobra.Command{Use: "workers", Short: "Show workers and what they run", GroupID: groupStore, Args: cobra.NoArgs}
	c.AddCommand(s.workersList(), s.workersShow())
	return c
}

func (s *session) workersList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the live workers", Args: cobra.NoArgs,
		Long: "List the live workers. SEEN is the time since a worker's last sign of life, which it sends twice in each SessionTTL (12 s by default); a worker\n" +
			"that was silent for longer is gone, and is not listed. LONGEST shows how long its longest-running job has been running.",
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			workers, now, err := s.living(ctx)
			if err != nil {
				return err
			}
			if len(workers) == 0 {
				s.noteNothing(c.Context(), "no worker is live: start a program that runs one")
			}
			return s.printer().List(workerList(workers, now))
		},
	}
}

// living returns the live workers; now is the store's clock.
func (s *session) living(ctx context.Context) (workers []*chime.WorkerInfo, now time.Time, err error) {
	store, err := s.store()
	if err != nil {
		return nil, now, err
	}
	if workers, err = chime.NewWorkers(store).List(ctx); err != nil {
		return nil, now, err
	}
	now, err = s.opened.Client.Time(ctx).Result()
	return workers, now, err
}

func workerList(workers []*chime.WorkerInfo, now time.Time) output.List {
	list := output.List{Columns: []output.Column{
		{Title: "WORKER", Most: 12}, {Title: "HOST", Most: 12}, {Title: "PID", Right: true}, {Title: "BUSY/SLOTS", Right: true}, {Title: "QUEUES", Most: 12}, {Title: "UP", Right: true},
		{Title: "SEEN", Right: true}, {Title: "LONGEST", Right: true},
	}}
	for _, w := range workers {
		list.Items = append(list.Items, output.Item{Name: w.Name, Value: w, Cells: []string{
			w.Name, w.Host, fmt.Sprint(w.PID), fmt.Sprintf("%s/%d", plain.Busy(w), w.Slots), strings.Join(slices.Sorted(maps.Keys(w.Queues)), " "),
			since(w.Since, now), ago(w.Seen, now), since(longest(w), now),
		}})
	}
	return list
}

// longest returns the start of the worker's longest-running job; zero if it runs no job.
func longest(w *chime.WorkerInfo) time.Time {
	var began time.Time
	for _, job := range w.Running {
		if !job.Started.IsZero() && (began.IsZero() || job.Started.Before(began)) {
			began = job.Started
		}
	}
	return began
}

// since formats how long ago something began; empty if that is not known.
func since(began, now time.Time) string {
	if began.IsZero() {
		return ""
	}
	return format.Age(max(0, now.Sub(began)))
}

// ago formats how long ago something was; empty if that is not known.
func ago(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	return format.Away(at.Sub(now))
}

func (s *session) workersShow() *cobra.Command {
	return &cobra.Command{
		Use: "show WORKER", Short: "Show a worker and what it runs", Args: cobra.ExactArgs(1), ValidArgsFunction: s.completeWorker,
		Long: "Show a worker and what it runs. WORKER is its name, or a beginning of it that is unique.",
		RunE: func(c *cobra.Command, args []string) error {
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			workers, now, err := s.living(ctx)
			if err != nil {
				return err
			}
			worker, err := namedWorker(workers, args[0])
			if err != nil {
				return err
			}
			return s.printer().Item(worker.Name, worker, s.workerText(worker, now))
		},
	}
}

// namedWorker returns the worker with a name, or the only one with a prefix.
func namedWorker(workers []*chime.WorkerInfo, name string) (*chime.WorkerInfo, error) {
	var names, begin []string
	var found *chime.WorkerInfo
	for _, w := range workers {
		if w.Name == name {
			return w, nil
		}
		names = append(names, w.Name)
		if name != "" && strings.HasPrefix(w.Name, name) {
			found, begin = w, append(begin, w.Name)
		}
	}
	switch len(begin) {
	case 0:
		return nil, exit(exitNotFound, "worker %q: not found%s", name, didYouMean(name, names))
	case 1:
		return found, nil
	}
	return nil, usage("worker %q: want one of %s", name, strings.Join(begin, ", "))
}

// workerText formats a worker for people.
func (s *session) workerText(w *chime.WorkerInfo, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n\n", output.Printable(w.Name), plain.Slots(w))
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(title, text string) {
		if text != "" {
			fmt.Fprintf(t, "%s\t%s\n", title, output.Printable(text))
		}
	}
	row("Host", w.Host)
	row("PID", fmt.Sprint(w.PID))
	row("Version", w.Version)
	if !w.Since.IsZero() {
		row("Started", times.Full(w.Since, s.location)+"  "+ago(w.Since, now))
	}
	row("Seen", ago(w.Seen, now))
	for i, queue := range slices.Sorted(maps.Keys(w.Queues)) {
		title := "Queues"
		if i > 0 {
			title = " "
		}
		row(title, fmt.Sprintf("%s (weight %d)", queue, w.Queues[queue]))
	}
	for i, job := range w.Running {
		title := "Runs"
		if i > 0 {
			title = " "
		}
		row(title, fmt.Sprintf("%s  %s  attempt %s  for %s", nameOf(job), job.Name, attemptOf(job), since(job.Started, now)))
	}
	_ = t.Flush()
	return b.String()
}

// completeWorker completes the name of a worker.
func (s *session) completeWorker(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := s.limited(c.Context())
	defer cancel()
	workers, _, err := s.living(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, w := range workers {
		names = append(names, w.Name)
	}
	return beginning(names, begun), cobra.ShellCompDirectiveNoFileComp
}
