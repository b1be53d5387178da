package pages

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/internal/plain"
)

const (
	trendOver  = 5 * time.Minute
	samplesFor = time.Minute // how long samples of a queue are kept
)

// Queue is the page of a queue.
type Queue struct {
	overview.Queue
	State   plain.State
	Can     Can
	Limited string // the limit; empty: none
	Long    bool   // its oldest job has been waiting for too long
	Trend   string // "Empty in about 4m", or its growth; empty: not known
	Charts  *Charts
	Groups  *Groups // nil: it has no groups and no rules of groups
	Jobs    []NameRow
	By      string // the order of Jobs
	Over    string // the period: "hour"
	More    int    // number of job names that are not shown
	Sampled bool   // there are counts; the first sample has only its depths
	Workers []overview.Worker

	WorkersNote string // why they are not shown; empty: they are shown

	Errors     []ErrorRow // of the last failed attempts, the newest first
	MoreErrors int        // number of errors that are not shown
	Coming     *NextHour  // what is due within an hour; nil: nothing
}

// Totals describes what has happened on the queue since it exists.
func (q *Queue) Totals() string { return plain.Totals(q.QueueInfo) }

// Queue reads the page of a queue.
func (s *Site) Queue(ctx context.Context, r *Request) (View, error) {
	window, err := r.window()
	if err != nil {
		return View{}, err
	}
	standing, err := s.Standing(ctx)
	if err != nil {
		return View{}, err
	}
	name := r.Values["queue"]
	i := slices.IndexFunc(standing.Queues, func(q overview.Queue) bool { return q.Name == name })
	if i < 0 {
		return View{}, &MissingError{
			Text:  fmt.Sprintf("There is no queue %.60q: no job, schedule or worker has used this name, or the queue was deleted.", name),
			Links: []render.Lead{{Text: "All queues", Path: "queues"}},
		}
	}
	m := &Queue{Queue: standing.Queues[i], Can: r.Can, WorkersNote: standing.Notes[overview.Workers]}
	m.State, m.Limited, m.Long = plain.Queue(m.QueueInfo, standing.Served()(name)), plain.QueueLimit(m.QueueInfo), waitsTooLong(m.QueueInfo)
	for _, w := range standing.Workers {
		if _, serves := w.Queues[name]; serves {
			m.Workers = append(m.Workers, w)
		}
	}
	if m.Charts, err = s.chartsAt(ctx, r, standing, window, name); err != nil {
		return View{}, err
	}
	if m.Groups, err = s.groups(ctx, r, m.QueueInfo); err != nil {
		return View{}, err
	}
	var samples []chime.Sample
	if standing.Notes[overview.Queues] == "" {
		if samples, err = s.hours.read(ctx, s.queues, name, standing.At); err != nil {
			return View{}, err
		}
	}
	m.Trend, m.Sampled = trendOf(&m.Queue, samples), len(samples) > 1
	if err := s.jobsByName(ctx, r, m, standing, samples); err != nil {
		return View{}, err
	}
	if err := s.errorsOf(ctx, m, standing); err != nil {
		return View{}, err
	}
	if m.Coming, err = s.nextHour(ctx, m.QueueInfo, r, standing.Now()); err != nil {
		return View{}, err
	}
	return View{name, m}, nil
}

// jobsByName fills in the figures by job name for the window of the charts. samples are the samples of the last hour.
func (s *Site) jobsByName(ctx context.Context, r *Request, m *Queue, standing *Standing, samples []chime.Sample) error {
	window, err := r.window()
	if err != nil {
		return err
	}
	if m.By, err = r.choice("by", "time", "runs", "failed", "p95"); err != nil {
		return err
	}
	m.Over = nameWindows[window].says
	sums := sumNames(samples, window, standing.At)
	if (window == overview.Day || window == overview.Season) && standing.Notes[overview.Queues] == "" {
		if sums, err = s.names.read(ctx, s.queues, m.Name, window, standing.At); err != nil {
			return err
		}
	}
	m.Jobs = nameRows(m.Name, sums, nameOrders[m.By])
	if m.More = len(m.Jobs) - maxJobNames; m.More > 0 {
		m.Jobs = m.Jobs[:maxJobNames]
	}
	for i := range m.Jobs {
		m.Jobs[i].draw()
	}
	return nil
}

