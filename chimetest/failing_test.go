//go:build real

package chimetest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

var args = chime.Define[struct{ Width int }]("failing.args")

var everySecond = recurrence.Recurrence{Frequency: recurrence.Second, Interval: 1}

// failing are tests that must fail, and the texts of their messages.
var failing = map[string]struct {
	test func(t *testing.T)
	want []string
}{
	"time goes back": {running(func(t *testing.T, c *Chime) { c.Advance(-time.Second) }), []string{"Advance(-1s): time cannot go back"}},
	"no roles":       {running(func(t *testing.T, c *Chime) { c.Start() }), []string{"Run without roles"}},
	"a nil role":     {running(func(t *testing.T, c *Chime) { c.Start((*chime.Worker)(nil)) }), []string{"role 0 is nil"}},
	"a role twice": {running(func(t *testing.T, c *Chime) {
		worker := newWorker(c, chime.WorkerOptions{})
		c.Start(worker)
		c.Start(worker)
	}), []string{"runs already, or has run: make another one"}},
	"a role that ran": {running(func(t *testing.T, c *Chime) {
		worker := newWorker(c, chime.WorkerOptions{})
		c.Start(worker)()
		c.Start(worker)
	}), []string{"runs already, or has run: make another one"}},
	"bad options": {running(func(t *testing.T, c *Chime) { c.Start(newWorker(c, chime.WorkerOptions{Concurrency: -1})) }), []string{"WorkerOptions.Concurrency"}},
	"a role that fails later": {running(func(t *testing.T, c *Chime) {
		c.Start(newWorker(c, chime.WorkerOptions{}), roleFunc(func(context.Context) error {
			time.Sleep(time.Minute) // fake time: it fails after Start has returned
			return errors.New("the disk is full")
		}))
		c.Advance(time.Hour)
		t.Log("this line is not reached")
	}), []string{"a role has ended: the disk is full"}},
	"a role that fails at the end": {running(func(t *testing.T, c *Chime) {
		c.Start(roleFunc(func(ctx context.Context) error {
			<-ctx.Done()
			return errors.New("the disk is full")
		}))
	}), []string{"a role has ended: the disk is full"}},
	"a handler that is cut off": {running(func(t *testing.T, c *Chime) {
		worker := newWorker(c, chime.WorkerOptions{DrainTimeout: time.Second})
		worker.Handle("sleeps", func(context.Context, *chime.Job) error {
			time.Sleep(time.Hour) // fake time: longer than the drain
			return nil
		})
		stop := c.Start(worker)
		if _, err := newEnqueuer(c).Enqueue(t.Context(), "sleeps", nil, chime.ID("j1")); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Second)
		stop()
	}), []string{"handlers cut off: j1"}},
	"a handler that waits for something outside": {func(t *testing.T) {
		stuckAfter = 3 * time.Second
		never := make(chan int)
		Run(t, func(t *testing.T, c *Chime) {
			worker := newWorker(c, chime.WorkerOptions{})
			worker.Handle("waits", func(context.Context, *chime.Job) error {
				<-never
				return nil
			})
			c.Start(worker)
			if _, err := newEnqueuer(c).Enqueue(t.Context(), "waits", nil, chime.ID("j1")); err != nil {
				t.Fatal(err)
			}
			c.Advance(time.Second)
		})
	}, []string{"nothing has moved for 3s", `job "waits" (ID "j1", queue default, attempt 1)`, "created before Run"}},
	"a parallel test within": {running(func(t *testing.T, c *Chime) { t.Parallel() }), []string{"t.Parallel called inside synctest bubble"}},
	"nil test":               {func(t *testing.T) { Run(t, nil) }, []string{"the test is nil"}},
	"a range backwards": {running(func(t *testing.T, c *Chime) { c.Upcoming(time.Now(), time.Now().Add(-1)) }),
		[]string{"Upcoming: from 2000-01-12 10:17:00 +0000 UTC is after to"}},
	"too many runs": {running(func(t *testing.T, c *Chime) {
		if _, err := chime.NewSchedules(c.Store()).Put(t.Context(), "often", everySecond); err != nil {
			t.Fatal(err)
		}
		c.Upcoming(time.Now(), time.Now().AddDate(1, 0, 0))
	}), []string{`schedule "often": it has more than 1000000 runs`}},
	"an invalid name": {running(func(t *testing.T, c *Chime) { c.Enqueued("") }), []string{"Enqueued", "job name"}},
	"arguments of another kind": {running(func(t *testing.T, c *Chime) {
		if _, err := newEnqueuer(c).Enqueue(t.Context(), args.Name(), "no struct", chime.ID("j1")); err != nil {
			t.Fatal(err)
		}
		Enqueued(c, args)
	}), []string{`the arguments of job "failing.args" (ID "j1"`}},
	"an item that is refused": {func(t *testing.T) { NewJob(t, chime.Item{Name: "a b"}) }, []string{"NewJob", "a b", "job name"}},
	"a nil job":               {func(t *testing.T) { Work(t, func(context.Context, *chime.Job) error { return nil }, nil) }, []string{"the job is nil"}},
	"a nil handler":           {func(t *testing.T) { Work(t, nil, NewJob(t, chime.Item{Name: "a"})) }, []string{`job "a"`, "the handler is nil"}},
	"a handler that ends the test": {func(t *testing.T) {
		Work(t, func(context.Context, *chime.Job) error { t.Fatal("the handler ends it"); return nil }, NewJob(t, chime.Item{Name: "a"}))
		t.Log("this line is not reached")
	}, []string{"the handler ends it"}},
}

func running(test func(t *testing.T, c *Chime)) func(t *testing.T) {
	return func(t *testing.T) { Run(t, test) }
}

// chosen is the environment variable with the name of the failing test that a process must run.
const chosen = "CHIMETEST_FAILS"

// Each failing test runs in its own process, which must fail and report the reason once.
func TestAMistakeEndsTheTestAndIsReported(t *testing.T) {
	if name := os.Getenv(chosen); name != "" {
		failing[name].test(t)
		return
	}
	for name, fails := range failing {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			child := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+strings.Split(t.Name(), "/")[0]+"$", "-test.v")
			child.Env = append(os.Environ(), chosen+"="+name)
			out, err := child.CombinedOutput()
			text := string(out)
			if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
				t.Errorf("%v, want it to fail:\n%s", err, text)
			}
			for _, want := range fails.want {
				if !strings.Contains(text, want) {
					t.Errorf("it does not contain %q:\n%s", want, text)
				}
			}
			if strings.Contains(text, "not reached") {
				t.Errorf("the test continued:\n%s", text)
			}
		})
	}
}
