package command

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/jobfind"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/times"
)

// filterHelp explains filters.
const filterHelp = `A FILTER has words and keys, and all of them must hold:

  report                  the job's name begins so, or it is the job's ID; in quotes if it has a colon
  state:dead              waiting, delayed, retrying, running, taken, parked, dead or done
  queue:mail              on this queue
  job:report job:report*  of this job name; of names that begin so; likewise schedule: and worker:
  group:tenant-42         it belongs to exactly this group
  batch:import/7          it is a member of exactly this batch
  error:"timed out"       its last error contains this
  header:tenant=acme      its header has this key with this value
  arg:customer=4711       its arguments have this value at this path, as order.id; arg:4711 anywhere in them
  older:1h newer:3d       in its state for longer, or for less
  since:2026-11-27T14:00  in its state since then or later; until: since before then; in the zone of --zone, or with an offset
  attempt:>3              also >=, <, <= and the number alone

Put a filter in single quotes, so that the shell leaves it as it is. A job is named by its ID, or QUEUE/ID where several queues have that ID.`

func (s *session) jobs() *cobra.Command {
	c := &cobra.Command{
		Use: "jobs", Short: "Find, enqueue, requeue, cancel and delete jobs", Long: "Find, enqueue, requeue, cancel and delete jobs.\n\n" + filterHelp,
		GroupID: groupStore, Args: cobra.NoArgs,
	}
	c.AddCommand(s.jobsList(), s.jobsGroups(), s.jobsShow(), s.jobsWait(), s.jobsEnqueue(), s.jobsAcknowledge())
	for _, change := range jobChanges {
		c.AddCommand(s.jobsChange(change))
	}
	return c
}

const maxList = 10_000 // of --limit

func (s *session) jobsList() *cobra.Command {
	limit, after, sort, batch := 50, "", "", ""
	window := between{session: s}
	c := &cobra.Command{
		Use: "list [FILTER]", Short: "List jobs",
		Long: "List jobs: first those that run, then those that failed, then those that wait. Delayed, retrying, dead and done jobs come queue by queue; with --sort\n" +
			"they come in one order over all queues.\n\n" + filterHelp,
		Example: "  chime jobs list 'state:dead job:report* error:\"timed out\"'\n  chime jobs list state:dead --sort newest --since '2026-11-27 14:00'\n  chime jobs list 01kbq3m4x2",
		RunE: func(c *cobra.Command, args []string) error {
			if limit < 1 || limit > maxList {
				return usage("--limit %d: want 1 to %d", limit, maxList)
			}
			order := chime.JobOrder(sort)
			if sort != "" && order != chime.NewestFirst && order != chime.OldestFirst {
				return usage("--sort %q: want newest or oldest", sort)
			}
			filter, err := window.filter(strings.Join(args, " "))
			if err != nil {
				return err
			}
			if c.Flags().Changed("batch") {
				if batch == "" || filter.Batch != "" {
					return usage("--batch %.40q: want the ID of a batch, and no batch: in the filter", batch)
				}
				filter.Batch = batch
			}
			store, err := s.store()
			if err != nil {
				return err
			}
			found, err := jobfind.Search{Filter: filter, Limit: limit, After: after, Order: order}.Find(c.Context(), store)
			if err != nil {
				return s.unknownQueue(c.Context(), store, filter.Queue, err)
			}
			if found.Next != "" && len(found.Jobs) < limit {
				s.warn("found %s among the %s jobs that were read; there are more", format.Count(len(found.Jobs)), format.Count(found.Looked))
			}
			if len(found.Jobs) == 0 && found.Next == "" {
				s.noteNothing(c.Context(), "no job matches")
			}
			list := s.jobList(found.Jobs, found.Now)
			list.Next = found.Next
			return s.printer().List(list)
		},
		ValidArgsFunction: s.completeFilter,
	}
	c.Flags().IntVar(&limit, "limit", limit, "jobs to list, 1 to 10000")
	c.Flags().StringVar(&sort, "sort", "", "`order` of delayed, retrying, dead and done jobs over all queues: newest or oldest, by when they are due, died, or are kept until")
	complete(c, "sort", string(chime.NewestFirst), string(chime.OldestFirst))
	window.flags(c)
	c.Flags().StringVar(&batch, "batch", "", "only members of the batch with this `ID`, as batch:ID in the filter")
	c.Flags().StringVar(&after, "after", "", "continue after the previous list, whose last line has the value")
	return c
}

// jobList formats jobs as a table. WHEN is when a job is due, or since when it is in its state: when it died, began or was enqueued. now is the store's clock.
func (s *session) jobList(jobs []*chime.JobInfo, now time.Time) output.List {
	list := output.List{Header: s.timesHeader(), Columns: []output.Column{
		{Title: "ID", Most: 16}, {Title: "JOB", Most: 12}, {Title: "QUEUE", Most: 10}, {Title: "STATE"}, {Title: "WHEN"}, {Title: "ATTEMPT", Right: true},
		{Title: "ERROR", Most: 14},
	}}
	for _, job := range jobs {
		when := ""
		if at := cmp.Or(job.Due, jobfind.Since(job)); !at.IsZero() {
			when = s.when(at, now)
		}
		text := job.LastError
		if job.Err != nil {
			text = job.Err.Error()
		}
		list.Items = append(list.Items, output.Item{Name: nameOf(job), Value: job, Cells: []string{
			job.ID, job.Name, job.Queue, plain.JobRow(job).Word, when, attemptOf(job), format.FirstLine(text),
		}})
	}
	return list
}

// nameOf returns the name of a job in the form that the commands accept.
func nameOf(job *chime.JobInfo) string { return job.Queue + "/" + job.ID }

// attemptOf returns the attempt and the maximum: 3/25. If the worker or the handler sets the maximum, it returns the attempt alone.
func attemptOf(job *chime.JobInfo) string {
	switch {
	case job.Attempt == 0:
		return ""
	case job.MaxAttempts == 0:
		return fmt.Sprint(job.Attempt)
	}
	return fmt.Sprintf("%d/%d", job.Attempt, job.MaxAttempts)
}

// when formats how far an instant is from now, and its time in the session's zone.
func (s *session) when(t, now time.Time) string {
	return format.Away(t.Sub(now)) + "  " + times.Short(t, now, s.location)
}

// warn prints a line on standard error.
func (s *session) warn(format string, values ...any) {
	_, _ = fmt.Fprintln(s.Err, "chime: "+output.Printable(fmt.Sprintf(format, values...)))
}
