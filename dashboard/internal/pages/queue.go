package pages

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/internal/plain"
)

const (
	maxJobNames = 50 // of a queue that are shown
	trendOver   = 5 * time.Minute
	samplesFor  = time.Minute // samples of a queue are not read again
)

// Queue is the page of a queue.
type Queue struct {
	overview.Queue
	State   plain.State
	Can     Can
	Limited string // what the limit is; empty: there is none
	Trend   string // "Empty in about 4 min", or how it grows; empty: not known
	Charts  *Charts
	Jobs    []NameRow // the most first
	More    int       // job names that are not shown
	Workers []overview.Worker

	WorkersNote string // why they are not shown; empty: they are
}

// A NameRow is what jobs of one name did in the last hour.
type NameRow struct {
	Name         string // empty: all those beyond the hundredth name
	Done, Failed int64
	P50, P95     time.Duration
	Filter       string // of the list of jobs
}

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
			Text:  fmt.Sprintf("There is no queue %.60q: no job, schedule or worker has named it, or it was deleted.", name),
			Links: []render.Lead{{Text: "All queues", Path: "queues"}},
		}
	}
	m := &Queue{Queue: standing.Queues[i], Can: r.Can, WorkersNote: standing.Notes[overview.Workers]}
	m.State, m.Limited = plain.Queue(m.QueueInfo), limitOf(m.Limit)
	for _, w := range standing.Workers {
		if _, serves := w.Queues[name]; serves {
			m.Workers = append(m.Workers, w)
		}
	}
	if m.Charts, err = s.chartsAt(ctx, r, standing, window, name); err != nil {
		return View{}, err
	}
	var samples []chime.Sample
	if standing.Notes[overview.Queues] == "" {
		if samples, err = s.hours.read(ctx, s.queues, name, standing.At); err != nil {
			return View{}, err
		}
	}
	m.Trend = trendOf(&m.Queue, samples)
	m.Jobs = nameRows(name, samples)
	if m.More = len(m.Jobs) - maxJobNames; m.More > 0 {
		m.Jobs = m.Jobs[:maxJobNames]
	}
	return View{name, m}, nil
}

// Filter finds the jobs of the queue in the list of jobs.
func (q *Queue) Filter() string { return searchOf(q.Name, "") }

// trendOf says when the queue will be empty if it goes on as in the last minute; empty: not known, or nothing waits.
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
		return "Empty in about " + roughly(time.Duration(float64(q.Waiting)/-growth*float64(time.Minute))) + ", if it goes on so."
	case growth >= 0.1:
		return "Grows by about " + render.Rate(growth) + " a minute."
	}
	return "Neither grows nor shrinks."
}

// growthOf is how many more jobs wait each minute, by the sample of some minutes ago: before the poller has seen enough.
func growthOf(q *chime.QueueInfo, samples []chime.Sample) (perMinute float64, known bool) {
	for i := len(samples) - 1; i >= 0; i-- {
		passed := q.Now.Sub(samples[i].At.Add(time.Minute))
		if passed >= trendOver-time.Minute {
			return float64(q.Waiting-samples[i].Waiting) / passed.Minutes(), passed <= 2*trendOver
		}
	}
	return 0, false
}

// nameRows sums up samples by the name of the job, the most first.
func nameRows(queue string, samples []chime.Sample) []NameRow {
	type sum struct {
		done, failed int64
		run          chime.Histogram
	}
	sums := map[string]sum{}
	for _, sample := range samples {
		for _, job := range sample.Jobs {
			s := sums[job.Name]
			sums[job.Name] = sum{s.done + job.Done, s.failed + job.Failed, s.run.Add(job.Run)}
		}
	}
	var rows []NameRow
	for name, s := range sums {
		row := NameRow{Name: name, Done: s.done, Failed: s.failed, Filter: searchOf(queue, name)}
		if name == "?" {
			row.Name, row.Filter = "", ""
		}
		row.P50, row.P95 = s.run.Quantile(0.5), s.run.Quantile(0.95)
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b NameRow) int {
		return cmp.Or(cmp.Compare(b.Done+b.Failed, a.Done+a.Failed), cmp.Compare(a.Name, b.Name))
	})
	return rows
}

// EmptyJobs stands where no job has ended in the last hour.
func (q *Queue) EmptyJobs() render.Empty {
	return render.Empty{Text: "No job of this queue has ended in the last hour, as far as samples say. This line enqueues one:", Line: "chime jobs enqueue resize --queue " + q.Name}
}

// EmptyWorkers stands where no worker takes from the queue.
func (q *Queue) EmptyWorkers() render.Empty {
	return render.Empty{
		Text: "No worker that lives takes from this queue. This line starts one:",
		Line: fmt.Sprintf("err := chime.Run(ctx, chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{%q: 1}}))", q.Name),
	}
}

// hours are the samples of the last hour of queues that somebody looks at, with what they say of each job name. The zero value has none.
type hours struct {
	mu  sync.Mutex
	all map[string]hour
}

type hour struct {
	samples []chime.Sample
	read    time.Time
}

// read returns the samples of a queue, which are read once a minute: there is one a minute.
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
