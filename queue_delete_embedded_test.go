package chime_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

// A queue with anything on it is kept, and the error says what that is; once it is purged it is deleted, and it begins anew for who uses it.
func TestAQueueThatWasPurgedIsDeleted(t *testing.T) {
	onEmbedded(t, func(t *testing.T, f *fixture) {
		queues := chime.NewQueues(f.server.Store())
		f.add("work", 0, "a", "b")
		f.add("work", time.Hour, "later")
		err := queues.Delete(t.Context(), "default")
		if !errors.Is(err, chime.ErrConflict) || !strings.Contains(err.Error(), `queue "default": `) || !strings.Contains(err.Error(), "it has 2 waiting jobs, 1 delayed or retrying job; purge it") || strings.Contains(err.Error(), chime.ErrConflict.Error()) {
			t.Errorf("deleting a queue in use: %v, want an ErrConflict that says what is there", err)
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
			t.Errorf("listed are %v, %v; want none", all, err)
		}
		for what, err := range map[string]error{"deleted": queues.Delete(t.Context(), "default"), "paused": queues.Pause(t.Context(), "default")} {
			if !errors.Is(err, chime.ErrNotFound) {
				t.Errorf("%s after it was deleted: %v, want ErrNotFound", what, err)
			}
		}
		f.add("work", 0, "c")
		var r runs
		w := f.worker(chime.WorkerOptions{})
		w.Handle("work", func(_ context.Context, job *chime.Job) error { r.add(job.ID); return nil })
		stop := f.run(w)
		pass(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if s := f.stats(); r.n["c"] != 1 || s.Done != 1 || s.Paused || s.Enqueued != 1 {
			t.Errorf("begun anew: ran %v, %+v", r.n, s)
		}
	})
}

func TestDeletingAQueueNeedsItsName(t *testing.T) {
	err := chime.NewQueues(noStore{}).Delete(t.Context(), "a b")
	if invalid := (*chime.InvalidError)(nil); !errors.As(err, &invalid) || !strings.Contains(err.Error(), `queue "a b"`) {
		t.Errorf("%v, want an InvalidError for the name", err)
	}
}
