package schedules_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

var everyHour = recurrence.Recurrence{Cron: "0 * * * *"}

// A ledger records the occurrences that the handlers run.
type ledger struct {
	mu       sync.Mutex
	began    map[time.Time]int
	order    []time.Time     // as their first attempts began
	lateness []time.Duration // of the occurrences planned since from
	from     time.Time       // the beginning of lateness
	running  int
	most     int
}

func newLedger(from time.Time) *ledger { return &ledger{began: map[time.Time]int{}, from: from} }

func (l *ledger) begin(job *chime.Job) (attempts int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running++
	l.most = max(l.most, l.running)
	l.began[job.Planned]++
	if l.began[job.Planned] == 1 {
		l.order = append(l.order, job.Planned)
	}
	if job.Planned.After(l.from) && l.began[job.Planned] == 1 {
		l.lateness = append(l.lateness, job.Lateness())
	}
	return l.began[job.Planned]
}

func (l *ledger) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
}

// runsBefore returns the occurrences planned before from, in order.
func (l *ledger) runsBefore(from time.Time) []time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.order), func(at time.Time) bool { return !at.Before(from) })
}

// fill backfills a range to its end.
func fill(t *testing.T, schedules *chime.Schedules, name string, from, to time.Time) (all chime.Backfilled, calls int) {
	t.Helper()
	for ; !from.IsZero(); calls++ {
		filled, err := schedules.Backfill(t.Context(), name, from, to)
		if err != nil {
			t.Fatal(err)
		}
		all.Placed += filled.Placed
		all.Existing += filled.Existing
		from = filled.Next
	}
	return all, calls
}

