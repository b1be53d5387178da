package pages

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"html/template"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/jobfind"
	"github.com/chimejobs/chime/internal/svg"
)

const (
	maxGroups  = 50     // that a page shows
	maxGrouped = 10_000 // jobs of a state that a page groups
	dayHours   = 24     // of a group's chart
)

// Failures is the jobs that failed, by job and error.
type Failures struct {
	Tabs   []JobTab
	State  string // dead or retrying; all: both
	Query  string // the filter as it is in the field
	Queue  string // that was chosen; empty: all
	Queues []string
	Wrong  string // with the filter; empty: nothing is

	Groups   []FailureGroup // the largest first
	Smaller  int            // groups that are not shown
	Jobs     int            // in all groups
	Looked   int            // jobs that were looked at
	GoOn     []GoOn         // there are more jobs than were looked at
	Later    bool           // this is not the beginning
	Filtered bool
	Bulk     render.Bulk
	Filter   string // which jobs the groups are of
	Empty    render.Empty
}

// A FailureGroup is jobs that failed with the same error.
type FailureGroup struct {
	jobfind.Group
	Day  template.HTML // when they failed, by the hour of the last day
	Find string        // a filter that finds them
}

// Tick is what names the group in a form.
func (g FailureGroup) Tick() string { return g.Job + "\t" + g.Error }

// Text is its error as a list has room for it.
func (g FailureGroup) Text() string { return shortened(g.Error) }

// Row is the ID of its row.
func (g FailureGroup) Row() string {
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, g.Tick())
	return fmt.Sprintf("row-%x", hash.Sum64())
}

// A GoOn leads to the next jobs of a state.
type GoOn struct{ State, After string }

// Failures reads the groups of jobs that failed.
func (s *Site) Failures(ctx context.Context, r *Request) (View, error) {
	state, err := r.choice("state", anyState, string(chime.JobDead), string(chime.JobRetrying))
	if err != nil {
		return View{}, err
	}
	m := &Failures{State: state, Query: r.Query.Get("q"), Queue: r.Query.Get("queue"), Later: r.Query.Get("after") != ""}
	filter, err := filterOf(m.Query, m.Queue)
	switch {
	case err != nil:
		m.Wrong = err.Error()
	case filter.State == chime.JobDead || filter.State == chime.JobRetrying:
		m.State = string(filter.State)
	case filter.State != "":
		m.Wrong = (&QueryError{"filter state", string(filter.State), "dead or retrying: other jobs have not failed"}).Error()
	}
	if after := r.Query.Get("after"); after != "" && m.State == anyState {
		return View{}, &QueryError{"after", after, "it with state dead or retrying"}
	}
	standing, err := s.Standing(ctx)
	if err != nil {
		return View{}, err
	}
	for _, q := range standing.Queues {
		m.Queues = append(m.Queues, q.Name)
	}
	m.Filtered = !withoutPlace(filter).Empty()
	m.tabs(filter)
	if m.Wrong == "" {
		if err := s.groupFailures(ctx, m, filter, r.Query.Get("after"), standing, r.Live); err != nil {
			return View{}, err
		}
	}
	if len(m.Groups) > 0 {
		m.Bulk = render.Bulk{Path: "failures/bulk", Noun: "groups", Verbs: verbsFor(r.Can, string(chime.JobDead))}
	}
	m.Empty = m.empty()
	return View{"Failures", m}, nil
}

// tabs fills in the tabs.
func (m *Failures) tabs(filter jobfind.Filter) {
	text := m.Query
	if filter.State != "" { // the tab says it
		text = withoutPlace(filter).String()
	}
	for _, state := range []string{anyState, string(chime.JobDead), string(chime.JobRetrying)} {
		m.Tabs = append(m.Tabs, JobTab{state, text, -1, state == m.State})
	}
}

// A grouping is what was found of failures.
type grouping struct {
	groups []FailureGroup
	all    []jobfind.Group          // the same, without charts
	hours  map[string]map[int64]int // when they failed last, by the hour, of each group
	jobs   int
	looked int
	states map[chime.JobState]grouped
	goOn   []GoOn
	ended  bool // no more is looked for
}

// grouped is how far the jobs of a state were looked through.
type grouped struct {
	next          string // empty: to their end
	found, looked int
}

func (g *grouping) dear() bool  { return g.looked > fewLooked }
func (g *grouping) whole() bool { return g.ended }

// groupFailures fills in the groups of the jobs that a filter means.
func (s *Site) groupFailures(ctx context.Context, m *Failures, filter jobfind.Filter, after string, standing *Standing, live bool) error {
	states := []chime.JobState{chime.JobDead, chime.JobRetrying}
	if m.State != anyState {
		states = []chime.JobState{chime.JobState(m.State)}
		filter.State = states[0]
	}
	m.Filter = filter.String()
	found, err := s.grouped.get(ctx, fmt.Sprintf("%q %v %q", m.Filter, states, after), live, func(ctx context.Context, before *grouping) (*grouping, error) {
		return s.readGroups(ctx, filter, states, after, standing, before)
	})
	if errors.Is(err, chime.ErrNotFound) {
		m.Wrong = fmt.Sprintf("There is no queue %q.", filter.Queue)
		return nil
	}
	if err != nil {
		return err
	}
	m.Groups = found.groups[:min(len(found.groups), maxGroups)]
	m.Smaller = len(found.groups) - len(m.Groups)
	m.Jobs, m.Looked, m.GoOn = found.jobs, found.looked, found.goOn
	return nil
}

