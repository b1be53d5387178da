package queues_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// When a retry has succeeded, the job is gone, and its error with it. What the failed attempts had in common remains.
func TestAHealedErrorStays(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store, ctx := f.Server.Store(), t.Context()
		w := f.Worker(chime.WorkerOptions{})
		w.Handle("mail", func(_ context.Context, job *chime.Job) error {
			if job.Attempt > 2 {
				return nil
			}
			return fmt.Errorf("dial tcp 10.0.0.%d: refused by \"%s\"\n\tat attempt %d", len(job.ID), job.ID, job.Attempt)
		}, chime.Retry(chime.Fixed(time.Hour)))
		w.Handle("resize", func(context.Context, *chime.Job) error { panic("a slip") }, chime.MaxAttempts(1))
		stop := f.Start(w)
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
		began := time.Now()
		for _, id := range []string{"a", "bb", "ccc"} {
			if _, err := enqueuer.Enqueue(ctx, "mail", nil, chime.ID(id)); err != nil {
				t.Fatal(err)
			}
		}
		fixture.Pass(4 * time.Hour)
		if _, err := enqueuer.Enqueue(ctx, "resize", nil, chime.ID("r")); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(time.Minute)
		jobs := chime.NewJobs(store)
		if _, err := jobs.Get(ctx, "default", "a"); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("job a: %v, want ErrNotFound: it is done", err)
		}
		shapes, err := chime.NewQueues(store).Errors(ctx, "default", "")
		if err != nil || len(shapes) != 2 {
			t.Fatalf("got %+v, %v, want two shapes", shapes, err)
		}
		if s := shapes[0]; s.Job != "resize" || s.Shape != "panic: a slip" || s.Failed != 1 || s.LastID != "r" {
			t.Errorf("the shape that failed last is %+v", s)
		}
		healed := shapes[1]
		if healed.Job != "mail" || healed.Shape != "dial tcp #.#.#.#:#: refused by #" && healed.Shape != "dial tcp #.#.#.#: refused by #" || healed.Failed != 6 {
			t.Errorf("the healed shape is %+v, want six attempts of one shape", healed)
		}
		if first, last := healed.First.Sub(began), healed.Last.Sub(began); first < 0 || first > time.Second || last < time.Hour || last > 2*time.Hour {
			t.Errorf("it failed first after %v and last after %v, want at once and after an hour", first, last)
		}
		if sum := healed.Hours[0].Failed + healed.Hours[1].Failed; len(healed.Hours) != 2 || sum != 6 || healed.Hours[0].Failed != 3 {
			t.Errorf("its hours are %+v, want two with three attempts each", healed.Hours)
		}
		if only, err := chime.NewQueues(store).Errors(ctx, "default", "mail"); err != nil || len(only) != 1 || only[0].Shape != healed.Shape {
			t.Errorf("of mail only: %+v, %v", only, err)
		}
		if _, err := chime.NewQueues(store).Errors(ctx, "nowhere", ""); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("of an unknown queue: %v, want ErrNotFound", err)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if _, err := jobs.Delete(ctx, chime.JobFilter{Queue: "default", IDs: []string{"r"}}, nil); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(time.Minute)
		if err := chime.NewQueues(store).Delete(ctx, "default"); err != nil {
			t.Fatal(err)
		}
		if keys := f.KeysLike(":shapes"); len(keys) > 0 {
			t.Errorf("the deleted queue has %q", keys)
		}
	})
}
