package overview

import "github.com/chimejobs/chime"

// counted is the traffic of a queue. In counts enqueued jobs and occurrences of schedules. Out counts jobs that are done, dead or
// cancelled. A failed attempt that is tried again is not counted in either.
type counted struct{ in, out, failed int64 }

// countedIn returns the traffic of a queue in the time of a sample. An occurrence counts as In in the sample that has its lateness.
func countedIn(s *chime.Sample) counted {
	return counted{s.Enqueued + s.Lateness.Count(), s.Done + s.Died + s.Cancelled + s.Expired, s.Failed}
}

// totals are the counts of a queue since its creation, and its number of jobs that have not ended.
type totals struct{ enqueued, out, failed, held int64 }

func totalsOf(q *chime.QueueInfo) totals {
	return totals{q.Enqueued, q.Done + q.Died + q.Cancelled + q.Expired, q.Failed, q.Waiting + q.Delayed + q.InFlight() + q.Parked}
}

// since returns the traffic since earlier totals. ok is false if the queue was deleted and recreated meanwhile. No total counts occurrences that come
// in, so they are computed from the ended jobs and the change of the number of open jobs. A purge removes jobs that no total counts either, so the
// result is at least the number of enqueued jobs.
func (t totals) since(before totals) (n counted, ok bool) {
	if t.enqueued < before.enqueued || t.out < before.out || t.failed < before.failed {
		return counted{}, false
	}
	n = counted{t.enqueued - before.enqueued, t.out - before.out, t.failed - before.failed}
	n.in = max(n.in, n.out+t.held-before.held)
	return n, true
}

// Rates are the traffic of a queue in jobs a minute. Failed counts attempts.
type Rates struct {
	In     float64 `json:"in"`
	Out    float64 `json:"out"`
	Failed float64 `json:"failed"`
}

// Average returns the average traffic of a queue over the minutes of samples, and reports whether there are samples.
func Average(samples []chime.Sample) (Rates, bool) {
	var all counted
	minutes := 0
	for i := range samples {
		n := countedIn(&samples[i])
		all.in, all.out, all.failed = all.in+n.in, all.out+n.out, all.failed+n.failed
		minutes += max(samples[i].Covers, 1)
	}
	if minutes == 0 {
		return Rates{}, false
	}
	each := func(n int64) float64 { return float64(n) / float64(minutes) }
	return Rates{each(all.in), each(all.out), each(all.failed)}, true
}
