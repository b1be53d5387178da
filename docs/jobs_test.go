package docs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/chimejobs/chime"
)

// docs/jobs.md shows the code of this file piece by piece; jobs_run_test.go runs all of it.

type Mail struct {
	To       string
	Template string
}

var SendMail = chime.Define[Mail]("mail", chime.Queue("mail"), chime.MaxAttempts(8), chime.Timeout(time.Minute))

func signUp(ctx context.Context, enqueuer *chime.Enqueuer, address string) error {
	if _, err := SendMail.Enqueue(ctx, enqueuer, Mail{To: address, Template: "welcome"}); err != nil {
		return err
	}
	_, err := SendMail.Enqueue(ctx, enqueuer, Mail{To: address, Template: "first steps"}, chime.In(72*time.Hour))
	return err
}

func newsletter(ctx context.Context, enqueuer *chime.Enqueuer, addresses []string) error {
	var items []chime.Item
	for _, address := range addresses {
		items = append(items, SendMail.Item(Mail{To: address, Template: "newsletter"}))
	}
	_, err := enqueuer.EnqueueMany(ctx, items)
	return err
}

func sendMail(ctx context.Context, job *chime.Job, mail Mail) error {
	err := deliver(ctx, job.ID, mail)
	switch {
	case errors.Is(err, errNoSuchAddress):
		return chime.Discard(err) // another attempt would fail too
	case errors.Is(err, errBusy):
		return chime.RetryAfter(10*time.Minute, err) // a failure, and this program knows how long to wait
	case errors.Is(err, errNotYet):
		return chime.Snooze(time.Hour) // no failure
	}
	return err
}

func mailWorker(store chime.Store) *chime.Worker {
	worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"mail": 3, "default": 1}, Concurrency: 20})
	SendMail.Handle(worker, sendMail)
	return worker
}

type Order struct{ Number int }

var Charge = chime.Define[Order]("charge", chime.MaxAttempts(10), chime.Retry(chime.Exponential(5*time.Second, time.Hour)))

func shopWorker(store chime.Store) *chime.Worker {
	worker := chime.NewWorker(store, chime.WorkerOptions{
		Defaults: []chime.HandlerOption{chime.MaxAttempts(3), chime.Timeout(5 * time.Minute), chime.Retry(chime.Fixed(time.Minute))},
	})
	Charge.Handle(worker, charge)
	worker.Handle("ship", ship, chime.MaxAttempts(6))
	worker.Handle("invoice", invoice)
	return worker
}

func shop(ctx context.Context, enqueuer *chime.Enqueuer) error {
	order := Order{Number: 17}
	_, err := enqueuer.EnqueueMany(ctx, []chime.Item{
		Charge.Item(order, chime.MaxAttempts(2)), // 2 attempts: set by the call
		Charge.Item(order),                       // 10: by the kind
		{Name: "ship", Args: order},              // 6: by the handler
		{Name: "invoice", Args: order},           // 3: by the worker
	})
	return err
}

func showDead(ctx context.Context, jobs *chime.Jobs, queue string, out io.Writer) error {
	for job, err := range jobs.List(ctx, chime.JobFilter{Queue: queue, State: chime.JobDead}) {
		if job == nil {
			return err // of the store, or of the filter: the list ends here
		}
		fmt.Fprintln(out, job.Name, job.ID, "died at", job.Ended, "in attempt", job.Attempt)
		for _, failure := range job.Failures { // the last five, oldest first
			fmt.Fprintln(out, "  ", failure.At, failure.Worker, failure.Error)
		}
	}
	return nil
}

func afterTheOutage(ctx context.Context, jobs *chime.Jobs) (requeued int, err error) {
	result, err := jobs.Requeue(ctx, chime.JobFilter{
		Queue: "mail", State: chime.JobDead,
		Name:  SendMail.Name(),
		Error: "connection refused", // a part of the last error
	}, nil)
	return result.Changed, err
}

