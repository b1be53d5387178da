package workers_test

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
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A roleNotebook is an observer for the events that a notebook does not record.
type roleNotebook struct {
	mu                sync.Mutex
	lines             []string
	size, busy, stuck int
	busiest           int
	calls             map[string]int
	failed            map[string]int
	begun             map[string]chime.JobEvent
}

func (l *roleNotebook) observer() *chime.Observer {
	l.calls, l.failed, l.begun = map[string]int{}, map[string]int{}, map[string]chime.JobEvent{}
	jobs := func(what string) func([]chime.JobEvent) {
		return func(events []chime.JobEvent) {
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, e := range events {
				if what == "begun" {
					l.begun[e.ID] = e
					continue
				}
				if what == "ended" && e.Outcome != chime.RunSkipped && e.Outcome != chime.RunSuperseded && !e.TimedOut {
					continue
				}
				l.lines = append(l.lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", what, e.Name, e.Schedule, e.Outcome)))
			}
		}
	}
	return &chime.Observer{
		Begun: jobs("begun"), Ended: jobs("ended"), Returned: jobs("returned"), Parked: jobs("parked"),
		Refused:     func(queue string, results int) { l.note("refused %s %d", queue, results) },
		SessionLost: func(queue string, jobs int) { l.note("lost %s %d", queue, jobs) },
		Slots: func(size, busy, stuck int) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.size, l.busy, l.stuck = l.size+size, l.busy+busy, l.stuck+stuck
			l.busiest = max(l.busiest, l.busy)
			if stuck > 0 {
				l.lines = append(l.lines, "stuck")
			}
		},
		Called: func(op string, took time.Duration, err error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.calls[op]++; err != nil {
				l.failed[op]++
			}
			if took < 0 {
				l.lines = append(l.lines, "a call has a negative duration")
			}
		},
	}
}

func (l *roleNotebook) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *roleNotebook) saw(t *testing.T, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.lines, want) {
		t.Errorf("an observer received %q, want %q", l.lines, want)
	}
}

func TestObserversReceiveSlotsAndCallsAndJobsThatDoNotRun(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var notes roleNotebook
		both := []*chime.Observer{{}, notes.observer()}
		w := f.Worker(chime.WorkerOptions{Observers: both, Concurrency: 2, DrainTimeout: -1})
		w.Handle("quick", func(context.Context, *chime.Job) error { return nil })
		w.Handle("slow", func(ctx context.Context, _ *chime.Job) error {
			<-ctx.Done()
			return ctx.Err()
		}, chime.Timeout(time.Minute))
		f.Add("unknown", 0, "u")
		if _, err := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{}).Enqueue(t.Context(), "quick", nil, chime.ID("q"), chime.In(2*time.Second)); err != nil {
			t.Fatal(err)
		}
		stop := f.Start(w)
		fixture.Pass(3 * time.Second)
		f.Add("slow", 0, "s")
		fixture.Pass(30 * time.Second)
		if notes.size != 2 || notes.busy != 1 || notes.stuck != 0 || notes.busiest != 1 {
			t.Errorf("slots: %+v, want 2 of which 1 is busy", &notes)
		}
		if err := stop(); err == nil {
			t.Error("a worker that interrupts a handler returns nil")
		}
		notes.saw(t, "parked unknown", "returned slow")
		if notes.size != 0 || notes.busy != 0 || notes.stuck != 0 {
			t.Errorf("slots after the end: %+v", &notes)
		}
		for _, op := range []string{"check", "partitions", "work", "announce", "extend"} {
			if notes.calls[op] == 0 {
				t.Errorf("no call %s was reported: %v", op, notes.calls)
			}
		}
		if len(notes.failed) > 0 {
			t.Errorf("calls failed: %v", notes.failed)
		}
		q := notes.begun["q"]
		if !q.First || q.Origin != "" || q.Started.Sub(q.Waited) > time.Second || q.Waited.IsZero() {
			t.Errorf("reported for q: %+v", q)
		}
	})
}

// If many handlers begin in quick succession, the worker's loop is not woken for each of them.
func TestObserversReceiveEachOfManyHandlersWhileItRuns(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		const n = 200
		var notes roleNotebook
		w := f.Worker(chime.WorkerOptions{Observers: []*chime.Observer{notes.observer()}, Concurrency: n})
		release := make(chan bool)
		w.Handle("waits", func(context.Context, *chime.Job) error {
			<-release
			return nil
		})
		ids := make([]string, n)
		for i := range ids {
			ids[i] = fmt.Sprint("waits", i)
		}
		f.Add("waits", 0, ids...)
		stop := f.Start(w)
		fixture.Pass(20 * time.Millisecond)
		notes.mu.Lock()
		if len(notes.begun) != n || notes.busy != n {
			t.Errorf("an observer received %d begun events and %d busy slots; want %d", len(notes.begun), notes.busy, n)
		}
		notes.mu.Unlock()
		close(release)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if notes.busy != 0 {
			t.Errorf("%d slots are busy after the end", notes.busy)
		}
	})
}

