package system_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/recurrence"
)

// The table of occurrences that no worker ran in time: each overlap policy with each misfire policy in each kind of outage. Each instant of the
// rule was run, or is counted as missed, skipped or superseded.

// An outageWorld has a schedule that runs every minute, a scheduler, and a worker whose runs take a tenth of a second. The outage begins after four
// and a half minutes and lasts for 40, so it contains 40 instants.
type outageWorld struct {
	*world
	options   []chime.ScheduleOption
	schedules *chime.Schedules
	scheduler *process
	worker    *process
	changed   time.Time // when the rule was changed
	moved     bool      // to another queue, after the outage
}

const (
	outageAfter = 4*time.Minute + 30*time.Second
	outageFor   = 40 * time.Minute
)

var (
	everyMinute       = recurrence.Recurrence{Frequency: recurrence.Minute}
	everySecondMinute = recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 2}
)

// A fate is how the instants of an outage ended.
type fate struct{ run, missed, skipped, caughtUp int }

// byMisfire contains the fates of 40 instants under each misfire policy, if the first one is placed and due when the workers return.
var byMisfire = map[chime.MisfirePolicy]fate{
	chime.MisfireRunOnce: {run: 1, missed: 39},
	chime.MisfireSkip:    {missed: 40},
	chime.MisfireCatchUp: {run: 40, caughtUp: 39},
}

var outages = []struct {
	name   string
	happen func(o *outageWorld)
	want   map[chime.MisfirePolicy]fate // nil: only the sum is known
}{
	{"the workers were down", func(o *outageWorld) {
		o.worker.end()
		o.pass(outageFor)
		o.startWorker()
	}, byMisfire},
	{"all were down", func(o *outageWorld) {
		o.allDown(outageFor)
		o.startAll()
	}, byMisfire},
	{"the scheduler was down", func(o *outageWorld) {
		o.scheduler.end()
		o.pass(outageFor)
		o.startScheduler()
	}, map[chime.MisfirePolicy]fate{chime.MisfireRunOnce: {run: 40}, chime.MisfireSkip: {run: 40}, chime.MisfireCatchUp: {run: 40}}},
	{"it was paused", func(o *outageWorld) {
		o.pause()
		o.pass(outageFor)
		o.resume()
	}, map[chime.MisfirePolicy]fate{
		chime.MisfireRunOnce: {run: 1, missed: 39}, chime.MisfireSkip: {missed: 40}, chime.MisfireCatchUp: {run: 40, caughtUp: 40},
	}},
	{"all were down, then with other arguments", func(o *outageWorld) {
		o.allDown(outageFor)
		o.options = append(o.options, chime.Args(2))
		o.startAll()
	}, byMisfire},
	{"all were down, other arguments were put meanwhile", func(o *outageWorld) {
		o.allDown(outageFor / 2)
		o.options = append(o.options, chime.Args(2))
		o.put(everyMinute)
		o.pass(outageFor / 2)
		o.startAll()
	}, byMisfire},
	{"all were down, then it was paused and resumed", func(o *outageWorld) {
		o.allDown(outageFor)
		o.pause()
		o.resume()
		o.startAll()
	}, byMisfire},
	{"all were down, it was paused and resumed meanwhile", func(o *outageWorld) {
		o.allDown(outageFor / 4)
		o.pause()
		o.pass(outageFor / 4)
		o.resume()
		o.pass(outageFor / 2)
		o.startAll()
	}, byMisfire},
	{"all were down, then on another queue", func(o *outageWorld) {
		o.allDown(outageFor)
		o.options = append(o.options, chime.Queue("mail"))
		o.moved = true
		o.startAll()
	}, byMisfire},
	{"all were down, then with another rule", func(o *outageWorld) {
		o.allDown(outageFor)
		o.changed = time.Now()
		o.startScheduler() // it declares the rule
		o.pass(100 * time.Millisecond)
		o.startWorker()
	}, map[chime.MisfirePolicy]fate{
		chime.MisfireRunOnce: {run: 1, missed: 39}, chime.MisfireSkip: {missed: 40}, chime.MisfireCatchUp: {run: 1, missed: 39},
	}},
	{"it was paused, got another rule, and was resumed", func(o *outageWorld) {
		o.pause()
		o.pass(outageFor / 2)
		o.put(everySecondMinute)
		o.pass(outageFor / 2)
		o.resume()
	}, nil},
	{"all were down, another rule was put meanwhile", func(o *outageWorld) {
		o.allDown(outageFor / 2)
		o.put(everySecondMinute)
		o.pass(outageFor / 2)
		o.startAll()
	}, nil},
	{"the workers were down, it was changed, paused, resumed and moved there and back meanwhile", func(o *outageWorld) {
		o.worker.end()
		o.pass(outageFor / 5)
		o.options = append(o.options, chime.Args(2))
		o.put(everyMinute)
		o.pass(outageFor / 5)
		o.pause()
		o.pass(outageFor / 5)
		o.resume()
		before := o.options
		o.options = append(before[:len(before):len(before)], chime.Queue("mail"))
		o.put(everyMinute)
		o.pass(outageFor / 5)
		o.options = before
		o.put(everyMinute)
		o.pass(outageFor / 5)
		o.startWorker()
	}, nil},
}

