package main

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

var (
	riverDefaults = peer{
		library: "river", setting: "defaults", server: postgresOf, steadyAtOnce: riverSteady,
		about: "FetchCooldown 100 ms, FetchPollInterval 1 s; InsertMany in bulk; PostgreSQL as durable as it is by default",
		open:  riverSetting{}.open,
	}
	riverTuned = peer{
		library: "river", setting: "tuned", server: postgresOf, steadyAtOnce: riverSteady,
		about: "FetchCooldown 2 ms, FetchPollInterval 20 ms, as its own benchmark has them; InsertManyFast in bulk; synchronous_commit off",
		open:  riverSetting{tuned: true}.open,
	}
)

// riverConnections is the size of the pool of every River client here.
const riverConnections = 20

// riverSteady is the MaxWorkers of River under a steady load; it allows up to 10,000. A client fetches no more jobs than it has
// workers free and at most once a FetchCooldown, 100 ms by default: a hundred workers end at 1,000 jobs/s.
const riverSteady = 400

func postgresOf(r *testbed) server { return r.postgres }

// A riverSetting has the differences between the two River peers.
type riverSetting struct{ tuned bool }

type riverLibrary struct {
	setting riverSetting
	pool    *pgxpool.Pool
	driver  *riverpgxv5.Driver
	client  *river.Client[pgx.Tx] // inserts only
}

// riverArgs are stored as JSON, where the payload is a string of the same length.
type riverArgs struct {
	Payload string `json:"p"`
}

func (riverArgs) Kind() string { return jobName }

// open returns errors.ErrUnsupported if the testbed has no PostgreSQL.
func (s riverSetting) open(ctx context.Context, r *testbed) (library, error) {
	if r.postgres == nil {
		return nil, errors.ErrUnsupported
	}
	config, err := pgxpool.ParseConfig(r.postgres.url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = riverConnections
	config.ConnConfig.DialFunc = r.postgres.dial
	if s.tuned {
		config.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	driver := riverpgxv5.New(pool)
	client, err := river.NewClient(driver, &river.Config{Logger: quiet})
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &riverLibrary{s, pool, driver, client}, nil
}

func (l *riverLibrary) Enqueue(ctx context.Context, payload []byte) error {
	_, err := l.client.Insert(ctx, riverArgs{string(payload)}, nil)
	return err
}

func (l *riverLibrary) EnqueueIn(ctx context.Context, payload []byte, d time.Duration) error {
	_, err := l.client.Insert(ctx, riverArgs{string(payload)}, &river.InsertOpts{ScheduledAt: time.Now().Add(d)})
	return err
}

func (l *riverLibrary) EnqueueMany(ctx context.Context, payloads [][]byte) error {
	params := make([]river.InsertManyParams, len(payloads))
	for i, payload := range payloads {
		params[i].Args = riverArgs{string(payload)}
	}
	if l.setting.tuned {
		_, err := l.client.InsertManyFast(ctx, params)
		return err
	}
	_, err := l.client.InsertMany(ctx, params)
	return err
}

func (l *riverLibrary) Work(concurrency int, handle func(payload []byte)) (func() error, error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(_ context.Context, job *river.Job[riverArgs]) error {
		handle([]byte(job.Args.Payload))
		return nil
	}))
	config := &river.Config{
		Logger:  quiet,
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: concurrency}},
		Workers: workers,
	}
	if l.setting.tuned {
		config.FetchCooldown, config.FetchPollInterval = 2*time.Millisecond, 20*time.Millisecond
	}
	client, err := river.NewClient(l.driver, config)
	if err != nil {
		return nil, err
	}
	if err := client.Start(context.Background()); err != nil {
		return nil, err
	}
	return func() error { return client.Stop(context.Background()) }, nil
}

func (l *riverLibrary) Held(ctx context.Context) (int64, error) {
	var held int64
	err := l.pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state <> 'completed'").Scan(&held)
	return held, err
}

func (l *riverLibrary) Close() error {
	l.pool.Close()
	return nil
}
