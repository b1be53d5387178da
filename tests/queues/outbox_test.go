package queues_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

// Two queues cannot be reached: the queue counts the jobs that are on their way there, and lists where they wait. A third one gets its jobs. When the two can be
// reached again, they get theirs.
func TestJobsOnTheirWayToOtherQueuesAreCounted(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Partition("cdn", 3)
		store, log := f.Hooked(), new(fixture.LogBuffer)
		store.SetFault(func(action string, p protocol.Partition) (before, after error) {
			if action == "carry" && p.Queue != "notes" {
				return hookstore.ErrReset, nil
			}
			return nil, nil
		})
		w := chime.NewWorker(store, chime.WorkerOptions{Logger: log.Logger()})
		w.Handle("work", func(context.Context, *chime.Job) error { return nil })
		stop := f.Start(w)
		e, queues := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{}), chime.NewQueues(f.Server.Store())
		for i, queue := range []string{"mail", "cdn", "cdn", "cdn", "cdn", "notes"} {
			item := chime.Item{Name: "next", Options: []chime.EnqueueOption{chime.Queue(queue)}}
			if _, err := e.Enqueue(t.Context(), "work", nil, chime.ID(fmt.Sprint("j", i)), chime.OnDone(item)); err != nil {
				t.Fatal(err)
			}
			fixture.Pass(time.Minute)
		}
		info, err := queues.Get(t.Context(), "default")
		if err != nil || info.Outbox.Waiting != 5 || info.Outbox.Bytes == 0 || info.Outbox.Full || info.Now.Sub(info.Outbox.Oldest) < 5*time.Minute {
			t.Errorf("%+v, %v; want five jobs on their way, the first for five minutes", info.Outbox, err)
		}
		targets, err := queues.Outbox(t.Context(), "default")
		if err != nil || len(targets) != 2 || targets[0].Queue != "mail" || targets[0].Waiting != 1 || targets[1].Queue != "cdn" || targets[1].Waiting != 4 || !targets[0].Oldest.Equal(info.Outbox.Oldest) {
			t.Errorf("%+v, %v; want one for mail, and four for cdn", targets, err)
		}
		if got, err := queues.Get(t.Context(), "notes"); err != nil || got.Waiting != 1 {
			t.Errorf("notes has %+v, %v; want its job", got, err)
		}
		if err := queues.Delete(t.Context(), "default"); !errors.Is(err, chime.ErrConflict) {
			t.Errorf("deleted: %v, want ErrConflict", err)
		}
		if log.Count("outbox.blocked") == 0 {
			t.Error("it is not logged that queues cannot be reached")
		}
		store.SetFault(nil)
		fixture.Pass(10 * time.Second)
		for queue, want := range map[string]int64{"mail": 1, "cdn": 4} {
			if got, err := queues.Get(t.Context(), queue); err != nil || got.Waiting != want {
				t.Errorf("%s has %+v, %v; want %d jobs", queue, got, err, want)
			}
		}
		if targets, err := queues.Outbox(t.Context(), "default"); err != nil || len(targets) != 0 {
			t.Errorf("%+v, %v; want none", targets, err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if _, err := queues.Outbox(t.Context(), "nowhere"); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("an unknown queue: %v, want ErrNotFound", err)
		}
	})
}
