package pages

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/svg"
)

// Calendar is the page with the planned occurrences of all schedules.
type Calendar struct {
	Charts  []render.Chart
	Busiest []BusyInstant
	Total   int       // occurrences of the seven days
	From    time.Time // when the plan was computed, by the store's clock
	Left    []string  // sentences about what is left out
	Cut     []planCut // some of the schedules that are not counted to the end
	MoreCut int       // the number of the others
	Steady  []steady  // some of the schedules that run all the time, most often first; neither Total nor the charts have them
	More    int       // the number of the others
	Part    bool      // Total is incomplete
	None    bool      // there is no schedule
	Can     Can
}

// RunSteadily returns how many schedules run all the time.
func (m *Calendar) RunSteadily() int { return len(m.Steady) + m.More }

// A calendar caches the plan of the store.
type calendar struct {
	mu   sync.Mutex // one plan is computed at a time
	have *plan
	at   time.Time // by this process's clock
}

// planOf returns the plan of the store. It is at most planFor old.
func (s *Site) planOf(ctx context.Context, now time.Time, live bool) (*plan, error) {
	c := &s.calendar
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.have != nil && time.Since(c.at) < planFor {
		return c.have, nil
	}
	listing, err := s.directory.get(ctx, live)
	if err != nil {
		return nil, err
	}
	p := newPlan(listing, now, maxPlanned)
	if !listing.Reading && len(p.names) > 0 { // otherwise the plan will soon be larger
		c.have, c.at = p, time.Now()
	}
	return p, nil
}

// Calendar reads the planned occurrences of all schedules.
func (s *Site) Calendar(ctx context.Context, r *Request) (View, error) {
	standing, err := s.Standing(ctx)
	if err != nil {
		return View{}, err
	}
	p, err := s.planOf(ctx, standing.Now(), r.Live)
	if err != nil {
		return View{}, err
	}
	m := &Calendar{Busiest: p.busiest(), Total: len(p.entries), From: p.from, Can: r.Can, None: len(p.names) == 0}
	m.leftOut(p)
	day := svg.Bars{Title: "The next 24 hours, by 10 minutes", From: p.from.Truncate(10 * time.Minute), Step: 10 * time.Minute, Zone: r.Zone, Width: barsWidth}
	day.Counts = p.counts(day.From, day.Step, 24*6)
	week := svg.Bars{Title: "The next 7 days, by the hour", From: hourBegin(p.from, r.Zone), Step: time.Hour, Zone: r.Zone, Width: barsWidth}
	week.Counts = p.counts(week.From, week.Step, 7*24)
	m.Charts = []render.Chart{
		{ID: "day", Title: "Next 24 hours", Note: "Occurrences in each 10 minutes.", SVG: day.SVG(), Table: onlyPlanned(day.Table())},
		{ID: "week", Title: "Next 7 days", Note: "Occurrences in each hour.", SVG: week.SVG(), Table: onlyPlanned(week.Table())},
	}
	return View{"Calendar", m}, nil
}

const barsWidth = 1150 // width of a chart that fills a page at 1440 pixels

// hourBegin returns the start of the hour on a zone's clock. The offset of some zones from UTC is not a whole number of hours.
func hourBegin(at time.Time, zone *time.Location) time.Time {
	at = at.In(zone)
	return at.Add(-time.Duration(at.Minute())*time.Minute - time.Duration(at.Second())*time.Second - time.Duration(at.Nanosecond()))
}

// onlyPlanned removes the empty rows of a chart's table.
func onlyPlanned(t svg.Table) svg.Table {
	var rows [][]string
	for _, row := range t.Rows {
		if row[len(row)-1] != "0" {
			rows = append(rows, row)
		}
	}
	t.Rows = rows
	return t
}

const maxCut = 5 // number of schedules that are named

// leftOut describes what the calendar does not contain.
func (m *Calendar) leftOut(p *plan) {
	say := func(n int, one, many string) {
		switch {
		case n == 1:
			m.Left = append(m.Left, one)
		case n > 1:
			m.Left = append(m.Left, format.Count(n)+" "+many)
		}
	}
	say(p.paused, "One schedule is paused or has completed.", "schedules are paused or have completed.")
	say(p.unread, "One schedule cannot be read by this version.", "schedules cannot be read by this version.")
	if !p.whole {
		m.Left = append(m.Left, fmt.Sprintf("These are the first %s running schedules by name; there are more.", format.Count(len(p.names))))
	}
	say(len(p.cut), "One schedule runs so often that only its first occurrences are counted.", "schedules run so often that only their first occurrences are counted.")
	m.Cut = p.cut[:min(len(p.cut), maxCut)]
	m.Steady = p.steady[:min(len(p.steady), maxCut)]
	m.More = len(p.steady) - len(m.Steady)
	m.MoreCut, m.Part = len(p.cut)-len(m.Cut), len(p.cut) > 0 || !p.whole
}

// Empty is shown if no schedule runs.
func (m *Calendar) Empty() render.Empty {
	e := render.Empty{Text: "No schedule runs. This line creates one:", Line: "chime schedules put report '*/15 * * * *'"}
	if m.Can.Edit {
		e.Href, e.Do = "schedules/new", "New schedule"
	}
	return e
}
