package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/jobfind"
	"github.com/chimejobs/chime/internal/times"
)

func (s *session) jobsGroups() *cobra.Command {
	state := ""
	window := between{session: s}
	c := &cobra.Command{
		Use: "groups [FILTER]", Short: "Group jobs that failed by job and error",
		Long: "Group dead and retrying jobs by their name and their last error. In the error, # replaces numbers and quoted text.\n" +
			"It reads at most 20,000 jobs of each state, the newest of all queues first, and reports if there are more.",
		RunE: func(c *cobra.Command, args []string) error {
			states := []chime.JobState{chime.JobDead, chime.JobRetrying}
			switch chime.JobState(state) {
			case "":
			case chime.JobDead, chime.JobRetrying:
				states = []chime.JobState{chime.JobState(state)}
			default:
				return usage("--state %q: want dead or retrying", state)
			}
			filter, err := window.filter(strings.Join(args, " "))
			if err != nil {
				return err
			}
			store, err := s.store()
			if err != nil {
				return err
			}
			var jobs []*chime.JobInfo
			for _, state := range states {
				found, err := jobfind.Search{Filter: filter, States: []chime.JobState{state}, Limit: jobfind.MaxLooked, Order: chime.NewestFirst}.Find(c.Context(), store)
				if err != nil {
					return s.unknownQueue(c.Context(), store, filter.Queue, err)
				}
				if found.Next != "" {
					s.warn("read %s %s jobs; there are more", format.Count(found.Looked), state)
				}
				jobs = append(jobs, found.Jobs...)
			}
			if len(jobs) == 0 {
				s.noteNothing(c.Context(), "no failed job matches")
			}
			return s.printer().List(s.groupList(jobfind.Groups(jobs)))
		},
		ValidArgsFunction: s.completeFilter,
	}
	c.Flags().StringVar(&state, "state", "", "`state`: dead or retrying (default both)")
	complete(c, "state", string(chime.JobDead), string(chime.JobRetrying))
	window.flags(c)
	return c
}

func (s *session) groupList(groups []jobfind.Group) output.List {
	list := output.List{Header: s.timesHeader(), Columns: []output.Column{
		{Title: "COUNT", Right: true}, {Title: "JOB", Most: 16}, {Title: "ERROR", Most: 30}, {Title: "FIRST"}, {Title: "LAST"}, {Title: "QUEUES", Most: 10},
	}}
	now := s.Now()
	for _, g := range groups {
		first, last := "", ""
		if !g.First.IsZero() {
			first, last = times.Short(g.First, now, s.location), times.Short(g.Last, now, s.location)
		}
		list.Items = append(list.Items, output.Item{Name: g.Job, Value: g, Cells: []string{
			format.Count(g.Count), g.Job, format.FirstLine(g.Error), first, last, strings.Join(g.Queues, " "),
		}})
	}
	return list
}