// readGroups reads more jobs of some states, each as far as a page looks, and adds them to the groups of those before.
func (s *Site) readGroups(ctx context.Context, filter jobfind.Filter, states []chime.JobState, after string, standing *Standing, before *grouping) (*grouping, error) {
	g := &grouping{states: map[chime.JobState]grouped{}, ended: true}
	if before == nil {
		before = &grouping{}
	}
	var jobs []*chime.JobInfo
	for _, state := range states {
		at, known := before.states[state]
		if !known || at.next != "" && at.found < maxGrouped && at.looked < maxGrouped {
			search := part(jobfind.Search{
				Filter: filter, States: []chime.JobState{state}, Limit: maxGrouped, Looked: maxGrouped, After: after, Queues: standing.queues(), Shown: s.hooks.shownError(),
			}, at.next, at.found, at.looked)
			search.For, search.Pages, search.Looked = search.For/time.Duration(len(states)), search.Pages/len(states), search.Looked/len(states)
			found, err := search.Find(ctx, s.store)
			if err != nil {
				return nil, err
			}
			jobs = append(jobs, found.Jobs...)
			at = grouped{found.Next, at.found + len(found.Jobs), at.looked + found.Looked}
		}
		g.states[state] = at
		g.looked += at.looked
		g.ended = g.ended && (at.next == "" || at.found >= maxGrouped || at.looked >= maxGrouped)
		if at.next != "" {
			g.goOn = append(g.goOn, GoOn{string(state), at.next})
		}
	}
	for _, job := range jobs {
		job.LastError = s.hooks.failed(job, job.LastError)
	}
	g.jobs = before.jobs + len(jobs)
	g.all, g.hours = jobfind.Merged(before.all, jobfind.Groups(jobs)), failedByHour(before.hours, jobs)
	from := standing.Now().Truncate(time.Hour).Add(-(dayHours - 1) * time.Hour)
	for _, group := range g.all {
		shown := FailureGroup{Group: group, Find: findGroup(group)}
		if group.Last.After(from) {
			chart := svg.Spark{Title: "Failed in the last day", Values: dayOf(g.hours[shown.Tick()], from), Tone: svg.Fail, Bars: true, From: from, Step: time.Hour}
			shown.Day = chart.SVG()
		}
		g.groups = append(g.groups, shown)
	}
	return g, nil
}

// failedByHour adds when jobs failed last to what is known: how many of each group did in which hour, by what names the group.
func failedByHour(before map[string]map[int64]int, jobs []*chime.JobInfo) map[string]map[int64]int {
	hours := map[string]map[int64]int{}
	for key, known := range before {
		hours[key] = maps.Clone(known)
	}
	for _, job := range jobs {
		key := groupOf(job.Name, job.LastError)
		if hours[key] == nil {
			hours[key] = map[int64]int{}
		}
		hours[key][jobfind.Since(job).Truncate(time.Hour).Unix()]++
	}
	return hours
}

// dayOf is how many failed in each hour of a day, from its first one on.
func dayOf(hours map[int64]int, from time.Time) []float64 {
	day := make([]float64, dayHours)
	for i := range day {
		day[i] = float64(hours[from.Add(time.Duration(i)*time.Hour).Unix()])
	}
	return day
}

// Group names the group of failures that a job is in.
func (s *Site) Group(job *chime.JobInfo) string {
	return groupOf(job.Name, s.hooks.failed(job, job.LastError))
}

// ShownError returns what the application shows of the last error of a job; nil: all of it is shown.
func (s *Site) ShownError() func(*chime.JobInfo) string { return s.hooks.shownError() }

// groupOf names the group of jobs that failed with an error, which is as it is shown.
func groupOf(name, shown string) string { return name + "\t" + jobfind.Normalize(shown) }

// findGroup is a filter that finds the jobs of a group: those that have the longest part of its error that is the same in all.
func findGroup(g jobfind.Group) string {
	longest := ""
	for part := range strings.SplitSeq(strings.TrimSuffix(g.Error, "…"), "#") {
		if part = strings.TrimSpace(part); len(part) > len(longest) {
			longest = part
		}
	}
	longest = strings.ToValidUTF8(longest[:min(len(longest), maxLine)], "") // an address has no room for more
	filter := jobfind.Filter{Job: jobfind.Pattern{Text: g.Job}, Error: longest}
	return filter.String()
}

// empty stands where nothing has failed.
func (m *Failures) empty() render.Empty {
	switch {
	case len(m.GoOn) > 0:
		return render.Empty{Text: "None of the jobs that were looked at so far is meant."}
	case m.Filtered || m.Queue != "":
		return render.Empty{Text: "No job that failed is meant by this filter."}
	case m.Later:
		return render.Empty{Text: "There are no more."}
	}
	return render.Empty{Text: "Nothing has failed: no job was given up, and none waits for another attempt."}
}
