package pages

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/internal/svg"
)

const (
	maxJobNames = 50              // number of shown names of a queue
	otherNames  = "?"             // all names that samples do not count separately
	sumsFor     = 5 * time.Minute // sums of more than an hour are computed once in this time
)

// A NameRow has the figures of the jobs of one name within a window.
type NameRow struct {
	Name         string // empty: all names after the hundredth
	Done, Failed int64
	P50, P95     time.Duration
	Total        time.Duration // approximate duration of all attempts together
	Filter       string        // of the list of jobs

	Runs, Failures template.HTML // charts of attempts and of failed attempts over the window
	Times          template.HTML // chart of the durations

	sum *nameSum
}

// nameOrders are the orders of the table of job names, by their values in the query.
var nameOrders = map[string]func(a, b *NameRow) int{
	"time":   func(a, b *NameRow) int { return cmp.Compare(b.Total, a.Total) },
	"runs":   func(a, b *NameRow) int { return cmp.Compare(b.Done+b.Failed, a.Done+a.Failed) },
	"failed": func(a, b *NameRow) int { return cmp.Compare(b.Failed, a.Failed) },
	"p95":    func(a, b *NameRow) int { return cmp.Compare(b.P95, a.P95) },
}

// nameWindows are the lengths of the table of job names for each window of the charts, in cells of its small charts.
var nameWindows = map[overview.Window]struct {
	cells int
	cell  time.Duration
	says  string
}{
	overview.Quarter: {15, time.Minute, "15 minutes"},
	overview.Hour:    {60, time.Minute, "hour"},
	overview.Day:     {25, time.Hour, "25 hours"},
	overview.Season:  {92, 24 * time.Hour, "92 days"},
}

// A nameSum has the figures of the jobs of one name, for a window and for each of its cells.
type nameSum struct {
	done, failed   int64
	run            chime.Histogram
	runs, failures []float64
}

// sumNames sums up samples by the name of the job.
func sumNames(samples []chime.Sample, window overview.Window, now time.Time) map[string]*nameSum {
	form := nameWindows[window]
	begins := now.Truncate(min(form.cell, time.Hour)).Add(-time.Duration(form.cells-1) * form.cell)
	sums := map[string]*nameSum{}
	for i := range samples {
		if samples[i].At.Before(begins) {
			continue
		}
		cell := min(int(samples[i].At.Sub(begins)/form.cell), form.cells-1)
		for _, job := range samples[i].Jobs {
			sum := sums[job.Name]
			if sum == nil {
				sum = &nameSum{runs: make([]float64, form.cells), failures: make([]float64, form.cells)}
				sums[job.Name] = sum
			}
			sum.done, sum.failed, sum.run = sum.done+job.Done, sum.failed+job.Failed, sum.run.Add(job.Run)
			sum.runs[cell] += float64(job.Done + job.Failed)
			sum.failures[cell] += float64(job.Failed)
		}
	}
	return sums
}

// nameRows returns the rows of the sums in an order.
func nameRows(queue string, sums map[string]*nameSum, order func(a, b *NameRow) int) []NameRow {
	rows := make([]NameRow, 0, len(sums))
	for name, sum := range sums {
		row := NameRow{
			Name: name, Done: sum.done, Failed: sum.failed, Filter: searchOf(queue, name),
			P50: overview.Quantile(sum.run, 0.5), P95: overview.Quantile(sum.run, 0.95), Total: totalOf(sum.run), sum: sum,
		}
		if name == otherNames {
			row.Name, row.Filter = "", ""
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b NameRow) int { return cmp.Or(order(&a, &b), cmp.Compare(a.Name, b.Name)) })
	return rows
}

// draw draws the small charts of a row.
func (r *NameRow) draw() {
	name := cmp.Or(r.Name, "all others")
	r.Runs = svg.Spark{Title: "Attempts of " + name, Values: r.sum.runs, Tone: svg.Run}.SVG()
	if r.Failed > 0 {
		r.Failures = svg.Spark{Title: "Failed attempts of " + name, Values: r.sum.failures, Tone: svg.Fail, Bars: true}.SVG()
	}
	longest, values := 0, make([]float64, len(r.sum.run))
	for i, n := range r.sum.run {
		if values[i] = float64(n); n > 0 {
			longest = i
		}
	}
	most := "at most "
	if longest == len(values)-1 {
		most = "longer than "
	}
	r.Times = svg.Spark{
		Label: fmt.Sprintf("Durations of attempts of %s, in 16 steps from 1ms to above 5m: half took at most %s, 95 %% at most %s, the longest %s.",
			name, format.Span(r.P50), format.Span(r.P95), most+format.Span(r.sum.run.Bound(longest))),
		Values: values, Bars: true,
	}.SVG()
}

// totalOf returns the approximate total duration of everything in a histogram. It uses the middle of each bucket.
func totalOf(h chime.Histogram) time.Duration {
	sum, low := 0.0, time.Duration(0)
	for i, n := range h {
		sum += float64(n) * float64(low+h.Bound(i)) / 2
		low = h.Bound(i)
	}
	return time.Duration(min(sum, math.MaxInt64/2))
}

// names caches the figures by job name for windows longer than an hour, for queues that are being viewed. The zero value is empty.
type names struct {
	mu  sync.Mutex
	all map[named]summed
}

// named identifies the sums of a queue in a window.
type named struct {
	queue  string
	window overview.Window
}

type summed struct {
	sums map[string]*nameSum
	read time.Time
}

// read returns the sums of a queue, from the hourly samples and from the minutes of the current hour.
func (n *names) read(ctx context.Context, queues *chime.Queues, queue string, window overview.Window, now time.Time) (map[string]*nameSum, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all == nil {
		n.all = map[named]summed{}
	}
	maps.DeleteFunc(n.all, func(_ named, old summed) bool { return now.Sub(old.read) >= sumsFor || now.Before(old.read) })
	key := named{queue, window}
	if known, ok := n.all[key]; ok {
		return known.sums, nil
	}
	form, hour := nameWindows[window], now.Truncate(time.Hour)
	samples, err := queues.Samples(ctx, queue, hour.Add(-time.Duration(form.cells-1)*form.cell), hour, time.Hour)
	if err != nil {
		return nil, err
	}
	minutes, err := queues.Samples(ctx, queue, hour, now, time.Minute)
	if err != nil {
		return nil, err
	}
	sums := sumNames(append(samples, minutes...), window, now)
	n.all[key] = summed{sums, now}
	return sums, nil
}