func forgetOldDeaths(ctx context.Context, jobs *chime.Jobs) (deleted int, err error) {
	aWeekAgo := time.Now().AddDate(0, 0, -7)
	result, err := jobs.Delete(ctx, chime.JobFilter{Queue: "mail", State: chime.JobDead, Before: aWeekAgo}, nil)
	return result.Changed, err
}

func welcome(ctx context.Context, enqueuer *chime.Enqueuer, user int, address string) (added bool, err error) {
	receipt, err := SendMail.Enqueue(ctx, enqueuer, Mail{To: address, Template: "welcome"},
		chime.ID(fmt.Sprintf("welcome:%d", user)), chime.Once(24*time.Hour))
	return err == nil && !receipt.Existing, err
}

type Picture struct{ Path string }

var Thumbnail = chime.Define[Picture]("thumbnail", chime.ArgsID())

type Code struct{ To, Text string }

var SendCode = chime.Define[Code]("send-code", chime.Expire(5*time.Minute))

type Customer struct {
	ID   int
	Name string
}

var Reindex = chime.Define[Customer]("reindex")

func customerChanged(ctx context.Context, enqueuer *chime.Enqueuer, customer Customer) error {
	_, err := Reindex.Enqueue(ctx, enqueuer, customer,
		chime.ID(fmt.Sprintf("reindex:%d", customer.ID)), chime.Replace(), chime.In(30*time.Second))
	return err
}

type Trip struct{ Kilometres int }
type Price struct{ Cents int }

var Quote = chime.Define[Trip]("quote", chime.Keep(10*time.Minute), chime.MaxAttempts(1))

func quote(ctx context.Context, job *chime.Job, trip Trip) error {
	if trip.Kilometres <= 0 {
		return errors.New("that is no trip")
	}
	return job.Return(Price{Cents: 250 + 90*trip.Kilometres})
}

