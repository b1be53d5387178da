package system_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/recurrence"
)

// A spreadDay is the day of twenty schedules of one rule, each with its own offset, which are changed, paused, resumed and moved at random
// while workers crash and are away.
type spreadDay struct {
	*world
	random    *rand.Rand
	misfire   chime.MisfirePolicy
	schedules *chime.Schedules
	names     []string
	queue     map[string]string
	version   int
	paused    map[string]bool
	starts    map[string]time.Time // occurrence → when it began; of the world's mutex
}

var onTheHour = recurrence.Recurrence{Cron: "@hourly"}

// However schedules with a spread are steered, each instant of the rule is run once or counted as missed or skipped, never lost, never doubled, and none
// runs before it is due.
func TestSpreadSchedulesLoseAndDoubleNothing(t *testing.T) {
	for _, misfire := range []chime.MisfirePolicy{chime.MisfireRunOnce, chime.MisfireSkip, chime.MisfireCatchUp} {
		t.Run(string(misfire), func(t *testing.T) {
			inWorld(t, func(w *world) {
				d := &spreadDay{
					world: w, misfire: misfire, random: rand.New(rand.NewPCG(1, 3)),
					queue: map[string]string{}, paused: map[string]bool{}, starts: map[string]time.Time{},
				}
				d.run()
			})
		})
	}
}

func (d *spreadDay) run() {
	began := time.Now()
	home := d.start(func(p *process) []chime.Role { return []chime.Role{p.scheduler(nil)} })
	d.schedules = chime.NewSchedules(home.store)
	for i := range 20 {
		name := fmt.Sprintf("sync:%d", i)
		d.names, d.queue[name] = append(d.names, name), "default"
		d.put(name)
	}
	worker := d.start(d.work)
	for time.Since(began) < time.Duration(long.Seeds(2, 8))*time.Hour {
		d.pass(time.Duration(d.random.Int64N(int64(20 * time.Minute))))
		switch d.random.IntN(12) {
		case 0:
			worker.crash()
			dead := worker
			worker = d.start(d.work)
			d.pass(20 * time.Second)
			dead.awaitCrashed()
		case 1:
			worker.end()
			d.pass(time.Duration(d.random.Int64N(int64(2 * time.Hour))))
			worker = d.start(d.work)
		default:
			for range 3 {
				d.steer(d.names[d.random.IntN(len(d.names))])
			}
		}
	}
	for _, name := range d.names {
		if d.paused[name] {
			d.must(d.schedules.Resume(context.Background(), name))
		}
	}
	d.pass(2*time.Hour - time.Since(began)%time.Hour - time.Millisecond) // the last instant is due, whatever its offset
	d.check(began, time.Now())
	worker.end()
	home.end()
}

func (d *spreadDay) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

func (d *spreadDay) put(name string) {
	d.Helper()
	_, err := d.schedules.Put(context.Background(), name, onTheHour, chime.JobName("sync"), chime.Queue(d.queue[name]), chime.Spread(time.Hour), chime.Args(d.version),
		chime.Misfire(d.misfire), chime.MaxAttempts(1))
	d.must(err)
}

func (d *spreadDay) work(p *process) []chime.Role {
	worker := chime.NewWorker(p.store, chime.WorkerOptions{Logger: d.log, Concurrency: 20, Queues: map[string]int{"default": 1, "mail": 1}})
	worker.Handle("sync", func(_ context.Context, job *chime.Job) error {
		d.ran(job)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.starts[job.ID] = job.Started
		return nil
	})
	return []chime.Role{worker}
}

func (d *spreadDay) steer(name string) {
	ctx := context.Background()
	switch d.random.IntN(4) {
	case 0:
		d.version++
		d.put(name)
	case 1:
		if d.queue[name] == "default" {
			d.queue[name] = "mail"
		} else {
			d.queue[name] = "default"
		}
		d.put(name)
	case 2:
		if d.paused[name] = !d.paused[name]; d.paused[name] {
			d.must(d.schedules.Pause(ctx, name))
		} else {
			d.must(d.schedules.Resume(ctx, name))
		}
	case 3: // at once, or it stays paused
		d.must(d.schedules.Pause(ctx, name))
		d.must(d.schedules.Resume(ctx, name))
		d.paused[name] = false
	}
}

func (d *spreadDay) check(from, to time.Time) {
	d.Helper()
	series, err := onTheHour.Series(from)
	d.must(err)
	runs := d.allRuns()
	total, onTime, offsets := 0, 0, map[time.Duration]bool{}
	for _, name := range d.names {
		s, err := d.schedules.Get(context.Background(), name)
		d.must(err)
		offsets[s.Offset] = true
		planned, ran := 0, 0
		for at := range series.Between(from, to) {
			if at.Add(s.Offset).After(to) {
				continue
			}
			planned++
			id := fmt.Sprintf("%s@%s", name, at.UTC().Format(time.RFC3339))
			if runs[id] > 1 {
				d.Errorf("%s ran %d times", id, runs[id])
			}
			if runs[id] == 0 {
				continue
			}
			ran++
			late := d.starts[id].Sub(at.Add(s.Offset))
			if late < 0 {
				d.Errorf("%s began at %v, before it was due at %v", id, d.starts[id], at.Add(s.Offset))
			} else if late <= 5*time.Millisecond {
				onTime++
			}
		}
		total += planned
		if missed, skipped := int(s.Counters.Missed), int(s.Counters.Skipped); ran+missed+skipped != planned || d.misfire == chime.MisfireCatchUp && missed > 0 {
			d.Errorf("%s, offset %v: of %d instants %d ran, %d are counted as missed, %d as skipped", name, s.Offset, planned, ran, missed, skipped)
		}
	}
	if len(offsets) != len(d.names) {
		d.Errorf("%d schedules have %d offsets", len(d.names), len(offsets))
	}
	if onTime < total/4 {
		d.Errorf("%d of %d occurrences began when they were due, want more", onTime, total)
	}
}
