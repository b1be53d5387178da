package pages

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/internal/svg"
)

// windows are the windows that viewers may choose, each with the time that one row of a chart's table covers.
var windows = []struct {
	overview.Window
	table time.Duration
}{
	{overview.Quarter, time.Minute},
	{overview.Hour, 5 * time.Minute},
	{overview.Day, time.Hour},
	{overview.Season, 4 * 24 * time.Hour},
}

// Charts has the charts of a window.
type Charts struct {
	Windows []Choice
	Charts  []render.Chart
	Note    string // why they are incomplete; empty: they are complete
}

// A Choice is one of several values of the page's query.
type Choice struct {
	Value, Name string
	Active      bool
}

// window returns the window of the query. The default is an hour.
func (r *Request) window() (overview.Window, error) {
	name, err := r.choice("window", "1h", "15m", "25h", "92d")
	if err != nil {
		return 0, err
	}
	for _, w := range windows {
		if w.String() == name {
			return w.Window, nil
		}
	}
	return overview.Hour, nil
}

// chartsAt reads the charts of a window for a queue, or for all queues if queue is empty.
func (s *Site) chartsAt(ctx context.Context, r *Request, standing *Standing, window overview.Window, queue string) (*Charts, error) {
	c := &Charts{}
	for _, w := range windows {
		c.Windows = append(c.Windows, Choice{w.String(), w.String(), w.Window == window})
	}
	if note := standing.Notes[overview.Queues]; note != "" {
		c.Note = "They are drawn from the samples of queues: " + note + "."
		return c, nil
	}
	read, err := s.poller.Charts(ctx, standing.Snapshot, window, queue)
	if err != nil {
		return nil, err
	}
	before, err := s.poller.Before(ctx, standing.Snapshot, window, queue)
	if err != nil {
		return nil, err
	}
	marks := s.versions.marks(ctx, s.store, standing.At)
	stamp := drawStamp{now: read.Stamp, marks: len(marks)}
	if before != nil {
		stamp.before = before.Stamp
	}
	c.Charts = s.drawn.get(drawing{window, queue, r.Zone.String()}, stamp, func() []render.Chart { return draw(read, before, marks, r.Zone) })
	if read.Read < read.Of {
		c.Note = fmt.Sprintf("These charts cover %s of %s queues so far; the samples of the others are still being read.", format.Count(read.Read), format.Count(read.Of))
	} else if queue == "" && read.Of < len(standing.Queues) {
		c.Note = fmt.Sprintf("These charts cover the %s busiest of %s queues.", format.Count(read.Of), format.Count(len(standing.Queues)))
	}
	return c, nil
}

// The size of a chart. At 1440 pixels two charts are side by side, and their text has the same size as other text.
const chartWidth, chartHeight = 552, 140

// draw draws the charts. before are those of a day earlier; nil: they are not known.
func draw(c, before *overview.Charts, marks []svg.Mark, zone *time.Location) []render.Chart {
	table := time.Hour
	for _, w := range windows {
		if w.Window == c.Window {
			table = w.table
		}
	}
	busy := render.Chart{ID: "chart-busy", Title: "Jobs in flight", Note: "jobs that run and jobs that workers have taken ahead"}
	fine, coarse := c.Points, c.Coarse(table)
	var earlier, roughly []overview.Point
	if before != nil {
		earlier, roughly = before.Points, before.Coarse(table)
	}
	of := func(name string, tone svg.Tone, value func(overview.Point) float64) [4]svg.Series {
		all := [4]svg.Series{{Name: name, Tone: tone}, {Name: name, Tone: tone}, {Name: name, Tone: tone}, {Name: name + ", a day earlier", Tone: tone}}
		for i, points := range [][]overview.Point{fine, coarse, earlier, roughly} {
			for _, p := range points {
				all[i].Points = append(all[i].Points, svg.Point{At: p.At, Value: value(p)})
			}
		}
		return all
	}
	chart := func(of render.Chart, unit svg.Unit, step time.Duration, all ...[4]svg.Series) render.Chart {
		picture := svg.Lines{Title: of.Title, From: c.From, To: c.To, Zone: zone, Step: step, Unit: unit, Width: chartWidth, Height: chartHeight, Marks: marks}
		text := picture
		text.From = c.From.Truncate(table)
		for _, series := range all {
			picture.Series, text.Series, picture.Before = append(picture.Series, series[0]), append(text.Series, series[1]), append(picture.Before, series[2])
		}
		known := false
		for _, series := range all {
			if len(series[3].Points) > 0 {
				text.Series, known = append(text.Series, svg.Shifted(series[3:], 24*time.Hour)...), true
			}
		}
		if picture.Before = svg.Shifted(picture.Before, 24*time.Hour); known {
			of.Note = strings.TrimPrefix(of.Note+"; faint: a day earlier", "; ")
		}
		of.SVG, of.Table = picture.SVG(), text.Table()
		return of
	}
	p50, p99 := lateSeries(c)
	flow := paceOf(c.Window)
	return []render.Chart{
		chart(render.Chart{ID: "chart-flow", Title: "Jobs " + flow.per}, flow.unit, c.Step,
			of("in", svg.Run, func(p overview.Point) float64 { return p.In * flow.seconds }),
			of("out", svg.OK, func(p overview.Point) float64 { return p.Out * flow.seconds }),
			of("failed", svg.Fail, func(p overview.Point) float64 { return p.Failed * flow.seconds })),
		chart(render.Chart{ID: "chart-depth", Title: "Waiting jobs"}, svg.Count, c.Step, of("waiting", svg.Accent, func(p overview.Point) float64 { return p.Waiting })),
		chart(render.Chart{ID: "chart-late", Title: "Lateness of occurrences"}, svg.Seconds, c.LateStep(), p50, p99),
		chart(busy, svg.Count, c.Step, of("held", svg.Run, func(p overview.Point) float64 { return p.Running })),
	}
}

