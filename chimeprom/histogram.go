package chimeprom

import (
	"math"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// bounds are the upper bounds of the buckets, in seconds. They equal the bounds of the store's own samples, so both show the same.
var bounds = [...]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15, 60, 300}

// The native buckets grow by a factor of 2^(1/8), which is less than 1.1: eight of them double the value.
const (
	schema      = 3
	perDoubling = 1 << schema
	minExponent = -20 // less than 2^-20 s, a microsecond, is counted as zero
	maxExponent = 34  // 2^34 s are 544 years, longer than a Duration
	natives     = (maxExponent - minExponent) * perDoubling
)

// fractions are the upper bounds of the native buckets from 1 to 2, as the 52 bits of the fraction of a float64.
var fractions = func() (all [perDoubling]uint64) {
	for i := range all {
		all[i] = math.Float64bits(math.Exp2(float64(i)/perDoubling)) & (1<<52 - 1)
	}
	return all
}()

// A histogram counts durations, in classic buckets and in native ones. client_golang's takes several times as long as a job may cost, because it
// supports counting from many goroutines at once; here a batch takes the lock once.
type histogram struct {
	desc   *prometheus.Desc
	labels []*dto.LabelPair

	mu sync.Mutex
	durations
}

// durations are counts of durations.
type durations struct {
	sum     [2]uint64 // ns, the low 64 bits first: a Duration would overflow at 200,000 waits of a day
	count   uint64
	zero    uint64                  // durations below every native bucket
	classic [len(bounds) + 1]uint64 // each bucket without the ones below it
	native  [natives]uint64
}

// add counts a duration; a negative one, from two different clocks, as 0.
func (d *durations) add(length time.Duration) {
	length = max(length, 0)
	var carry uint64
	d.sum[0], carry = bits.Add64(d.sum[0], uint64(length), 0)
	d.sum[1] += carry
	d.count++
	v := length.Seconds()
	i := 0
	for i < len(bounds) && v > bounds[i] {
		i++
	}
	d.classic[i]++
	if at := nativeOf(v); at >= 0 {
		d.native[at]++
	} else {
		d.zero++
	}
}

// nativeOf is the index of the native bucket for a length in seconds; negative: it is too short for one.
func nativeOf(v float64) int {
	parts := math.Float64bits(v) // 1.fraction × 2^exponent
	exponent, fraction := int(parts>>52)-1023, parts&(1<<52-1)
	i := 0
	if fraction > fractions[perDoubling/2] {
		i = perDoubling / 2
	}
	for i < perDoubling && fraction > fractions[i] {
		i++
	}
	return max(exponent-minExponent, -1)*perDoubling + i - 1
}

// observe counts one duration.
func (h *histogram) observe(length time.Duration) {
	h.mu.Lock()
	h.add(length)
	h.mu.Unlock()
}

// Desc and Write implement prometheus.Metric.
func (h *histogram) Desc() *prometheus.Desc { return h.desc }

func (h *histogram) Write(to *dto.Metric) error {
	h.mu.Lock()
	now := h.durations
	h.mu.Unlock()
	shape, threshold, sum := int32(schema), math.Exp2(minExponent), (float64(now.sum[0])+math.Ldexp(float64(now.sum[1]), 64))/1e9
	of := &dto.Histogram{SampleCount: &now.count, SampleSum: &sum, Schema: &shape, ZeroThreshold: &threshold, ZeroCount: &now.zero}
	var below uint64
	for i := range bounds {
		below += now.classic[i]
		of.Bucket = append(of.Bucket, &dto.Bucket{UpperBound: new(bounds[i]), CumulativeCount: new(below)})
	}
	of.PositiveSpan, of.PositiveDelta = spans(&now.native)
	if len(of.PositiveSpan) == 0 { // it is still a native histogram
		of.PositiveSpan = []*dto.BucketSpan{{Offset: new(int32(0)), Length: new(uint32(0))}}
	}
	to.Histogram, to.Label = of, h.labels
	return nil
}

// spans encodes native buckets: the runs of non-empty buckets, and the difference of each count from the one before.
func spans(native *[natives]uint64) (all []*dto.BucketSpan, deltas []int64) {
	var before int64
	end := 0 // of the last span, as an index of Prometheus
	for i, n := range native {
		if n == 0 {
			continue
		}
		index := i + 1 + minExponent*perDoubling
		if len(all) == 0 || index != end {
			all = append(all, &dto.BucketSpan{Offset: new(int32(index - end)), Length: new(uint32(0))})
		}
		*all[len(all)-1].Length++
		deltas = append(deltas, int64(n)-before)
		before, end = int64(n), index+1
	}
	return all, deltas
}

// A histogramVec is a collector of histograms with different labels.
type histogramVec struct {
	desc *prometheus.Desc

	mu  sync.Mutex
	all []*histogram
}

func newHistogramVec(name string) *histogramVec {
	return &histogramVec{desc: prometheus.NewDesc(name, helpOf(name), labelsOf(name), nil)}
}

// with returns the histogram for some labels.
func (v *histogramVec) with(labels ...string) *histogram {
	h := &histogram{desc: v.desc, labels: prometheus.MakeLabelPairs(v.desc, labels)}
	v.mu.Lock()
	v.all = append(v.all, h)
	v.mu.Unlock()
	return h
}

func (v *histogramVec) Describe(to chan<- *prometheus.Desc) { to <- v.desc }

func (v *histogramVec) Collect(to chan<- prometheus.Metric) {
	v.mu.Lock()
	all := slices.Clone(v.all)
	v.mu.Unlock()
	for _, h := range all {
		to <- h
	}
}