var overlaps = []chime.OverlapPolicy{chime.OverlapSkip, chime.OverlapWait, chime.OverlapCancel, chime.OverlapAllow}

// In a short run every outage has one pair of policies, and every policy some outages; with the tag long each outage has each pair.
func TestEveryInstantOfAnOutageIsRunOrCounted(t *testing.T) {
	for i, outage := range outages {
		for j, overlap := range overlaps {
			for k, misfire := range []chime.MisfirePolicy{chime.MisfireRunOnce, chime.MisfireSkip, chime.MisfireCatchUp} {
				if !long.All() && (i%4 != j || i%3 != k) {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s, %s", outage.name, overlap, misfire), func(t *testing.T) {
					inWorld(t, func(w *world) {
						o := &outageWorld{world: w, options: []chime.ScheduleOption{chime.Overlap(overlap), chime.Misfire(misfire)}}
						want, ok := outage.want[misfire]
						o.run(outage.happen, want, ok)
					})
				})
			}
		}
	}
}

// Catching up runs the newest hundred occurrences of the last 24 hours, and counts the others as missed. This holds under every overlap policy, and
// also if the caught-up runs take so long that others become due during them.
func TestCatchUpRunsTheNewestHundredOfADay(t *testing.T) {
	hourly := recurrence.Recurrence{Frequency: recurrence.Hour}
	for i, c := range []struct {
		name     string
		rule     recurrence.Recurrence
		down     time.Duration // starts half a period after an instant
		run      time.Duration // the duration of one run
		instants int
		caught   int // caught-up runs of them
		after    int // instants after the outage
	}{
		{"5 hours of minutes", everyMinute, 300 * time.Minute, time.Millisecond, 300, 100, 5},
		{"99 minutes", everyMinute, 99 * time.Minute, time.Millisecond, 99, 99, 5},
		{"26 hours", hourly, 26 * time.Hour, time.Millisecond, 26, 24, 2},
		{"20 minutes, with runs of 20 seconds", everyMinute, 20 * time.Minute, 20 * time.Second, 20, 20, 15},
	} {
		for j, overlap := range overlaps {
			if !long.All() && i != j {
				continue // a short run has each case and each policy once
			}
			t.Run(c.name+", "+string(overlap), func(t *testing.T) {
				inWorld(t, func(w *world) {
					began, period := time.Now(), c.down/time.Duration(c.instants)
					declare := declares("report", c.rule, chime.Overlap(overlap), chime.Misfire(chime.MisfireCatchUp))
					build := func(p *process) []chime.Role {
						return []chime.Role{p.scheduler(declare), p.worker("report", func(*chime.Job) time.Duration { return c.run })}
					}
					program := w.start(build)
					w.pass(2*period + period/2) // instants 0, 1 and 2
					program.end()
					w.pass(c.down)
					program = w.start(build)
					w.pass(time.Duration(c.after) * period)
					found, err := chime.NewSchedules(w.server.Store()).Get(context.Background(), "report")
					if err != nil {
						w.Fatal(err)
					}
					program.end()
					w.mu.Lock()
					defer w.mu.Unlock()
					all, missed := 3+c.instants+c.after, c.instants-c.caught
					for i := range all {
						id := "report@" + began.Add(time.Duration(i)*period).UTC().Format(time.RFC3339)
						if newest := i < 3 || i > 3+missed && i < 3+c.instants; newest && w.runs[id] != 1 || w.runs[id] > 1 {
							w.Errorf("occurrence %d of %d, %s, ran %d times, want once", i, all, id, w.runs[id])
						}
					}
					n := found.Counters
					overlapped := int(n.Skipped + n.Superseded) // the last caught-up one may still run when the next one is due
					if len(w.runs)+overlapped != all-missed || n.Missed != int64(missed) || overlapped > 1 || overlapped > 0 && c.run < time.Second {
						w.Errorf("%d ran, counters %+v; want %d missed, the other %d run", len(w.runs), n, missed, all-missed)
					}
					if n.Started < int64(len(w.runs)) || n.Started > int64(len(w.runs))+n.Superseded {
						w.Errorf("%d were counted as started, %d ran", n.Started, len(w.runs))
					}
				})
			})
		}
	}
}

