package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"github.com/chimejobs/chime"
)

// The table has the fence of the attempt that has written each row.
const createReports = `CREATE TABLE IF NOT EXISTS reports (
	job   TEXT PRIMARY KEY,
	fence BIGINT NOT NULL,
	text  TEXT NOT NULL
)`

var errStale = errors.New("a later attempt has written the report")

// saveReport writes the report of a job, unless a later attempt of this job has written one. One statement compares and writes.
func saveReport(ctx context.Context, db *sql.DB, job *chime.Job, text string) error {
	result, err := db.ExecContext(ctx, `INSERT INTO reports (job, fence, text) VALUES ($1, $2, $3)
		ON CONFLICT (job) DO UPDATE SET fence = excluded.fence, text = excluded.text WHERE reports.fence <= excluded.fence`,
		job.ID, job.Fence, text)
	if err != nil {
		return err
	}
	if rows, err := result.RowsAffected(); err != nil || rows == 0 {
		return cmp.Or(err, errStale)
	}
	return nil
}
