package queues_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A queue with jobs is not deleted, and the error lists them. After a purge it is deleted, and its next use creates it again.
func TestAQueueThatWasPurgedIsDeleted(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		queues := chime.NewQueues(f.Server.Store())
		f.Add("work", 0, "a", "b")
		f.Add("work", time.Hour, "later")
		err := queues.Delete(t.Context(), "default")
		if !errors.Is(err, chime.ErrConflict) || !strings.Contains(err.Error(), `queue "default": `) || !strings.Contains(err.Error(), "it has 2 waiting jobs, 1 delayed or retrying job; purge it") || strings.Contains(err.Error(), chime.ErrConflict.Error()) {
			t.Errorf("deleting a queue in use: %v, want an ErrConflict that lists the jobs", err)
		}
		if err := queues.Pause(t.Context(), "default"); err != nil {
			t.Fatal(err)
		}
		if _, err := queues.Purge(t.Context(), "default", "default", nil); err != nil {
			t.Fatal(err)
		}
		if err := queues.Delete(t.Context(), "default"); err != nil {
			t.Fatal(err)
		}
		if all, err := queues.List(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("listed %v, %v; want none", all, err)
		}
		for what, err := range map[string]error{"deleted": queues.Delete(t.Context(), "default"), "paused": queues.Pause(t.Context(), "default")} {
			if !errors.Is(err, chime.ErrNotFound) {
				t.Errorf("%s after it was deleted: %v, want ErrNotFound", what, err)
			}
		}
		f.Add("work", 0, "c")
		var r fixture.Runs
		w := f.Worker(chime.WorkerOptions{})
		w.Handle("work", func(_ context.Context, job *chime.Job) error { r.Add(job.ID); return nil })
		stop := f.Start(w)
		fixture.Pass(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if s := f.Stats(); r.N["c"] != 1 || s.Done != 1 || s.Paused || s.Enqueued != 1 {
			t.Errorf("after its next use: ran %v, %+v", r.N, s)
		}
	})
}

func TestDeletingAQueueNeedsItsName(t *testing.T) {
	err := chime.NewQueues(fixture.NoStore{}).Delete(t.Context(), "a b")
	if invalid := (*chime.InvalidError)(nil); !errors.As(err, &invalid) || !strings.Contains(err.Error(), `queue "a b"`) {
		t.Errorf("%v, want an InvalidError for the name", err)
	}
}
