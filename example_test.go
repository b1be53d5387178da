package chime_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// One process enqueues a job and runs it. In production use redisstore.New instead of the embedded server, and a ctx of
// signal.NotifyContext.
func Example() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()

	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{})
	worker.Handle("greet", func(ctx context.Context, job *chime.Job) error {
		var name string
		if err := job.Decode(&name); err != nil {
			return err
		}
		fmt.Println("Hello,", name)
		stop() // a real program continues
		return nil
	})

	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
	if _, err := enqueuer.Enqueue(ctx, "greet", "Ada"); err != nil {
		fmt.Println(err)
	}
	if err := chime.Run(ctx, worker); err != nil {
		fmt.Println(err)
	}
	// Output: Hello, Ada
}

// A scheduler and a worker: the rule has no start, so it runs immediately, and then each quarter of an hour.
func ExampleRun() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()

	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{})
	worker.Handle("report", func(ctx context.Context, job *chime.Job) error {
		fmt.Println("run of", job.Schedule, "attempt", job.Attempt)
		stop()
		return nil
	})
	scheduler := chime.NewScheduler(server.Store(), chime.SchedulerOptions{})
	if err := scheduler.Schedule("report", recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 15}); err != nil {
		fmt.Println(err)
	}
	if err := chime.Run(ctx, scheduler, worker); err != nil { // drains the worker, then returns nil
		fmt.Println(err)
	}
	// Output: run of report attempt 1
}

type Mail struct {
	To      string `json:"to"`
	Subject string `json:"subject"`
}

// Usually in a package that enqueuers and handlers both import.
var SendMail = chime.Define[Mail]("example.mail")

func ExampleDefine() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()

	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{})
	SendMail.Handle(worker, func(ctx context.Context, job *chime.Job, mail Mail) error {
		fmt.Printf("%s to %s\n", mail.Subject, mail.To)
		stop()
		return nil
	})
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
	if _, err := SendMail.Enqueue(ctx, enqueuer, Mail{To: "ada@example.com", Subject: "Welcome"}); err != nil {
		fmt.Println(err)
	}
	if err := chime.Run(ctx, worker); err != nil {
		fmt.Println(err)
	}
	// Output: Welcome to ada@example.com
}

// EnqueueMany sends many jobs in one call. Each item has its receipt, in order. With its own IDs a program may repeat the call.
func ExampleEnqueuer_EnqueueMany() {
	server := embedded.StartInMemory()
	defer server.Close()
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
	items := []chime.Item{
		{Name: "charge", Args: 1200, Options: []chime.EnqueueOption{chime.ID("order-17")}},
		{Name: "remind", Args: "order-17", Options: []chime.EnqueueOption{chime.ID("order-17-reminder"), chime.In(24 * time.Hour)}},
		SendMail.Item(Mail{To: "ada@example.com"}, chime.ID("order-17-mail"), chime.Queue("mail")),
	}
	for range 2 { // the second time as after an unknown outcome
		receipts, err := enqueuer.EnqueueMany(context.Background(), items)
		if err != nil {
			fmt.Println(err)
		}
		for _, receipt := range receipts {
			fmt.Println(receipt.ID, receipt.Existing)
		}
	}
	// Output:
	// order-17 false
	// order-17-reminder false
	// order-17-mail false
	// order-17 true
	// order-17-reminder true
	// order-17-mail true
}

// A schedule that a user has created: its name comes from data, and many schedules share one handler.
func ExampleSchedules_Put() {
	server := embedded.StartInMemory()
	defer server.Close()
	schedules := chime.NewSchedules(server.Store())
	rule := recurrence.Recurrence{Cron: "0 9 * * 1-5", TimeZone: "Europe/Berlin"}

	schedule, err := schedules.Put(context.Background(), "digest:customer-7", rule, chime.JobName("digest"), chime.Args(7))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(schedule.Name, "creates", schedule.JobName, "and is", schedule.State)

	again, err := schedules.Put(context.Background(), "digest:customer-7", rule, chime.JobName("digest"), chime.Args(7))
	fmt.Println("the same again changes nothing:", err == nil && again.Revision == schedule.Revision)
	// Output:
	// digest:customer-7 creates digest and is live
	// the same again changes nothing: true
}

// Three of a thousand schedules with the same rule: each begins at its own part of the hour, which never changes. All have the same planned
// instants.
func ExampleSpread() {
	server := embedded.StartInMemory()
	defer server.Close()
	schedules := chime.NewSchedules(server.Store())

	for _, tenant := range []string{"acme", "globex", "initech"} {
		sync, err := schedules.Put(context.Background(), "sync:"+tenant, recurrence.Recurrence{Cron: "@hourly"}, chime.JobName("sync"), chime.Args(tenant),
			chime.Spread(time.Hour))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(sync.Name, "begins", sync.Offset.Round(time.Second), "past each hour")
	}
	// Output:
	// sync:acme begins 39m4s past each hour
	// sync:globex begins 28m6s past each hour
	// sync:initech begins 16m25s past each hour
}