// Head returns the head of a column by which the table of job names can be sorted.
func (q *Queue) Head(by, name string) Choice { return Choice{by, name, q.By == by} }

// Menu has the less common actions for the queue.
func (q *Queue) Menu() render.More {
	m := render.More{Path: render.Path("queues", q.Name)}
	if q.Can.Delete {
		m.Verbs = []render.Verb{{Name: "purge", Text: "Purge", Icon: "trash-2", Destroys: true}, {Name: "delete", Text: "Delete", Icon: "x", Destroys: true}}
	}
	return m
}

// Tallies returns its number of jobs in each state, with the states that only some queues have at times.
func (q *Queue) Tallies() []Tally {
	all := talliesOf(q.QueueInfo)
	if q.Ahead < 0 {
		all[2].Name, all[2].AtMost = inFlight, false
	}
	for _, held := range heldOf([]overview.Queue{q.Queue}) { // beside the running jobs
		all = slices.Insert(all, 3, Tally{Name: held.Name, State: string(chime.JobRunning), Count: held.N, Filter: all[2].Filter})
	}
	return all
}

// Filter returns the filter that finds the jobs of the queue in the list of jobs.
func (q *Queue) Filter() string { return searchOf(q.Name, "") }

// trendOf returns when the queue will be empty at the rate of the last minute. It returns "" if that is not known or if no job waits.
func trendOf(q *overview.Queue, samples []chime.Sample) string {
	if q.Waiting == 0 || q.Paused {
		return ""
	}
	growth, known := q.Growth, q.Watched
	if !known {
		growth, known = growthOf(q.QueueInfo, samples)
	}
	switch {
	case !known:
		return ""
	case growth <= -0.1:
		return "Empty in about " + format.Rough(time.Duration(float64(q.Waiting)/-growth*float64(time.Minute))) + ", at the current rate."
	case growth >= 0.1:
		return "Grows by about " + format.Rate(growth) + " a minute."
	}
	return "Its length does not change."
}

// growthOf returns by how much the number of waiting jobs grows each minute, computed from a sample of some minutes ago. It is used until the poller
// has enough readings.
func growthOf(q *chime.QueueInfo, samples []chime.Sample) (perMinute float64, known bool) {
	for i := len(samples) - 1; i >= 0; i-- {
		passed := q.Now.Sub(samples[i].At.Add(time.Minute))
		if passed >= trendOver-time.Minute {
			return float64(q.Waiting-samples[i].Waiting) / passed.Minutes(), passed <= 2*trendOver
		}
	}
	return 0, false
}

// EmptyJobs is shown if no job has ended within the window.
func (q *Queue) EmptyJobs() render.Empty {
	if !q.Sampled && len(q.Workers) > 0 {
		return render.Empty{Text: "The first figures appear within a minute."}
	}
	return render.Empty{Text: "The samples of the last " + q.Over + " have no ended job of this queue. This line enqueues one:", Line: "chime jobs enqueue resize --queue " + q.Name}
}

// EmptyWorkers is shown if no worker takes from the queue.
func (q *Queue) EmptyWorkers() render.Empty {
	return render.Empty{
		Text: "No live worker serves this queue. This line starts one:",
		Line: fmt.Sprintf("err := chime.Run(ctx, chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{%q: 1}}))", q.Name),
	}
}

// hours caches the samples of the last hour, with the figures by job name, for queues that are being viewed. The zero value is empty.
type hours struct {
	mu  sync.Mutex
	all map[string]hour
}

type hour struct {
	samples []chime.Sample
	read    time.Time
}

// read returns the samples of a queue. They are read once a minute, because there is one sample a minute.
func (h *hours) read(ctx context.Context, queues *chime.Queues, queue string, now time.Time) ([]chime.Sample, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = map[string]hour{}
	}
	for name, old := range h.all {
		if now.Sub(old.read) >= samplesFor || now.Before(old.read) {
			delete(h.all, name)
		}
	}
	if known, ok := h.all[queue]; ok {
		return known.samples, nil
	}
	samples, err := queues.Samples(ctx, queue, now.Add(-time.Hour), now, time.Minute)
	if err == nil {
		h.all[queue] = hour{samples, now}
	}
	return samples, err
}
