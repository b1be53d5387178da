package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/cmd/chime/internal/progress"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/jobfind"
)

// A jobChange is a change of many jobs: requeue, cancel or delete.
type jobChange struct {
	verb, done string
	short      string
	states     []chime.JobState // of the jobs that it changes
	usual      chime.JobState   // the state of the jobs that a filter without a state selects; empty: any state that it changes
	destroys   bool             // the number of jobs that a filter matches has to be typed
	step       func(ctx context.Context, jobs *chime.Jobs, some []*chime.JobInfo) (changed int, err error)
}

var jobChanges = []jobChange{
	{
		verb: "requeue", done: "requeued", short: "Put jobs to the front of their queue: delayed, retrying, parked and dead ones",
		usual:  chime.JobDead,
		states: []chime.JobState{chime.JobRetrying, chime.JobDead, chime.JobParked, chime.JobDelayed},
		step: func(ctx context.Context, jobs *chime.Jobs, some []*chime.JobInfo) (int, error) {
			result, err := jobs.Requeue(ctx, meaning(some), nil)
			return result.Changed, err
		},
	},
	{
		verb: "cancel", done: "cancelled", short: "Cancel jobs: those that wait never start, the handlers of those that run are asked to stop",
		states: []chime.JobState{chime.JobRunning, chime.JobTaken, chime.JobRetrying, chime.JobParked, chime.JobWaiting, chime.JobDelayed},
		step: func(ctx context.Context, jobs *chime.Jobs, some []*chime.JobInfo) (changed int, err error) {
			for _, job := range some {
				how, err := jobs.Cancel(ctx, job.Queue, job.ID)
				switch {
				case err != nil && !errors.Is(err, chime.ErrNotFound):
					return changed, err
				case err == nil && how != chime.CancelTooLate:
					changed++
				}
			}
			return changed, nil
		},
	},
	{
		verb: "delete", done: "deleted", short: "Delete jobs that no worker holds, without a trace", destroys: true,
		states: []chime.JobState{chime.JobRetrying, chime.JobDead, chime.JobParked, chime.JobWaiting, chime.JobDelayed},
		step: func(ctx context.Context, jobs *chime.Jobs, some []*chime.JobInfo) (int, error) {
			result, err := jobs.Delete(ctx, meaning(some), nil)
			return result.Changed, err
		},
	},
}

// usually explains which jobs a filter without a state selects.
func (c jobChange) usually() string {
	if c.usual == "" {
		return ""
	}
	return "A filter without a state selects the " + string(c.usual) + " jobs.\n\n"
}

// meaning returns a filter for these jobs of one queue, restricted to those that still have the state.
func meaning(some []*chime.JobInfo) chime.JobFilter {
	filter := chime.JobFilter{Queue: some[0].Queue, State: some[0].State}
	for _, job := range some {
		filter.IDs = append(filter.IDs, job.ID)
	}
	return filter
}

const (
	defaultMax = 10_000
	maxMax     = 1_000_000 // of --max
)

func (s *session) jobsChange(change jobChange) *cobra.Command {
	run := jobsRun{session: s, jobChange: change, window: between{session: s}}
	c := &cobra.Command{
		Use: change.verb + " ([QUEUE/]ID... | --filter FILTER)", Short: change.short,
		Long: change.short + ".\n\nYou are asked to confirm the number of jobs. The command works in steps of 500, and Ctrl-C stops it between two steps: run it again to\n" +
			"continue. It exits with 6 if some of the jobs were left unchanged.\n\n" + change.usually() + filterHelp,
		Example: "  chime jobs " + change.verb + " mail/01kbq3m4x2\n  chime jobs " + change.verb + " --filter 'state:retrying error:\"timed out\"' --dry-run",
		RunE: func(c *cobra.Command, refs []string) error {
			return run.run(c.Context(), refs, c.Flags().Changed("filter"))
		},
	}
	c.Flags().StringVar(&run.filter, "filter", "", "the jobs that match a `FILTER`")
	run.window.flags(c)
	c.Flags().IntVar(&run.max, "max", defaultMax, "with --filter: the maximum number of jobs, 1 to 1000000")
	c.Flags().BoolVar(&run.dry, "dry-run", false, "list the jobs and change nothing")
	_ = c.RegisterFlagCompletionFunc("filter", s.completeFilter)
	return s.changesUnless(c, &run.dry)
}

// changesUnless is changes for a command that has a dry run. --read-only allows the dry run.
func (s *session) changesUnless(c *cobra.Command, dry *bool) *cobra.Command {
	run := c.RunE
	changing := s.changes(&cobra.Command{Use: c.Use, RunE: run})
	c.RunE = func(c *cobra.Command, args []string) error {
		if *dry {
			return run(c, args)
		}
		return changing.RunE(c, args)
	}
	return c
}

// A jobsRun is a change of many jobs in progress.
type jobsRun struct {
	*session
	jobChange
	filter string
	window between
	max    int
	dry    bool

	meant   []*chime.JobInfo
	now     time.Time // the store's clock
	more    bool      // there are more than max
	missing []string  // IDs that were not found
	wrong   []string  // IDs of jobs in another state
}

