package overview

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/chimejobs/chime"
)

// Charts have the traffic and the depths of queues within a window, in the finest available steps.
type Charts struct {
	Window   Window
	From, To time.Time     // To is the end of the last minute, hour or quarter of a minute
	Step     time.Duration // distance of points; a larger distance means missing data
	Points   []Point       // oldest first
	Late     []LatePoint   // oldest first
	Read, Of int           // number of read queues, and of all; they differ while samples are read for the first time
	Stamp    Stamp
}

// A Point has the traffic of queues from an instant until the next point.
type Point struct {
	At               time.Time
	In, Out, Failed  float64 // jobs a second
	Waiting, Running float64 // number of jobs at its end; NaN: not known
}

// A LatePoint has the lateness of the occurrences that started from an instant on.
type LatePoint struct {
	At       time.Time
	P50, P99 time.Duration
}

// A Stamp changes only when the charts of the same window and queue change.
type Stamp struct {
	to     time.Time
	change int
	recent time.Time
}

// lateCells are the lengths of time of a point of lateness. They are longer than a step, because there are fewer occurrences than jobs.
var lateCells = [windows]time.Duration{Hour: 5 * time.Minute, Day: 30 * time.Minute, Season: 24 * time.Hour, Quarter: time.Minute}

// maxStood is the maximum number of missing samples for which the depths of the next sample are used.
const maxStood = 5

// fine has the distance of the points of a window. For a day it is a minute, which is finer than the charts of Poll.
func (w Window) fine() time.Duration {
	if w == Day {
		return time.Minute
	}
	return forms[w].step
}

// Charts reads charts of a window for one queue, or for the busiest queues if queue is empty. The snapshot has the queues. Samples are kept for some
// minutes, so the next call reads only new ones.
func (p *Poller) Charts(ctx context.Context, s *Snapshot, w Window, queue string) (*Charts, error) {
	var infos []*chime.QueueInfo
	for _, q := range s.Queues {
		if queue == "" || q.Name == queue {
			infos = append(infos, q.QueueInfo)
		}
	}
	var names []string
	for _, q := range busiest(infos) {
		names = append(names, q.Name)
	}
	step := w.fine()
	to := s.At.Truncate(min(forms[w].cell, step))
	all, change, err := p.entries(ctx, names, step, w.back(), s.At)
	if err != nil {
		return nil, err
	}
	c := &Charts{Window: w, From: to.Add(-w.back()), To: to, Step: step, Read: len(all), Of: len(names), Stamp: Stamp{to: to, change: change}}
	c.sum(all)
	if w == Quarter {
		p.mu.Lock()
		c.refine(p.recent.points(queue))
		c.Stamp.recent = p.recent.last.at
		p.mu.Unlock()
	}
	return c, nil
}

// entries returns the samples of queues. Those of the last hour were read by Poll, except for a queue that is not among the busiest.
func (p *Poller) entries(ctx context.Context, queues []string, step, back time.Duration, now time.Time) (map[string][]entry, int, error) {
	if p.mu.Lock(); step == p.hour.step && back <= p.hour.back && p.hour.has(queues) {
		defer p.mu.Unlock()
		all, change := p.hour.entriesOf(queues)
		return all, change, nil
	}
	p.mu.Unlock()
	return p.archive.readOn(ctx, p.queues, queues, step, back, now)
}

// maxLate is by how many steps the samples of a queue may be later than those of the others.
const maxLate = 2

