package pages

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/jobfind"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/shape"
	"github.com/chimejobs/chime/internal/svg"
)

const (
	maxGroups  = 50     // number of groups on a page
	maxGrouped = 10_000 // number of jobs of a state that a page groups
	dayHours   = 24     // length of a group's chart
)

// Failures is the page with failed jobs, grouped by job name and error.
type Failures struct {
	Tabs   []JobTab
	State  string // dead or retrying; all: both
	Query  string // the filter in the input field
	Queue  string // the chosen queue; empty: all
	Queues []string
	Wrong  string // what is wrong with the filter; empty: nothing

	Groups   []FailureGroup // largest first
	Smaller  int            // number of groups that are not shown
	Jobs     int            // in all groups
	Looked   int            // number of jobs that were read
	GoOn     []GoOn         // set if there are jobs that were not read yet
	Later    bool           // this is not the beginning
	Filtered bool
	Bulk     render.Bulk
	Filter   string // the filter of the grouped jobs
	Share    string // the filter with instants in place of ages
	Deployed []Deployed
	Empty    render.Empty
}

// Deployed is a version of a program that was first seen lately.
type Deployed struct {
	Version string
	First   time.Time
	Find    string // the filter of the page, from that instant on
	Active  bool   // it is the filter of the page
}

// maxDeployed is how many of the newest versions the page lists.
const maxDeployed = 2

// A FailureGroup has the jobs of one name that failed with the same error.
type FailureGroup struct {
	jobfind.Group
	Day   template.HTML          // failures in each hour of the last day
	Find  string                 // a filter that finds them
	Known *chime.Acknowledgement // nil: not all of them are acknowledged

	errors []jobfind.Group // the groups by what the errors are, of which RedactError shows the same text
}

// Tick returns the value that identifies the group in a form.
func (g FailureGroup) Tick() string { return g.Job + "\t" + g.Error }

// Text returns its error, shortened for a list.
func (g FailureGroup) Text() string { return shortened(g.Error) }

// Row returns the ID of its row.
func (g FailureGroup) Row() string {
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, g.Tick())
	return fmt.Sprintf("row-%x", hash.Sum64())
}

// A GoOn links to the next jobs of a state.
type GoOn struct{ State, After string }

// Failures reads the groups of jobs that failed.
func (s *Site) Failures(ctx context.Context, r *Request) (View, error) {
	state, err := r.choice("state", anyState, string(chime.JobDead), string(chime.JobRetrying))
	if err != nil {
		return View{}, err
	}
	m := &Failures{State: state, Query: r.Query.Get("q"), Queue: r.Query.Get("queue"), Later: r.Query.Get("after") != ""}
	filter, err := s.filterOf(m.Query, m.Queue, r)
	switch {
	case err != nil:
		m.Wrong = err.Error()
	case filter.State == chime.JobDead || filter.State == chime.JobRetrying:
		m.State = string(filter.State)
	case filter.State != "":
		m.Wrong = (&QueryError{"filter state", string(filter.State), "dead or retrying, because jobs in other states have not failed"}).Error()
	}
	if after := r.Query.Get("after"); after != "" && m.State == anyState {
		return View{}, &QueryError{"after", after, "no value unless state is dead or retrying"}
	}
	standing, err := s.Standing(ctx)
	if err != nil {
		return View{}, err
	}
	for _, q := range standing.Queues {
		m.Queues = append(m.Queues, q.Name)
	}
	m.Filtered = !withoutPlace(filter).Empty()
	m.Share = frozen(filter, standing.Now(), r.Zone)
	m.tabs(filter)
	m.deployed(filter, s.versions.list(ctx, s.store, standing.At))
	if m.Wrong == "" {
		if err := s.groupFailures(ctx, m, filter, r.Query.Get("after"), standing, r.Live); err != nil {
			return View{}, err
		}
	}
	m.Groups = slices.Clone(m.Groups) // others share them
	for i := range m.Groups {
		for _, g := range m.Groups[i].errors {
			if m.Groups[i].Known = standing.AcknowledgedFailures(g.Job, g.Error, g.Queues); m.Groups[i].Known == nil {
				break
			}
		}
	}
	if len(m.Groups) > 0 {
		m.Bulk = render.Bulk{Path: "failures/bulk", Noun: "groups", Verbs: verbsFor(r.Can, string(chime.JobDead))}
		if r.Can.Operate {
			m.Bulk.Verbs = append(m.Bulk.Verbs, render.Verb{Name: "acknowledge", Text: "Acknowledge", Icon: "eye"})
		}
	}
	m.Empty = m.empty()
	return View{"Failures", m}, nil
}