// changed is the result as JSON.
type changed struct {
	Verb    string   `json:"action"`
	Meant   int      `json:"meant"`
	Changed int      `json:"changed"`
	Left    int      `json:"left"` // deleted, or in another state, when their step came
	More    bool     `json:"more"` // there are more than --max
	Missing []string `json:"missing,omitempty"`
}

func (r *jobsRun) run(ctx context.Context, refs []string, byFilter bool) error {
	switch {
	case byFilter == (len(refs) > 0):
		return usage("want either IDs or --filter")
	case !byFilter && r.window != (between{session: r.session}):
		return usage("--since and --until: want them with --filter")
	case r.max < 1 || r.max > maxMax:
		return usage("--max %d: want 1 to %d", r.max, maxMax)
	}
	find := func() error { return r.named(ctx, refs) }
	if byFilter {
		find = func() error { return r.found(ctx) }
	}
	if err := find(); err != nil {
		return err
	}
	if r.dry {
		r.warn("would %s %s", r.verb, r.number())
		return r.printer().List(r.jobList(r.meant, r.now))
	}
	if len(r.meant) == 0 {
		return r.report(0)
	}
	question := strings.ToUpper(r.verb[:1]) + r.verb[1:] + " " + r.number() + r.where() + "?"
	confirm := func() error { return r.confirm(ctx, question) }
	if byFilter && r.destroys {
		confirm = func() error { return r.confirmName(ctx, question, fmt.Sprint(len(r.meant))) }
	}
	if err := confirm(); err != nil {
		return err
	}
	return r.change(ctx)
}

// named finds the jobs that were named.
func (r *jobsRun) named(ctx context.Context, refs []string) error {
	jobs, missing, err := r.findJobs(ctx, refs)
	if err != nil {
		return err
	}
	r.missing, r.now = missing, r.Now()
	for _, job := range jobs {
		if slices.Contains(r.states, job.State) {
			r.meant = append(r.meant, job)
			continue
		}
		r.wrong = append(r.wrong, nameOf(job))
		r.warn("job %s is %s: %s does not change such jobs", nameOf(job), job.State, r.verb)
	}
	for _, ref := range missing {
		r.warn("job %q: not found", ref)
	}
	return nil
}

// found finds the jobs that match the filter.
func (r *jobsRun) found(ctx context.Context) error {
	filter, err := r.window.filter(r.filter)
	if err != nil {
		return err
	}
	if filter.Empty() {
		return usage("--filter: is empty and would match all jobs; want at least a state: or a queue:")
	}
	if filter.State != "" && !slices.Contains(r.states, filter.State) {
		return usage("--filter: state:%s: %s does not change such jobs; want %s", filter.State, r.verb, words(r.states))
	}
	if filter.State == "" {
		filter.State = r.usual
	}
	store, err := r.store()
	if err != nil {
		return err
	}
	bar := progress.New(r.Process, "looked at")
	defer bar.End()
	seen, looked := map[string]bool{}, 0
	for after := ""; ; {
		search := jobfind.Search{Filter: filter, States: r.states, Limit: min(idsAtOnce, r.max+1-len(r.meant)), After: after}
		some, err := search.Find(ctx, store)
		if err != nil {
			return r.unknownQueue(ctx, store, filter.Queue, err)
		}
		r.now = some.Now
		for _, job := range some.Jobs {
			if !seen[nameOf(job)] { // a job that changes its state in the meantime may be found twice
				seen[nameOf(job)] = true
				r.meant = append(r.meant, job)
			}
		}
		if len(r.meant) > r.max {
			r.meant, r.more = r.meant[:r.max], true
			return nil
		}
		looked += some.Looked
		bar.Set(looked, 0)
		if after = some.Next; after == "" {
			return nil
		}
	}
}

func words(states []chime.JobState) string {
	names := make([]string, len(states))
	for i, state := range states {
		names[i] = string(state)
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// number formats how many jobs are selected.
func (r *jobsRun) number() string {
	switch n := len(r.meant); {
	case r.more:
		return "the first " + format.Count(n) + " jobs (there are more)"
	case n == 1:
		return "1 job, " + output.Printable(nameOf(r.meant[0]))
	default:
		return format.Count(n) + " jobs"
	}
}

// where formats the states and the queues of the jobs.
func (r *jobsRun) where() string {
	in, queues := map[chime.JobState]int{}, map[string]bool{}
	for _, job := range r.meant {
		in[job.State]++
		queues[job.Queue] = true
	}
	var parts []string
	for _, state := range r.states {
		if in[state] > 0 {
			parts = append(parts, format.Count(in[state])+" "+string(state))
		}
	}
	on := fmt.Sprintf("on %s queues", format.Count(len(queues)))
	if len(queues) == 1 {
		on = "on queue " + r.meant[0].Queue
	}
	return " (" + strings.Join(parts, ", ") + "; " + on + ")"
}
