package overview

import (
	"time"

	"github.com/chimejobs/chime"
)

// recent is what has gone through the queues in the last quarter of an hour, as the polls of this screen have seen it: finer than samples
// are, and there where nobody takes any. The zero value has seen nothing.
type recent struct {
	last  mark
	steps []step // the oldest first
}

// A step is what was counted between two polls, and how the queues stood at its end. Of queues that did nothing and are empty it has nothing.
type step struct {
	from, to time.Time
	queues   map[string]counted
	stood    map[string]stand
}

// A stand is how many jobs of a queue wait, and how many run.
type stand struct{ waiting, running int64 }

// add adds what a poll has read: a step, once the last one is long enough ago to be a cell of the chart.
func (r *recent) add(at time.Time, queues []*chime.QueueInfo) {
	switch passed := at.Sub(r.last.at); {
	case r.last.at.IsZero():
	case passed < 0: // the clock stepped back
		r.steps = nil
	case passed < forms[Quarter].cell:
		return
	default:
		s := step{r.last.at, at, map[string]counted{}, map[string]stand{}}
		for _, q := range queues {
			if q.Waiting > 0 || q.Running > 0 {
				s.stood[q.Name] = stand{q.Waiting, q.Running}
			}
			if before, was := r.last.queues[q.Name]; was {
				if n, ok := totalsOf(q).since(before); ok && n != (counted{}) {
					s.queues[q.Name] = n
				}
			}
		}
		r.steps = append(r.steps, s)
		for at.Sub(r.steps[0].to) > Quarter.back()+forms[Quarter].cell {
			r.steps = r.steps[1:]
		}
	}
	r.last = markOf(at, queues)
}

// charts are what went through a queue in the window.
func (r *recent) charts(queue string, now time.Time) traffic {
	t := newTraffic(Quarter, now)
	for _, s := range r.steps {
		t.add(s.from, s.to, s.queues[queue])
	}
	return t
}

// points are what went through a queue, or through all if it is empty, and how it stood. What was counted in more than a minute is left out:
// samples know it better.
func (r *recent) points(queue string) []Point {
	var all []Point
	for _, s := range r.steps {
		if s.to.Sub(s.from) > time.Minute {
			continue
		}
		p, seconds := Point{At: s.from}, s.to.Sub(s.from).Seconds()
		for name, n := range s.queues {
			if queue == "" || name == queue {
				p.In, p.Out, p.Failed = p.In+float64(n.in)/seconds, p.Out+float64(n.out)/seconds, p.Failed+float64(n.failed)/seconds
			}
		}
		for name, n := range s.stood {
			if queue == "" || name == queue {
				p.Waiting, p.Running = p.Waiting+float64(n.waiting), p.Running+float64(n.running)
			}
		}
		all = append(all, p)
	}
	return all
}
