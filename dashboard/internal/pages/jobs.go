package pages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/jobfind"
	"github.com/chimejobs/chime/internal/plain"
)

const (
	defaultJobs = 50                     // of a page
	maxJobs     = 200                    // of a page
	searchFor   = 100 * time.Millisecond // how long a page looks for jobs that a filter means
	searchPages = 12                     // that it reads for it, at six commands each
	searchPart  = 1000                   // jobs that it looks at, some 2 ms of Redis's time; the next ones when it is read again, up to jobfind.MaxLooked
	anyState    = "all"
	fewLooked   = 500 // jobs that are looked at for what is not dear: a page of the store
)

// tabStates are the states that have a tab; the workers hold what they have taken for milliseconds, so it is shown with what runs.
var tabStates = []chime.JobState{chime.JobWaiting, chime.JobDelayed, chime.JobRunning, chime.JobRetrying, chime.JobParked, chime.JobDead}

// Jobs is a list of jobs in a state that a filter means.
type Jobs struct {
	Tabs   []JobTab
	State  string // whose tab is open; all: a filter was typed without one
	Query  string // the filter as it is in the field
	Queue  string // that was chosen; empty: all
	Queues []string
	Wrong  string // with the filter; empty: nothing is

	Rows      []JobRow
	Next      string // the cursor to go on with; empty: these are the last
	Looked    int    // jobs that were looked at
	Total     int64  // jobs that there are in the state, of whatever filter; -1: not known
	Filtered  bool   // the list has a filter
	Restarted bool   // the place to go on from has gone
	Later     bool   // this is not the beginning of the list
	Bulk      render.Bulk
	Filter    string // all that the list is of, for what is done to all
	Empty     render.Empty
}

// A JobTab is one of the states.
type JobTab struct {
	State  string
	Filter string // the filter without a state
	Count  int64  // -1: not known
	Active bool
}

// A JobRow is a job of the list.
type JobRow struct {
	ID, Name, Queue string
	State           plain.State
	When            time.Time // when it is due, or since when it is where it is
	Attempt         string
	Error           string // the last one, shortened
	Schedule        string
}

// Tick is what names the job in a form.
func (r JobRow) Tick() string { return r.Queue + "/" + r.ID }

// When says what the times of the list are.
func (m *Jobs) When() string {
	switch chime.JobState(m.State) {
	case chime.JobDelayed, chime.JobRetrying:
		return "Due"
	case chime.JobRunning:
		return "Runs since"
	case chime.JobDead:
		return "Given up"
	}
	return "Since"
}

// Mixed reports whether the list has jobs of several states, so that each row says which.
func (m *Jobs) Mixed() bool { return m.State == anyState || m.State == string(chime.JobRunning) }

// Shared reports whether the count is that of delayed jobs and retries together.
func (m *Jobs) Shared() bool {
	return m.State == string(chime.JobDelayed) || m.State == string(chime.JobRetrying)
}

// Jobs reads the list of jobs.
func (s *Site) Jobs(ctx context.Context, r *Request) (View, error) {
	limit, err := r.number("limit", 1, maxJobs, defaultJobs)
	if err != nil {
		return View{}, err
	}
	asked, err := r.choice("state", "", anyState, "waiting", "delayed", "running", "taken", "retrying", "parked", "dead", "done")
	if err != nil {
		return View{}, err
	}
	standing, err := s.Standing(ctx)
	if err != nil {
		return View{}, err
	}
	m := &Jobs{Query: r.Query.Get("q"), Queue: r.Query.Get("queue"), Later: r.Query.Get("after") != "", Total: -1}
	for _, q := range standing.Queues {
		m.Queues = append(m.Queues, q.Name)
	}
	filter, err := filterOf(m.Query, m.Queue)
	if err != nil {
		m.Wrong = err.Error()
	}
	m.State = stateOf(asked, &filter)
	m.Filtered = !withoutPlace(filter).Empty()
	m.tabs(standing, filter)
	if m.Wrong == "" {
		err = s.listJobs(ctx, m, jobfind.Search{
			Filter: filter, States: statesOf(m.State), Limit: limit, Looked: jobfind.MaxLooked, After: r.Query.Get("after"), Queues: standing.queues(), Shown: s.hooks.shownError(),
		}, r.Live)
	}
	if err != nil && m.Wrong == "" {
		return View{}, err
	}
	m.bulk(r.Can, filter)
	m.Empty = m.empty(len(standing.Queues) > 0)
	return View{"Jobs", m}, nil
}

