package chimetest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
	"github.com/chimejobs/chime/recurrence"
)

type InvoiceArgs struct {
	Customer string
	Cents    int
}

var Invoice = chime.Define[InvoiceArgs]("invoice", chime.Queue("mail"), chime.MaxAttempts(5), chime.Retry(chime.Fixed(time.Minute)))

func sendInvoice(ctx context.Context, job *chime.Job, args InvoiceArgs) error {
	if args.Cents <= 0 {
		return chime.Discard(errors.New("nothing to pay"))
	}
	return job.Return("sent to " + args.Customer)
}

// The examples of docs/testing.md are these tests, line by line.

func TestAHandlerAlone(t *testing.T) {
	handler := Invoice.Handler(sendInvoice)

	job := chimetest.NewJob(t, Invoice.Item(InvoiceArgs{Customer: "c1", Cents: 100}))
	job.Attempt = 3 // the test may change any field
	worked := chimetest.Work(t, handler, job)
	var sent string
	if err := chime.Decode(worked.Value, &sent); err != nil || worked.Action != chime.Succeeded || sent != "sent to c1" {
		t.Errorf("got %v %v, %q", worked.Action, worked.Err, sent)
	}

	worked = chimetest.Work(t, handler, chimetest.NewJob(t, Invoice.Item(InvoiceArgs{Customer: "c1"})))
	if worked.Action != chime.Discarded {
		t.Errorf("nothing to pay: got %v (%v), want discarded", worked.Action, worked.Err)
	}
}

func TestWhatWasEnqueued(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{})
		if _, err := Invoice.Enqueue(t.Context(), enqueuer, InvoiceArgs{Customer: "c1", Cents: 100}, chime.In(time.Hour)); err != nil {
			t.Fatal(err)
		}
		found := chimetest.Enqueued(c, Invoice)
		if len(found) != 1 || found[0].Args.Customer != "c1" || found[0].Queue != "mail" || found[0].State != chime.JobDelayed {
			t.Errorf("enqueued: %v", found)
		}
	})
}

func TestARetryAndAMiss(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		roles := func() []chime.Role { // a role can be started only once, so each start needs new roles
			worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
			worker.Handle("report", func(ctx context.Context, job *chime.Job) error {
				if job.Attempt == 1 {
					return chime.RetryAfter(5*time.Minute, errors.New("busy"))
				}
				return nil
			})
			scheduler := chime.NewScheduler(c.Store(), chime.SchedulerOptions{})
			if err := scheduler.Schedule("report", recurrence.Recurrence{Cron: "30 * * * *"}); err != nil {
				t.Fatal(err)
			}
			return []chime.Role{worker, scheduler}
		}
		stop := c.Start(roles()...)
		runs := c.Advance(time.Hour) // it is 11:17
		if len(runs) != 2 || runs[0].Outcome != chime.RunFailed || runs[1].Outcome != chime.RunDone {
			t.Fatalf("in the first hour: %v, want a failure at 10:30 and another attempt", runs)
		}

		stop()
		if runs := c.Advance(3 * time.Hour); len(runs) != 0 {
			t.Errorf("while nothing runs: %v", runs)
		}
		c.Start(roles()...) // it is 14:17, and three runs were missed
		runs = c.Advance(10 * time.Minute)
		if len(runs) != 2 || runs[0].Planned.Hour() != 11 {
			t.Errorf("after the start: %v, want the run of 11:30, in two attempts", runs)
		}
	})
}

