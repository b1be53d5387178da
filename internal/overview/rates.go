package overview

import (
	"time"

	"github.com/chimejobs/chime"
)

const (
	maxMarks  = 13               // number of kept marks
	markEvery = 5 * time.Second  // so rates cover about the last minute
	minGrowth = 20 * time.Second // growth is not known for a shorter time
)

// A mark has the counts of all queues at an instant, and their numbers of waiting jobs.
type mark struct {
	at      time.Time
	queues  map[string]totals
	waiting map[string]int64
}

func markOf(at time.Time, queues []*chime.QueueInfo) mark {
	m := mark{at, make(map[string]totals, len(queues)), map[string]int64{}}
	for _, q := range queues {
		m.queues[q.Name] = totalsOf(q)
		if q.Waiting > 0 {
			m.waiting[q.Name] = q.Waiting
		}
	}
	return m
}

// rates computes the differences of the queues' counts. The zero value is empty.
type rates struct {
	marks []mark // oldest first
	last  mark
}

// add adds the data of a poll.
func (r *rates) add(at time.Time, queues []*chime.QueueInfo) {
	r.last = markOf(at, queues)
	if n := len(r.marks); n > 0 && at.Before(r.marks[n-1].at) {
		r.marks = nil // the clock was set back
	}
	if n := len(r.marks); n == 0 || at.Sub(r.marks[n-1].at) >= markEvery {
		r.marks = append(r.marks, r.last)
	}
	if len(r.marks) > maxMarks {
		r.marks = r.marks[1:]
	}
}

// of returns the traffic of a queue in jobs a minute. It is known from the second poll on.
func (r *rates) of(queue string) (in, out, failed float64, known bool) {
	for _, m := range r.marks {
		before, is := m.queues[queue]
		minutes := r.last.at.Sub(m.at).Minutes()
		if !is || minutes <= 0 {
			continue
		}
		if n, ok := r.last.queues[queue].since(before); ok {
			return float64(n.in) / minutes, float64(n.out) / minutes, float64(n.failed) / minutes, true
		}
	}
	return 0, 0, 0, false
}

// growth returns the change of a queue's number of waiting jobs per minute. It is negative if the queue shrinks.
func (r *rates) growth(queue string) (perMinute float64, known bool) {
	for _, m := range r.marks {
		passed := r.last.at.Sub(m.at)
		if _, is := m.queues[queue]; is && passed >= minGrowth {
			return float64(r.last.waiting[queue]-m.waiting[queue]) / passed.Minutes(), true
		}
	}
	return 0, false
}
