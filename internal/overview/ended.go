package overview

import "github.com/chimejobs/chime"

// counted is what has gone through a queue. In is jobs enqueued, and occurrences of schedules. Out is jobs that have ended there: done, given up
// or cancelled. An attempt that failed and is tried again is none of them.
type counted struct{ in, out, failed int64 }

// countedIn is what a queue has counted in the time of a sample. An occurrence has come in by the sample that says how late it was.
func countedIn(s *chime.Sample) counted {
	return counted{s.Enqueued + s.Lateness.Count(), s.Done + s.Died + s.Cancelled, s.Failed}
}

// totals are what a queue has counted since it exists, and how many jobs are on it that have not ended.
type totals struct{ enqueued, out, failed, held int64 }

func totalsOf(q *chime.QueueInfo) totals {
	return totals{q.Enqueued, q.Done + q.Died + q.Cancelled, q.Failed, q.Waiting + q.Delayed + q.Running + q.Parked}
}

// since is what was counted since earlier totals; ok is false if the queue was deleted meanwhile, and made anew. No total counts the occurrences
// of schedules that come in: what has left, and is more than there was, has come. A purge takes jobs away that no total counts either, and
// then it is at least what was enqueued.
func (t totals) since(before totals) (n counted, ok bool) {
	if t.enqueued < before.enqueued || t.out < before.out || t.failed < before.failed {
		return counted{}, false
	}
	n = counted{t.enqueued - before.enqueued, t.out - before.out, t.failed - before.failed}
	n.in = max(n.in, n.out+t.held-before.held)
	return n, true
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