// Half a year before a schedule's creation (in the short run two months), or a month of it in two calls, is backfilled while the schedule continues.
// Each hour runs once, and under every policy except allow the hours run in order and one at a time. The schedule's own occurrences are at most one run late.
func TestHalfAYearOfHoursIsBackfilledWhileTheScheduleRuns(t *testing.T) {
	for policy, hours := range map[chime.OverlapPolicy]int{chime.OverlapAllow: long.Seeds(1460, 4380), chime.OverlapSkip: 740, chime.OverlapWait: 740, chime.OverlapCancel: 740} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				const takes = time.Minute // duration of the first hour of a day; the others take no time
				schedules := chime.NewSchedules(f.Server.Store())
				if _, err := schedules.Put(t.Context(), "report", everyHour, chime.Overlap(policy), chime.Misfire(chime.MisfireSkip), chime.Args("all"), chime.KeepRuns(200),
					chime.Retry(chime.Fixed(10*time.Minute))); err != nil {
					t.Fatal(err)
				}
				begin := time.Now()
				to := begin.Truncate(time.Hour)
				from := to.Add(-time.Duration(hours) * time.Hour)
				book := newLedger(begin)
				w := f.Worker(chime.WorkerOptions{Concurrency: 4})
				w.Handle("report", func(ctx context.Context, job *chime.Job) error {
					attempt := book.begin(job)
					defer book.end()
					var args string
					if err := job.Decode(&args); err != nil || args != "all" || job.Schedule != "report" || job.MaxAttempts != 5 {
						return chime.Discard(fmt.Errorf("%q, %+v: %w", args, job, err))
					}
					if job.Planned.Hour() == 0 || job.Planned.After(begin) {
						select {
						case <-time.After(takes):
						case <-ctx.Done():
							return context.Cause(ctx)
						}
					}
					if job.Planned.Day() == 3 && job.Planned.Hour() == 5 && attempt == 1 {
						return errors.New("again")
					}
					return nil
				})
				stop := f.Start(w)
				fixture.Pass(90 * time.Minute)
				var all chime.Backfilled
				calls := 0
				for at := from; !at.IsZero(); calls++ {
					filled, err := schedules.Backfill(t.Context(), "report", at, to)
					if err != nil || filled.Existing != 0 {
						t.Fatalf("backfilled from %v: %+v, %v", at, filled, err)
					}
					all.Placed += filled.Placed
					at = filled.Next
					fixture.Pass(20 * time.Minute) // nearly all of them run in this time
				}
				if all.Placed != hours || calls != (hours+499)/500 {
					t.Errorf("backfilled %+v in %d calls, want %d in %d", all, calls, hours, (hours+499)/500)
				}
				fixture.Pass(time.Hour)
				live := int(time.Since(begin) / time.Hour)
				if err := stop(); err != nil {
					t.Error(err)
				}
				before := book.runsBefore(to)
				if len(before) != hours {
					t.Errorf("%d of %d hours ran", len(before), hours)
				}
				retried := 0
				for at, n := range book.began {
					if again := at.Before(to) && at.Day() == 3 && at.Hour() == 5; again && n == 2 {
						retried++
					} else if n != 1 && !again {
						t.Errorf("%v began %d times", at, n)
					}
				}
				if failed := hours / 730; retried < failed && policy != chime.OverlapCancel || retried == 0 {
					t.Errorf("%d of the %d failed ones ran again", retried, failed)
				}
				if policy != chime.OverlapAllow && (!slices.IsSortedFunc(before, time.Time.Compare) || book.most != 1) {
					t.Errorf("in order: %v, at most %d at a time, want one", slices.IsSortedFunc(before, time.Time.Compare), book.most)
				}
				late := takes + time.Second
				if len(book.lateness) != live || slices.Max(book.lateness) > late {
					t.Errorf("%d own occurrences ran, at most %v late; want %d, at most %v", len(book.lateness), slices.Max(book.lateness), live, late)
				}
				now, err := schedules.Get(t.Context(), "report")
				if err != nil || now.Last.Unfinished != 0 || now.Last.Outcome != chime.RunDone || now.Counters.Skipped+now.Counters.Missed+now.Counters.Dead != 0 {
					t.Errorf("%+v, %+v, %v; want nothing unfinished, skipped, missed or dead", now.Last, now.Counters, err)
				}
				if ended := now.Counters.Done + now.Counters.Superseded; ended != int64(hours+1+live) || now.Counters.Started != int64(live+1) || policy != chime.OverlapCancel && now.Counters.Superseded > 0 {
					t.Errorf("%+v, want %d done", now.Counters, hours+1+live)
				}
				listed := runsOfJob(t, schedules, "report")
				if len(listed) < 200 || !slices.ContainsFunc(listed, func(r chime.RunInfo) bool { return r.Planned.Before(to) }) {
					t.Errorf("%d runs are listed, want 200, with backfilled ones", len(listed))
				}
				if stats := f.Stats(); stats.Waiting+stats.InFlight() > 0 {
					t.Errorf("%+v, want nothing left", stats)
				}
			})
		})
	}
}

// runsOfJob returns the runs that the schedule lists.
func runsOfJob(t *testing.T, schedules *chime.Schedules, name string) (runs []chime.RunInfo) {
	t.Helper()
	for run, err := range schedules.Runs(t.Context(), name) {
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, *run)
	}
	return runs
}

