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
	for seed := range uint64(long.Seeds(2, 40)) {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			w := &zoneWalk{T: t, f: f, random: rand.New(rand.NewPCG(seed, 29)), ran: map[string]int{}}
			w.days(seed, long.Seeds(3, 6))
		})
	}
}

func (w *zoneWalk) days(seed uint64, days int) {
	rule := recurrence.Recurrence{Frequency: recurrence.Day, Hours: []int{9}, Minutes: []int{0}, TimeZone: namedZone, Count: days}
	if seed%3 == 1 {
		rule = recurrence.Recurrence{Cron: "0 9 * * *", TimeZone: namedZone, Count: days}
	}
	time.Sleep(20 * time.Hour) // fake time: the first occurrence is on the next day
	w.put(rule, "default")
	for day := 2; day < 2+days; day++ {
		at := func(hour, minute int) time.Time {
			return time.Date(2000, time.January, day, hour, minute, 0, 0, time.UTC)
		}
		time.Sleep(time.Until(at(6, 58))) // fake time
		for time.Now().Before(at(8, 2)) {
			w.act(rule)
			pause := time.Duration(w.pick(90)) * time.Second
			if next := at(7, 55); time.Now().After(at(7, 5)) && time.Now().Before(next) {
				pause = time.Until(next)
			}
			time.Sleep(pause) // fake time
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
