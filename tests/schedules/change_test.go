package schedules_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// Many editors read a schedule and change what they have read, again and again. Each time one of them wins, and the others get a conflict with the
// stored schedule.
func TestOneOfTwoEditorsWinsAndTheOtherGetsAConflict(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		seen, err := schedules.Put(t.Context(), "s", fixture.Minutely, chime.JobName("j"))
		if err != nil {
			t.Fatal(err)
		}
		actions := map[string]func(ctx context.Context, editor int, r chime.IfRevision) error{
			"put": func(ctx context.Context, editor int, r chime.IfRevision) error {
				_, err := schedules.Put(ctx, "s", fixture.Minutely, chime.JobName("j"), chime.Args(fmt.Sprint(editor, r)), r)
				return err
			},
			"move": func(ctx context.Context, editor int, r chime.IfRevision) error {
				_, err := schedules.Put(ctx, "s", fixture.Minutely, chime.JobName("j"), chime.Queue(fmt.Sprint("q", editor)), chime.Args(r), r)
				return err
			},
			"pause": func(ctx context.Context, editor int, r chime.IfRevision) error {
				return schedules.Pause(ctx, "s", r, chime.Note{Text: fmt.Sprint(editor, r)})
			},
		}
		for _, action := range []string{"put", "move", "pause", "move", "put", "pause"} {
			var all sync.WaitGroup
			errs := make([]error, 5)
			for editor := range errs {
				all.Go(func() { errs[editor] = actions[action](t.Context(), editor, chime.IfRevision(seen.Revision)) })
			}
			all.Wait()
			now, err := schedules.Get(t.Context(), "s")
			if err != nil || now.Revision <= seen.Revision {
				t.Fatalf("%s: %+v, %v; want a later revision than %d", action, now, err, seen.Revision)
			}
			won := 0
			for _, err := range errs {
				var conflict *chime.ConflictError
				switch {
				case err == nil:
					won++
				case action == "move" && strings.Contains(err.Error(), "keep moving it"): // they block each other until one has made its change
				case !errors.As(err, &conflict) || !errors.Is(err, chime.ErrConflict) || conflict.Schedule.Name != "s":
					t.Errorf("%s: %v, want a conflict with the stored one", action, err)
				}
			}
			if won != 1 {
				t.Errorf("%s: %d of 5 editors won, want one: %v", action, won, errs)
			}
			seen = now
		}
		if err := schedules.Delete(t.Context(), "s", chime.IfRevision(seen.Revision-1)); !errors.Is(err, chime.ErrConflict) {
			t.Errorf("deleted another revision: %v, want a conflict", err)
		}
		if err := schedules.Delete(t.Context(), "s", chime.IfRevision(seen.Revision)); err != nil {
			t.Error(err)
		}
		for action, err := range map[string]error{
			"put": actions["put"](t.Context(), 1, chime.IfRevision(seen.Revision)), "pause": actions["pause"](t.Context(), 1, chime.IfRevision(seen.Revision)),
			"delete": schedules.Delete(t.Context(), "s", chime.IfRevision(seen.Revision)),
		} {
			if !errors.Is(err, chime.ErrNotFound) {
				t.Errorf("%s of a deleted schedule: %v, want ErrNotFound", action, err)
			}
		}
	})
}

