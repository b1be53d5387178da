package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
)

// A shop is a database, a relay and a worker under fake time.
type shop struct {
	c     *chimetest.Chime
	db    *sql.DB
	relay *relay

	mu      sync.Mutex
	shipped []int
}

func open(t *testing.T, test func(t *testing.T, s *shop)) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		db, err := openDB(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		s := &shop{c: c, db: db, relay: newRelay(db, chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{}))}
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{Queues: map[string]int{"parcels": 1}})
		ship.Handle(worker, func(_ context.Context, _ *chime.Job, args parcel) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.shipped = append(s.shipped, args.Order)
			return nil
		})
		stop := c.Start(worker)
		test(t, s)
		stop()
	})
}

func (s *shop) sorted() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.shipped))
}

func (s *shop) waiting(t *testing.T) (n int) {
	if err := s.db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM outbox`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestOnlyWhatWasCommittedIsShipped(t *testing.T) {
	open(t, func(t *testing.T, s *shop) {
		stop := s.c.Start(s.relay)
		for number, cents := range []int{1200, 0, 800} {
			if err := placeOrder(t.Context(), s.db, number, cents); (err != nil) != (cents == 0) {
				t.Errorf("order %d: %v", number, err)
			}
		}
		s.c.Advance(2 * time.Second)
		if got := fmt.Sprint(s.sorted()); got != "[0 2]" || s.waiting(t) != 0 {
			t.Errorf("shipped %s, %d rows are left", got, s.waiting(t))
		}
		stop()
	})
}

// A relay that dies after enqueuing a row and before deleting it leaves the row to another relay, which enqueues it again.
func TestARowThatIsRelayedTwiceIsOneJob(t *testing.T) {
	open(t, func(t *testing.T, s *shop) {
		if err := placeOrder(t.Context(), s.db, 7, 100); err != nil {
			t.Fatal(err)
		}
		if _, err := s.db.ExecContext(t.Context(), `CREATE TABLE copy AS SELECT * FROM outbox`); err != nil {
			t.Fatal(err)
		}
		for n := range 3 {
			if moved, err := s.relay.move(t.Context()); moved != 1 || err != nil {
				t.Fatalf("move %d: %d rows, %v", n+1, moved, err)
			}
			s.c.Advance(time.Hour) // the job has ended
			if _, err := s.db.ExecContext(t.Context(), `INSERT INTO outbox SELECT * FROM copy`); err != nil {
				t.Fatal(err)
			}
		}
		if got := fmt.Sprint(s.sorted()); got != "[7]" {
			t.Errorf("shipped %s, want order 7 once", got)
		}
	})
}

func TestABadRowHoldsUpNoOther(t *testing.T) {
	open(t, func(t *testing.T, s *shop) {
		if _, err := s.db.ExecContext(t.Context(), `INSERT INTO outbox (id, created, kind, payload) VALUES ('a', 1, 'gone', 'x'), ('b', 2, 'ship', 'x')`); err != nil {
			t.Fatal(err)
		}
		if err := placeOrder(t.Context(), s.db, 7, 100); err != nil {
			t.Fatal(err)
		}
		if moved, err := s.relay.move(t.Context()); moved != 1 || err != nil {
			t.Fatalf("%d rows, %v", moved, err)
		}
		s.c.Advance(time.Minute)
		if got := fmt.Sprint(s.sorted()); got != "[7]" || s.waiting(t) != 2 {
			t.Errorf("shipped %s, %d rows are left", got, s.waiting(t))
		}
		var why string
		if err := s.db.QueryRowContext(t.Context(), `SELECT refused FROM outbox WHERE id = 'a'`).Scan(&why); err != nil || why != `no kind "gone" in the relay` {
			t.Errorf("refused: %q, %v", why, err)
		}
	})
}

func TestWhileTheStoreIsAwayTheRowsRemain(t *testing.T) {
	open(t, func(t *testing.T, s *shop) {
		if err := placeOrder(t.Context(), s.db, 7, 100); err != nil {
			t.Fatal(err)
		}
		failing := chime.NewEnqueuer(s.c.Store(), chime.EnqueuerOptions{})
		failing.Use(func(chime.EnqueueFunc) chime.EnqueueFunc {
			return func(context.Context, []chime.Item) ([]chime.Receipt, error) {
				return nil, errors.New("connection refused")
			}
		})
		if moved, err := newRelay(s.db, failing).move(t.Context()); moved != 0 || err == nil || s.waiting(t) != 1 {
			t.Errorf("%d rows moved, %v, %d are left", moved, err, s.waiting(t))
		}
	})
}

// The whole program runs until it has shipped two orders.
func TestTheProgram(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := &lines{want: 3, all: stop}
	if err := run(ctx, out); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(out.text.String()), "\n")
	if slices.Sort(got); fmt.Sprint(got) != "[order 1 was not placed: it costs nothing shipped order 0 shipped order 2]" {
		t.Errorf("it printed %q", got)
	}
}

// lines collects the written lines, and calls all when it has the wanted number of lines.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	want int
	all  func()
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.text.Write(p)
	if bytes.Count(l.text.Bytes(), []byte("\n")) == l.want {
		l.all()
	}
	return n, err
}
