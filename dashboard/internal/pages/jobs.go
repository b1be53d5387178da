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
	"github.com/chimejobs/chime/internal/blocked"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/jobfind"
	"github.com/chimejobs/chime/internal/plain"
)

const (
	defaultJobs = 50                     // of a page
	maxJobs     = 200                    // of a page
	searchFor   = 100 * time.Millisecond // time limit of a page's search for jobs that match a filter
	searchPages = 18                     // number of pages of the store that it reads, at six commands each
	searchPart  = 500                    // number of jobs that it reads, some 2 ms of Redis's time; the next part follows with the next reading, up to jobfind.MaxLooked
	liveParts   = 4                      // number of parts that an open page reads at a time, within searchFor, until it has what it shows for the first time
	liveGroups  = 2                      // the same for groups of failures, which are on more pages
	anyState    = "all"
	fewLooked   = 500 // a reading of at most this many jobs is not expensive: it is one page of the store
)

// tabStates are the states that have a tab. Taken jobs are shown with the running ones, because they are in that state only for milliseconds.
var tabStates = []chime.JobState{chime.JobWaiting, chime.JobDelayed, chime.JobRunning, chime.JobRetrying, chime.JobParked, chime.JobDead}

// Jobs is a list of the jobs in a state that match a filter.
type Jobs struct {
	Tabs   []JobTab
	State  string // the state of the open tab; all: a filter without a state was typed
	Query  string // the filter in the input field
	Queue  string // the chosen queue; empty: all
	Queues []string
	Wrong  string // what is wrong with the filter; empty: nothing

	Rows      []JobRow
	Next      string // the cursor of the next page; empty: this is the last page
	Looked    int    // number of jobs that were read
	Total     int64  // number of jobs in the state, without the filter; -1: not known
	InFlight  bool   // Total has jobs that do not run: those taken ahead, and those of vanished workers
	Filtered  bool   // the list has a filter
	Restarted bool   // the job of the cursor is gone, so the list starts at the front
	Searching bool   // an open page continues the search by itself
	Later     bool   // this is not the first page
	Newer     string // the cursor of the previous page; empty: there is none, or the list has no order by time
	Last      bool   // there is a last page to go to
	Order     JobOrder
	Among     int               // number of jobs that were sorted by a column
	Partly    bool              // there are others, which were not
	Share     string            // the filter with instants in place of ages
	Why       map[string]string // what blocks the jobs of a queue, by queue, in few words
	Bulk      render.Bulk
	Filter    string // the filter of the whole list, for changes of all its jobs
	Empty     render.Empty
}

// A JobTab is the tab of a state.
type JobTab struct {
	State  string
	Filter string // the filter without a state
	Count  int64  // -1: not known
	Active bool
}

// A JobRow is a row of the list.
type JobRow struct {
	ID, Name, Queue string
	State           plain.State
	When            time.Time // when it is due, or since when it is in its state
	Attempt         string
	Tried           int    // the number of the attempt
	Error           string // the last error, shortened
	Schedule        string
	Group           *GroupLink // nil: it belongs to no group
}

// Tick returns the value that identifies the job in a form.
func (r JobRow) Tick() string { return r.Queue + "/" + r.ID }

// When returns the title of the column with the times.
func (m *Jobs) When() string {
	switch chime.JobState(m.State) {
	case chime.JobDelayed, chime.JobRetrying:
		return "Due"
	case chime.JobRunning:
		return "Running since"
	case chime.JobDead:
		return "Died"
	}
	return "Since"
}

// Mixed reports whether the list has jobs of several states. If so, each row shows its state.
func (m *Jobs) Mixed() bool { return m.State == anyState || m.State == string(chime.JobRunning) }

// Shared reports whether the count includes both delayed and retrying jobs.
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
	filter, err := s.filterOf(m.Query, m.Queue, r)
	if err != nil {
		m.Wrong = err.Error()
	}
	m.State = stateOf(asked, &filter)
	if m.Order, err = r.jobOrder(m.State); err != nil {
		return View{}, err
	}
	m.Share = frozen(filter, standing.Now(), r.Zone)
	m.Filtered = !withoutPlace(filter).Empty()
	m.tabs(standing, filter)
	if m.Wrong == "" {
		search := jobfind.Search{
			Filter: filter, States: statesOf(m.State), Limit: limit, Looked: jobfind.MaxLooked, Queues: standing.queues(), Shown: s.hooks.shownError(), Arguments: s.Arguments,
		}
		m.Order.search(&search)
		err = s.listJobs(ctx, m, search, limit, r.Live)
	}
	if err != nil && m.Wrong == "" {
		return View{}, err
	}
	m.bulk(r.Can, filter)
	m.blocked(standing)
	m.Empty = m.empty(len(standing.Queues) > 0)
	return View{"Jobs", m}, nil
}

