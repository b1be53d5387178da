package docs_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/chimejobs/chime"
)

// The four programs of groups.md.

func exportWorker(store chime.Store, export func(context.Context, exportArgs) error) *chime.Worker {
	worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"exports": 1}, Concurrency: 10})
	groupedExport.Handle(worker, func(ctx context.Context, _ *chime.Job, args exportArgs) error { return export(ctx, args) })
	return worker
}

func boundBacklogs(ctx context.Context, queues *chime.Queues) error {
	return queues.SetGroups(ctx, "exports", chime.GroupRule{Waiting: 1_000})
}

func requestExport(ctx context.Context, enqueuer *chime.Enqueuer, args exportArgs) (status int, err error) {
	switch _, err = groupedExport.Enqueue(ctx, enqueuer, args); {
	case errors.Is(err, chime.ErrGroupFull):
		return http.StatusTooManyRequests, nil // for this tenant only
	case err != nil:
		return http.StatusServiceUnavailable, err
	}
	return http.StatusAccepted, nil
}

type syncArgs struct{ Account string }

var syncAccount = chime.Define[syncArgs]("sync-account", chime.Queue("crm"),
	chime.GroupBy(func(args syncArgs) string { return args.Account }))

func limitAccounts(ctx context.Context, queues *chime.Queues) error {
	return queues.SetGroups(ctx, "crm", chime.GroupRule{Running: 2, Starts: 60, Per: time.Minute})
}

func crmWorker(store chime.Store, call func(ctx context.Context, account string) error) *chime.Worker {
	worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"crm": 1}, Concurrency: 50})
	syncAccount.Handle(worker, func(ctx context.Context, _ *chime.Job, args syncArgs) error { return call(ctx, args.Account) })
	return worker
}

type webhook struct {
	Endpoint string
	Event    int
}

var deliverWebhook = chime.Define[webhook]("webhook", chime.Queue("webhooks"), chime.MaxAttempts(8),
	chime.GroupBy(func(args webhook) string { return args.Endpoint }))

func webhookWorker(store chime.Store, post func(context.Context, webhook) (status int, err error)) *chime.Worker {
	worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"webhooks": 1}, Concurrency: 50})
	deliverWebhook.Handle(worker, func(ctx context.Context, _ *chime.Job, args webhook) error {
		status, err := post(ctx, args)
		switch {
		case err != nil:
			return err
		case status == http.StatusTooManyRequests || status >= 500:
			return fmt.Errorf("status %d", status)
		case status >= 300: // another attempt does not help, and the next event need not wait
			return chime.Discard(fmt.Errorf("status %d", status))
		}
		return nil
	})
	return worker
}

func skipFailing(ctx context.Context, queues *chime.Queues, jobs *chime.Jobs, endpoint string) error {
	for group, err := range queues.Groups(ctx, "webhooks", chime.GroupFilter{Prefix: endpoint}) {
		if err != nil {
			return err
		}
		if group.Key == endpoint && group.By != "" { // the job that the others wait for
			_, err := jobs.Cancel(ctx, "webhooks", group.By)
			return err
		}
	}
	return nil
}

var plans = map[string]chime.GroupRule{
	"basic":      {}, // the rule of the queue
	"business":   {Weight: 5, Running: 10},
	"enterprise": {Weight: 20, Running: chime.NoLimit},
}

func changePlan(ctx context.Context, queues *chime.Queues, tenant, plan string) error {
	rule, ok := plans[plan]
	if !ok {
		return fmt.Errorf("there is no plan %q", plan)
	}
	return queues.SetGroup(ctx, "exports", tenant, rule) // the zero rule removes the tenant's own rule
}
