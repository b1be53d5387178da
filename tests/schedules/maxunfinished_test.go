package schedules_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A manual run may be refused because its group is full, or because its schedule has too many unfinished runs. The error names the limit that refused it.
func TestARefusedRunNamesTheLimitThatRefusedIt(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Server.Store()
		schedules, queues := chime.NewSchedules(store), chime.NewQueues(store)
		for name, most := range map[string]int{"any": 0, "two": 2} {
			options := []chime.PutOption{chime.JobName("j"), chime.NoImmediateRun(), chime.Group("g"), chime.MaxUnfinished(most)}
			if _, err := schedules.Put(t.Context(), name, recurrence.Recurrence{Cron: "@yearly"}, options...); err != nil {
				t.Fatal(err)
			}
		}
		if err := queues.SetGroup(t.Context(), "default", "g", chime.GroupRule{Waiting: 3}); err != nil {
			t.Fatal(err)
		}
		for i, step := range []struct {
			schedule string
			want     error
		}{
			{"two", nil}, {"two", nil},
			{"two", chime.ErrMaxUnfinished}, // the group has room for one more
			{"any", nil},
			{"any", chime.ErrGroupFull},
			{"two", chime.ErrGroupFull}, // both limits refuse it: the group's comes first
		} {
			receipt, err := schedules.Trigger(t.Context(), step.schedule)
			if !errors.Is(err, step.want) || receipt.Full != (step.want == chime.ErrGroupFull) {
				t.Errorf("run %d, of %q: %+v, %v; want %v", i, step.schedule, receipt, err, step.want)
			}
		}
	})
}

