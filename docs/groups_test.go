package docs_test

import (
	"context"
	"fmt"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// The code of groups.md.

type exportArgs struct{ Tenant, File string }

var groupedExport = chime.Define[exportArgs]("grouped-export", chime.Queue("exports"),
	chime.GroupBy(func(args exportArgs) string { return args.Tenant }))

func enqueueExport(ctx context.Context, enqueuer *chime.Enqueuer, tenant, file string) error {
	_, err := enqueuer.Enqueue(ctx, "export", file, chime.Queue("exports"), chime.Group(tenant))
	return err
}

func setRules(ctx context.Context, queues *chime.Queues) error {
	// Each tenant: two exports at once, and a hundred a minute.
	everybody := chime.GroupRule{Running: 2, Starts: 100, Per: time.Minute}
	if err := queues.SetGroups(ctx, "exports", everybody); err != nil {
		return err
	}
	// This tenant has bought more. It has the limit of starts of the others.
	return queues.SetGroup(ctx, "exports", "tenant-42", chime.GroupRule{Weight: 5, Running: 10})
}

func orderByEndpoint(ctx context.Context, queues *chime.Queues) error {
	return queues.SetGroups(ctx, "webhooks", chime.GroupRule{Ordered: chime.On})
}

func pauseEndpoint(ctx context.Context, queues *chime.Queues, endpoint string) error {
	return queues.PauseGroup(ctx, "webhooks", endpoint, chime.Note{Text: "they have an incident", By: "anna"})
}

func putNightly(ctx context.Context, schedules *chime.Schedules, tenant string) error {
	_, err := schedules.Put(ctx, "nightly-"+tenant, recurrence.Recurrence{Cron: "0 2 * * *"},
		chime.JobName("export"), chime.Queue("exports"), chime.Group(tenant))
	return err
}

func blockedGroups(ctx context.Context, queues *chime.Queues) (blocked []string, err error) {
	for group, err := range queues.Groups(ctx, "webhooks", chime.GroupFilter{Waiting: true}) {
		if err != nil {
			return nil, err
		}
		if group.Blocked != "" {
			blocked = append(blocked, fmt.Sprintf("%s: %s, %d wait", group.Key, group.Blocked, group.Waiting))
		}
	}
	return blocked, nil
}