// tabs fills in the tabs of the page.
func (m *Failures) tabs(filter jobfind.Filter) {
	text := m.Query
	if filter.State != "" { // the tab has the state
		text = withoutPlace(filter).String()
	}
	for _, state := range []string{anyState, string(chime.JobDead), string(chime.JobRetrying)} {
		m.Tabs = append(m.Tabs, JobTab{state, text, -1, state == m.State})
	}
}

// deployed fills in the versions that were first seen last. With one version there is nothing to compare.
func (m *Failures) deployed(filter jobfind.Filter, seen []protocol.VersionSeen) {
	if len(seen) < 2 {
		return
	}
	for _, v := range seen[:min(len(seen)-1, maxDeployed)] {
		since := filter
		since.Since, since.Newer, since.Queue = v.First.UTC().Truncate(time.Second), 0, ""
		m.Deployed = append(m.Deployed, Deployed{shortVersion(v.Version), v.First, since.String(), since.Since.Equal(filter.Since)})
	}
}

// A grouping is the groups of failures that were found so far.
type grouping struct {
	groups []FailureGroup
	all    []jobfind.Group            // the same, without charts
	errors map[string][]jobfind.Group // see FailureGroup; the key is the Tick of the group
	hours  map[string]map[int64]int   // the hours of the last failures, for each group
	jobs   int
	looked int
	states map[chime.JobState]grouped
	goOn   []GoOn
	ended  bool // the search has ended
}

// grouped is how far the jobs of a state were read.
type grouped struct {
	next          string // empty: to their end
	found, looked int
}

func (g *grouping) expensive() bool { return g.looked > fewLooked }
func (g *grouping) whole() bool     { return g.ended }

