package schedules_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// Trigger runs a paused schedule once. Options that the call does not set come from the definition. Nothing else runs, and the schedule does not
// change.
func TestAPausedScheduleThatIsTriggeredRunsOnce(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		fixture.Pass(1500 * time.Millisecond)
		schedules, jobs := chime.NewSchedules(f.Server.Store()), chime.NewJobs(f.Server.Store())
		before, err := schedules.Put(t.Context(), "report", fixture.Minutely, chime.Queue("reports"), chime.JobName("make"), chime.Args("all"), chime.MaxAttempts(7), chime.Timeout(time.Minute),
			chime.Header("tenant", "a"), chime.Header("by", "schedule"), chime.Keep(time.Hour), chime.Retry(chime.Fixed(time.Second)), chime.Paused(chime.Note{Text: "why"}))
		if err != nil {
			t.Fatal(err)
		}
		var ran []string
		w := f.Worker(chime.WorkerOptions{Queues: map[string]int{"reports": 1}})
		w.Handle("make", func(_ context.Context, job *chime.Job) error {
			var args string
			if err := job.Decode(&args); err != nil {
				return err
			}
			deadline := job.Timeout
			ran = append(ran, fmt.Sprint(job.ID, " of ", job.Schedule, " for ", job.Header["tenant"], " by ", job.Header["by"], " with ", args, ", ", job.Attempt, " of ", job.MaxAttempts, " in ", deadline, " planned ", job.Planned.Format("05.000")))
			if args == "fail" && job.Attempt == 1 {
				return errors.New("no")
			}
			return job.Return("made " + args)
		})
		stop := f.Start(w)
		fixture.Pass(10 * time.Minute) // it is paused
		first, err := schedules.Trigger(t.Context(), "report", chime.Header("by", "anna"))
		if err != nil || first.Queue != "reports" || first.Existing || !strings.HasPrefix(first.ID, "report#") || len(first.ID) != len("report#")+14 {
			t.Fatalf("receipt %+v, %v", first, err)
		}
		var made string
		if err := jobs.Wait(t.Context(), first.Queue, first.ID, &made); err != nil || made != "made all" {
			t.Errorf("waited: %q, %v", made, err)
		}
		if info, err := jobs.Get(t.Context(), "reports", first.ID); err != nil || info.Schedule != "report" || info.State != chime.JobDone {
			t.Errorf("it is %+v, %v; want it done, of its schedule", info, err)
		}
		second, err := schedules.Trigger(t.Context(), "report", chime.Args("fail"), chime.ID("again"), chime.In(time.Minute), chime.MaxAttempts(3))
		if err != nil || second.ID != "report#again" || second.Existing {
			t.Errorf("receipt %+v, %v", second, err)
		}
		for _, id := range []string{"again", second.ID} {
			if r, err := schedules.Trigger(t.Context(), "report", chime.ID(id)); err != nil || r.ID != second.ID || !r.Existing || r.State != chime.JobDelayed {
				t.Errorf("triggered again: %+v, %v; want the existing one, delayed", r, err)
			}
		}
		info, err := jobs.Get(t.Context(), "reports", second.ID)
		if err != nil || info.Schedule != "report" || info.State != chime.JobDelayed || info.Due.Sub(info.Enqueued) < time.Minute || !info.Planned.Equal(info.Enqueued) {
			t.Errorf("it is %+v, %v; want it delayed by a minute, of its schedule, planned when it was accepted", info, err)
		}
		if got := listedOf(t, jobs, chime.JobFilter{Queue: "reports", State: chime.JobDelayed}); got != "report#again of report" {
			t.Errorf("delayed: %s", got)
		}
		if err := jobs.Wait(t.Context(), "reports", second.ID, &made); err != nil || made != "made fail" {
			t.Errorf("waited: %q, %v", made, err)
		}
		fixture.Pass(time.Hour)
		if err := stop(); err != nil {
			t.Error(err)
		}
		want := []string{
			first.ID + " of report for a by anna with all, 1 of 7 in 1m0s planned 01.500",
			"report#again of report for a by schedule with fail, 1 of 3 in 1m0s planned 01.",
			"report#again of report for a by schedule with fail, 2 of 3 in 1m0s planned 01.",
		}
		if len(ran) != len(want) {
			t.Fatalf("ran %q, want %q", ran, want)
		}
		for i := range ran {
			if !strings.HasPrefix(ran[i], want[i]) {
				t.Errorf("ran %q, want %q", ran[i], want[i])
			}
		}
		after, err := schedules.Get(t.Context(), "report")
		if err != nil || after.Counters != before.Counters || after.Used != before.Used || after.Revision != before.Revision || after.State != chime.StatePaused || !after.Next.IsZero() {
			t.Errorf("the schedule is %+v, %v; want it unchanged, %+v", after, err, before)
		}
	})
}