func TestASummaryOfAllInvoices(t *testing.T) {
	summarize := func(_ context.Context, job *chime.Job) error {
		return job.Return(fmt.Sprintf("%d of %d invoices", job.BatchInfo.Done, job.BatchInfo.Total))
	}
	job := chimetest.NewJob(t, chime.Item{Name: "summary"})
	job.BatchInfo = &chime.BatchInfo{ID: "may", Total: 10, Done: 9, Dead: 1}
	if worked := chimetest.Work(t, summarize, job); worked.Err != nil {
		t.Error(worked.Err)
	}

	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{Queues: map[string]int{"mail": 1, "default": 1}})
		Invoice.Handle(worker, sendInvoice)
		worker.Handle("summary", summarize)
		_, err := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{}).EnqueueBatch(t.Context(), chime.Batch{
			ID: "may",
			Items: func(yield func(chime.Item, error) bool) {
				_ = yield(Invoice.Item(InvoiceArgs{Customer: "c1", Cents: 100}), nil) &&
					yield(Invoice.Item(InvoiceArgs{Customer: "c2", Cents: 200}, chime.In(time.Hour)), nil)
			},
			Done: chime.Item{Name: "summary", Options: []chime.EnqueueOption{chime.Keep(time.Hour)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		c.Start(worker)
		c.Advance(time.Hour) // the last member and the summary run within it
		var text string
		if err := chime.NewJobs(c.Store()).Wait(t.Context(), "default", "may#done", &text); err != nil || text != "2 of 2 invoices" {
			t.Errorf("the summary is %q, %v", text, err)
		}
	})
}

func TestNextMonday(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) { // it is Wednesday, 12 January 2000
		scheduler := chime.NewScheduler(c.Store(), chime.SchedulerOptions{})
		for name, cron := range map[string]string{"weekly": "0 7 * * 1", "hourly": "@hourly", "monthly": "@monthly"} {
			if err := scheduler.Schedule(name, recurrence.Recurrence{Cron: cron}); err != nil {
				t.Fatal(err)
			}
		}
		c.Start(scheduler)
		monday := time.Date(2000, 1, 17, 0, 0, 0, 0, time.UTC)
		if due := c.Upcoming(monday, monday.AddDate(0, 0, 1)); len(due) != 25 {
			t.Errorf("Monday has %d runs, want 25: %v", len(due), due)
		}
	})
}

func TestThePageOnTestingShowsTheseTests(t *testing.T) {
	page, err := os.ReadFile("../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("page_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```go\n")[1:]
	for _, block := range blocks {
		code, _, ended := strings.Cut(block, "```")
		if !ended || !strings.Contains(string(source), "\n"+code) {
			t.Errorf("docs/testing.md shows what page_test.go does not have:\n%s", code)
		}
	}
	shown := string(page)
	for _, test := range []string{"TestAHandlerAlone", "TestWhatWasEnqueued", "TestARetryAndAMiss", "TestNextMonday"} {
		if !strings.Contains(shown, "\nfunc "+test+"(") {
			t.Errorf("docs/testing.md does not show %s", test)
		}
	}
	if len(blocks) != 6 {
		t.Errorf("docs/testing.md has %d pieces of code, want the kind and five tests", len(blocks))
	}
}

func ExampleRun() {
	var t *testing.T // of the test
	_ = func() {
		chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
			worker := chime.NewWorker(c.Store(), chime.WorkerOptions{Queues: map[string]int{"mail": 1}})
			Invoice.Handle(worker, sendInvoice)
			stop := c.Start(worker)
			for _, run := range c.Advance(24 * time.Hour) {
				t.Log(run)
			}
			stop() // the program is down
			c.Advance(time.Hour)
		})
	}
}

func ExampleWork() {
	var t *testing.T // of the test
	_ = func() {
		worked := chimetest.Work(t, Invoice.Handler(sendInvoice), chimetest.NewJob(t, Invoice.Item(InvoiceArgs{Customer: "c1"})))
		fmt.Println(worked.Action, worked.Err)
	}
}

func ExampleChime_Upcoming() {
	var c *chimetest.Chime // of Run
	_ = func() {
		for _, run := range c.Upcoming(time.Now(), time.Now().AddDate(0, 0, 7)) {
			fmt.Println(run.Schedule, run.Planned)
		}
	}
}

func ExampleEnqueued() {
	var c *chimetest.Chime // of Run
	_ = func() {
		for _, job := range chimetest.Enqueued(c, Invoice) {
			fmt.Println(job.State, job.Due, job.Args.Customer)
		}
	}
}