// filterOf reads a filter as it is typed, with a queue that was chosen beside it.
func filterOf(text, queue string) (jobfind.Filter, error) {
	filter, err := jobfind.Parse(text)
	if err != nil {
		return filter, err
	}
	if queue != "" && filter.Queue != "" && filter.Queue != queue {
		return filter, &QueryError{"filter queue", filter.Queue, "the queue that is chosen, or none: " + queue}
	}
	if queue != "" {
		filter.Queue = queue
	}
	return filter, nil
}

// stateOf is the tab that is open. The filter's own state comes first; without any, what waits is shown, and a filter looks everywhere.
func stateOf(asked string, filter *jobfind.Filter) string {
	switch {
	case filter.State == chime.JobTaken:
		return string(chime.JobRunning)
	case filter.State != "":
		return string(filter.State)
	case asked != "":
		return asked
	case filter.Empty():
		return string(chime.JobWaiting)
	}
	return anyState
}

// statesOf are those that a tab shows.
func statesOf(tab string) []chime.JobState {
	switch tab {
	case anyState:
		return nil
	case string(chime.JobRunning):
		return []chime.JobState{chime.JobRunning, chime.JobTaken}
	}
	return []chime.JobState{chime.JobState(tab)}
}

// withoutPlace is a filter without state and queue, which have their own places on the page.
func withoutPlace(filter jobfind.Filter) *jobfind.Filter {
	filter.State, filter.Queue = "", ""
	return &filter
}

// tabs fills in the tabs. Delayed jobs and retries are one number in the store, which stands with the delayed.
func (m *Jobs) tabs(standing *Standing, filter jobfind.Filter) {
	counts := map[chime.JobState]int64{chime.JobRetrying: -1}
	for _, q := range standing.Queues {
		if filter.Queue != "" && filter.Queue != q.Name {
			continue
		}
		counts[chime.JobWaiting] += q.Waiting
		counts[chime.JobDelayed] += q.Delayed
		counts[chime.JobRunning] += q.Running
		counts[chime.JobParked] += q.Parked
		counts[chime.JobDead] += q.Dead
	}
	state := filter.State
	filter.State = ""
	text := m.Query // as it was typed, where that has no state
	if state != "" {
		filter.Queue = "" // which the field beside has
		text = filter.String()
	}
	if m.State == anyState || !filter.Empty() {
		m.Tabs = append(m.Tabs, JobTab{anyState, text, -1, m.State == anyState})
	}
	for _, state := range tabStates {
		m.Tabs = append(m.Tabs, JobTab{string(state), text, counts[state], m.State == string(state)})
		if m.State == string(state) {
			m.Total = counts[state]
		}
	}
	if m.State == string(chime.JobRetrying) {
		m.Total = counts[chime.JobDelayed]
	}
	if m.State == string(chime.JobDone) {
		m.Tabs = append(m.Tabs, JobTab{m.State, text, -1, true})
	}
}

// A jobList is what a search has found.
type jobList struct {
	jobfind.Found
	rows  []JobRow
	found int  // jobs, of which some may not be shown
	ended bool // no more is looked for
}

func (l *jobList) dear() bool  { return l.Looked > fewLooked }
func (l *jobList) whole() bool { return l.ended }

// part is a search for so much as a page reads, behind what was looked at before.
func part(search jobfind.Search, after string, found, looked int) jobfind.Search {
	if after != "" {
		search.After, search.Limit = after, search.Limit-found
	}
	search.For, search.Pages, search.Looked = searchFor, searchPages, min(searchPart, search.Looked-looked)
	return search
}

// listJobs fills in the jobs that a search finds.
func (s *Site) listJobs(ctx context.Context, m *Jobs, search jobfind.Search, live bool) error {
	key := fmt.Sprintf("%q %v %d %q", search.Filter.String(), search.States, search.Limit, search.After)
	found, err := s.found.get(ctx, key, live, func(ctx context.Context, before *jobList) (*jobList, error) {
		if before == nil {
			before = &jobList{}
		}
		found, err := part(search, before.Next, before.found, before.Looked).Find(ctx, s.store)
		if err != nil {
			return nil, err
		}
		list := &jobList{Found: found, rows: slices.Clone(before.rows), found: before.found + len(found.Jobs)}
		list.Looked, list.Restarted = before.Looked+found.Looked, before.Restarted || found.Restarted
		list.ended = found.Next == "" || list.found >= search.Limit || list.Looked >= search.Looked
		for _, job := range found.Jobs {
			list.rows = append(list.rows, rowOf(job, s.hooks.failed(job, job.LastError)))
		}
		list.Jobs = nil // with their payloads
		return list, nil
	})
	if errors.Is(err, chime.ErrNotFound) {
		m.Wrong = fmt.Sprintf("There is no queue %q.", search.Filter.Queue)
		return nil
	}
	if err != nil {
		return err
	}
	m.Rows, m.Next, m.Looked, m.Restarted = found.rows, found.Next, found.Looked, found.Restarted
	return nil
}

