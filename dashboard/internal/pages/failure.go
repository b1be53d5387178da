package pages

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/jobfind"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/rights"
	"github.com/chimejobs/chime/internal/svg"
)

const (
	maxSamples = 5   // jobs of a group that its page shows
	maxShares  = 10  // versions, hosts or queues of a group that its page shows
	maxCommon  = 200 // jobs whose arguments are compared
	maxValues  = 100 // arguments that are compared
	maxValue   = 200 // bytes of a value that is shown
	deepValues = 8   // levels of arguments that are compared
)

// Failure is the page of one group of failures: the jobs of one name that failed with the same error.
type Failure struct {
	Job, Error string // of the group; # is in place of what differs
	Wrong      string // why its jobs cannot be searched for; empty: they can

	Dead, Retrying int  // jobs that were found
	More           bool // there are more jobs that were not read: the numbers are the least
	Reading        bool // nothing was read yet
	Looked         int

	First, Last time.Time // when the jobs got into their state
	Whole       string    // the whole last error of the newest job
	Stack       string    // the stack of its panic; empty: it did not panic
	Newest      JobRow

	Queues, Versions, Hosts []Share // of the attempts that are stored with the jobs; queues of the jobs
	Attempts                int64   // failed in the last 24 hours
	Healed                  bool    // Attempts has those of jobs that succeeded later
	Day                     template.HTML
	Samples                 []JobRow
	Find                    string // a filter of the list of jobs
	State                   string // the tab of that list
	Common                  bool   // the viewer may compare the arguments of the jobs
	Bulk                    render.Bulk
}

// A ShareTable has the most frequent values of one kind.
type ShareTable struct {
	Title  string
	Shares []Share
}

// Table returns the most frequent values with a title.
func (*Failure) Table(title string, shares []Share) ShareTable { return ShareTable{title, shares} }

// A Share is how many jobs or attempts have a value in common.
type Share struct {
	Name  string
	N     int
	Path  string    // of its page; empty: none
	First time.Time // of a version: when it was first seen; zero: not known
}

// Tick returns the value that identifies the group in a form.
func (m *Failure) Tick() string { return m.Job + "\t" + m.Error }

// Jobs returns the number of jobs that were found.
func (m *Failure) Jobs() int { return m.Dead + m.Retrying }

// A failureReading is what was read of a group so far.
type failureReading struct {
	Failure
	next                    string
	found                   int
	ended                   bool
	queues, versions, hosts map[string]int
	hours                   map[int64]int
}

func (f *failureReading) expensive() bool { return f.Looked > fewLooked }
func (f *failureReading) whole() bool     { return f.ended }

// Failure reads the page of a group of failures.
func (s *Site) Failure(ctx context.Context, r *Request) (View, error) {
	job, text := r.Values["job"], r.Query.Get("error")
	standing, err := s.Standing(ctx)
	if err != nil {
		return View{}, err
	}
	reading, err := s.failure.get(ctx, job+"\t"+text, r.Live, func(ctx context.Context, before *failureReading) (*failureReading, error) {
		return s.readFailure(ctx, job, text, standing, before, partsOf(r.Live, liveGroups))
	})
	if err != nil {
		return View{}, err
	}
	m := reading.Failure
	m.Queues, m.Versions, m.Hosts = sharesOf(reading.queues), sharesOf(reading.versions), sharesOf(reading.hosts)
	for i := range m.Queues {
		m.Queues[i].Path = render.Path("queues", m.Queues[i].Name)
	}
	for i := range m.Versions {
		m.Versions[i].First = s.versions.first(ctx, s.store, m.Versions[i].Name, standing.At)
	}
	if err := s.attemptsOfDay(ctx, &m, reading.hours, standing); err != nil {
		return View{}, err
	}
	m.Find, m.State = findGroup(jobfind.Group{Job: job, Error: text}), string(chime.JobDead)
	if m.Dead == 0 && m.Retrying > 0 {
		m.State = string(chime.JobRetrying)
	}
	m.Common = r.Can.Reveal && m.Jobs() > 1
	if m.Jobs() > 0 {
		m.Bulk = render.Bulk{Path: "failures/bulk", Noun: "jobs", Verbs: verbsFor(r.Can, string(chime.JobDead))}
	}
	return View{job + " failed", &m}, nil
}

