package chime_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/redisstore"
)

// A handler can tell where its job runs: for traces and logs.
func TestAJobNamesItsWorkerAndItsPartition(t *testing.T) {
	onEmbedded(t, func(t *testing.T, f *fixture) {
		store := redisstore.New(f.server.Client(), redisstore.Options{Partitions: map[string]int{"default": 4}})
		worker := chime.NewWorker(store, chime.WorkerOptions{Logger: slog.New(slog.DiscardHandler), Concurrency: 1})
		ran := map[int]int{}
		worker.Handle("work", func(ctx context.Context, job *chime.Job) error {
			if want := protocol.PartitionOf(job.ID, 4); job.Partition != want {
				t.Errorf("job %s is of partition %d, want %d", job.ID, job.Partition, want)
			}
			ran[job.Partition]++
			all, err := chime.NewWorkers(store).List(ctx)
			if err != nil || len(all) != 1 || all[0].Name != job.Worker {
				t.Errorf("the job's worker is %q, the store has %v (%v)", job.Worker, all, err)
			}
			return nil
		})
		stop := f.run(worker)
		items := make([]chime.Item, 40)
		for i := range items {
			items[i].Name = "work"
		}
		if _, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{}).EnqueueMany(t.Context(), items); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if len(ran) != 4 {
			t.Errorf("jobs of %d partitions ran, want 4: %v", len(ran), ran)
		}
	})
}
