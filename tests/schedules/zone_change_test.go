package schedules_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// An occurrence that was planned with other time zone data runs once. Here no process compares waiting occurrences, so the worker that takes it finds
// that. If it was planned too early, it runs at the right time, is in the history as missed, with the reason, and uses up no run of a count. If it was
// planned too late, it runs late, and what follows is computed from the right time.
func TestAnOccurrenceOfOtherZoneDataRunsOnce(t *testing.T) {
	for _, c := range []struct {
		what    string
		rules   string // of the process that has planned it: 09:00 is another instant there
		options []chime.PutOption
		count   int
		first   string
		missed  int
	}{
		{"too early", otherRules, nil, 0, "2000-01-02T08:00:00Z", 1},
		{"with a count", otherRules, nil, 1, "2000-01-02T08:00:00Z", 1},
		{"MisfireSkip", otherRules, []chime.PutOption{chime.Misfire(chime.MisfireSkip)}, 0, "2000-01-02T08:00:00Z", 1},
		{"MisfireCatchUp", otherRules, []chime.PutOption{chime.Misfire(chime.MisfireCatchUp)}, 0, "2000-01-02T08:00:00Z", 1},
		{"OverlapWait", otherRules, []chime.PutOption{chime.Overlap(chime.OverlapWait)}, 0, "2000-01-02T08:00:00Z", 1},
		{"too late", "Europe/London", nil, 0, "2000-01-02T09:00:00Z", 0},
		{"the same data", namedZone, nil, 0, "2000-01-02T08:00:00Z", 0},
	} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			time.Sleep(10 * time.Hour) // fake time: the first run is on the next day
			daily := recurrence.Recurrence{Frequency: recurrence.Day, Hours: []int{9}, Minutes: []int{0}, TimeZone: namedZone, Count: c.count}
			if _, err := chime.NewSchedules(newProcess(f, c.rules)).Put(t.Context(), "invoice", daily, append(c.options, chime.JobName("j"), chime.NoImmediateRun())...); err != nil {
				t.Fatal(err)
			}
			var log fixture.LogBuffer
			var ran []string
			work := func(from, to string) { // workers cost time while they live
				time.Sleep(time.Until(instantOf(t, from))) // fake time
				worker := chime.NewWorker(newProcess(f, namedZone).without("zoned"), chime.WorkerOptions{Logger: log.Logger()})
				worker.Handle("j", func(_ context.Context, job *chime.Job) error {
					ran = append(ran, job.Planned.UTC().Format(time.RFC3339))
					if late := time.Since(job.Planned); late > time.Second {
						t.Errorf("%s: %s ran %v late", c.what, job.ID, late)
					}
					return nil
				})
				stop := f.Start(worker)
				time.Sleep(time.Until(instantOf(t, to))) // fake time
				if err := stop(); err != nil {
					t.Error(err)
				}
			}
			work("2000-01-02T06:59:00Z", "2000-01-02T07:01:00Z")
			work("2000-01-02T07:57:00Z", "2000-01-02T08:01:00Z")
			work("2000-01-02T08:59:00Z", "2000-01-02T09:01:00Z")
			work("2000-01-03T07:59:00Z", "2000-01-03T08:01:00Z")
			want := []string{c.first, "2000-01-03T08:00:00Z"}[:cmp.Or(c.count, 2)]
			if !slices.Equal(ran, want) {
				t.Errorf("%s: ran at %v, want %v", c.what, ran, want)
			}
			missed := 0
			for _, run := range runsOf(t, chime.NewSchedules(f.Server.Store()), "invoice") {
				if strings.HasPrefix(run, "missed 0 planned with other time zone data: it runs at 2000-01-02T09:00:00+01:00") {
					missed++
				}
			}
			if missed != c.missed || log.Count("schedule.replanned") != c.missed {
				t.Errorf("%s: %d in the history, %d lines, want %d: %s", c.what, missed, log.Count("schedule.replanned"), c.missed, log.String())
			}
		})
	}
}

