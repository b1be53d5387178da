package chimeotel_test

import (
	"context"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeotel"
)

// docs/traces.md shows the code of this file; page_test.go runs it.

func traced(store chime.Store) (*chime.Enqueuer, *chime.Worker, *chime.Scheduler) {
	telemetry := chimeotel.New(chimeotel.Options{})
	heard := []*chime.Observer{telemetry.Observer()}

	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
	enqueuer.Use(telemetry.Enqueue())
	worker := chime.NewWorker(store, chime.WorkerOptions{Observers: heard})
	worker.Use(telemetry.Handle())
	scheduler := chime.NewScheduler(store, chime.SchedulerOptions{Observers: heard})
	return enqueuer, worker, scheduler
}

func asParents() *chimeotel.Telemetry {
	telemetry := chimeotel.New(chimeotel.Options{Parent: true})
	return telemetry
}

func pauseMail(ctx context.Context, telemetry *chimeotel.Telemetry, queues *chime.Queues) error {
	err := telemetry.Manage(ctx, "pause", func(ctx context.Context) error {
		return queues.Pause(ctx, "mail", chime.Note{Text: "they have an incident", By: "anna"})
	})
	return err
}
