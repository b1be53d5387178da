package overview

import "github.com/chimejobs/chime"

// counted is what has gone through a queue. Out is jobs that have ended there: done, given up or cancelled. An attempt that failed and is tried
// again is none of them.
type counted struct{ in, out, failed int64 }

// countedOf is what a queue has counted since it exists.
func countedOf(q *chime.QueueInfo) counted {
	return counted{q.Enqueued, q.Done + q.Died + q.Cancelled, q.Failed}
}

// countedIn is what a queue has counted in the time of a sample.
func countedIn(s chime.Sample) counted {
	return counted{s.Enqueued, s.Done + s.Died + s.Cancelled, s.Failed}
}

// Rates are what goes through a queue, in jobs a minute; Failed is attempts.
type Rates struct {
	In     float64 `json:"in"`
	Out    float64 `json:"out"`
	Failed float64 `json:"failed"`
}

// Average is what has gone through a queue on average over the minutes of samples. It reports whether there is one.
func Average(samples []chime.Sample) (Rates, bool) {
	var all counted
	minutes := 0
	for _, s := range samples {
		n := countedIn(s)
		all.in, all.out, all.failed = all.in+n.in, all.out+n.out, all.failed+n.failed
		minutes += max(s.Covers, 1)
	}
	if minutes == 0 {
		return Rates{}, false
	}
	each := func(n int64) float64 { return float64(n) / float64(minutes) }
	return Rates{each(all.in), each(all.out), each(all.failed)}, true
}
