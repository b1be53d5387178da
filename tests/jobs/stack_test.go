package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

func slipOfAPen() { panic("a slip") }

// The stack of a panic is a part of the job, until an attempt fails in another way. The job that follows its death receives it too.
func TestAJobInfoHasItsStack(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var death *chime.JobInfo
		w := f.Worker(chime.WorkerOptions{})
		w.Handle("slip", func(_ context.Context, job *chime.Job) error {
			if job.Attempt == 2 {
				return chime.RetryAfter(time.Hour, errors.New("no bank"))
			}
			slipOfAPen()
			return nil
		}, chime.Backoff(func(int) time.Duration { return time.Hour }))
		w.Handle("alert", func(_ context.Context, job *chime.Job) error { death = job.Death; return nil })
		defer f.Start(w)()
		_, err := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{}).Enqueue(t.Context(), "slip", nil, chime.ID("a"), chime.MaxAttempts(3), chime.OnDeath(chime.Item{Name: "alert"}))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			state chime.JobState
			err   string
			stack bool
		}{{chime.JobRetrying, "panic: a slip", true}, {chime.JobRetrying, "no bank", false}, {chime.JobDead, "panic: a slip", true}} {
			fixture.Pass(time.Minute)
			info, err := chime.NewJobs(f.Server.Store()).Get(t.Context(), "default", "a")
			if err != nil {
				t.Fatal(err)
			}
			if has := strings.Contains(info.Stack, "jobs_test.slipOfAPen("); info.State != c.state || info.LastError != c.err || has != c.stack || !has && info.Stack != "" {
				t.Errorf("%s, %q: the stack is %q; want %+v", info.State, info.LastError, info.Stack, c)
			}
			text, err := json.Marshal(info)
			if err != nil || strings.Contains(string(text), `"stack":"goroutine `) != c.stack {
				t.Errorf("%s, %v", text, err)
			}
			fixture.Pass(time.Hour)
		}
		if death == nil || !strings.Contains(death.Stack, "jobs_test.slipOfAPen(") {
			t.Errorf("the job that follows got %+v, want the stack", death)
		}
	})
}