// A queue for a third party, with its limits: at most 20 jobs at once over all workers, and 80 that begin in a second. Every process may set
// them when it starts: the same limit again changes nothing.
func ExampleQueues_Limit() {
	server := embedded.StartInMemory()
	defer server.Close()
	queues := chime.NewQueues(server.Store())
	ctx := context.Background()

	if err := queues.Limit(ctx, "stripe", chime.Limit{Running: 20, Starts: 80, Per: time.Second}); err != nil {
		fmt.Println(err)
	}
	if err := queues.Pause(ctx, "stripe", chime.Note{Text: "they have an incident", By: "anna"}); err != nil {
		fmt.Println(err)
	}
	stripe, err := queues.Get(ctx, "stripe")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(stripe.Limit.Running, "at once,", stripe.Limit.Starts, "in", stripe.Limit.Per)
	fmt.Println("paused by", stripe.Note.By+":", stripe.Note.Text)
	// Output:
	// 20 at once, 80 in 1s
	// paused by anna: they have an incident
}

// Two people edit a schedule: each gives the revision that he has read.
func ExampleIfRevision() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, schedules := context.Background(), chime.NewSchedules(server.Store())
	seen, err := schedules.Put(ctx, "report", recurrence.Recurrence{Cron: "0 9 * * *"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, anna := schedules.Put(ctx, "report", recurrence.Recurrence{Cron: "0 8 * * *"}, chime.IfRevision(seen.Revision))
	_, bert := schedules.Put(ctx, "report", recurrence.Recurrence{Cron: "0 7 * * *"}, chime.IfRevision(seen.Revision))
	fmt.Println(anna)
	if conflict := new(chime.ConflictError); errors.As(bert, &conflict) {
		fmt.Println("somebody was faster:", conflict.Schedule.Recurrence.Cron)
	}
	// Output:
	// <nil>
	// somebody was faster: 0 8 * * *
}

// Read a page of the schedules of one customer, and the name after which the next page begins.
func ExampleSchedules_List() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, schedules := context.Background(), chime.NewSchedules(server.Store())
	for _, name := range []string{"acme/backup", "acme/invoices", "acme/report", "other/report"} {
		if _, err := schedules.Put(ctx, name, recurrence.Recurrence{Cron: "@daily"}, chime.JobName("job")); err != nil {
			fmt.Println(err)
		}
	}
	filter, n := chime.ScheduleFilter{Prefix: "acme/"}, 0
	for s, err := range schedules.List(ctx, filter) {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(s.Name, "is", s.State)
		if n++; n == 2 {
			filter.After = s.Name // of the next page
			break
		}
	}
	for s := range schedules.List(ctx, filter) {
		fmt.Println("then", s.Name)
	}
	// Output:
	// acme/backup is live
	// acme/invoices is live
	// then acme/report
}

func ExampleSchedules_Pause() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, schedules := context.Background(), chime.NewSchedules(server.Store())
	if _, err := schedules.Put(ctx, "report", recurrence.Recurrence{Cron: "@daily"}); err != nil {
		fmt.Println(err)
	}
	if err := schedules.Pause(ctx, "report", chime.Note{Text: "moving house", By: "anna"}); err != nil {
		fmt.Println(err)
	}
	s, err := schedules.Get(ctx, "report")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.State, "by", s.Note.By+":", s.Note.Text)
	if err := schedules.Resume(ctx, "report", chime.SkipGap()); err != nil { // nothing is caught up
		fmt.Println(err)
	}
	// Output: paused by anna: moving house
}

func ExampleSchedules_Upcoming() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, schedules := context.Background(), chime.NewSchedules(server.Store())
	rule := recurrence.Recurrence{Cron: "0 0 29 2 *", TimeZone: "UTC", StartTime: time.Date(2096, 1, 1, 0, 0, 0, 0, time.UTC), Count: 5}
	if _, err := schedules.Put(ctx, "leap", rule); err != nil {
		fmt.Println(err)
	}
	times, err := schedules.Upcoming(ctx, "leap", 3)
	if err != nil {
		fmt.Println(err)
	}
	for _, at := range times {
		fmt.Println(at.Format(time.DateOnly))
	}
	// Output:
	// 2096-02-29
	// 2104-02-29
	// 2108-02-29
}