// A schedule that is created paused runs nothing before it is resumed. Creating it again with another definition is a conflict.
func TestAScheduleCreatedPausedRunsNothingBeforeItIsResumed(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		note := chime.Note{Text: "not confirmed", By: "deploy"}
		rule := recurrence.Recurrence{Frequency: recurrence.Minute, Count: 3} // runs at once
		made, err := schedules.Put(t.Context(), "s", rule, chime.JobName("j"), chime.IfAbsent(), chime.Paused(note))
		if err != nil || made.State != chime.StatePaused || made.Note.Text != note.Text || made.Note.By != note.By || !made.Note.At.Equal(time.Now()) {
			t.Fatalf("created %+v, %v; want it paused with its note", made, err)
		}
		var r fixture.Runs
		w := f.Worker(chime.WorkerOptions{})
		w.Handle("j", func(_ context.Context, job *chime.Job) error { r.Add(job.ID); return nil })
		stop := f.Start(w)
		fixture.Pass(10 * time.Minute)
		if len(r.N) > 0 {
			t.Errorf("%v ran while the schedule was paused", r.N)
		}
		again, err := schedules.Put(t.Context(), "s", rule, chime.JobName("j"), chime.IfAbsent(), chime.Paused(chime.Note{Text: "another"}))
		if err != nil || again.Revision != made.Revision || again.Note != made.Note {
			t.Errorf("created again: %+v, %v; want it unchanged", again, err)
		}
		_, err = schedules.Put(t.Context(), "s", fixture.Minutely, chime.JobName("j"), chime.IfAbsent())
		var conflict *chime.ConflictError
		if !errors.As(err, &conflict) || conflict.Schedule.Note.By != "deploy" {
			t.Errorf("created with another rule: %v, want a conflict with the stored one", err)
		}
		if err := schedules.Resume(t.Context(), "s", chime.IfRevision(again.Revision), chime.SkipGap()); err != nil {
			t.Error(err)
		}
		resumed := time.Now()
		fixture.Pass(10 * time.Minute)
		now, err := schedules.Get(t.Context(), "s")
		if err != nil || len(r.N) != 3 || now.Note != (chime.Note{}) || now.State != chime.StateCompleted || now.Counters.Missed != 11 {
			t.Errorf("%v ran, now %+v, %v; want three runs, and the first and ten more counted as missed", r.N, now, err)
		}
		for id, at := range r.At {
			if !at.After(resumed) {
				t.Errorf("%s ran at %v, want after %v", id, at, resumed)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A pause of an hour, under each misfire policy, with and without its gap: the runs and the counters add up to the planned instants.
func TestSkipGapCountsTheInstantsThatAPauseMissed(t *testing.T) {
	for _, c := range []struct {
		misfire    chime.MisfirePolicy
		skips      bool
		ran, count int
	}{
		// of 71 instants, 6 come before the pause and 5 after it
		{chime.MisfireRunOnce, true, 11, 60}, {chime.MisfireSkip, true, 11, 60}, {chime.MisfireCatchUp, true, 11, 60},
		{chime.MisfireRunOnce, false, 12, 59}, {chime.MisfireSkip, false, 11, 60}, {chime.MisfireCatchUp, false, 71, 0},
	} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			schedules := chime.NewSchedules(f.Server.Store())
			var r fixture.Runs
			w := f.Worker(chime.WorkerOptions{})
			w.Handle("j", func(_ context.Context, job *chime.Job) error { r.Add(job.ID); return nil })
			stop := f.Start(w)
			if _, err := schedules.Put(t.Context(), "s", fixture.Minutely, chime.JobName("j"), chime.Misfire(c.misfire)); err != nil {
				t.Fatal(err)
			}
			fixture.Pass(5*time.Minute + 30*time.Second)
			note := chime.Note{Text: "moving house", By: "anna"}
			if err := schedules.Pause(t.Context(), "s", note); err != nil {
				t.Fatal(err)
			}
			fixture.Pass(time.Hour)
			paused, err := schedules.Get(t.Context(), "s")
			if err != nil || paused.Note.Text != note.Text || !paused.Note.At.Equal(time.Now().Add(-time.Hour)) {
				t.Errorf("paused %+v, %v; want the note from an hour ago", paused.Note, err)
			}
			var options []chime.ChangeOption
			if c.skips {
				options = append(options, chime.SkipGap())
			}
			if err := schedules.Resume(t.Context(), "s", options...); err != nil {
				t.Fatal(err)
			}
			fixture.Pass(5 * time.Minute)
			s, err := schedules.Get(t.Context(), "s")
			if err != nil || len(r.N) != c.ran || s.Counters.Missed != int64(c.count) || s.Note != (chime.Note{}) {
				t.Errorf("%s, skips %v: %d ran and %d were missed, note %v, %v; want %d and %d", c.misfire, c.skips, len(r.N), s.Counters.Missed, s.Note, err, c.ran, c.count)
			}
			var gaps []*chime.RunInfo // of the gap that was skipped
			for run, err := range schedules.Runs(t.Context(), "s") {
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(run.Error, "60 instants until") {
					gaps = append(gaps, run)
				}
			}
			if first := paused.Note.At.Truncate(time.Minute).Add(time.Minute); c.skips != (len(gaps) == 1) {
				t.Errorf("%s, skips %v: the history contains the gap %d times", c.misfire, c.skips, len(gaps))
			} else if c.skips && (gaps[0].Outcome != chime.RunMissed || gaps[0].Note != "moving house (anna)" || !gaps[0].Planned.Equal(first) || gaps[0].Attempt != 0) {
				t.Errorf("%s: the history contains the gap as %+v; want it missed since %v, with the pause's note", c.misfire, gaps[0], first)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Two programs with several deployments use one store. Each deployment declares a set of schedules. After its start, schedules that are gone from
// the set are deleted, but only those of its own program. An older process undoes nothing, even if it starts again.
func TestADeploymentPrunesItsOwnLinesAndAnOlderOneChangesNothingBack(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		log := new(fixture.LogBuffer)
		start := func(owner string, version int64, args any, names ...string) (stop func()) {
			s := chime.NewScheduler(f.Server.Store(), chime.SchedulerOptions{Owner: owner, Version: version, Prune: true, Logger: slog.New(slog.NewTextHandler(log, nil))})
			for _, name := range names {
				if err := s.Schedule(name, fixture.Minutely, chime.JobName("j"), chime.Args(args)); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(s.Declared(), names) {
				t.Errorf("declared %v, want %v", s.Declared(), names)
			}
			stop = f.RunScheduler(s)
			fixture.Pass(30 * time.Second)
			return stop
		}
		schedules := chime.NewSchedules(f.Server.Store())
		is := func(when, want string) {
			t.Helper()
			var got []string
			for s, err := range schedules.List(t.Context(), chime.ScheduleFilter{}) {
				if err != nil {
					t.Fatal(err)
				}
				var args string
				_ = s.Decode(&args)
				got = append(got, fmt.Sprintf("%s:%s%d:%s", s.Name, s.Owner, s.Version, args))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: got  %s\nwant %s", when, strings.Join(got, " "), want)
			}
		}
		if _, err := schedules.Put(t.Context(), "user:7", fixture.Minutely, chime.JobName("j"), chime.Args("")); err != nil {
			t.Fatal(err)
		}
		stopSales := start("sales", 900, "x", "leads", "quotes")
		stopOld := start("billing", 1, "old", "dunning", "invoices", "reports")
		is("old", "dunning:billing1:old invoices:billing1:old leads:sales900:x quotes:sales900:x reports:billing1:old user:7:0:")
		stopNew := start("billing", 2, "new", "invoices", "taxes")
		now := "invoices:billing2:new leads:sales900:x quotes:sales900:x taxes:billing2:new user:7:0:"
		is("new", now)
		fixture.Pass(time.Hour)
		is("an hour later", now)
		stopOld()
		stopOld = start("billing", 1, "old", "dunning", "invoices", "reports")
		is("the old one starts again", now)
		if n := log.Count("event=schedule.outdated"); n != 2 {
			t.Errorf("%d log lines that a higher version has declared, want one of each process of the old one", n)
		}
		fixture.Pass(6 * time.Hour)
		is("hours later", now)
		if n := log.Count("event=schedule.pruned"); n != 2 {
			t.Errorf("%d schedules are logged as pruned, want 2", n)
		}
		stopNew()
		back := start("billing", 3, "old", "dunning", "invoices", "reports") // the old build, deployed again
		is("back", "dunning:billing3:old invoices:billing3:old leads:sales900:x quotes:sales900:x reports:billing3:old user:7:0:")
		back()
		stopOld()
		stopSales()
	})
}

// Upcoming lists what then runs, for every rule, count and policy.
func TestUpcomingListsTheRunsThatFollow(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		var r fixture.Runs
		w := f.Worker(chime.WorkerOptions{Concurrency: 50})
		w.Handle("j", func(_ context.Context, job *chime.Job) error { r.Add(job.ID); return nil })
		now := time.Now()
		rules := map[string]recurrence.Recurrence{
			"cron": fixture.Minutely, "counted": {Frequency: recurrence.Minute, Interval: 7, Count: 5}, "once": {StartTime: now.Add(42 * time.Minute)},
			"ends": {Frequency: recurrence.Minute, Interval: 5, EndTime: now.Add(31 * time.Minute)}, "daily": {Cron: "30 0 * * *"},
		}
		upcoming := map[string][]time.Time{}
		readUpcoming := func(until time.Time) {
			for name := range rules {
				for _, misfire := range []chime.MisfirePolicy{chime.MisfireRunOnce, chime.MisfireSkip, chime.MisfireCatchUp} {
					id := name + string(misfire)
					times, err := schedules.Upcoming(t.Context(), id, 1000)
					if err != nil {
						t.Fatal(err)
					}
					for _, at := range times {
						if !at.After(until) {
							upcoming[id] = append(upcoming[id], at)
						}
					}
				}
			}
		}
		for name, rule := range rules {
			for _, misfire := range []chime.MisfirePolicy{chime.MisfireRunOnce, chime.MisfireSkip, chime.MisfireCatchUp} {
				if _, err := schedules.Put(t.Context(), name+string(misfire), rule, chime.JobName("j"), chime.Misfire(misfire)); err != nil {
					t.Fatal(err)
				}
			}
		}
		fixture.Pass(20 * time.Minute) // without a worker
		until := time.Now().Add(time.Hour)
		readUpcoming(until)
		soonest, err := schedules.Soonest(t.Context(), 500)
		if err != nil || len(soonest) != 15 || !slices.IsSortedFunc(soonest, func(a, b *chime.Schedule) int { return a.Next.Compare(b.Next) }) {
			t.Errorf("%d soonest, %v; want 15 in order", len(soonest), err)
		}
		stop := f.Start(w)
		fixture.Pass(time.Hour + 10*time.Second)
		ran := map[string][]time.Time{}
		for id := range r.N {
			name, at, _ := strings.Cut(id, "@")
			planned, _ := time.Parse(time.RFC3339, at)
			ran[name] = append(ran[name], planned)
		}
		for name := range rules {
			for _, misfire := range []chime.MisfirePolicy{chime.MisfireRunOnce, chime.MisfireSkip, chime.MisfireCatchUp} {
				id := name + string(misfire)
				slices.SortFunc(ran[id], time.Time.Compare)
				if !slices.EqualFunc(ran[id], upcoming[id], time.Time.Equal) {
					t.Errorf("%s: ran %v\nupcoming %v", id, ran[id], upcoming[id])
				}
			}
		}
		if err := schedules.Pause(t.Context(), "cronskip"); err != nil {
			t.Fatal(err)
		}
		if times, err := schedules.Upcoming(t.Context(), "cronskip", 3); err != nil || len(times) > 0 {
			t.Errorf("a paused schedule has %v, %v; want nothing", times, err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