// groupFailures fills in the groups of the jobs that match a filter.
func (s *Site) groupFailures(ctx context.Context, m *Failures, filter jobfind.Filter, after string, standing *Standing, live bool) error {
	states := []chime.JobState{chime.JobDead, chime.JobRetrying}
	if m.State != anyState {
		states = []chime.JobState{chime.JobState(m.State)}
		filter.State = states[0]
	}
	m.Filter = filter.String()
	found, err := s.grouped.get(ctx, fmt.Sprintf("%q %v %q", m.Filter, states, after), live, func(ctx context.Context, before *grouping) (*grouping, error) {
		return s.readGroups(ctx, filter, states, after, standing, before, partsOf(live, liveGroups))
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

// readGroups reads more jobs of some states, for each state up to the limit of a page, and adds them to the previous groups.
func (s *Site) readGroups(ctx context.Context, filter jobfind.Filter, states []chime.JobState, after string, standing *Standing, before *grouping, parts int) (*grouping, error) {
	g := &grouping{states: map[chime.JobState]grouped{}, ended: true}
	if before == nil {
		before = &grouping{}
	}
	var jobs []*chime.JobInfo
	for _, state := range states {
		at, known := before.states[state]
		if !known || at.next != "" && at.found < maxGrouped && at.looked < maxGrouped {
			search := part(jobfind.Search{
				Filter: filter, States: []chime.JobState{state}, Limit: maxGrouped, Looked: maxGrouped, After: after, Order: chime.NewestFirst, Queues: standing.queues(), Shown: s.hooks.shownError(), Arguments: s.Arguments,
			}, at.next, at.found, at.looked, parts)
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
	g.errors = s.groupErrors(before.errors, jobs)
	for _, job := range jobs {
		job.LastError = s.hooks.failed(job, job.LastError)
	}
	g.jobs = before.jobs + len(jobs)
	g.all, g.hours = jobfind.Merged(before.all, jobfind.Groups(jobs)), failedByHour(before.hours, jobs)
	from := standing.Now().Truncate(time.Hour).Add(-(dayHours - 1) * time.Hour)
	for _, group := range g.all {
		shown := FailureGroup{Group: group, Find: findGroup(group)}
		shown.errors = g.errors[shown.Tick()]
		if group.Last.After(from) {
			chart := svg.Spark{Title: "Failed in the last day", Values: dayOf(g.hours[shown.Tick()], from), Tone: svg.Fail, Bars: true, From: from, Step: time.Hour}
			shown.Day = chart.SVG()
		}
		g.groups = append(g.groups, shown)
	}
	return g, nil
}

// groupErrors adds jobs to the groups by what their errors are. The key is the Tick of the group as which they are shown.
func (s *Site) groupErrors(before map[string][]jobfind.Group, jobs []*chime.JobInfo) map[string][]jobfind.Group {
	shown := map[string][]*chime.JobInfo{}
	for _, job := range jobs {
		tick := s.Group(job)
		shown[tick] = append(shown[tick], job)
	}
	all := map[string][]jobfind.Group{}
	maps.Copy(all, before)
	for tick, jobs := range shown {
		all[tick] = jobfind.Merged(all[tick], jobfind.Groups(jobs))
	}
	return all
}

// failedByHour adds the last failures of jobs to the numbers for each group and hour. The key of a group is its Tick.
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

// dayOf returns the number of failures in each hour of a day, beginning with from.
func dayOf(hours map[int64]int, from time.Time) []float64 {
	day := make([]float64, dayHours)
	for i := range day {
		day[i] = float64(hours[from.Add(time.Duration(i)*time.Hour).Unix()])
	}
	return day
}

// Group returns the name of a job's group of failures.
func (s *Site) Group(job *chime.JobInfo) string {
	return groupOf(job.Name, s.hooks.failed(job, job.LastError))
}

// ShownError returns the function that returns the shown text of a job's last error. It is nil if the whole error is shown.
func (s *Site) ShownError() func(*chime.JobInfo) string { return s.hooks.shownError() }

// groupOf returns the name of the group of jobs that failed with an error. The error is the text that is shown.
func groupOf(name, shown string) string { return name + "\t" + shape.Of(shown) }

// findGroup returns a filter for the jobs of a group. It searches for the longest part of the error that all jobs of the group share.
func findGroup(g jobfind.Group) string {
	longest := ""
	for part := range strings.SplitSeq(strings.TrimSuffix(g.Error, "…"), "#") {
		if part = strings.TrimSpace(part); len(part) > len(longest) {
			longest = part
		}
	}
	longest = strings.ToValidUTF8(longest[:min(len(longest), maxLine)], "") // the length of an address is limited
	filter := jobfind.Filter{Job: jobfind.Pattern{Text: g.Job}, Error: longest}
	return filter.String()
}

// empty is shown if there are no groups.
func (m *Failures) empty() render.Empty {
	switch {
	case len(m.GoOn) > 0 && m.Looked == 0:
		return render.Empty{Text: "The failed jobs are being read."}
	case len(m.GoOn) > 0:
		return render.Empty{Text: "None of the jobs that were read so far matches."}
	case m.Filtered || m.Queue != "":
		return render.Empty{Text: "No failed job matches this filter."}
	case m.Later:
		return render.Empty{Text: "There are no more groups."}
	}
	return render.Empty{Text: "Nothing has failed: no job is dead, and no job waits for another attempt."}
}
