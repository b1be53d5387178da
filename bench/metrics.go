package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeprom"
)

const (
	metricsTurns     = 40     // of each kind of program, in a round: short ones, so that what else the machine does affects all kinds alike
	metricsJobs      = 20_000 // of a turn, if the backlog has as many
	reportedTogether = 64     // jobs: about as many as a busy worker reports together
)

// observedKinds are programs with different observers.
var observedKinds = []struct {
	name      string
	observers func() []*chime.Observer
}{
	{"no observer", func() []*chime.Observer { return nil }},
	{"one that hears nothing", func() []*chime.Observer { return []*chime.Observer{{}} }},
	{"metrics", func() []*chime.Observer { return []*chime.Observer{newMetrics()} }},
}

func newMetrics() *chime.Observer {
	return chimeprom.New(chimeprom.Options{Jobs: []string{jobName}}).Observer()
}

// metricsMeasure takes jobs through their whole life in programs with metrics and without, in turns.
var metricsMeasure = measure{
	name: "metrics", group: "watched", only: []string{"chime"}, slow: true,
	about: fmt.Sprintf("what a job costs the process from enqueue to end with chimeprom's Observer, with an Observer whose functions are all nil, and with none: "+
		"enqueued in bulk and worked off by 100 at once with empty handlers, %d times in turns; the median of the differences of each turn, allocations rounded to whole "+
		"ones. Beside it the calls of the Observer alone, for one queue and one job name, with %d jobs a call. Left out: what a scrape costs, and schedules", metricsTurns, reportedTogether),
	run: func(ctx context.Context, r *testbed, _ peer) ([]figure, error) {
		own := *r
		own.sizes.backlog = min(r.sizes.backlog, metricsJobs)
		var without []float64
		more := make([]costs, len(observedKinds))
		for range metricsTurns {
			turn := make([]processCost, len(observedKinds))
			for _, at := range rand.Perm(len(observedKinds)) {
				var err error
				if turn[at], err = observedLife(ctx, &own, observedKinds[at].observers()); err != nil {
					return nil, fmt.Errorf("%s: %w", observedKinds[at].name, err)
				}
			}
			without = append(without, turn[0].cpu)
			for at, c := range turn {
				more[at].add(c.cpu-turn[0].cpu, c.allocations-turn[0].allocations)
			}
		}
		deaf, metrics := more[1], more[2]
		cost, allocations := observerAlone(newMetrics(), nextFor(r.sizes))
		return []figure{
			{name: "CPU a job without", unit: "ns", value: middle(without), less: true},
			{name: "a job costs more", unit: "ns", value: middle(metrics.cpu), less: true},
			{name: "allocations more", value: whole(middle(metrics.allocations)), less: true},
			{name: "not in use, a job costs more", unit: "ns", value: middle(deaf.cpu), less: true},
			{name: "not in use, allocations more", value: whole(middle(deaf.allocations)), less: true},
			{name: "the observer alone", unit: "ns", value: cost, less: true},
			{name: "the observer alone, allocations", value: whole(allocations), less: true},
		}, nil
	},
}

// whole rounds, never to the zero that is printed as -0.
func whole(x float64) float64 { return math.Round(x) + 0 }

// A processCost is what a job took of this process.
type processCost struct{ cpu, allocations float64 } // CPU in ns

// costs are those of many turns.
type costs struct{ cpu, allocations []float64 }

func (all *costs) add(cpu, allocations float64) {
	all.cpu, all.allocations = append(all.cpu, cpu), append(all.allocations, allocations)
}

// observedLife takes a backlog through its life under observers.
func observedLife(ctx context.Context, r *testbed, observers []*chime.Observer) (processCost, error) {
	if err := r.redis.empty(ctx); err != nil {
		return processCost{}, err
	}
	lib := openObserved(r, observers)
	in, err := processCostOf(func() (int64, error) { return int64(r.sizes.backlog), fillBulk(ctx, lib, r.sizes.backlog) })
	var out processCost
	if err == nil {
		out, err = processCostOf(func() (int64, error) {
			e, err := workOff(ctx, r, chimePeer, lib, 100, doNothing)
			return e.jobs, err
		})
	}
	return processCost{in.cpu + out.cpu, in.allocations + out.allocations}, errors.Join(err, lib.Close())
}

// processCostOf is what a job takes of this process while do runs; do returns how many jobs that were.
func processCostOf(do func() (jobs int64, err error)) (processCost, error) {
	var before, after runtime.MemStats
	runtime.GC() // one kind's garbage is not the next one's to collect
	runtime.ReadMemStats(&before)
	cpu := clientCPU()
	jobs, err := do()
	if err != nil {
		return processCost{}, err
	}
	cpu = clientCPU() - cpu
	runtime.ReadMemStats(&after)
	return processCost{float64(cpu) / float64(jobs), float64(after.Mallocs-before.Mallocs) / float64(jobs)}, nil
}

// observerAlone calls an observer for jobs that are enqueued, begin and end. It returns the time for one job, in nanoseconds, and
// how much it allocates: the fastest of ten parts of the time, as fastest.
func observerAlone(o *chime.Observer, least time.Duration) (nanoseconds, allocations float64) {
	now := time.Now()
	jobs := make([]chime.JobEvent, reportedTogether)
	for i := range jobs {
		begin := now.Add(time.Duration(i) * time.Millisecond)
		jobs[i] = chime.JobEvent{
			Queue: "default", Name: jobName, ID: "x", Attempt: 1, Due: now, Waited: now, Started: begin, Ended: begin.Add(time.Duration(i) * time.Millisecond),
			Outcome: chime.RunDone, First: true,
		}
	}
	var parts []float64
	for range 10 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began, seen := time.Now(), 0
		for ; seen == 0 || time.Since(began) < least/10; seen += len(jobs) {
			o.Enqueued(jobs)
			o.Begun(jobs)
			o.Ended(jobs)
		}
		parts = append(parts, float64(time.Since(began).Nanoseconds())/float64(seen))
		runtime.ReadMemStats(&after)
		allocations = float64(after.Mallocs-before.Mallocs) / float64(seen)
	}
	return slices.Min(parts), allocations
}
