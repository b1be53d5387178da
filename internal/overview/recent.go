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

// A step is what was counted between two polls, by the queue. Of queues that did nothing it has nothing.
type step struct {
	from, to time.Time
	queues   map[string]counted
}

// add adds what a poll has read: a step, once the last one is long enough ago to be a cell of the chart.
func (r *recent) add(at time.Time, queues []*chime.QueueInfo) {
	switch passed := at.Sub(r.last.at); {
	case r.last.at.IsZero():
	case passed < 0: // the clock stepped back
		r.steps = nil
	case passed < forms[Quarter].cell:
		return
	default:
		s := step{r.last.at, at, map[string]counted{}}
		for _, q := range queues {
			now, before := countedOf(q), r.last.queues[q.Name]
			if now.in < before.in || now.out < before.out || now.failed < before.failed {
				continue // deleted meanwhile, and made anew
			}
			if _, was := r.last.queues[q.Name]; was && now != before {
				s.queues[q.Name] = counted{now.in - before.in, now.out - before.out, now.failed - before.failed}
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
