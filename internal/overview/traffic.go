package overview

import "time"

// traffic is the traffic of a queue in the charts of one window.
type traffic struct{ ins, outs, faileds *chart }

func newTraffic(w Window, now time.Time) traffic {
	return traffic{w.chart(now), w.chart(now), w.chart(now)}
}

// add adds the traffic of an interval.
func (t *traffic) add(from, to time.Time, n counted) {
	t.ins.add(from, to, float64(n.in))
	t.outs.add(from, to, float64(n.out))
	t.faileds.add(from, to, float64(n.failed))
}

// addTo adds it to the traffic of all queues.
func (t *traffic) addTo(f *Flow) {
	f.Ins, f.Outs, f.Faileds = sum(f.Ins, t.ins.values), sum(f.Outs, t.outs.values), sum(f.Faileds, t.faileds.values)
}