// searchFailure returns the search for the jobs of a group. It may find jobs of other groups too.
func (s *Site) searchFailure(job, text string, standing *Standing) (jobfind.Search, error) {
	filter, err := jobfind.Parse(findGroup(jobfind.Group{Job: job, Error: text}))
	return jobfind.Search{
		Filter: filter, States: []chime.JobState{chime.JobDead, chime.JobRetrying}, Limit: maxGrouped, Looked: maxGrouped, Order: chime.NewestFirst,
		Queues: standing.queues(), Shown: s.hooks.shownError(),
	}, err
}

// readFailure reads more jobs of a group, and adds them to what was read before.
func (s *Site) readFailure(ctx context.Context, job, text string, standing *Standing, before *failureReading, parts int) (*failureReading, error) {
	f := &failureReading{queues: map[string]int{}, versions: map[string]int{}, hosts: map[string]int{}, hours: map[int64]int{}}
	if before != nil {
		*f = *before
		f.queues, f.versions, f.hosts, f.hours = maps.Clone(f.queues), maps.Clone(f.versions), maps.Clone(f.hosts), maps.Clone(f.hours)
		f.Samples = slices.Clone(f.Samples)
	}
	f.Job, f.Error = job, text
	search, err := s.searchFailure(job, text, standing)
	if err != nil {
		f.Wrong, f.ended = err.Error(), true
		return f, nil
	}
	found, err := part(search, f.next, f.found, f.Looked, parts).Find(ctx, s.store)
	if err != nil {
		return nil, err
	}
	f.next, f.found, f.Looked = found.Next, f.found+len(found.Jobs), f.Looked+found.Looked
	f.ended = f.next == "" || f.found >= maxGrouped || f.Looked >= maxGrouped
	f.More, f.Reading = f.next != "", f.Looked == 0
	for _, of := range found.Jobs {
		if s.Group(of) == job+"\t"+text {
			f.add(s, of)
		}
	}
	return f, nil
}

// add adds a job of the group. Dead jobs come before retrying ones, each the newest first, so the newest of all may come late.
func (f *failureReading) add(s *Site, job *chime.JobInfo) {
	row := rowOf(job, s.hooks.failed(job, job.LastError))
	row.When = jobfind.Since(job)
	if f.Jobs() == 0 || row.When.After(f.Newest.When) {
		f.Newest, f.Whole = row, s.hooks.failed(job, job.LastError)
		s.hooks.hideJob(job)
		f.Stack = s.hooks.failed(job, job.Stack)
	}
	if job.State == chime.JobDead {
		f.Dead++
	} else {
		f.Retrying++
	}
	f.Samples = append(f.Samples, row)
	slices.SortStableFunc(f.Samples, func(a, b JobRow) int { return b.When.Compare(a.When) })
	f.Samples = f.Samples[:min(len(f.Samples), maxSamples)]
	f.queues[job.Queue]++
	if since := jobfind.Since(job); !since.IsZero() {
		if f.First.IsZero() || since.Before(f.First) {
			f.First = since
		}
		if since.After(f.Last) {
			f.Last = since
		}
	}
	for _, failure := range jobfind.Failures(job) {
		if groupOf(job.Name, s.hooks.failed(job, failure.Error)) != f.Tick() {
			continue // another error of the same job
		}
		f.hours[failure.At.Truncate(time.Hour).Unix()]++
		if failure.Worker == "" {
			continue
		}
		host, _, version, _ := chime.ParseWorker(failure.Worker)
		f.hosts[cmp.Or(host, shortHost(failure.Worker))]++
		f.versions[cmp.Or(version, "unknown")]++
	}
}

// shortHost returns the short name of a worker whose name has no host.
func shortHost(worker string) string {
	address, _ := plain.Worker(worker)
	return address
}

