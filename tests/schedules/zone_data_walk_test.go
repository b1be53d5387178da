package schedules_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// Processes with two different zone data, in random order, take, place, declare, pause and move a schedule of every day, and die between any two
// commands. Whatever they do, one occurrence runs for each date of the local calendar, and no second one.
func TestProcessesWithDifferentZoneDataRunEachDateOnce(t *testing.T) {
	for _, seed := range long.Draw(2, 10) {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			w := &zoneWalk{T: t, f: f, random: rand.New(rand.NewPCG(seed, 29)), ran: map[string]int{}}
			w.days(seed, long.Seeds(3, 6))
		})
	}
}

// The same with two times of day an hour apart: by other data the second one may be at the instant of the first, and then one of them may not run. But
// no local time runs twice, and each date has a run.
func TestProcessesWithDifferentZoneDataRunNearbyTimesOnce(t *testing.T) {
	for _, seed := range long.Draw(1, 6) {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			w := &zoneWalk{T: t, f: f, random: rand.New(rand.NewPCG(seed, 30)), ran: map[string]int{}}
			rule := recurrence.Recurrence{Frequency: recurrence.Day, Hours: []int{9, 10}, Minutes: []int{0}, TimeZone: namedZone}
			time.Sleep(20 * time.Hour) // fake time: the first occurrence is on the next day
			w.put(rule, "default")
			for day := 2; day < 2+long.Seeds(2, 5); day++ {
				w.day(rule, day, 7, 8, 9)
				// Both may have the ID of the one instant. So the store's count is compared, not the runs of each ID.
				if done, dates := w.done(), day-1; done > 2*dates || done < dates || len(w.ran) > done {
					t.Errorf("seed %d: until day %d ran %v, and %d are done, want one or two each day: %s", seed, day, w.ran, done, w.log.String())
					return
				}
			}
		})
	}
}

// done returns how many occurrences are done, on both queues.
func (w *zoneWalk) done() (n int) {
	queues, err := chime.NewQueues(w.f.Server.Store()).List(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	for _, queue := range queues {
		n += int(queue.Done)
	}
	return n
}

func (w *zoneWalk) days(seed uint64, days int) {
	rule := recurrence.Recurrence{Frequency: recurrence.Day, Hours: []int{9}, Minutes: []int{0}, TimeZone: namedZone, Count: days}
	if seed%3 == 1 {
		rule = recurrence.Recurrence{Cron: "0 9 * * *", TimeZone: namedZone, Count: days}
	}
	time.Sleep(20 * time.Hour) // fake time: the first occurrence is on the next day
	w.put(rule, "default")
	for day := 2; day < 2+days; day++ {
		w.day(rule, day, 7, 8)
		date := fmt.Sprintf("s@2000-01-%02dT", day)
		var ran []string
		for id := range w.ran {
			if strings.HasPrefix(id, date) {
				ran = append(ran, id)
			}
		}
		if len(ran) != 1 || len(w.ran) != day-1 {
			w.Errorf("seed %d: of day %d ran %v, and in all %v, want one each day: %s", seed, day, ran, w.ran, w.log.String())
			return
		}
	}
	info, err := chime.NewSchedules(newProcess(w.f, namedZone)).Get(w.Context(), "s")
	if err != nil {
		w.Fatal(err)
	}
	if info.Counters.Missed != 0 || info.State != chime.StateCompleted {
		w.Errorf("seed %d: %d missed, %s; want none, completed after %d runs: %s", seed, info.Counters.Missed, info.State, days, w.log.String())
	}
}

// day lets processes act around some hours of a day. At its end one of them does what is left.
func (w *zoneWalk) day(rule recurrence.Recurrence, day int, hours ...int) {
	for _, hour := range hours {
		at := func(minute int) time.Time { return time.Date(2000, time.January, day, hour, minute, 0, 0, time.UTC) }
		time.Sleep(max(time.Until(at(-3)), 0)) // fake time
		for time.Now().Before(at(3)) {
			w.act(rule)
			time.Sleep(time.Duration(w.pick(90)) * time.Second) // fake time
		}
	}
	for len(w.live) > 0 {
		w.stop(0)
	}
	if err := chime.NewSchedules(newProcess(w.f, namedZone)).Resume(w.Context(), "s"); err != nil {
		w.Fatal(err)
	}
	w.start(false)
	time.Sleep(3 * time.Minute) // fake time: what was left is reaped, placed and run
	w.stop(0)
}

// act does one of the things that processes do.
func (w *zoneWalk) act(rule recurrence.Recurrence) {
	switch n := w.pick(10); {
	case n < 4 && len(w.live) < 3:
		w.start(w.pick(3) > 0)
	case n < 6 && len(w.live) > 0:
		w.stop(w.pick(len(w.live)))
	case n < 8:
		w.put(rule, []string{"default", "mail"}[w.pick(2)])
	case n == 8:
		schedules := chime.NewSchedules(newProcess(w.f, []string{namedZone, otherRules}[w.pick(2)]))
		if err := schedules.Pause(w.Context(), "s"); err != nil {
			w.Fatal(err)
		}
		if err := schedules.Resume(w.Context(), "s"); err != nil {
			w.Fatal(err)
		}
	}
}

// put declares the schedule as a process with one of the two data.
func (w *zoneWalk) put(rule recurrence.Recurrence, queue string) {
	schedules := chime.NewSchedules(newProcess(w.f, []string{namedZone, otherRules}[w.pick(2)]))
	if _, err := schedules.Put(w.Context(), "s", rule, chime.JobName("j"), chime.NoImmediateRun(), chime.Queue(queue)); err != nil {
		w.Fatal(err)
	}
}
