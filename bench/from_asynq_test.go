package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hibiken/asynq"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// The code of docs/from-asynq.md is the code of this file, piece by piece: each task as it is written for asynq, and then for chime.
// from_asynq_run_test.go runs both.

type invoicePayload struct {
	Order int `json:"order"`
}

func asynqEnqueueInvoice(client *asynq.Client, order int) error {
	payload, err := json.Marshal(invoicePayload{Order: order})
	if err != nil {
		return err
	}
	_, err = client.Enqueue(asynq.NewTask("invoice:send", payload),
		asynq.MaxRetry(5), asynq.Timeout(time.Minute), asynq.ProcessIn(time.Second))
	return err
}

func asynqHandleInvoice(ctx context.Context, task *asynq.Task) error {
	var payload invoicePayload
	if err := json.Unmarshal(task.Payload(), &payload); err != nil {
		return fmt.Errorf("%w: %w", err, asynq.SkipRetry)
	}
	return sendInvoice(ctx, payload.Order)
}

type Invoice struct {
	Order int `json:"order"`
}

var SendInvoice = chime.Define[Invoice]("invoice:send", chime.MaxAttempts(6), chime.Timeout(time.Minute))

func enqueueInvoice(ctx context.Context, enqueuer *chime.Enqueuer, order int) error {
	_, err := SendInvoice.Enqueue(ctx, enqueuer, Invoice{Order: order}, chime.In(time.Second))
	return err
}

func handleInvoice(ctx context.Context, job *chime.Job, args Invoice) error {
	return sendInvoice(ctx, args.Order)
}

func asynqEnqueueImport(client *asynq.Client, file string) (id string, err error) {
	info, err := client.Enqueue(asynq.NewTask("import:file", []byte(file)), asynq.Unique(time.Hour), asynq.Retention(24*time.Hour))
	if errors.Is(err, asynq.ErrDuplicateTask) {
		return "", nil // asynq does not return the ID of the existing task
	}
	if err != nil {
		return "", err
	}
	return info.ID, nil
}

func asynqHandleImport(ctx context.Context, task *asynq.Task) error {
	rows, err := importFile(ctx, string(task.Payload()))
	if err != nil {
		return err
	}
	_, err = task.ResultWriter().Write([]byte(strconv.Itoa(rows)))
	return err
}

func asynqImported(inspector *asynq.Inspector, id string) (rows int, done bool, err error) {
	info, err := inspector.GetTaskInfo("default", id)
	if err != nil || info.State != asynq.TaskStateCompleted {
		return 0, false, err
	}
	rows, err = strconv.Atoi(string(info.Result))
	return rows, true, err
}

type Import struct{ File string }

var ImportFile = chime.Define[Import]("import:file", chime.ArgsID(), chime.Keep(24*time.Hour))

func enqueueImport(ctx context.Context, enqueuer *chime.Enqueuer, file string) (id string, err error) {
	receipt, err := ImportFile.Enqueue(ctx, enqueuer, Import{File: file})
	return receipt.ID, err // if receipt.Existing, it is the ID of the existing job
}

func handleImport(ctx context.Context, job *chime.Job, args Import) error {
	rows, err := importFile(ctx, args.File)
	if err != nil {
		return err
	}
	return job.Return(rows)
}

func imported(ctx context.Context, jobs *chime.Jobs, id string) (rows int, err error) {
	err = jobs.Wait(ctx, "default", id, &rows)
	return rows, err
}

func asynqSchedule(redis asynq.RedisConnOpt) (*asynq.Scheduler, error) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		return nil, err
	}
	scheduler := asynq.NewScheduler(redis, &asynq.SchedulerOpts{Location: berlin}) // run it in one process only
	_, err = scheduler.Register("0 7 * * 1-5", asynq.NewTask("report:daily", nil), asynq.Queue("reports"))
	return scheduler, err
}

func schedule(store chime.Store) (*chime.Scheduler, error) {
	scheduler := chime.NewScheduler(store, chime.SchedulerOptions{}) // run it in every process
	weekdays := recurrence.Recurrence{Cron: "0 7 * * 1-5", TimeZone: "Europe/Berlin"}
	return scheduler, scheduler.Schedule("report:daily", weekdays, chime.Queue("reports"))
}

func asynqServe(redis asynq.RedisConnOpt) (*asynq.Server, error) {
	server := asynq.NewServer(redis, asynq.Config{Concurrency: 20, Queues: map[string]int{"default": 3, "reports": 1}})
	mux := asynq.NewServeMux()
	mux.HandleFunc("invoice:send", asynqHandleInvoice)
	mux.HandleFunc("import:file", asynqHandleImport)
	return server, server.Start(mux)
}

func serve(store chime.Store) *chime.Worker {
	worker := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 20, Queues: map[string]int{"default": 3, "reports": 1}})
	SendInvoice.Handle(worker, handleInvoice)
	ImportFile.Handle(worker, handleImport)
	return worker
}