func rowOf(job *chime.JobInfo, failed string) JobRow {
	row := JobRow{
		ID: job.ID, Name: job.Name, Queue: job.Queue, Schedule: job.Schedule, State: plain.Job(job.State), When: job.Due, Attempt: attemptOf(job),
		Error: shortened(failed),
	}
	if row.When.IsZero() {
		row.When = jobfind.Since(job)
	}
	if job.Err != nil {
		row.Error = "This version cannot read it: " + shortened(job.Err.Error())
	}
	return row
}

// attemptOf is the attempt and how many there are: 3/25; alone where its worker or handler says how many.
func attemptOf(job *chime.JobInfo) string {
	switch {
	case job.Attempt == 0:
		return ""
	case job.MaxAttempts == 0:
		return fmt.Sprint(job.Attempt)
	}
	return fmt.Sprintf("%d/%d", job.Attempt, job.MaxAttempts)
}

const maxLine = 200 // bytes of an error in a list

// shortened is a text as a list has room for it.
func shortened(text string) string {
	if len(text) <= maxLine {
		return text
	}
	return strings.ToValidUTF8(text[:maxLine], "") + "…"
}

// jobVerbs are what can be done to jobs, and the states in which it can.
var jobVerbs = []struct {
	render.Verb
	states []chime.JobState
}{
	{render.Verb{Name: "requeue", Text: "Requeue", Icon: "rotate-ccw"}, []chime.JobState{chime.JobDelayed, chime.JobRetrying, chime.JobParked, chime.JobDead}},
	{render.Verb{Name: "cancel", Text: "Cancel", Icon: "x"}, []chime.JobState{chime.JobWaiting, chime.JobDelayed, chime.JobRunning, chime.JobTaken, chime.JobRetrying, chime.JobParked}},
	{render.Verb{Name: "delete", Text: "Delete", Icon: "trash-2", Destroys: true}, []chime.JobState{chime.JobWaiting, chime.JobDelayed, chime.JobRetrying, chime.JobParked, chime.JobDead}},
}

// verbsFor are what a viewer may do to jobs of a state; all: of any.
func verbsFor(can Can, state string) []render.Verb {
	var verbs []render.Verb
	for _, verb := range jobVerbs {
		may := can.Operate
		if verb.Destroys {
			may = can.Delete
		}
		if may && (state == anyState || slices.Contains(verb.states, chime.JobState(state))) {
			verbs = append(verbs, verb.Verb)
		}
	}
	return verbs
}

// bulk fills in what can be done to many jobs.
func (m *Jobs) bulk(can Can, filter jobfind.Filter) {
	if len(m.Rows) == 0 {
		return
	}
	m.Bulk = render.Bulk{Path: "jobs/bulk", Noun: "jobs", Verbs: verbsFor(can, m.State)}
	if m.State == anyState || m.State == string(chime.JobRunning) {
		return // all of a filter means all of one state that waits or has ended
	}
	filter.State = chime.JobState(m.State)
	m.Filter = filter.String()
	if m.Bulk.All = "all that the filter means"; !m.Filtered {
		m.Bulk.All = "all that are " + m.State
	}
}

// empty stands where the list has no job.
func (m *Jobs) empty(queues bool) render.Empty {
	switch {
	case m.Filtered && m.Next != "":
		return render.Empty{Text: "None of the jobs that were looked at so far is meant."}
	case m.Filtered:
		return render.Empty{Text: "No job is meant by this filter."}
	case m.Later:
		return render.Empty{Text: "This is the end of the list."}
	case !queues:
		return render.Empty{Text: "There was no job yet.", Line: `receipt, err := enqueuer.Enqueue(ctx, "resize", args)`}
	}
	switch chime.JobState(m.State) {
	case chime.JobWaiting:
		return render.Empty{Text: "No job waits: workers have taken all that were due."}
	case chime.JobDelayed:
		return render.Empty{Text: "No job is delayed.", Line: `receipt, err := enqueuer.Enqueue(ctx, "remind", args, chime.In(time.Hour))`}
	case chime.JobRunning:
		return render.Empty{Text: "No job runs now."}
	case chime.JobRetrying:
		return render.Empty{Text: "No job waits for another attempt."}
	case chime.JobParked:
		return render.Empty{Text: "No job is parked: workers have a handler for each that came."}
	case chime.JobDead:
		return render.Empty{Text: "No job was given up."}
	}
	return render.Empty{Text: "There is no such job."}
}
