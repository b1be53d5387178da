package main

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Without PostgreSQL the River peers report that they cannot take part; then these tests check that.
func postgresTestbed(t *testing.T) *testbed {
	t.Helper()
	r := newTestbed(t, true)
	if r.postgres == nil {
		for _, p := range []peer{riverDefaults, riverTuned} {
			if _, err := p.open(t.Context(), r); !errors.Is(err, errors.ErrUnsupported) {
				t.Fatalf("%s without PostgreSQL: %v, want errors.ErrUnsupported", p.name(), err)
			}
		}
		return nil
	}
	return r
}

func TestRiverRunsWhatWasEnqueued(t *testing.T) {
	r := postgresTestbed(t)
	if r == nil {
		return
	}
	for _, p := range []peer{riverDefaults, riverTuned} {
		lib := openEmpty(t, r, p)
		if err := lib.Enqueue(t.Context(), payloadOf(0)); err != nil {
			t.Fatal(err)
		}
		if err := lib.EnqueueMany(t.Context(), [][]byte{payloadOf(1), payloadOf(2)}); err != nil {
			t.Fatal(err)
		}
		if err := lib.EnqueueIn(t.Context(), payloadOf(3), time.Millisecond); err != nil {
			t.Fatal(err)
		}
		small := *r
		small.sizes.backlog, small.sizes.workOff = 4, 30*time.Second
		e, err := workOff(t.Context(), &small, p, lib, 10, doNothing) // it counts each job once, and what is left
		if err != nil {
			t.Fatalf("%s: %v", p.name(), err)
		}
		if e.jobs != 4 || e.server.in == 0 || e.server.out == 0 {
			t.Errorf("%s: %d jobs with %d bytes in and %d out, want 4 and both counted", p.name(), e.jobs, e.server.in, e.server.out)
		}
	}
}

func TestTheCPUTimeOfAConnectionCountsAfterItsEnd(t *testing.T) {
	r := postgresTestbed(t)
	if r == nil {
		return
	}
	before, err := r.postgres.usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), r.postgres.url)
	if err != nil {
		t.Fatal(err)
	}
	var used string
	began := time.Now()
	if err := conn.QueryRow(t.Context(), "SELECT sum(i) FROM generate_series(1, 3000000) AS i").Scan(&used); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	during, err := r.postgres.usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	spent := during.cpu - before.cpu
	if spent < 50*time.Millisecond {
		t.Fatalf("a query of %v cost %v of CPU time, want 50ms and more", took, spent)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The backend is gone when the server no longer lists it.
	for here := 2; here > 1; {
		row := r.postgres.pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")
		if err := row.Scan(&here); err != nil {
			t.Fatal(err)
		}
	}
	after, err := r.postgres.usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if lost := during.cpu - after.cpu; lost > spent/2 {
		t.Errorf("of %v of CPU time %v are gone with the connection", spent, lost)
	}
}
