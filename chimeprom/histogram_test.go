package chimeprom

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/chimejobs/chime"
)

// The counts equal those of client_golang's own histogram, classic and native.
func TestAHistogramCountsAsClientGolangDoes(t *testing.T) {
	theirs := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "x", Buckets: bounds[:], NativeHistogramBucketFactor: 1.1, NativeHistogramZeroThreshold: math.Exp2(minExponent),
	})
	ours := newHistogramVec("chime_schedule_placing_lag_seconds").with()
	random := rand.New(rand.NewPCG(1, 2))
	lengths := []time.Duration{0, 1, 2, 953, 954, time.Microsecond, time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Minute, time.Hour, math.MaxInt64}
	for range 20_000 {
		lengths = append(lengths, time.Duration(math.Exp(random.Float64()*math.Log(math.MaxInt64/2))))
	}
	for _, d := range lengths {
		theirs.Observe(d.Seconds())
		ours.observe(d)
	}
	ours.observe(-time.Second) // counts as 0
	theirs.Observe(0)
	var got, want dto.Metric
	if err := ours.Write(&got); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Write(&want); err != nil {
		t.Fatal(err)
	}
	g, w := got.Histogram, want.Histogram
	if g.GetSampleCount() != w.GetSampleCount() || g.GetZeroCount() != w.GetZeroCount() || g.GetSchema() != w.GetSchema() || g.GetZeroThreshold() != w.GetZeroThreshold() {
		t.Errorf("count %d, zero %d, schema %d, threshold %g; want %d, %d, %d, %g", g.GetSampleCount(), g.GetZeroCount(), g.GetSchema(), g.GetZeroThreshold(),
			w.GetSampleCount(), w.GetZeroCount(), w.GetSchema(), w.GetZeroThreshold())
	}
	for i, b := range w.Bucket {
		if g.Bucket[i].GetUpperBound() != b.GetUpperBound() || g.Bucket[i].GetCumulativeCount() != b.GetCumulativeCount() {
			t.Errorf("bucket %v, want %v", g.Bucket[i], b)
		}
	}
	ng, nw := natively(g), natively(w)
	for i, n := range nw {
		if ng[i] != n {
			t.Errorf("native bucket %d: %d, want %d", i, ng[i], n)
		}
	}
	if len(ng) != len(nw) || len(nw) < 100 {
		t.Errorf("%d native buckets, want %d", len(ng), len(nw))
	}
}

// natively reads the native buckets that are not empty.
func natively(h *dto.Histogram) map[int]int64 {
	all := map[int]int64{}
	at, n, delta := 0, int64(0), 0
	for _, span := range h.PositiveSpan {
		at += int(span.GetOffset())
		for range span.GetLength() {
			n += h.PositiveDelta[delta]
			if delta++; n != 0 {
				all[at] = n
			}
			at++
		}
	}
	return all
}

// A backlog of a day reaches 2⁶³ ns of waits with some 100,000 jobs.
func TestASumIsNeverTooLong(t *testing.T) {
	for _, c := range []struct {
		times  int
		length time.Duration
		want   float64
	}{{200_000, 24 * time.Hour, 200_000 * 86_400}, {5, math.MaxInt64, 5 * math.MaxInt64 / 1e9}, {3, time.Nanosecond, 3e-9}} {
		h := newHistogramVec("chime_schedule_placing_lag_seconds").with()
		for range c.times {
			h.observe(c.length)
		}
		var got dto.Metric
		if err := h.Write(&got); err != nil || got.Histogram.GetSampleSum() != c.want {
			t.Errorf("%d of %v: %v s, %v; want %v s", c.times, c.length, got.Histogram.GetSampleSum(), err, c.want)
		}
	}
}

func TestAnEmptyHistogramIsNativeToo(t *testing.T) {
	var got dto.Metric
	if err := newHistogramVec("chime_schedule_placing_lag_seconds").with().Write(&got); err != nil || len(got.Histogram.PositiveSpan) != 1 {
		t.Errorf("%v, %v; want an empty span", got.Histogram, err)
	}
}

// Recording a job allocates nothing. BenchmarkJob measures its time.
func TestAJobAllocatesNothing(t *testing.T) {
	o := New(Options{Jobs: []string{"mail", "report", "index"}, Schedules: []string{"s"}}).Observer()
	jobs := events()
	for i := range 2 * maxNames { // more queues, and more pairs with a job, than have their own labels
		o.Enqueued([]chime.JobEvent{{Queue: fmt.Sprint("q", i), Name: "mail"}})
	}
	jobs[7].Queue, jobs[7].Name = "q300", "mail"
	jobs[9].Queue, jobs[9].Name = "q0", "index"
	jobs[11].Name = "unknown"
	if n := testing.AllocsPerRun(100, func() {
		o.Enqueued(jobs)
		o.Begun(jobs)
		o.Ended(jobs)
		o.Called("work", time.Millisecond, nil)
		o.Slots(0, 1, 0)
	}); n != 0 {
		t.Errorf("a batch of jobs allocates %v times", n)
	}
}
