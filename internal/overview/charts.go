package overview

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/chimejobs/chime"
)

// Charts are what went through queues within a window, and how they stood, in the finest steps that are known.
type Charts struct {
	Window   Window
	From, To time.Time     // To is the end of the last minute, hour or quarter of a minute
	Step     time.Duration // from point to point; where they lie further apart, nothing is known between them
	Points   []Point       // the oldest first
	Late     []LatePoint   // the oldest first
	Read, Of int           // queues that were read, of how many: fewer while their samples are read for the first time
	Stamp    Stamp
}

// A Point is what went through queues from an instant on, until the next one.
type Point struct {
	At               time.Time
	In, Out, Failed  float64 // jobs a second
	Waiting, Running float64 // jobs, at its end; NaN: not known
}

// A LatePoint is how late the occurrences were that started from an instant on.
type LatePoint struct {
	At       time.Time
	P50, P99 time.Duration
}

// A Stamp is the same as long as charts of the same window and queue are.
type Stamp struct {
	to     time.Time
	change int
	recent time.Time
}

// lateCells are how much time each point of lateness is about: occurrences are rarer than jobs.
var lateCells = [windows]time.Duration{Hour: 5 * time.Minute, Day: 30 * time.Minute, Season: 24 * time.Hour, Quarter: time.Minute}

// maxStood is for how many missed samples a queue is taken to have stood as it did after them.
const maxStood = 5

// fine is how far apart the points of a window are; those of a day are minutes, for which a chart of Poll has no room.
func (w Window) fine() time.Duration {
	if w == Day {
		return time.Minute
	}
	return forms[w].step
}

// Charts reads charts of a window: of one queue, or of the busiest of all if queue is empty. The snapshot says which queues there are. Samples
// that were read are kept for some minutes, so that the next time only new ones are read.
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
	all, change, err := p.archive.readOn(ctx, p.queues, names, step, w.back(), s.At)
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

// sum makes points of the samples of queues.
func (c *Charts) sum(all map[string][]entry) {
	step, begins := c.Step, c.From.Truncate(c.Step)
	cells := make([]Point, int(c.To.Sub(begins)/step)+1)
	known, stood := make([]bool, len(cells)), make([]bool, len(cells))
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
				known[k] = true
				if last-k < maxStood {
					cell.Waiting, cell.Running = cell.Waiting+float64(e.waiting), cell.Running+float64(e.running)
					stood[k] = true
				}
			}
		}
	}
	for k := range cells {
		if !known[k] {
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

// refine puts what the polls have seen in place of the samples of the same time.
func (c *Charts) refine(fine []Point) {
	cell := forms[c.Window].cell
	c.Points = slices.DeleteFunc(c.Points, func(p Point) bool {
		return slices.ContainsFunc(fine, func(f Point) bool { return f.At.Before(p.At.Add(c.Step)) && p.At.Before(f.At.Add(cell)) })
	})
	c.Points = append(c.Points, fine...)
	slices.SortFunc(c.Points, func(a, b Point) int { return a.At.Compare(b.At) })
}

// Coarse are the points put together, so that each is about so much time: of what went through the mean, of how it stood the greatest.
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

// most is the greater of two values, of each of which nothing may be known.
func most(a, b float64) float64 {
	if math.IsNaN(a) || b > a {
		return b
	}
	return a
}

// lateCellsOf adds up how late occurrences were, for each point.
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
			points = append(points, LatePoint{l.begins.Add(time.Duration(i) * l.cell), sum.Quantile(0.5), sum.Quantile(0.99)})
		}
	}
	return points
}

// LateStep is how much time each point of Late is about.
func (c *Charts) LateStep() time.Duration { return lateCells[c.Window] }
