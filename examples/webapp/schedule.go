package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// every is a rule with an interval in seconds.
func every(seconds int) recurrence.Recurrence {
	return recurrence.Recurrence{Frequency: recurrence.Second, Interval: seconds}
}

// declare declares the program's schedules.
func declare(scheduler *chime.Scheduler) error {
	return errors.Join(
		report.Schedule(scheduler, "report", every(2), nil),                                       // done
		invoice.Schedule(scheduler, "invoices", every(4), nil, chime.Overlap(chime.OverlapAllow)), // fails, and is dead
		weather.Schedule(scheduler, "weather", every(5), nil, chime.Overlap(chime.OverlapAllow)),  // fails once, is retried, and done
		export.Schedule(scheduler, "export orders", every(6), nil),                                // the three of them are on a queue that runs one job
		export.Schedule(scheduler, "export customers", every(6), nil),                             // at a time, so two are late
		export.Schedule(scheduler, "export stock", every(6), nil),
		thumbnail.Schedule(scheduler, "thumbnails", recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 2}, picture{"autumn.jpg"}), // has progress
		report.Schedule(scheduler, "accounts", recurrence.Recurrence{ // the dashboard shows its rule in words
			Frequency: recurrence.Month, MonthDays: []int{-1}, Hours: []int{18}, TimeZone: "Europe/Berlin"}, nil),
	)
}

// A demonstration adds content to the store that schedules alone do not create. It is a role, so it begins with the others.
type demonstration struct {
	store    chime.Store
	enqueuer *chime.Enqueuer
	address  string // of this program
}

// Run fills the store once, and waits for the end of ctx.
func (d *demonstration) Run(ctx context.Context) error {
	if err := d.fill(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// fill enqueues jobs and a batch, pauses a schedule and a queue, and creates a job with the HTTP API.
func (d *demonstration) fill(ctx context.Context) error {
	queues := chime.NewQueues(d.store)
	var items []chime.Item
	for i := range 12 { // dead jobs, in two groups
		items = append(items, payment.Item(order{fmt.Sprintf("customer %d", i), "4111 1111 1111 1111"}, chime.ID(fmt.Sprintf("order-%d", 100+i))))
	}
	items = append(items,
		mail.Item(message{""}, chime.ID("nobody")), mail.Item(message{"ada@example.com"}, chime.Header("tenant", "acme")),
		mail.Item(message{"ada@example.com"}, chime.In(time.Hour), chime.ID("tomorrow")),             // delayed
		fax.Item(message{"+49 30 000"}, chime.ID("fax-1")), fax.Item(message{""}, chime.ID("fax-2")), // parked
		letter.Item(message{"the archive"}, chime.ID("letter-1")), letter.Item(message{"the archive"}, chime.ID("letter-2")), // they wait on a paused queue
	)
	if err := queues.Limit(ctx, "exports", chime.Limit{Running: 1}); err != nil {
		return err
	}
	if _, err := letter.Enqueue(ctx, d.enqueuer, message{"the archive"}, chime.In(time.Hour), chime.ID("letter-0")); err != nil {
		return err // a queue exists after its first job
	}
	if err := queues.Pause(ctx, "archive", chime.Note{Text: "the printer is being repaired", By: "anna"}); err != nil {
		return err
	}
	if _, err := d.enqueuer.EnqueueMany(ctx, items); err != nil {
		return err
	}
	if err := d.enqueueBatch(ctx); err != nil {
		return err
	}
	nightly := recurrence.Recurrence{Cron: "0 2 * * *", TimeZone: "Europe/Berlin"}
	if _, err := chime.NewSchedules(d.store).Put(ctx, "cleanup", nightly, chime.JobName("report"), chime.Paused(chime.Note{Text: "until the move is over", By: "anna"})); err != nil {
		return err
	}
	return d.callAPI(ctx)
}

// enqueueBatch enqueues a batch that does not end: a letter of it waits on the paused queue. One of its mails is dead.
func (d *demonstration) enqueueBatch(ctx context.Context) error {
	items := []chime.Item{letter.Item(message{"bob@example.com"})}
	for _, to := range []string{"ada@example.com", "carla@example.com", ""} {
		items = append(items, mail.Item(message{to}))
	}
	_, err := d.enqueuer.EnqueueBatch(ctx, chime.Batch{
		ID: "newsletter-november", Note: "sent by anna", Done: report.Item(nil),
		Items: func(yield func(chime.Item, error) bool) {
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
		},
	})
	return err
}

// callAPI creates a collection and a job over HTTP, like another program.
func (d *demonstration) callAPI(ctx context.Context) error {
	job := fmt.Sprintf(`{"action": {"type": "http", "request": {"uri": "http://%s/ping", "method": "POST"}}, "recurrence": {"frequency": "minute"}}`, d.address)
	for _, put := range []struct{ path, body string }{{"/demo", "{}"}, {"/demo/jobs/ping", job}} {
		url := "http://" + d.address + "/api/jobCollections" + put.path
		request, err := http.NewRequestWithContext(ctx, http.MethodPut, url, strings.NewReader(put.body))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		_ = answer.Body.Close()
		if answer.StatusCode > http.StatusCreated {
			return fmt.Errorf("PUT %s: %s", url, answer.Status)
		}
	}
	return nil
}