func listedOf(t *testing.T, jobs *chime.Jobs, filter chime.JobFilter) string {
	t.Helper()
	var all []string
	for job, err := range jobs.List(t.Context(), filter) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, job.ID+" of "+job.Schedule)
	}
	return strings.Join(all, ", ")
}

// A manual run does not affect a live schedule: occurrences run in time beside it, a completed schedule runs again, and a definition without a
// number of attempts gives it five.
func TestAManualRunChangesNothingOfItsSchedule(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		fixture.Pass(1500 * time.Millisecond)
		schedules := chime.NewSchedules(f.Server.Store())
		if _, err := schedules.Put(t.Context(), "three", recurrence.Recurrence{Frequency: recurrence.Minute, Count: 3}, chime.JobName("work"), chime.NoImmediateRun()); err != nil {
			t.Fatal(err)
		}
		var r fixture.Runs
		manual := 0
		w := f.Worker(chime.WorkerOptions{Concurrency: 5})
		w.Handle("work", func(_ context.Context, job *chime.Job) error {
			if _, _, occurrence := protocol.CutOccurrence(job.ID); !occurrence {
				if job.MaxAttempts != 5 || job.Schedule != "three" {
					t.Errorf("%s has %d attempts, of %q; want 5, as an occurrence", job.ID, job.MaxAttempts, job.Schedule)
				}
				manual++
			} else {
				r.Add(job.ID)
			}
			time.Sleep(150 * time.Second) // longer than to the next occurrence
			return nil
		}, chime.Timeout(time.Hour))
		stop := f.Start(w)
		for range 4 {
			if _, err := schedules.Trigger(t.Context(), "three"); err != nil {
				t.Fatal(err)
			}
			fixture.Pass(50 * time.Second)
		}
		fixture.Pass(time.Hour)
		s, err := schedules.Get(t.Context(), "three")
		if err != nil || s.State != chime.StateCompleted || s.Used != 3 || s.Counters.Placed != 3 || s.Counters.Started != 3 || len(r.N) != 3 || s.Counters.Skipped == 0 {
			t.Errorf("the schedule is %s, used %d, counters %+v, started %d, %v; want it completed after 3 runs, and others skipped for them", s.State, s.Used, s.Counters, len(r.N), err)
		}
		if _, err := schedules.Trigger(t.Context(), "three"); err != nil {
			t.Errorf("triggered after it had completed: %v", err)
		}
		fixture.Pass(time.Hour)
		if manual != 5 {
			t.Errorf("%d manual runs, want 5", manual)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// DeleteWaiting deletes a schedule with its waiting manual runs and their OnDeath jobs. Jobs of another schedule or without a schedule
// remain, even if their IDs look alike.
func TestDeleteWaitingTakesManualRunsAndDeaths(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		fixture.Pass(time.Second)
		schedules, jobs := chime.NewSchedules(f.Server.Store()), chime.NewJobs(f.Server.Store())
		enqueuer := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		for _, name := range []string{"s", "s#x", "s2"} {
			if _, err := schedules.Put(t.Context(), name, fixture.Minutely, chime.JobName("work"), chime.Paused(chime.Note{}), chime.OnDeath(chime.Item{Name: "alert"})); err != nil {
				t.Fatal(err)
			}
			if _, err := schedules.Trigger(t.Context(), name, chime.ID("dies"), chime.MaxAttempts(1)); err != nil {
				t.Fatal(err)
			}
		}
		var r fixture.Runs
		worker := func() *chime.Worker {
			w := f.Worker(chime.WorkerOptions{})
			w.Handle("work", func(_ context.Context, job *chime.Job) error { r.Add(job.ID); return errors.New("no") })
			w.Handle("alert", func(_ context.Context, job *chime.Job) error { r.Add(job.ID); return chime.Snooze(time.Hour) })
			return w
		}
		stop := f.Start(worker())
		fixture.Pass(time.Minute)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"s", "s#x", "s2"} {
			for _, options := range [][]chime.TriggerOption{{chime.ID("ready")}, {chime.ID("due"), chime.In(2 * time.Hour)}} {
				if _, err := schedules.Trigger(t.Context(), name, options...); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, options := range [][]chime.EnqueueOption{{chime.ID("s#ready2")}, {chime.ID("s#due2"), chime.In(2 * time.Hour)}} {
			if _, err := enqueuer.Enqueue(t.Context(), "work", "s", options...); err != nil {
				t.Fatal(err)
			}
		}
		if err := schedules.Delete(t.Context(), "s", chime.DeleteWaiting()); err != nil {
			t.Fatal(err)
		}
		left := map[chime.JobState]string{
			chime.JobWaiting: "s#x#ready of s#x, s2#ready of s2, s#ready2 of ",
			chime.JobDead:    "s#x#dies of s#x, s2#dies of s2",
		}
		for state, want := range left {
			if got := listedOf(t, jobs, chime.JobFilter{Queue: "default", State: state}); got != want {
				t.Errorf("%s: %s; want %s", state, got, want)
			}
		}
		delayed := listedOf(t, jobs, chime.JobFilter{Queue: "default", State: chime.JobDelayed})
		if strings.Contains(delayed, " of s,") || strings.HasSuffix(delayed, " of s") || strings.Count(delayed, " of s") != 4 || strings.Count(delayed, "#dead-") != 2 || !strings.Contains(delayed, "s#due2") {
			t.Errorf("delayed: %s; want only jobs of another schedule or of none", delayed)
		}
		stop = f.Start(worker())
		fixture.Pass(5 * time.Hour)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]bool{"s#ready": false, "s#due": false, "s#x#ready": true, "s2#ready": true, "s#ready2": true, "s2#due": true} {
			if (r.N[id] > 0) != want {
				t.Errorf("%s ran %d times, want it to run: %v", id, r.N[id], want)
			}
		}
		if got := listedOf(t, jobs, chime.JobFilter{Queue: "default", State: chime.JobDead}); strings.Contains(got, "s#ready of") || strings.Contains(got, "s#due of") {
			t.Errorf("dead: %s; want nothing of s", got)
		}
		if s := f.Stats(); s.Waiting != 0 {
			t.Errorf("%d wait, want none", s.Waiting)
		}
	})
}