// run simulates an outage and compares the runs and the counters with the rule's instants.
func (o *outageWorld) run(happen func(o *outageWorld), want fate, exact bool) {
	began := time.Now()
	o.schedules = chime.NewSchedules(o.server.Store())
	o.startAll()
	o.pass(outageAfter)
	happen(o)
	o.pass(3 * time.Minute)
	found, err := o.schedules.Get(context.Background(), "report")
	if err != nil {
		o.Fatal(err)
	}
	o.worker.end()
	o.scheduler.end()
	o.compare(found, began, want, exact)
}

func (o *outageWorld) compare(found *chime.Schedule, began time.Time, want fate, exact bool) {
	o.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	from, to := began.Add(outageAfter), began.Add(outageAfter+outageFor)
	got := fate{missed: int(found.Counters.Missed), skipped: int(found.Counters.Skipped), caughtUp: int(found.Counters.CaughtUp)}
	for id, n := range o.runs {
		at, err := time.Parse(time.RFC3339, strings.TrimPrefix(id, "report@"))
		if err != nil || n != 1 {
			o.Errorf("%s ran %d times, want once (%v)", id, n, err)
		}
		if at.After(from) && at.Before(to) {
			got.run++
		}
	}
	instants := o.instants(everyMinute, began, began, time.Now())
	if !o.changed.IsZero() {
		instants = o.instants(everyMinute, began, began, o.changed) + o.instants(everySecondMinute, began, o.changed, time.Now())
	}
	if sum := len(o.runs) + got.missed + got.skipped + int(found.Counters.Superseded); sum != instants {
		o.Errorf("%d ran and the counters are %+v: %d in all; the rule had %d instants", len(o.runs), found.Counters, sum, instants)
	}
	if n := found.Counters; n.Started < int64(len(o.runs)) || n.Started > int64(len(o.runs))+n.Superseded {
		o.Errorf("%d were counted as started, %d ran to their end and %d were superseded", n.Started, len(o.runs), n.Superseded)
	}
	if o.moved && got.caughtUp == want.caughtUp+1 && got.caughtUp == got.run {
		got.caughtUp-- // the due occurrence moved before the worker could take it, and the new queue caught it up
	}
	if exact && got != want {
		o.Errorf("of 40 instants in the outage: %+v, want %+v", got, want)
	}
}

// instants counts a rule's instants from from until before to, for a schedule created at began.
func (o *outageWorld) instants(rec recurrence.Recurrence, began, from, to time.Time) int {
	series, err := rec.Series(began)
	if err != nil {
		o.Fatal(err)
	}
	n := 0
	for range series.Between(from, to) {
		n++
	}
	return n
}

func (o *outageWorld) startScheduler() {
	rule := everyMinute
	if !o.changed.IsZero() {
		rule = everySecondMinute
	}
	o.scheduler = o.start(func(p *process) []chime.Role {
		return []chime.Role{p.scheduler(declares("report", rule, o.options...))}
	})
}

func (o *outageWorld) startWorker() {
	o.worker = o.start(func(p *process) []chime.Role {
		worker := chime.NewWorker(p.store, chime.WorkerOptions{Logger: o.log, Concurrency: 20, Queues: map[string]int{"default": 1, "mail": 1}})
		worker.Handle("report", func(ctx context.Context, job *chime.Job) error {
			select {
			case <-time.After(100 * time.Millisecond):
				o.ran(job)
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		return []chime.Role{worker}
	})
}

func (o *outageWorld) startAll() {
	o.startScheduler()
	o.startWorker()
}

func (o *outageWorld) allDown(d time.Duration) {
	o.worker.end()
	o.scheduler.end()
	o.pass(d)
}

func (o *outageWorld) put(rec recurrence.Recurrence) {
	o.Helper()
	if rec.Interval != everyMinute.Interval {
		o.changed = time.Now()
	}
	var options []chime.PutOption
	for _, option := range o.options {
		options = append(options, option)
	}
	if _, err := o.schedules.Put(context.Background(), "report", rec, options...); err != nil {
		o.Fatal(err)
	}
}

func (o *outageWorld) pause() {
	o.Helper()
	if err := o.schedules.Pause(context.Background(), "report"); err != nil {
		o.Fatal(err)
	}
}

func (o *outageWorld) resume() {
	o.Helper()
	if err := o.schedules.Resume(context.Background(), "report"); err != nil {
		o.Fatal(err)
	}
}