func askForQuote(ctx context.Context, enqueuer *chime.Enqueuer, jobs *chime.Jobs, trip Trip) (price Price, err error) {
	receipt, err := Quote.Enqueue(ctx, enqueuer, trip)
	if err != nil {
		return price, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	price, err = chime.Wait[Price](ctx, jobs, Quote, receipt.ID) // or jobs.Wait(ctx, receipt.Queue, receipt.ID, &price)
	if failed := new(chime.JobError); errors.As(err, &failed) {
		return price, fmt.Errorf("there is no quote (%s): %s", failed.Outcome, failed.Message)
	}
	return price, err
}

type ExportArgs struct{ Rows int }
type ExportProgress struct{ Rows, Of int }

var Export = chime.Define[ExportArgs]("export", chime.Keep(time.Hour))

func export(ctx context.Context, job *chime.Job, args ExportArgs) error {
	for row := range args.Rows {
		if err := exportRow(ctx, row); err != nil {
			return err // also when ctx has ended
		}
		if err := job.Progress(ExportProgress{Rows: row + 1, Of: args.Rows}); err != nil {
			return err
		}
	}
	job.Note(fmt.Sprintf("%d rows", args.Rows))
	return nil
}

func howFar(ctx context.Context, jobs *chime.Jobs, id string) (state chime.JobState, so ExportProgress, err error) {
	job, err := jobs.Get(ctx, "default", id)
	if err != nil {
		return "", so, err
	}
	return job.State, so, chime.Decode(job.Progress, &so)
}

func cancelExport(ctx context.Context, jobs *chime.Jobs, id string) (answer string, err error) {
	result, err := jobs.Cancel(ctx, "default", id)
	switch {
	case errors.Is(err, chime.ErrNotFound):
		return "there is no such export", nil
	case err != nil:
		return "", err
	case result == chime.CancelDone:
		return "it never starts", nil
	case result == chime.CancelAsked:
		return "it runs, and its ctx was cancelled", nil
	}
	return "it had already ended", nil // chime.CancelTooLate
}

func exportRow(ctx context.Context, row int) error {
	select {
	case <-time.After(time.Second): // the work
		return nil
	case <-ctx.Done():
		return context.Cause(ctx) // chime.ErrCancelled, ErrTimeout, ErrShutdown, ErrSessionLost or ErrReplaced
	}
}

func setLimits(ctx context.Context, store chime.Store) error {
	queues := chime.NewQueues(store)
	return errors.Join(
		queues.Limit(ctx, "payments", chime.Limit{Starts: 80, Per: time.Second}), // the provider allows 80 in a second
		queues.Limit(ctx, "pdf", chime.Limit{Running: 4}),                        // our renderer has four processors
	)
}

type tenantKey struct{}

func sendTenant(next chime.EnqueueFunc) chime.EnqueueFunc {
	return func(ctx context.Context, items []chime.Item) ([]chime.Receipt, error) {
		if tenant, ok := ctx.Value(tenantKey{}).(string); ok {
			for i := range items {
				items[i].Options = append(items[i].Options, chime.Header("tenant", tenant))
			}
		}
		return next(ctx, items)
	}
}

func receiveTenant(next chime.Handler) chime.Handler {
	return func(ctx context.Context, job *chime.Job) error {
		return next(context.WithValue(ctx, tenantKey{}, job.Header["tenant"]), job)
	}
}

type Image struct{ File string }

var (
	Notify  = chime.Define[string]("notify")
	Publish = chime.Define[Image]("publish")
	Resize  = chime.Define[Image]("resize")
)

func thumbnail(ctx context.Context, enqueuer *chime.Enqueuer, image Image, owner string) error {
	_, err := Resize.Enqueue(ctx, enqueuer, image, chime.OnDone(
		Publish.Item(image, chime.OnDone(
			Notify.Item(owner, chime.In(time.Minute))))))
	return err
}

func publish(ctx context.Context, job *chime.Job, image Image) error {
	var small string
	if err := chime.Decode(job.Prior.Result, &small); err != nil { // what the handler of resize passed to job.Return
		return err
	}
	return post(ctx, "site", image.File+" as "+small)
}

type AlertArgs struct{ Channel string }

var (
	Alert  = chime.Define[AlertArgs]("alert")
	Payout = chime.Define[Order]("payout", chime.Queue("payments"), chime.OnDeath(Alert.Item(AlertArgs{Channel: "#payments"})))
)

func alert(ctx context.Context, job *chime.Job, args AlertArgs) error {
	died := job.Death
	var order Order
	if err := died.Decode(&order); err != nil {
		return err
	}
	return post(ctx, args.Channel, fmt.Sprintf("%s of order %d is dead after %d attempts: %s",
		died.Name, order.Number, died.Attempt, died.LastError))
}

type Welcome struct {
	First, Last string
	Name        string // of programs before version 2; not written any more
}

var Greet = chime.Define[Welcome]("greet")

func greet(ctx context.Context, job *chime.Job, args Welcome) error {
	if args.First == "" {
		args.First = args.Name
	}
	return post(ctx, "#welcome", "hello, "+args.First)
}

type Page struct{ URL string }

var Index = chime.Define[Page]("index", chime.Queue("index"))

func index(ctx context.Context, jobs []*chime.Job, pages []Page) error {
	each := chime.Each{}
	for i, err := range insert(ctx, pages) { // one request, and an error or nil for each page
		each[jobs[i].ID] = err
	}
	return each
}

func indexWorker(store chime.Store) *chime.Worker {
	worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"index": 1}})
	Index.HandleMany(worker, chime.Many{Size: 100, Wait: 200 * time.Millisecond}, index)
	return worker
}

type counts struct{ enqueued, done, failed, dead atomic.Int64 }

func (c *counts) observer() *chime.Observer {
	return &chime.Observer{
		Enqueued: func(events []chime.JobEvent) { c.enqueued.Add(int64(len(events))) },
		Ended: func(events []chime.JobEvent) {
			for _, e := range events {
				switch e.Outcome {
				case chime.RunDone:
					c.done.Add(1)
				case chime.RunFailed:
					c.failed.Add(1) // another attempt follows
				case chime.RunDead:
					c.dead.Add(1)
				}
			}
		},
	}
}
