package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"log/slog"
	"time"

	"github.com/chimejobs/chime"
)

// An outbox is a table with the jobs of committed transactions. A relay enqueues them.
const createOutbox = `CREATE TABLE IF NOT EXISTS outbox (
	id      TEXT PRIMARY KEY,         -- random: it becomes the job's ID
	created BIGINT NOT NULL,          -- Unix time, microseconds
	kind    TEXT NOT NULL,
	payload BYTEA NOT NULL,           -- the encoded arguments
	refused TEXT NOT NULL DEFAULT ''  -- why it cannot be enqueued; an operator has to look at it
)`

// addToOutbox adds a job to a transaction.
func addToOutbox[T any](ctx context.Context, tx *sql.Tx, kind chime.Kind[T], args T) error {
	payload, err := chime.Encode(args)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO outbox (id, created, kind, payload) VALUES ($1, $2, $3, $4)`,
		rand.Text(), time.Now().UnixMicro(), kind.Name(), payload)
	return err
}

// A decoder converts a row to an item. Each kind in the outbox has one, so that the kind's defaults apply.
type decoder func(payload []byte, options ...chime.EnqueueOption) (chime.Item, error)

func decoderOf[T any](kind chime.Kind[T]) decoder {
	return func(payload []byte, options ...chime.EnqueueOption) (chime.Item, error) {
		var args T
		err := chime.Decode(payload, &args)
		return kind.Item(args, options...), err
	}
}

// A relay enqueues the jobs of committed transactions. Any number of processes may run one: if two of them enqueue the same row, or one
// dies before it has deleted the row, there is still only one job, because its ID is the row's and Once bars it for a week.
type relay struct {
	db       *sql.DB
	enqueuer *chime.Enqueuer
	kinds    map[string]decoder
	wake     chan struct{} // capacity 1: a transaction has committed
}

// Run is the relay's role: chime.Run(ctx, worker, relay).
func (r *relay) Run(ctx context.Context) error {
	for {
		moved, err := r.move(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			slog.Error("outbox", "error", err) // the rows are still there
		}
		if moved > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
		case <-time.After(time.Second): // for commits of other processes
		}
	}
}

// move enqueues up to 500 rows and deletes them once the store has accepted the jobs.
func (r *relay) move(ctx context.Context) (moved int, err error) {
	rows, err := r.db.QueryContext(ctx, `SELECT id, kind, payload FROM outbox WHERE refused = '' ORDER BY created LIMIT 500`)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	var ids []string
	var items []chime.Item
	refused := map[string]error{}
	for rows.Next() {
		var id, kind string
		var payload []byte
		if err := rows.Scan(&id, &kind, &payload); err != nil {
			return 0, err
		}
		item, err := r.item(id, kind, payload)
		if err != nil {
			refused[id] = err // one bad row must not hold up the others
			continue
		}
		ids, items = append(ids, id), append(items, item)
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	for id, why := range refused {
		if _, err := r.db.ExecContext(ctx, `UPDATE outbox SET refused = $1 WHERE id = $2`, why.Error(), id); err != nil {
			return 0, err
		}
	}
	if _, err := r.enqueuer.EnqueueMany(ctx, items); err != nil {
		return 0, err
	}
	for _, id := range ids {
		if _, err := r.db.ExecContext(ctx, `DELETE FROM outbox WHERE id = $1`, id); err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}

func (r *relay) item(id, kind string, payload []byte) (chime.Item, error) {
	decode := r.kinds[kind]
	if decode == nil {
		return chime.Item{}, fmt.Errorf("no kind %q in the relay", kind)
	}
	if len(payload) > 1<<20 { // EnqueuerOptions.MaxPayload
		return chime.Item{}, fmt.Errorf("the arguments have %d bytes, want at most 1 MiB", len(payload))
	}
	return decode(payload, chime.ID("outbox:"+id), chime.Once(7*24*time.Hour))
}