// blocked fills in what blocks the queues of jobs that wait.
func (m *Jobs) blocked(standing *Standing) {
	switch chime.JobState(m.State) {
	case chime.JobWaiting, chime.JobDelayed, chime.JobRetrying:
	default:
		return
	}
	m.Why = map[string]string{}
	served := standing.Served()
	for _, q := range standing.Queues {
		if why := blocked.KindOf(q.QueueInfo, served(q.Name)).String(); why != "" {
			m.Why[q.Name] = why
		}
	}
}

// filterOf reads a typed filter and the queue that was chosen in the other field. Instants without an offset are on the clock of the page.
func (s *Site) filterOf(text, queue string, r *Request) (jobfind.Filter, error) {
	zone := r.Zone
	if zone == nil {
		zone = time.UTC
	}
	filter, err := jobfind.ParseIn(text, zone)
	if err != nil {
		return filter, err
	}
	if s.hooks.Bare && len(filter.Header) > 0 { // the result would show which headers there are
		return filter, &QueryError{"filter header", "header:", "no header: without Options.Authorize this dashboard hides headers"}
	}
	if len(filter.Arguments) > 0 && !r.Can.Reveal { // the result would show which arguments there are
		return filter, &QueryError{"filter arg", "arg:", "no arguments: you may not see them"}
	}
	if queue != "" && filter.Queue != "" && filter.Queue != queue {
		return filter, &QueryError{"filter queue", filter.Queue, "no queue, or the chosen one: " + queue}
	}
	if queue != "" {
		filter.Queue = queue
	}
	return filter, nil
}

// stateOf returns the open tab. The state of the filter comes first. Without any state, a list without a filter shows waiting jobs, and a filter
// searches all states.
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

// statesOf returns the states that a tab shows.
func statesOf(tab string) []chime.JobState {
	switch tab {
	case anyState:
		return nil
	case string(chime.JobRunning):
		return []chime.JobState{chime.JobRunning, chime.JobTaken}
	}
	return []chime.JobState{chime.JobState(tab)}
}

// withoutPlace returns a filter without state and queue. The page has separate fields for them.
func withoutPlace(filter jobfind.Filter) *jobfind.Filter {
	filter.State, filter.Queue = "", ""
	return &filter
}