func instantOf(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// A scheduler that leads, and a declaration that changes nothing, plan a waiting occurrence again before anybody takes it. Also one whose local time
// has passed by their data: that one is due now.
func TestAWaitingOccurrenceOfOtherZoneDataIsPlannedAgain(t *testing.T) {
	daily := recurrence.Recurrence{Cron: "0 9 * * *", TimeZone: namedZone}
	options := []chime.PutOption{chime.JobName("j"), chime.NoImmediateRun()}
	for _, c := range []struct {
		what, rules, now, want string
	}{
		{"too early", otherRules, "2000-01-02T06:00:00Z", "2000-01-02T08:00:00Z"},
		{"too late", "Europe/London", "2000-01-02T06:00:00Z", "2000-01-02T08:00:00Z"},
		{"too late, and its local time has passed", "Europe/London", "2000-01-02T08:30:00Z", "2000-01-02T08:00:00Z"},
		{"the same data", namedZone, "2000-01-02T06:00:00Z", "2000-01-02T08:00:00Z"},
	} {
		for how, replan := range map[string]func(t *testing.T, process *zonedProcess){
			"a leader": func(t *testing.T, process *zonedProcess) {
				stop := fixture.Start(chime.NewScheduler(process, chime.SchedulerOptions{Logger: fixture.Quiet()}))
				time.Sleep(time.Minute) // fake time
				if err := stop(); err != nil {
					t.Error(err)
				}
			},
			"a declaration": func(t *testing.T, process *zonedProcess) {
				if _, err := chime.NewSchedules(process).Put(t.Context(), "s", daily, options...); err != nil {
					t.Error(err)
				}
			},
			"a program's declaration": func(t *testing.T, process *zonedProcess) {
				scheduler := chime.NewScheduler(process.without("lead"), chime.SchedulerOptions{Logger: fixture.Quiet(), NoImmediateRuns: true})
				if err := scheduler.Schedule("s", daily, chime.JobName("j")); err != nil {
					t.Fatal(err)
				}
				stop := fixture.Start(scheduler)
				time.Sleep(time.Minute) // fake time
				if err := stop(); err != nil {
					t.Error(err)
				}
			},
		} {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				time.Sleep(10 * time.Hour) // fake time
				if _, err := chime.NewSchedules(newProcess(f, c.rules)).Put(t.Context(), "s", daily, options...); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Until(instantOf(t, c.now))) // fake time
				replan(t, newProcess(f, namedZone))
				if found := f.Stored("s"); !found.Cursor.At.Equal(instantOf(t, c.want)) || !found.Waiting || found.Cursor.Used != 1 {
					t.Errorf("%s, %s: the next one is %v, waiting %v, %d used; want %s", c.what, how, found.Cursor.At, found.Waiting, found.Cursor.Used, c.want)
				}
			})
		}
	}
}

// A process plans a schedule again at most once, so two processes with different data do not do so in turn.
func TestAProcessPlansAScheduleAgainOnce(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		time.Sleep(10 * time.Hour) // fake time
		daily := recurrence.Recurrence{Cron: "0 9 * * *", TimeZone: namedZone}
		planned, last := 0, time.Time{}
		processes := []*zonedProcess{newProcess(f, namedZone), newProcess(f, otherRules)}
		for range 5 {
			for _, process := range processes {
				if _, err := chime.NewSchedules(process).Put(t.Context(), "s", daily, chime.JobName("j"), chime.NoImmediateRun()); err != nil {
					t.Fatal(err)
				}
				if at := f.Stored("s").Cursor.At; !at.Equal(last) {
					planned, last = planned+1, at
				}
			}
		}
		if planned != 3 {
			t.Errorf("it was planned %d times, want 3: by the first declaration, and again by each process", planned)
		}
	})
}
