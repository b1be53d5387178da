package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/change"
	"github.com/chimejobs/chime/dashboard/internal/pages"
)

const (
	sharedFor = time.Second     // other viewers get the same reading for this long
	maxShared = 500             // readings that are kept: one for each page and requested time zone
	readFor   = 5 * time.Second // the time limit of one reading
)

// A page is a page of the dashboard.
type page struct {
	name    string   // the name of its template
	regions []string // the regions that change while it is open
	right   Rights   // the right that a viewer needs
	load    func(context.Context, *pages.Request) (pages.View, error)
}

// shownPages are the pages, by the path of their route.
func (d *Dashboard) shownPages() map[string]page {
	site := d.site
	return map[string]page{
		"":                      {"overview", []string{"health", "figures", "charts", "next", "runs", "failures", "queues"}, View, site.Overview},
		"batches":               {"batches", []string{"list"}, View, site.Batches},
		"batches/{id}":          {"batch", []string{"standing", "story"}, View, site.Batch},
		"calendar":              {"calendar", []string{"plan"}, View, site.Calendar},
		"failures":              {"failures", []string{"groups"}, View, site.Failures},
		"failures/{job}":        {"failure", []string{"standing", "story"}, View, site.Failure},
		"find":                  {"find", []string{"found"}, View, site.Find},
		"jobs":                  {"jobs", []string{"tabs", "list"}, View, site.Jobs},
		"jobs/{queue}/{id}":     {"job", []string{"standing", "story"}, View, site.Job},
		"kinds/{name}":          {"kind", []string{"figures", "charts", "running", "errors", "queues"}, View, site.Kind},
		"operations/{id}":       {"operation", []string{"progress"}, View, d.operation},
		"problems":              {"problems", []string{"cards"}, View, site.Problems},
		"queues":                {"queues", []string{"list"}, View, site.Queues},
		"queues/{queue}":        {"queue", []string{"state", "figures", "charts", "next", "groups", "jobs", "errors", "workers"}, View, site.Queue},
		"schedules":             {"schedules", []string{"tabs", "list"}, View, site.Schedules},
		"schedules/new":         {"editor", nil, Edit, d.editor},
		"schedules/{name}":      {"schedule", []string{"stand", "next", "days", "maps", "runs", "facts"}, View, site.Schedule},
		"schedules/{name}/edit": {"editor", nil, Edit, d.editor},
		"workers":               {"workers", []string{"list"}, View, site.Workers},
		"workers/{worker}":      {"worker", []string{"facts", "jobs"}, View, site.Worker},
	}
}

// operation reads the progress of a change of many jobs.
func (d *Dashboard) operation(_ context.Context, r *pages.Request) (pages.View, error) {
	o, ok := d.changer.Operation(r.Values["id"])
	if !ok {
		return pages.View{}, fmt.Errorf("dashboard: operation %.40q: %w", r.Values["id"], chime.ErrNotFound)
	}
	model := shownOperation{Operation: o, Handled: o.Meant - o.Left()}
	if o.Failed != nil {
		model.Stopped = publicText(o.Failed)
	}
	return pages.View{Title: o.Title, Model: model}, nil
}

// A shownOperation is the model of its page.
type shownOperation struct {
	change.Operation
	Handled int
	Stopped string // why it stopped early
}

// editor reads the definition of the schedule to edit, or starts a new definition.
func (d *Dashboard) editor(ctx context.Context, r *pages.Request) (pages.View, error) {
	tab := r.Query.Get("tab")
	if tabs := []string{"builder", "json", "cron"}; tab != "" && !slices.Contains(tabs, tab) {
		return pages.View{}, &pages.QueryError{Field: "tab", Value: tab, Limit: fmt.Sprintf("one of %q", tabs)}
	}
	name, exists := r.Values["name"]
	if !exists {
		model := d.changer.NewSchedule(cmp.Or(tab, "builder"))
		return pages.View{Title: model.Title(), Model: model}, nil
	}
	standing, err := d.site.Standing(ctx)
	if err != nil {
		return pages.View{}, err
	}
	model, err := d.changer.EditSchedule(ctx, name, tab, standing.Now())
	if err != nil {
		return pages.View{}, err
	}
	return pages.View{Title: model.Title(), Model: model}, nil
}

// A topic has everything on which a page depends.
type topic struct {
	path   string // escaped, relative to where the dashboard is mounted
	query  string // encoded, its keys in order, without the zone
	zone   string // its IANA name
	fixed  bool   // the viewer chose the zone, so links keep it
	rights Rights
}

// shared gives requests for the same page within a second the same reading.
type shared struct {
	mu    sync.Mutex
	pages map[topic]*reading
}

type reading struct {
	done chan struct{}
	at   time.Time // when the reading began
	view pages.View
	err  error
}

// get returns the result of load, or the result of the last second. A reading continues if the viewer who began it leaves.
func (s *shared) get(ctx context.Context, t topic, load func(context.Context) (pages.View, error)) (pages.View, error) {
	r, mine := s.join(t)
	if mine {
		go func() {
			defer close(r.done)
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readFor)
			defer cancel()
			defer func() {
				if v := recover(); v != nil { // from a hook of the application; net/http would recover it only in the request's own goroutine
					r.err = fmt.Errorf("dashboard: reading %q: %w: %v", t.path, errBroken, v)
				}
			}()
			r.view, r.err = load(ctx)
		}()
	}
	select {
	case <-r.done:
		return r.view, r.err
	case <-ctx.Done():
		return pages.View{}, ctx.Err()
	}
}

// join returns the reading of a topic, and reports whether the caller has to do it.
func (s *shared) join(t topic) (r *reading, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for t, r := range s.pages {
		if now.Sub(r.at) >= sharedFor && r.ended() {
			delete(s.pages, t)
		}
	}
	if r, ok := s.pages[t]; ok {
		return r, false
	}
	r = &reading{done: make(chan struct{}), at: now}
	if len(s.pages) < maxShared {
		s.pages[t] = r
	}
	return r, true
}

func (r *reading) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// forget removes all readings, because something was changed.
func (s *shared) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.pages)
}