// tabs fills in the tabs. The store has one number for delayed and retrying jobs; the tab of the delayed jobs shows it.
func (m *Jobs) tabs(standing *Standing, filter jobfind.Filter) {
	counts, held := map[chime.JobState]int64{chime.JobRetrying: -1}, int64(0)
	for _, q := range standing.Queues {
		if filter.Queue != "" && filter.Queue != q.Name {
			continue
		}
		counts[chime.JobWaiting] += q.Waiting
		counts[chime.JobDelayed] += q.Delayed
		counts[chime.JobRunning] += q.Running
		held += q.InFlight()
		counts[chime.JobParked] += q.Parked
		counts[chime.JobDead] += q.Dead
	}
	state := filter.State
	filter.State = ""
	text := m.Query // as typed, if it has no state
	if state != "" {
		filter.Queue = "" // the other field has the queue
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
	if m.State == string(chime.JobRunning) {
		m.Total, m.InFlight = held, held > counts[chime.JobRunning]
	}
	if m.State == string(chime.JobRetrying) {
		m.Total = counts[chime.JobDelayed]
	}
	if m.State == string(chime.JobDone) {
		m.Tabs = append(m.Tabs, JobTab{m.State, text, -1, true})
	}
}

// A jobList is the result of a search.
type jobList struct {
	jobfind.Found
	rows  []JobRow
	found int  // number of jobs, of which some may not be shown
	ended bool // the search has ended
}

func (l *jobList) expensive() bool { return l.Looked > fewLooked }
func (l *jobList) whole() bool     { return l.ended }

// part returns a search that reads as much as a number of pages may, after what was read before.
func part(search jobfind.Search, after string, found, looked, pages int) jobfind.Search {
	if after != "" {
		search.After, search.Limit = after, search.Limit-found
	}
	search.For, search.Pages, search.Looked = searchFor, pages*searchPages, min(pages*searchPart, search.Looked-looked)
	return search
}

// partsOf returns how many parts a reading has at a time; open is that of an open page.
func partsOf(live bool, open int) int {
	if live {
		return open
	}
	return 1
}

// listJobs fills in the jobs of a search.
func (s *Site) listJobs(ctx context.Context, m *Jobs, search jobfind.Search, limit int, live bool) error {
	key := fmt.Sprintf("%q %v %d %q %s", search.Filter.String(), search.States, search.Limit, search.After, search.Order)
	found, err := s.found.getSince(ctx, key, live, searchStamp(search), func(ctx context.Context, before *jobList) (*jobList, error) {
		if before == nil {
			before = &jobList{}
		}
		found, err := part(search, before.Next, before.found, before.Looked, partsOf(live, liveParts)).Find(ctx, s.store)
		if err != nil {
			return nil, err
		}
		list := &jobList{Found: found, rows: slices.Clone(before.rows), found: before.found + len(found.Jobs)}
		list.Looked, list.Restarted = before.Looked+found.Looked, before.Restarted || found.Restarted
		if before.Looked > 0 {
			list.Previous = before.Previous
		}
		list.ended = found.Next == "" || list.found >= search.Limit || list.Looked >= search.Looked
		for _, job := range found.Jobs {
			list.rows = append(list.rows, rowOf(job, s.hooks.failed(job, job.LastError)))
		}
		list.Jobs = nil // this frees their payloads
		return list, nil
	})
	if errors.Is(err, chime.ErrNotFound) {
		m.Wrong = fmt.Sprintf("There is no queue %q.", search.Filter.Queue)
		return nil
	}
	if err != nil {
		return err
	}
	m.Looked, m.Restarted, m.Searching = found.Looked, found.Restarted, !found.ended
	m.arrange(found, limit)
	return nil
}

func rowOf(job *chime.JobInfo, failed string) JobRow {
	row := JobRow{
		ID: job.ID, Name: job.Name, Queue: job.Queue, Schedule: job.Schedule, State: plain.JobRow(job), When: job.Due, Attempt: attemptOf(job),
		Tried: job.Attempt, Error: shortened(failed), Group: groupLink(job.Queue, job.Group),
	}
	if row.When.IsZero() {
		row.When = jobfind.Since(job)
	}
	if job.Err != nil {
		row.Error = "This version cannot read it: " + shortened(job.Err.Error())
	}
	return row
}

// attemptOf returns the attempt and the number of attempts, such as 3/25. It returns the attempt alone if the worker or the handler sets the number.
func attemptOf(job *chime.JobInfo) string {
	switch {
	case job.Attempt == 0:
		return ""
	case job.MaxAttempts == 0:
		return fmt.Sprint(job.Attempt)
	}
	return fmt.Sprintf("%d/%d", job.Attempt, job.MaxAttempts)
}

const maxLine = 200 // maximum length of an error in a list, in bytes

// shortened returns the first line of a text, cut to the length for a list.
func shortened(text string) string {
	text = format.FirstLine(text)
	if len(text) <= maxLine {
		return text
	}
	return strings.ToValidUTF8(text[:maxLine], "") + "…"
}

// jobVerbs are the actions for jobs, each with the states in which it is possible.
var jobVerbs = []struct {
	render.Verb
	states []chime.JobState
}{
	{render.Verb{Name: "requeue", Text: "Requeue", Icon: "rotate-ccw"}, []chime.JobState{chime.JobDelayed, chime.JobRetrying, chime.JobParked, chime.JobDead}},
	{render.Verb{Name: "cancel", Text: "Cancel", Icon: "x"}, []chime.JobState{chime.JobWaiting, chime.JobDelayed, chime.JobRunning, chime.JobTaken, chime.JobRetrying, chime.JobParked}},
	{render.Verb{Name: "delete", Text: "Delete", Icon: "trash-2", Destroys: true}, []chime.JobState{chime.JobWaiting, chime.JobDelayed, chime.JobRetrying, chime.JobParked, chime.JobDead}},
}

// verbsFor returns the actions of a viewer for jobs of a state; all: for any state.
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

// bulk fills in the actions for many jobs.
func (m *Jobs) bulk(can Can, filter jobfind.Filter) {
	if len(m.Rows) == 0 {
		return
	}
	m.Bulk = render.Bulk{Path: "jobs/bulk", Noun: "jobs", Verbs: verbsFor(can, m.State)}
	if m.State == anyState || m.State == string(chime.JobRunning) {
		return // all jobs of a filter can be changed only in one state of waiting or ended jobs
	}
	filter.State = chime.JobState(m.State)
	m.Filter = filter.String()
	if m.Bulk.All = "all that match the filter"; !m.Filtered {
		m.Bulk.All = "all that are " + m.State
	}
}

// empty is shown if the list has no jobs.
func (m *Jobs) empty(queues bool) render.Empty {
	switch {
	case m.Filtered && m.Next != "" && m.Looked == 0:
		return render.Empty{Text: "The jobs are being read."}
	case m.Filtered && m.Next != "":
		return render.Empty{Text: "None of the jobs that were read so far matches."}
	case m.Filtered:
		return render.Empty{Text: "No job matches this filter."}
	case m.Later:
		return render.Empty{Text: "This is the end of the list."}
	case !queues:
		return render.Empty{Text: "There are no jobs yet.", Line: `receipt, err := enqueuer.Enqueue(ctx, "resize", args)`}
	}
	switch chime.JobState(m.State) {
	case chime.JobWaiting:
		return render.Empty{Text: "No job is waiting: workers have taken all due jobs."}
	case chime.JobDelayed:
		return render.Empty{Text: "No job is delayed.", Line: `receipt, err := enqueuer.Enqueue(ctx, "remind", args, chime.In(time.Hour))`}
	case chime.JobRunning:
		return render.Empty{Text: "No job is running."}
	case chime.JobRetrying:
		return render.Empty{Text: "No job is waiting for another attempt."}
	case chime.JobParked:
		return render.Empty{Text: "No job is parked: the workers have handlers for all jobs."}
	case chime.JobDead:
		return render.Empty{Text: "No job is dead."}
	}
	return render.Empty{Text: "There is no such job."}
}
