// Outbox shows three ways to do work once although a job may run twice: an ID as the key of a payment (charge.go), a fence in an SQL statement
// (fence.go), and an outbox. The program shows the outbox: how to enqueue a job if, and only if, a transaction of an SQL database commits: the transaction writes the job into a table,
// and a relay enqueues the rows of that table. It runs on SQLite and a Redis in the process; the SQL also works on PostgreSQL.
//
//	cd examples/outbox && go run .
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	_ "modernc.org/sqlite"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

type parcel struct{ Order int }

var ship = chime.Define[parcel]("ship", chime.Queue("parcels"), chime.MaxAttempts(5))

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "outbox:", err)
		os.Exit(1)
	}
}

// run places orders, one of which fails, and ships the placed ones until ctx ends.
func run(ctx context.Context, out io.Writer) error {
	db, err := openDB(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	server, err := embedded.Start()
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	errorsOnly := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))

	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{Queues: map[string]int{"parcels": 1}, Logger: errorsOnly})
	ship.Handle(worker, func(_ context.Context, _ *chime.Job, args parcel) error {
		_, err := fmt.Fprintln(out, "shipped order", args.Order)
		return err
	})
	outbox := newRelay(db, chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{Logger: errorsOnly}))
	for order, cents := range []int{1200, 0, 800} {
		if err := placeOrder(ctx, db, order, cents); err != nil {
			fmt.Fprintln(out, "order", order, "was not placed:", err)
		}
	}
	outbox.committed()
	return chime.Run(ctx, worker, outbox)
}

func newRelay(db *sql.DB, enqueuer *chime.Enqueuer) *relay {
	return &relay{db: db, enqueuer: enqueuer, kinds: map[string]decoder{ship.Name(): decoderOf(ship)}, wake: make(chan struct{}, 1)}
}

// committed makes the relay read the table at once.
func (r *relay) committed() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func openDB(ctx context.Context) (*sql.DB, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each connection would have its own database in memory
	for _, create := range []string{createOutbox, createReports, `CREATE TABLE orders (number BIGINT PRIMARY KEY, cents BIGINT NOT NULL)`} {
		if _, err := db.ExecContext(ctx, create); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return db, nil
}

// placeOrder stores an order, and the job that ships it: both or neither.
func placeOrder(ctx context.Context, db *sql.DB, number, cents int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if _, err := tx.ExecContext(ctx, `INSERT INTO orders (number, cents) VALUES ($1, $2)`, number, cents); err != nil {
		return err
	}
	if err := addToOutbox(ctx, tx, ship, parcel{Order: number}); err != nil {
		return err
	}
	if cents == 0 {
		return errors.New("it costs nothing")
	}
	return tx.Commit()
}