// sum adds the samples of queues to points. The newest points that some of the queues have no sample for yet are left out: without it they would be too low.
func (c *Charts) sum(all map[string][]entry) {
	step, begins := c.Step, c.From.Truncate(c.Step)
	cells := make([]Point, int(c.To.Sub(begins)/step)+1)
	known, stood := make([]int, len(cells)), make([]bool, len(cells)) // known: of how many queues
	late := newLateCells(c)
	for _, entries := range all {
		for i := range entries {
			e := &entries[i]
			if e.at.Before(begins) {
				continue
			}
			late.add(e)
			last := int(e.at.Sub(begins) / step)
			for k := max(last-e.covers+1, 0); k <= last && k < len(cells); k++ {
				cell, seconds := &cells[k], step.Seconds()*float64(e.covers)
				cell.In, cell.Out, cell.Failed = cell.In+float64(e.in)/seconds, cell.Out+float64(e.out)/seconds, cell.Failed+float64(e.failed)/seconds
				known[k]++
				if last-k < maxStood {
					cell.Waiting, cell.Running = cell.Waiting+float64(e.waiting), cell.Running+float64(e.running)
					stood[k] = true
				}
			}
		}
	}
	if before := len(cells) - 1 - maxLate; before >= 0 {
		for k := len(cells) - 1; k > before && known[k] < known[before]; k-- {
			known[k] = 0
		}
	}
	for k := range cells {
		if known[k] == 0 {
			continue
		}
		cells[k].At = begins.Add(time.Duration(k) * step)
		if !stood[k] {
			cells[k].Waiting, cells[k].Running = math.NaN(), math.NaN()
		}
		c.Points = append(c.Points, cells[k])
	}
	c.Late = late.points()
}

// refine replaces samples by the data of polls of the same time.
func (c *Charts) refine(fine []Point) {
	cell := forms[c.Window].cell
	c.Points = slices.DeleteFunc(c.Points, func(p Point) bool {
		return slices.ContainsFunc(fine, func(f Point) bool { return f.At.Before(p.At.Add(c.Step)) && p.At.Before(f.At.Add(cell)) })
	})
	c.Points = append(c.Points, fine...)
	slices.SortFunc(c.Points, func(a, b Point) int { return a.At.Compare(b.At) })
}

// Coarse merges the points into points of the given length. Traffic becomes the mean, and depths become the maximum.
func (c *Charts) Coarse(step time.Duration) []Point {
	var all []Point
	n := 0.0
	for _, p := range c.Points {
		at := p.At.Truncate(step)
		if len(all) == 0 || !all[len(all)-1].At.Equal(at) {
			p.At, n = at, 1
			all = append(all, p)
			continue
		}
		last := &all[len(all)-1]
		mean := func(to *float64, v float64) { *to += (v - *to) / n }
		n++
		mean(&last.In, p.In)
		mean(&last.Out, p.Out)
		mean(&last.Failed, p.Failed)
		last.Waiting, last.Running = most(last.Waiting, p.Waiting), most(last.Running, p.Running)
	}
	return all
}

// most returns the greater of two values. A value may be NaN.
func most(a, b float64) float64 {
	if math.IsNaN(a) || b > a {
		return b
	}
	return a
}

// lateCellsOf adds up the lateness of occurrences for each point.
type lateCellsOf struct {
	begins time.Time
	cell   time.Duration
	sums   []chime.Histogram
}

func newLateCells(c *Charts) *lateCellsOf {
	l := &lateCellsOf{cell: lateCells[c.Window]}
	l.begins = c.From.Truncate(l.cell)
	l.sums = make([]chime.Histogram, int(c.To.Sub(l.begins)/l.cell)+1)
	return l
}

func (l *lateCellsOf) add(e *entry) {
	if i := int(e.at.Sub(l.begins) / l.cell); e.late != nil && i < len(l.sums) {
		l.sums[i] = l.sums[i].Add(*e.late)
	}
}

func (l *lateCellsOf) points() []LatePoint {
	var points []LatePoint
	for i, sum := range l.sums {
		if sum.Count() > 0 {
			points = append(points, LatePoint{l.begins.Add(time.Duration(i) * l.cell), Quantile(sum, 0.5), Quantile(sum, 0.99)})
		}
	}
	return points
}

// LateStep returns the length of time of each point of Late.
func (c *Charts) LateStep() time.Duration { return lateCells[c.Window] }
