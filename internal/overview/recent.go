package overview

import (
	"time"

	"github.com/chimejobs/chime"
)

// recent is the traffic of the queues in the last quarter of an hour, as recorded by the polls of this screen. It is finer than samples, and available
// without samples. The zero value is empty.
type recent struct {
	last  mark
	steps []step // oldest first
}

// A step has the counts between two polls and the depths of the queues at its end. It leaves out empty queues without traffic.
type step struct {
	from, to time.Time
	queues   map[string]counted
	stood    map[string]stand
}

// A stand has the numbers of waiting jobs of a queue and of jobs in flight, which samples count together.
type stand struct{ waiting, running int64 }

// add adds the data of a poll. It adds a step if the last one is at least one cell of the chart old.
func (r *recent) add(at time.Time, queues []*chime.QueueInfo) {
	switch passed := at.Sub(r.last.at); {
	case r.last.at.IsZero():
	case passed < 0: // the clock was set back
		r.steps = nil
	case passed < forms[Quarter].cell:
		return
	default:
		s := step{r.last.at, at, map[string]counted{}, map[string]stand{}}
		for _, q := range queues {
			if held := q.InFlight(); q.Waiting > 0 || held > 0 {
				s.stood[q.Name] = stand{q.Waiting, held}
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

// charts returns the traffic of a queue in the window.
func (r *recent) charts(queue string, now time.Time) traffic {
	t := newTraffic(Quarter, now)
	for _, s := range r.steps {
		t.add(s.from, s.to, s.queues[queue])
	}
	return t
}

// points returns the traffic and depths of a queue, or of all queues if queue is empty. It leaves out steps longer than a minute, because samples are
// finer.
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