func TestObserversReceiveLostSessionsAndLateResults(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var notes roleNotebook
		w := f.Worker(chime.WorkerOptions{Observers: []*chime.Observer{notes.observer()}})
		release := make(chan bool)
		w.Handle("waits", func(context.Context, *chime.Job) error {
			<-release
			return nil
		})
		f.Add("waits", 0, "late", "lost")
		stop := f.Start(w)
		fixture.Pass(time.Second)
		client := f.Server.Client()
		sessions := client.ZRange(t.Context(), "chime:{default}:sessions", 0, -1).Val()
		if len(sessions) != 1 {
			t.Fatalf("sessions %q", sessions)
		}
		held := "chime:{default}:inflight:" + sessions[0]
		if n := client.HDel(t.Context(), held, "late").Val(); n != 1 {
			t.Fatalf("%d flights of late", n)
		}
		release <- true
		release <- true
		fixture.Pass(time.Second)
		notes.saw(t, "refused default 1")
		f.Add("waits", 0, "again")
		fixture.Pass(time.Second)
		for _, session := range client.ZRange(t.Context(), "chime:{default}:sessions", 0, -1).Val() {
			client.Del(t.Context(), "chime:{default}:inflight:"+session)
		}
		client.Del(t.Context(), "chime:{default}:sessions")
		fixture.Pass(10 * time.Second)
		notes.saw(t, "refused default 1", "lost default 1")
		close(release)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if len(notes.failed) > 0 {
			t.Errorf("a lost session is not a failed call: %v", notes.failed)
		}
	})
}

func TestObserversReceiveTheOriginOfAJobAndSkippedOccurrences(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var notes roleNotebook
		observers := []*chime.Observer{notes.observer()}
		w := f.Worker(chime.WorkerOptions{Observers: observers})
		w.Handle("long", func(ctx context.Context, _ *chime.Job) error {
			time.Sleep(90 * time.Second) // fake time
			return nil
		}, chime.Timeout(85*time.Second))
		w.Handle("dies", func(context.Context, *chime.Job) error { return chime.Discard(errors.New("no")) })
		w.Handle("alert", func(context.Context, *chime.Job) error { return nil })
		scheduler := chime.NewScheduler(f.Server.Store(), chime.SchedulerOptions{Observers: observers})
		begin := time.Now()
		every := recurrence.Recurrence{StartTime: begin.Add(time.Minute), Frequency: recurrence.Minute, Interval: 1, Count: 2}
		if err := scheduler.Schedule("s", every, chime.JobName("long")); err != nil {
			t.Fatal(err)
		}
		once := recurrence.Recurrence{StartTime: begin.Add(time.Minute)}
		if err := scheduler.Schedule("d", once, chime.JobName("dies"), chime.OnDeath(chime.Item{Name: "alert"})); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- chime.Run(ctx, scheduler, w) }()
		fixture.Pass(5 * time.Minute)
		if _, err := chime.NewSchedules(f.Server.Store()).Trigger(t.Context(), "d", chime.ID("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := chime.NewSchedules(f.Server.Store()).Backfill(t.Context(), "d", begin, begin.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(time.Minute)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		notes.mu.Lock()
		var origins []string
		for id, e := range notes.begun {
			id, _, _ := strings.Cut(id, "#dead-")
			origins = append(origins, fmt.Sprint(strings.TrimSuffix(id, ":00Z"), " ", e.Origin, " ", e.First, " ", !e.Waited.IsZero()))
		}
		notes.mu.Unlock()
		slices.Sort(origins)
		want := []string{
			"d#x death true true", "d#x manual true true", "d@2000-01-01T00:01 backfill true false", "d@2000-01-01T00:01 death true true", "d@2000-01-01T00:01 death true true",
			"s@2000-01-01T00:01 occurrence true true", "s@2000-01-01T00:03 occurrence true true",
		}
		if !slices.Equal(origins, want) {
			t.Errorf("origin, first, waited:\n %q, want\n %q", origins, want)
		}
		notes.saw(t, "ended  s skipped", "stuck", "ended long s done", "stuck", "ended long s done")
	})
}