// An invalid backfill is refused before anything is placed, and nothing outside its range changes.
func TestInvalidBackfillsAreRefused(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		if _, err := schedules.Put(t.Context(), "s", everyHour, chime.JobName("j")); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		for _, c := range []struct {
			name     string
			from, to time.Time
			field    string
		}{
			{"s", time.Time{}, now, "from"}, {"s", now, time.Time{}, "to"}, {"s", now, now.Add(-1), "to"},
			{"s", time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC), now, "from"}, {"s", time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2201, 1, 1, 0, 0, 0, 0, time.UTC), "from"},
			{" s", now, now, "name"},
		} {
			filled, err := schedules.Backfill(t.Context(), c.name, c.from, c.to)
			var invalid *chime.InvalidError
			if !errors.As(err, &invalid) || invalid.Field != c.field || invalid.Value == "" || invalid.Limit == "" || filled.Placed != 0 {
				t.Errorf("%q from %v to %v: %+v, %v; want an error of %s", c.name, c.from, c.to, filled, err, c.field)
			}
		}
		if filled, err := schedules.Backfill(t.Context(), "nobody", now, now.Add(time.Hour)); !errors.Is(err, chime.ErrNotFound) || !filled.Next.Equal(now) || !strings.Contains(err.Error(), "nobody") {
			t.Errorf("%+v, %v; want not found", filled, err)
		}
		for _, c := range []struct{ from, to time.Time }{{now, now}, {now.Add(time.Hour), now.Add(24 * time.Hour)}} { // an empty range; the future
			if filled, err := schedules.Backfill(t.Context(), "s", c.from, c.to); err != nil || filled.Placed != 0 || !filled.Next.IsZero() {
				t.Errorf("from %v to %v: %+v, %v; want nothing", c.from, c.to, filled, err)
			}
		}
		if s := f.Stats(); s.Waiting != 0 || s.Delayed != 1 {
			t.Errorf("%+v, want only the next occurrence", s)
		}
	})
}

// A backfill ends at the schedule's cursor: instants that a pause delays belong to the schedule, and so does its next occurrence.
func TestABackfillEndsAtTheCursor(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		put, err := schedules.Put(t.Context(), "s", everyHour, chime.JobName("j"), chime.Overlap(chime.OverlapAllow), chime.NoImmediateRun())
		if err != nil {
			t.Fatal(err)
		}
		begin := put.Created.Truncate(time.Hour)
		book := newLedger(begin)
		w := f.Worker(chime.WorkerOptions{})
		w.Handle("j", func(_ context.Context, job *chime.Job) error {
			defer book.end()
			book.begin(job)
			return nil
		})
		stop := f.Start(w)
		fixture.Pass(5*time.Hour + 30*time.Minute)
		if err := schedules.Pause(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(5 * time.Hour)
		all, _ := fill(t, schedules, "s", begin.Add(-2*time.Hour), begin.Add(30*time.Hour))
		fixture.Pass(time.Minute)
		if all.Placed != 8 || all.Existing != 0 { // 2 before the creation, and the 6 that ran
			t.Errorf("while it is paused: %+v, want 8", all)
		}
		if got := len(book.began); got != 8 {
			t.Errorf("%d hours ran, want 8", got)
		}
		if err := schedules.Resume(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		now, err := schedules.Get(t.Context(), "s")
		if err != nil || now.Next.IsZero() {
			t.Fatalf("%+v, %v", now, err)
		}
		all, _ = fill(t, schedules, "s", now.Next.Add(-2*time.Hour), now.Next.Add(30*time.Hour))
		if all.Placed != 2 || all.Existing != 1 {
			t.Errorf("with the next one placed at %v: %+v, want 2 placed, 1 existing", now.Next, all)
		}
		if s := f.Stats(); s.Waiting != 2 || s.Delayed != 1 {
			t.Errorf("%+v, want 2 ready and the next one", s)
		}
	})
}

// Two concurrent callers place each hour once.
func TestTwoBackfillsAtOncePlaceEachHourOnce(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		put, err := schedules.Put(t.Context(), "s", everyHour, chime.JobName("j"))
		if err != nil {
			t.Fatal(err)
		}
		to := put.Created.Truncate(time.Hour)
		from := to.Add(-2000 * time.Hour)
		var callers sync.WaitGroup
		filled := make([]chime.Backfilled, 2)
		for i := range filled {
			callers.Go(func() { filled[i], _ = fill(t, schedules, "s", from, to) })
		}
		callers.Wait()
		if a, b := filled[0], filled[1]; a.Placed+b.Placed != 2000 || a.Placed+a.Existing != 2000 || b.Placed+b.Existing != 2000 {
			t.Errorf("%+v and %+v, want 2000 placed by both together", a, b)
		}
		if s, err := schedules.Get(t.Context(), "s"); err != nil || s.Last.Unfinished != 2000 {
			t.Errorf("%+v, %v; want 2000 unfinished", s.Last, err)
		}
	})
}