// A manual run that was deleted with its schedule is accepted again under the same ID after the schedule is created again.
func TestAfterDeleteWaitingAnIDIsTriggeredAgain(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		fixture.Pass(time.Second)
		schedules := chime.NewSchedules(f.Server.Store())
		for _, options := range [][]chime.TriggerOption{{chime.ID("k")}, {chime.ID("k"), chime.In(time.Hour)}, {chime.ID("k")}} {
			if _, err := schedules.Put(t.Context(), "s", fixture.Minutely, chime.JobName("work"), chime.Paused(chime.Note{})); err != nil {
				t.Fatal(err)
			}
			if receipt, err := schedules.Trigger(t.Context(), "s", options...); err != nil || receipt.Existing {
				t.Errorf("triggered: %+v, %v; want a new run", receipt, err)
			}
			if err := schedules.Delete(t.Context(), "s", chime.DeleteWaiting()); err != nil {
				t.Fatal(err)
			}
			fixture.Pass(2 * time.Second)
		}
	})
}

// An invalid call is refused before anything is sent.
func TestATriggerThatMakesNoSenseIsRefused(t *testing.T) {
	for want, action := range map[string]func(s *chime.Schedules) (chime.Receipt, error){
		"option of Trigger \"Queue\"": func(s *chime.Schedules) (chime.Receipt, error) { return s.Trigger(t.Context(), "a", chime.Queue("q")) },
		"an option is nil":            func(s *chime.Schedules) (chime.Receipt, error) { return s.Trigger(t.Context(), "a", nil) },
		"name is missing":             func(s *chime.Schedules) (chime.Receipt, error) { return s.Trigger(t.Context(), "") },
		"ID is missing":               func(s *chime.Schedules) (chime.Receipt, error) { return s.Trigger(t.Context(), "a", chime.ID("a#")) },
		"ID \"@2026-03-08T09:00:00Z\"": func(s *chime.Schedules) (chime.Receipt, error) {
			return s.Trigger(t.Context(), "a", chime.ID("@2026-03-08T09:00:00Z"))
		},
		"has 201 bytes": func(s *chime.Schedules) (chime.Receipt, error) {
			return s.Trigger(t.Context(), "a", chime.ID(strings.Repeat("x", 201)))
		},
		"keep 1ms": func(s *chime.Schedules) (chime.Receipt, error) {
			return s.Trigger(t.Context(), "a", chime.Keep(time.Millisecond))
		},
		"option of Trigger \"ArgsID\": want Args, or an option of one job": func(s *chime.Schedules) (chime.Receipt, error) {
			receipt, err := s.Trigger(t.Context(), "a", chime.ArgsID())
			if err != nil && strings.Contains(err.Error(), "ID is missing") {
				t.Errorf("%v: want no error about an ID, because none was given", err)
			}
			return receipt, err
		},
		"args": func(s *chime.Schedules) (chime.Receipt, error) {
			return s.Trigger(t.Context(), "a", chime.Args(func() {}))
		},
	} {
		receipt, err := action(chime.NewSchedules(fixture.NoStore{}))
		invalid := (*chime.InvalidError)(nil)
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "chime: trigger schedule") || receipt != (chime.Receipt{}) {
			t.Errorf("%+v, %v; want an InvalidError with %s", receipt, err, want)
		}
	}
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		if r, err := schedules.Trigger(t.Context(), "none", chime.ID("1")); !errors.Is(err, chime.ErrNotFound) || r.ID != "none#1" {
			t.Errorf("%+v, %v; want ErrNotFound", r, err)
		}
		if _, err := schedules.Put(t.Context(), "s", fixture.Minutely, chime.Header("k", strings.Repeat("v", 4000))); err != nil {
			t.Fatal(err)
		}
		if _, err := schedules.Trigger(t.Context(), "s", chime.Header("l", strings.Repeat("v", 100))); !errors.Is(err, &chime.InvalidError{Field: "header"}) {
			t.Errorf("%v, want an error: together with the schedule's header it is too long", err)
		}
	})
}