// A pace is the unit of time for a rate of jobs.
type pace struct {
	per     string // for titles
	unit    svg.Unit
	seconds float64
}

// paceOf returns the time between two points of the charts of a window, so that a line shows how many jobs there were from each point to the next.
func paceOf(w overview.Window) pace {
	switch w {
	case overview.Quarter:
		return pace{"in 15 seconds", svg.PerQuarter, 15}
	case overview.Season:
		return pace{"an hour", svg.PerHour, 3600}
	}
	return pace{"a minute", svg.PerMinute, 60}
}

// lateSeries returns the lines of lateness. Their table has every point.
func lateSeries(c *overview.Charts) (p50, p99 [4]svg.Series) {
	p50, p99 = [4]svg.Series{{Name: "p50", Tone: svg.Accent}}, [4]svg.Series{{Name: "p99", Tone: svg.Late}}
	for _, p := range c.Late {
		p50[0].Points = append(p50[0].Points, svg.Point{At: p.At, Value: p.P50.Seconds()})
		p99[0].Points = append(p99[0].Points, svg.Point{At: p.At, Value: p.P99.Seconds()})
	}
	p50[1], p99[1] = p50[0], p99[0]
	return p50, p99
}

// A drawing identifies the charts of a window, of one queue or all queues, in a zone.
type drawing struct {
	window      overview.Window
	queue, zone string
}

// drawings caches drawn charts. They are drawn again when their data has changed.
type drawings struct {
	mu  sync.Mutex
	all map[drawing]*drawn
}

// A drawStamp changes when the data of charts change.
type drawStamp struct {
	now, before overview.Stamp
	marks       int
}

type drawn struct {
	stamp  drawStamp
	charts []render.Chart
	asked  time.Time
}

const (
	keepDrawing = 10 * time.Second // without a request
	maxDrawings = 100              // number of kept drawings: some megabytes
)

// get returns the charts of a drawing. It draws them again if the cached charts have other data.
func (d *drawings) get(key drawing, stamp drawStamp, draw func() []render.Chart) []render.Chart {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[drawing]*drawn{}
	}
	now := time.Now()
	maps.DeleteFunc(d.all, func(_ drawing, old *drawn) bool { return now.Sub(old.asked) > keepDrawing })
	known := d.all[key]
	if known == nil || known.stamp != stamp {
		known = &drawn{stamp: stamp, charts: draw()}
		d.makeRoom(key)
		d.all[key] = known
	}
	known.asked = now
	return known.charts
}

// makeRoom removes the least recently requested drawing if there are too many.
func (d *drawings) makeRoom(fresh drawing) {
	if _, kept := d.all[fresh]; kept || len(d.all) < maxDrawings {
		return
	}
	oldest := fresh
	for key, old := range d.all {
		if oldest == fresh || old.asked.Before(d.all[oldest].asked) {
			oldest = key
		}
	}
	delete(d.all, oldest)
}
