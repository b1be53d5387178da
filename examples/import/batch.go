package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
)

const queue = "payments"

// A payment is a line of the file.
type payment struct {
	Number   int
	Customer string
	Cents    int64
}

// A summary is what the last job returns.
type summary struct {
	Lines int
	Cents int64
}

var (
	book      = chime.Define[payment]("book", chime.Queue(queue))
	summarize = chime.Define[string]("summarize", chime.Queue(queue), chime.Keep(time.Hour))
)

// importFile enqueues a job for each line, and a summary that is added when all of them are done. The ID is made of the file, so it may be called again
// if the process dies in the middle: then each line is still enqueued once.
func importFile(ctx context.Context, enqueuer *chime.Enqueuer, path string) (chime.BatchReceipt, error) {
	file, err := os.Open(path)
	if err != nil {
		return chime.BatchReceipt{}, err
	}
	defer func() { _ = file.Close() }()
	return enqueuer.EnqueueBatch(ctx, chime.Batch{
		ID:    filepath.Base(path),
		Items: linesOf(file),
		Done:  summarize.Item(path),
	})
}

// payments are the booked payments: the number of each line with its amount, in a hash of the same Redis. Your program has a database.
type payments struct{ client *redis.Client }

const booked = namespace + ":booked"

// book books a payment. A job may run twice, so booking it again must change nothing.
func (p payments) book(ctx context.Context, batch string, line payment) error {
	return p.client.HSet(ctx, booked+":"+batch, line.Number, line.Cents).Err()
}

// sum adds up the booked payments of a batch.
func (p payments) sum(ctx context.Context, batch string) (s summary, err error) {
	amounts, err := p.client.HVals(ctx, booked+":"+batch).Result()
	for _, amount := range amounts {
		cents, err := strconv.ParseInt(amount, 10, 64)
		if err != nil {
			return s, err
		}
		s.Lines, s.Cents = s.Lines+1, s.Cents+cents
	}
	return s, err
}

// newWorker returns the worker that books the payments and writes the summary. If it vanishes, its jobs run in another worker within six seconds.
func newWorker(store chime.Store, db payments, out io.Writer, log *slog.Logger) *chime.Worker {
	worker := chime.NewWorker(store, chime.WorkerOptions{
		Queues: map[string]int{queue: 1}, Concurrency: 20, SessionTTL: 4 * time.Second, Logger: log,
	})
	book.Handle(worker, func(ctx context.Context, job *chime.Job, line payment) error {
		return db.book(ctx, job.Batch, line)
	})
	summarize.Handle(worker, func(ctx context.Context, job *chime.Job, _ string) error {
		s, err := db.sum(ctx, job.BatchInfo.ID)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "summary: %d payments, %d.%02d in total\n", s.Lines, s.Cents/100, s.Cents%100)
		return job.Return(s)
	})
	return worker
}