// attemptsOfDay fills in the failed attempts of the last 24 hours: those that the queues have counted, or those that are stored with the jobs.
func (s *Site) attemptsOfDay(ctx context.Context, m *Failure, stored map[int64]int, standing *Standing) error {
	hours := stored
	if !s.hooks.Bare && s.hooks.RedactError == nil {
		counted := map[int64]int{}
		for _, queue := range m.Queues[:min(len(m.Queues), maxShares)] {
			shapes, err := s.shapes.read(ctx, s.queues, queue.Name, standing.At)
			if errors.Is(err, chime.ErrNotFound) || rights.Missing(err) {
				continue
			}
			if err != nil {
				return err
			}
			for _, shape := range shapes {
				if shape.Job != m.Job || shape.Shape != m.Error {
					continue
				}
				if m.First.IsZero() || shape.First.Before(m.First) {
					m.First = shape.First
				}
				for _, hour := range shape.Hours {
					counted[hour.Hour.Unix()] += int(hour.Failed)
				}
			}
		}
		if len(counted) > 0 {
			hours, m.Healed = counted, true
		}
	}
	from := standing.Now().Truncate(time.Hour).Add(-(dayHours - 1) * time.Hour)
	day := dayOf(hours, from)
	for _, n := range day {
		m.Attempts += int64(n)
	}
	if m.Attempts > 0 {
		m.Day = svg.Spark{Title: "Failed in the last day", Values: day, Tone: svg.Fail, Bars: true, From: from, Step: time.Hour, Width: 320, Height: 48}.SVG()
	}
	return nil
}

// sharesOf returns the most frequent values.
func sharesOf(counts map[string]int) (shares []Share) {
	for name, n := range counts {
		shares = append(shares, Share{Name: name, N: n})
	}
	slices.SortFunc(shares, func(a, b Share) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name)) })
	return shares[:min(len(shares), maxShares)]
}

// Common has the arguments that jobs of a group of failures have in common.
type Common struct {
	Job, Error string
	Compared   int           // number of jobs
	Values     []render.Pair // paths and values that all of them have
	Differ     []string      // paths that all of them have with different values
	None       bool          // none of the jobs has arguments that are shown
	Denied     int           // number of jobs whose arguments the viewer may not see
}

// Common compares the arguments of the newest jobs of a group, for a viewer who may see them. check returns why the viewer may not see those of jobs of
// a queue.
func (s *Site) Common(ctx context.Context, job, text string, check func(queue string, ids ...string) error) (*Common, error) {
	standing, err := s.Standing(ctx)
	if err != nil {
		return nil, err
	}
	search, err := s.searchFailure(job, text, standing)
	if err != nil {
		return nil, err
	}
	search.Limit, search.Looked = maxCommon, searchPart
	found, err := search.Find(ctx, s.store)
	if err != nil {
		return nil, err
	}
	c := &Common{Job: job, Error: text}
	values := map[string]map[string]int{} // by path
	for _, of := range found.Jobs {
		switch arguments, ok := s.Arguments(of); {
		case s.Group(of) != job+"\t"+text || !ok:
		case check(of.Queue, of.ID) != nil:
			c.Denied++
		default:
			c.Compared++
			gather(values, "", arguments, deepValues)
		}
	}
	c.None = c.Compared == 0
	for _, path := range slices.Sorted(maps.Keys(values)) {
		total, only := 0, ""
		for value, n := range values[path] {
			total, only = total+n, value
		}
		switch {
		case total != c.Compared:
		case len(values[path]) == 1:
			c.Values = append(c.Values, render.Pair{Name: cmp.Or(path, "all"), Value: cut(only, maxValue)})
		default:
			c.Differ = append(c.Differ, cmp.Or(path, "all"))
		}
	}
	return c, nil
}

// gather counts the values of arguments by their paths, such as order.id. A list counts as one value.
func gather(values map[string]map[string]int, path string, v any, depth int) {
	if members, ok := v.(map[string]any); ok && depth > 0 {
		for _, name := range slices.Sorted(maps.Keys(members)) {
			to := name
			if path != "" {
				to = path + "." + name
			}
			gather(values, to, members[name], depth-1)
		}
		return
	}
	text, err := json.Marshal(v)
	if err != nil || values[path] == nil && len(values) >= maxValues {
		return
	}
	if values[path] == nil {
		values[path] = map[string]int{}
	}
	values[path][string(text)]++
}

// cut cuts a text to a length in bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