// However many callers run a schedule at the same time, it gets no more unfinished runs than its maximum. A run that is known is not refused.
func TestTriggersStopAtTheMaximumOfUnfinishedRuns(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		if _, err := schedules.Put(t.Context(), "s", recurrence.Recurrence{Cron: "@yearly"}, chime.JobName("j"), chime.NoImmediateRun(), chime.MaxUnfinished(10)); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var all sync.WaitGroup
		accepted, refused := 0, 0
		for i := range 40 {
			all.Go(func() {
				_, err := chime.NewSchedules(f.Server.Store()).Trigger(t.Context(), "s", chime.ID(fmt.Sprint(i%20)))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					accepted++
				case errors.Is(err, chime.ErrMaxUnfinished):
					refused++
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		unfinished := func() int {
			s, err := schedules.Get(t.Context(), "s")
			if err != nil {
				t.Fatal(err)
			}
			return s.Last.Unfinished
		}
		if n := unfinished(); n != 10 || accepted != 20 || refused != 20 { // each ID was sent twice
			t.Errorf("%d unfinished, %d accepted, %d refused; want 10, 20, 20", n, accepted, refused)
		}
		if _, err := schedules.Trigger(t.Context(), "s"); !errors.Is(err, chime.ErrMaxUnfinished) {
			t.Errorf("one more: %v", err)
		}
		if _, err := schedules.Put(t.Context(), "s", recurrence.Recurrence{Cron: "@yearly"}, chime.JobName("j"), chime.NoImmediateRun(), chime.MaxUnfinished(11)); err != nil {
			t.Fatal(err)
		}
		if _, err := schedules.Trigger(t.Context(), "s"); err != nil || unfinished() != 11 {
			t.Errorf("with a higher maximum: %v, %d unfinished", err, unfinished())
		}
		w := f.Worker(chime.WorkerOptions{})
		w.Handle("j", func(context.Context, *chime.Job) error { return nil })
		stop := f.Start(w)
		fixture.Pass(time.Minute)
		if _, err := schedules.Trigger(t.Context(), "s"); err != nil {
			t.Errorf("after all have ended: %v", err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// Planned occurrences beyond the maximum are skipped under every overlap policy: they are counted, and the history has the reason. A count is not used up by
// them, and the schedule continues when runs have ended.
func TestOccurrencesBeyondTheMaximumOfUnfinishedRunsAreSkipped(t *testing.T) {
	for _, overlap := range []chime.OverlapPolicy{chime.OverlapAllow, chime.OverlapSkip, chime.OverlapWait, chime.OverlapCancel} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			schedules := chime.NewSchedules(f.Server.Store())
			broken := true
			w := f.Worker(chime.WorkerOptions{})
			w.Handle("j", func(context.Context, *chime.Job) error {
				if broken {
					return chime.RetryAfter(time.Hour, errors.New("no"))
				}
				return nil
			})
			stop := f.Start(w)
			get := func() *chime.Schedule {
				s, err := schedules.Get(t.Context(), "s")
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			fixture.Pass(30 * time.Second)
			_, err := schedules.Put(t.Context(), "s", recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 1, Count: 500}, chime.JobName("j"), chime.NoImmediateRun(),
				chime.Overlap(overlap), chime.MaxUnfinished(5), chime.MaxAttempts(100), chime.KeepRuns(100))
			if err != nil {
				t.Fatal(err)
			}
			fixture.Pass(20 * time.Minute)
			s := get()
			want := 5
			if overlap == chime.OverlapCancel { // each ends the retries of the one before
				want = 1
			}
			full := s.Counters.Full
			if s.Last.Unfinished != want || s.Counters.Skipped != full || (want == 5) != (full > 10) || s.Used > 21-int(full) {
				t.Errorf("%s: %d unfinished, counters %+v, %d used", overlap, s.Last.Unfinished, s.Counters, s.Used)
			}
			reasons := 0
			for run, err := range schedules.Runs(t.Context(), "s") {
				if err != nil {
					t.Fatal(err)
				}
				if run.Outcome == chime.RunSkipped {
					reasons++
					if run.Error != "5 runs of the schedule have not ended, the maximum" || run.Attempt != 0 {
						t.Errorf("%s: a skipped run: %+v", overlap, run)
					}
				}
			}
			if reasons != int(full) {
				t.Errorf("%s: %d runs have the reason, %d were skipped", overlap, reasons, full)
			}
			broken = false
			fixture.Pass(2 * time.Hour)
			if s = get(); s.Last.Unfinished > 1 || s.Counters.Full > full+60 || s.Last.Outcome != chime.RunDone {
				t.Errorf("%s: after the retries: %d unfinished, last %s, counters %+v", overlap, s.Last.Unfinished, s.Last.Outcome, s.Counters)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A backfill places up to the maximum, and counts the others as skipped.
func TestABackfillStopsAtTheMaximumOfUnfinishedRuns(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		_, err := schedules.Put(t.Context(), "s", recurrence.Recurrence{Cron: "@hourly"}, chime.JobName("j"), chime.NoImmediateRun(), chime.Overlap(chime.OverlapAllow),
			chime.MaxUnfinished(30))
		if err != nil {
			t.Fatal(err)
		}
		from := time.Now().Add(-100 * time.Hour)
		filled, err := schedules.Backfill(t.Context(), "s", from, time.Now())
		if err != nil || filled.Placed != 30 || filled.Skipped != 70 || filled.Existing != 0 {
			t.Errorf("%+v, %v; want 30 placed and 70 skipped", filled, err)
		}
		filled, err = schedules.Backfill(t.Context(), "s", from, time.Now())
		if err != nil || filled.Placed != 0 || filled.Skipped != 70 || filled.Existing != 30 {
			t.Errorf("again: %+v, %v; want 30 existing and 70 skipped", filled, err)
		}
		s, err := schedules.Get(t.Context(), "s")
		if err != nil || s.Last.Unfinished != 30 || s.Counters.Full != 140 || s.Counters.Skipped != 140 {
			t.Errorf("%d unfinished, counters %+v, %v", s.Last.Unfinished, s.Counters, err)
		}
		if _, err := schedules.Trigger(t.Context(), "s"); !errors.Is(err, chime.ErrMaxUnfinished) {
			t.Errorf("a manual run beside them: %v", err)
		}
	})
}
