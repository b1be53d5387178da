package workers_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// faultyObserver returns an observer whose functions all panic.
func faultyObserver() *chime.Observer {
	o := reflect.ValueOf(new(chime.Observer)).Elem()
	for i := range o.NumField() {
		o.Field(i).Set(reflect.MakeFunc(o.Field(i).Type(), func([]reflect.Value) []reflect.Value { panic("a slip in " + o.Type().Field(i).Name) }))
	}
	return o.Addr().Interface().(*chime.Observer)
}

// A faultyHandler is a slog.Handler that notes each line and then panics.
type faultyHandler struct {
	mu    sync.Mutex
	lines []string
}

func (h *faultyHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h *faultyHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *faultyHandler) WithGroup(string) slog.Handler            { return h }
func (h *faultyHandler) Handle(_ context.Context, r slog.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	line := ""
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != "stack" {
			line += fmt.Sprintf("%s=%v ", a.Key, a.Value)
		}
		return true
	})
	h.lines = append(h.lines, line)
	panic("a slip in a slog.Handler")
}

// count returns how many lines contain a text.
func (h *faultyHandler) count(text string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, line := range h.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// A panic in an observer or in a slog.Handler ends no process: each job runs as often as without it, and other observers receive their events.
func TestFaultyObserversAndLogHandlersChangeNothing(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var notes notebook
		log := new(faultyHandler)
		observers := []*chime.Observer{faultyObserver(), notes.observer(), faultyObserver()}
		w := f.Worker(chime.WorkerOptions{Observers: observers, Logger: slog.New(log)})
		var mu sync.Mutex
		runs := map[string]int{}
		w.Handle("work", func(_ context.Context, job *chime.Job) error {
			mu.Lock()
			defer mu.Unlock()
			runs[job.ID]++
			switch {
			case job.ID == "fails" && job.Attempt == 1:
				return chime.RetryAfter(time.Second, errors.New("busy"))
			case job.ID == "dies":
				return chime.Discard(errors.New("no"))
			case job.ID == "panics" && job.Attempt == 1:
				panic("a slip in the handler")
			}
			return nil
		}, chime.Backoff(func(int) time.Duration { panic("a slip in Backoff") }))
		scheduler := chime.NewScheduler(f.Server.Store(), chime.SchedulerOptions{Observers: observers, Logger: slog.New(log)})
		if err := scheduler.Schedule("s", recurrence.Recurrence{StartTime: time.Now().Add(30 * time.Second)}, chime.JobName("work")); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- chime.Run(ctx, scheduler, w) }()
		e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{Observers: observers, Logger: slog.New(log)})
		for _, id := range []string{"fine", "fails", "dies", "panics"} {
			if _, err := e.Enqueue(t.Context(), "work", nil, chime.ID(id)); err != nil {
				t.Fatal(err)
			}
		}
		fixture.Pass(2 * time.Minute)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		want := map[string]int{"fine": 1, "fails": 2, "dies": 1, "panics": 2, "s@2000-01-01T00:00:30Z": 1}
		if !reflect.DeepEqual(runs, want) {
			t.Errorf("the jobs ran %v times, want %v", runs, want)
		}
		// The enqueuer may report its event after the worker's first ones: nothing orders the two roles.
		got := strings.Split(notes.about("fine"), "; ")
		enqueued := slices.Index(got, "enqueued default/work 0")
		if enqueued < 0 || strings.Join(slices.Delete(got, enqueued, enqueued+1), "; ") != "taken default/work 1; begun default/work 1; ended default/work 1 done" {
			t.Errorf("the observer between two faulty ones received %q, want enqueued once, and in this order taken, begun, ended", notes.about("fine"))
		}
		for function, want := range map[string]int{"Enqueued": 2, "Taken": 2, "Begun": 2, "Ended": 2, "Slots": 2, "Elected": 2, "Called": 6} {
			if n := log.count("event=observer.panic action=" + function + " error=a slip in " + function); n != want {
				t.Errorf("the panics of %s were logged %d times, want %d: once for each observer and role", function, n, want)
			}
		}
	})
}

// When an observer receives the end of a job, the store has its outcome: what the observer does then cannot make the job run again.
func TestAJobIsSettledBeforeObserversReceiveItsEnd(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		jobs := chime.NewJobs(f.Server.Store())
		ended := 0
		w := f.Worker(chime.WorkerOptions{Observers: []*chime.Observer{{Ended: func(events []chime.JobEvent) {
			for _, e := range events {
				ended++
				job, err := jobs.Get(context.Background(), e.Queue, e.ID)
				if e.Outcome == chime.RunDone {
					if !errors.Is(err, chime.ErrNotFound) {
						t.Errorf("%s has ended, and the store has it: %v, %v", e.ID, job, err)
					}
				} else if err != nil || job.State != chime.JobDead {
					t.Errorf("%s is dead, and the store has it as %v, %v", e.ID, job, err)
				}
			}
		}}}})
		w.Handle("work", func(_ context.Context, job *chime.Job) error {
			if strings.HasSuffix(job.ID, "7") {
				return chime.Discard(errors.New("no"))
			}
			return nil
		})
		stop := f.Start(w)
		e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		for i := range 40 {
			if _, err := e.Enqueue(t.Context(), "work", nil, chime.ID(fmt.Sprint("job-", i))); err != nil {
				t.Fatal(err)
			}
		}
		fixture.Pass(5 * time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if ended != 40 {
			t.Errorf("the ends of %d jobs were reported, want 40", ended)
		}
	})
}
