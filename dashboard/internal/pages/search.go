package pages

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/jobfind"
	"github.com/chimejobs/chime/internal/plain"
)

const (
	maxSought = 200 // maximum length of a search text, in bytes
	maxHits   = 20  // number of hits of each kind
	maxAsked  = 300 // number of queues that are searched for a job's ID
)

// Search has the results for a text: schedules and queues whose names begin with it, workers, and jobs and batches with this ID. The contents of jobs are not
// searched.
type Search struct {
	Text string
	Hits []Hit
	Jobs string // the filter that finds jobs by this name
	Note string // what was not searched; empty: everything was searched
}

// A Hit is a search result.
type Hit struct {
	Path string // path of its page
	Name string
	Kind string // schedule, queue, worker, batch or job, with details that distinguish it
}

// Search reads the results for the text of the query.
func (s *Site) Search(ctx context.Context, r *Request) (View, error) {
	m := &Search{Text: strings.TrimSpace(r.Query.Get("q"))}
	if len(m.Text) > maxSought {
		return View{}, &QueryError{"q", m.Text, "at most " + strconv.Itoa(maxSought) + " bytes"}
	}
	if m.Text == "" {
		return View{"Search", m}, nil
	}
	byName := jobfind.Filter{Words: []string{m.Text}}
	m.Jobs = byName.String()
	standing, err := s.Standing(ctx)
	if err != nil {
		return View{}, err
	}
	for _, find := range []func(context.Context, *Standing, *Search) error{s.findSchedules, findQueues, findWorkers, s.findBatch, s.findJob} {
		if err := find(ctx, standing, m); err != nil {
			return View{}, err
		}
	}
	return View{"Search", m}, nil
}

func (s *Site) findSchedules(ctx context.Context, _ *Standing, m *Search) error {
	for schedule, err := range s.schedules.List(ctx, chime.ScheduleFilter{Prefix: m.Text, Limit: maxHits}) {
		switch {
		case errors.As(err, new(*chime.InvalidError)):
			return nil // no schedule has such a name
		case schedule == nil:
			return err
		}
		m.Hits = append(m.Hits, Hit{render.Path("schedules", schedule.Name), schedule.Name, "schedule of queue " + schedule.Queue})
	}
	return nil
}

func findQueues(_ context.Context, standing *Standing, m *Search) error {
	n, served := 0, standing.Served()
	for _, q := range standing.Queues {
		if n < maxHits && strings.HasPrefix(q.Name, m.Text) {
			m.Hits = append(m.Hits, Hit{render.Path("queues", q.Name), q.Name, "queue, " + plain.Queue(q.QueueInfo, served(q.Name)).Word})
			n++
		}
	}
	return nil
}

// findWorkers finds workers by their names and hosts.
func findWorkers(_ context.Context, standing *Standing, m *Search) error {
	n := 0
	for _, w := range standing.Workers {
		if n < maxHits && (strings.HasPrefix(w.Name, m.Text) || strings.HasPrefix(w.Address(), m.Text)) {
			m.Hits = append(m.Hits, Hit{render.Path("workers", w.Name), w.Address(), "worker " + w.Name})
			n++
		}
	}
	return nil
}

// findJob finds the jobs with an ID, on all queues.
func (s *Site) findJob(ctx context.Context, standing *Standing, m *Search) error {
	queues := standing.queues()
	if len(queues) > maxAsked {
		queues = queues[:maxAsked]
		m.Note = "Only the first " + strconv.Itoa(maxAsked) + " queues were searched for a job with this ID."
	}
	jobs, err := jobfind.ByID(ctx, s.store, queues, m.Text)
	for _, job := range jobs {
		m.Hits = append(m.Hits, Hit{render.Path("jobs", job.Queue, job.ID), job.ID, "job " + job.Name + " of queue " + job.Queue + ", " + string(job.State)})
	}
	return err
}