// A backfill neither delays nor drops the occurrences that the schedule catches up.
func TestCaughtUpOccurrencesRunBeforeBackfilledOnes(t *testing.T) {
	for _, policy := range []chime.OverlapPolicy{chime.OverlapSkip, chime.OverlapWait, chime.OverlapCancel} {
		t.Run(string(policy), func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				schedules := chime.NewSchedules(f.Server.Store())
				put, err := schedules.Put(t.Context(), "s", everyHour, chime.JobName("j"), chime.Overlap(policy), chime.Misfire(chime.MisfireCatchUp))
				if err != nil {
					t.Fatal(err)
				}
				begin := put.Created.Truncate(time.Hour)
				fixture.Pass(10*time.Hour + 30*time.Minute) // without a worker
				fill(t, schedules, "s", begin.Add(-100*time.Hour), begin)
				book := newLedger(begin)
				w := f.Worker(chime.WorkerOptions{Concurrency: 3})
				w.Handle("j", func(_ context.Context, job *chime.Job) error {
					defer book.end()
					book.begin(job)
					<-time.After(time.Minute)
					return nil
				})
				stop := f.Start(w)
				fixture.Pass(25 * time.Minute)
				book.mu.Lock()
				caughtUp := 0
				for at := range book.began {
					if at.After(begin) {
						caughtUp++
					}
				}
				book.mu.Unlock()
				if caughtUp != 10 {
					t.Errorf("after 25 minutes %d of 10 were caught up, want all", caughtUp)
				}
				fixture.Pass(100 * time.Minute)
				if err := stop(); err != nil {
					t.Error(err)
				}
				if got := book.runsBefore(begin); len(got) != 100 || !slices.IsSortedFunc(got, time.Time.Compare) || book.most != 1 {
					t.Errorf("%d of 100 ran, in order %v, at most %d at a time", len(got), slices.IsSortedFunc(got, time.Time.Compare), book.most)
				}
			})
		})
	}
}

// A worker vanishes during a backfill: its jobs run again first, and all others run once.
func TestABackfillOutlivesAWorker(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		put, err := schedules.Put(t.Context(), "s", everyHour, chime.JobName("j"), chime.Overlap(chime.OverlapWait))
		if err != nil {
			t.Fatal(err)
		}
		to := put.Created.Truncate(time.Hour)
		fill(t, schedules, "s", to.Add(-50*time.Hour), to)
		book := newLedger(to)
		handle := func(_ context.Context, job *chime.Job) error {
			defer book.end()
			book.begin(job)
			<-time.After(time.Minute)
			return nil
		}
		vanishing := protocol.WorkCall{Partition: protocol.Partition{Queue: "default"}, Worker: "gone", Session: "gone", Number: 1, TTL: 12 * time.Second, Take: 10}
		taken := f.Server.Store().Protocol().Work(t.Context(), []protocol.WorkCall{vanishing})[0].Taken
		if len(taken) == 0 {
			t.Fatal("nothing was taken")
		}
		w := f.Worker(chime.WorkerOptions{})
		w.Handle("j", handle)
		stop := f.Start(w)
		fixture.Pass(70 * time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		before := book.runsBefore(to)
		if len(before) != 50 || !slices.IsSortedFunc(before, time.Time.Compare) || !strings.HasSuffix(taken[0].ID, before[0].UTC().Format(time.RFC3339)) {
			t.Errorf("%d of 50 ran, the first %v; want all, in order, the first %s", len(before), before[0], taken[0].ID)
		}
	})
}