// A deafStore enqueues, but loses every answer while it is deaf.
type deafStore struct {
	protocol.Store
	deaf bool
}

func (s *deafStore) Protocol() protocol.Store { return s }

func (s *deafStore) Enqueue(ctx context.Context, calls []protocol.EnqueueCall) []protocol.EnqueueAnswer {
	answers := s.Store.Enqueue(ctx, calls)
	for i := range answers {
		if s.deaf {
			answers[i] = protocol.EnqueueAnswer{Err: errors.New("the answer was lost")}
		}
	}
	return answers
}

// A caller that never receives the answer repeats the call with the ID of the receipt: the job runs once.
func TestATriggerWhoseAnswerIsLostMayBeRepeated(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		fixture.Pass(time.Second)
		store := &deafStore{Store: f.Server.Store().Protocol(), deaf: true}
		schedules := chime.NewSchedules(store)
		name := strings.Repeat("s", 200) // the receipt's ID is longer than an enqueuer accepts
		if _, err := schedules.Put(t.Context(), name, fixture.Minutely, chime.JobName("work"), chime.Paused(chime.Note{})); err != nil {
			t.Fatal(err)
		}
		receipt, err := schedules.Trigger(t.Context(), name)
		if err == nil || receipt.Queue != "default" || !strings.Contains(err.Error(), "outcome unknown") {
			t.Fatalf("%+v, %v; want the ID, and that the outcome is unknown", receipt, err)
		}
		store.deaf = false
		again, err := schedules.Trigger(t.Context(), name, chime.ID(receipt.ID))
		if err != nil || again.ID != receipt.ID || !again.Existing {
			t.Errorf("%+v, %v; want %s, which exists", again, err, receipt.ID)
		}
		if s := f.Stats(); s.Waiting != 1 || s.Enqueued != 1 {
			t.Errorf("%d wait, %d were enqueued; want one", s.Waiting, s.Enqueued)
		}
	})
}
