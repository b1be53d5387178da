package carry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A fakeStore has one source with entries for some queues of one partition each. It keeps to the protocol of a single carrier.
type fakeStore struct {
	mu        sync.Mutex
	waiting   map[string][]string // queue → IDs
	addressed map[string]bool
	delivered map[string][]string
	marks     map[string]string // of the targets
	carried   map[string][]string
	confirmed map[string]time.Time // when a line was confirmed
	noted     map[string]string
	fails     func(ctx context.Context, target protocol.Partition) error // of Carry
	notes     []string                                                   // calls of BlockOutbox
	hangs     string                                                     // a queue: calls to its partition, and for their number, end with their ctx
	calls     int
}

func newFakeStore() *fakeStore {
	return &fakeStore{
		waiting: map[string][]string{}, addressed: map[string]bool{}, delivered: map[string][]string{}, marks: map[string]string{}, carried: map[string][]string{},
		confirmed: map[string]time.Time{}, noted: map[string]string{},
	}
}

// Node has queues whose names differ by a number on one node.
func (s *fakeStore) Node(p protocol.Partition) string {
	return strings.TrimRight(p.Queue, "0123456789")
}
func (s *fakeStore) Partitions(ctx context.Context, queue string) (int, error) {
	return 1, s.hang(ctx, queue)
}

func (s *fakeStore) BlockOutbox(ctx context.Context, source protocol.Partition, line string, blocked time.Duration, why string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, fmt.Sprintf("%s after %v: %s", line, blocked.Round(time.Minute), why))
	return nil
}

func (s *fakeStore) hang(ctx context.Context, queue string) error {
	if queue != s.hangs {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (s *fakeStore) ReadOutbox(ctx context.Context, source protocol.Partition, after string) (lines protocol.OutboxLines, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for queue, ids := range s.waiting {
		line := protocol.OutboxLine{Line: queue}
		if len(ids) == 0 || queue <= after {
			continue
		}
		if s.addressed[queue] {
			line.Line += "/0"
		} else {
			for i, id := range ids {
				line.Members = append(line.Members, fmt.Sprintf("%016d\t1 1\t%s", i, id))
			}
		}
		lines.Lines = append(lines.Lines, line)
	}
	slices.SortFunc(lines.Lines, func(a, b protocol.OutboxLine) int { return strings.Compare(a.Line, b.Line) })
	return lines, nil
}

func (s *fakeStore) AddressOutbox(ctx context.Context, source protocol.Partition, line string, to []protocol.Addressed) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addressed[line] = true
	return len(to), nil
}

func (s *fakeStore) AdvanceOutbox(ctx context.Context, source, target protocol.Partition, mark string, asked time.Time, want int) (batch protocol.OutboxBatch, err error) {
	if err := s.hang(ctx, source.Queue); err != nil {
		return batch, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := target.Queue
	batch.Now = time.Now()
	if mark != "" {
		if s.noted[q] = mark; strings.HasPrefix(mark, "all ") {
			s.delivered[q], s.waiting[q] = append(s.delivered[q], s.waiting[q]...), nil
		}
		if first, ok := s.confirmed[q]; len(s.delivered[q]) > 0 && !ok {
			s.confirmed[q] = batch.Now
		} else if ok && !asked.IsZero() && asked.Sub(first) >= time.Minute {
			s.delivered[q] = nil
		}
	}
	batch.After, batch.Left = s.noted[q], len(s.delivered[q]) > 0
	for i, id := range s.waiting[q] {
		if i < want {
			batch.Entries = append(batch.Entries, protocol.NewOutboxEntry(fmt.Sprintf("%016d\t1 1\t%s", i, id), "v"))
		}
	}
	return batch, nil
}

func (s *fakeStore) Carry(ctx context.Context, source, target protocol.Partition, after string, entries []protocol.OutboxEntry) (answer protocol.CarryAnswer, err error) {
	if s.fails != nil {
		if err := s.fails(ctx, target); err != nil {
			return answer, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	q := target.Queue
	if s.marks[q] == "" {
		s.marks[q] = "@1"
	}
	if len(entries) > 0 && after == s.marks[q] {
		for _, e := range entries {
			s.carried[q] = append(s.carried[q], e.ID)
		}
		s.marks[q], answer.Continued = fmt.Sprint("all ", len(s.carried[q])), true
	}
	answer.Mark = s.marks[q]
	return answer, nil
}

// A logBuffer keeps log lines.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

var source = protocol.Partition{Queue: "default"}

// carrying runs a carrier in a bubble of fake time while do runs.
func carrying(t *testing.T, store *fakeStore, do func(c *Carrier, log *logBuffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		c := New(store, slog.New(slog.NewTextHandler(&log, nil)))
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx) })
		do(c, &log)
		stop()
		running.Wait()
	})
}

// The node of a target hangs: every call to it takes 30 s. The lines of others are carried at once.
func TestALineThatIsBlockedStopsNoOther(t *testing.T) {
	store := newFakeStore()
	store.fails = func(ctx context.Context, target protocol.Partition) error {
		if !strings.HasPrefix(target.Queue, "good") {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	for i := range 300 {
		store.waiting[fmt.Sprint("bad", i)] = []string{"x"}
	}
	store.waiting["good"], store.waiting["good2"] = []string{"a", "b"}, []string{"c"}
	carrying(t, store, func(c *Carrier, log *logBuffer) {
		c.Note(source)
		time.Sleep(time.Second)
		store.mu.Lock()
		defer store.mu.Unlock()
		if got := fmt.Sprint(store.carried); got != "map[good:[a b] good2:[c]]" {
			t.Errorf("carried %s after a second, want the lines of good and good2", got)
		}
	})
}

// The node of a source hangs, which has lines for targets on many nodes. The lines of other sources are carried at once.
func TestASourceThatHangsStopsNoOther(t *testing.T) {
	store := newFakeStore()
	store.hangs = "hung"
	store.waiting["good"] = []string{"a"}
	carrying(t, store, func(c *Carrier, log *logBuffer) {
		for i := range 300 {
			target := protocol.Partition{Queue: fmt.Sprintf("t%c%c", 'a'+i/26, 'a'+i%26)} // each has a node of its own
			c.add(line{protocol.Partition{Queue: "hung"}, target, ofPartition}, time.Now())
		}
		time.Sleep(time.Millisecond)
		c.Note(source)
		time.Sleep(time.Second)
		store.mu.Lock()
		defer store.mu.Unlock()
		if got := fmt.Sprint(store.carried); got != "map[good:[a]]" {
			t.Errorf("carried %s after a second, want the line of the other source", got)
		}
	})
}

// The registry does not answer how many partitions a queue has: the line fails, and is tried again later.
func TestALineEndsThoughTheRegistryHangs(t *testing.T) {
	store := newFakeStore()
	store.hangs = "hung"
	store.waiting["hung"] = []string{"a"}
	carrying(t, store, func(c *Carrier, log *logBuffer) {
		c.Note(source)
		time.Sleep(callTimeout + time.Second)
		if !strings.Contains(log.String(), "outbox.blocked") {
			t.Errorf("after %v the log has %q, want outbox.blocked", callTimeout+time.Second, log)
		}
	})
}

func TestABlockedLineIsLoggedOnceAMinute(t *testing.T) {
	store := newFakeStore()
	var down sync.Mutex
	failing := true
	store.fails = func(ctx context.Context, target protocol.Partition) error {
		down.Lock()
		defer down.Unlock()
		if failing {
			return errors.New("connection refused")
		}
		return nil
	}
	store.waiting["mail"] = []string{"a"}
	carrying(t, store, func(c *Carrier, log *logBuffer) {
		for range 150 {
			c.Note(source)
			time.Sleep(time.Second)
		}
		down.Lock()
		failing = false
		down.Unlock()
		time.Sleep(10 * time.Second)
		if n := strings.Count(log.String(), "outbox.blocked"); n != 3 {
			t.Errorf("logged %d times in 150 s, want 3:\n%s", n, log)
		}
		if !strings.Contains(log.String(), "outbox.carried") {
			t.Errorf("the end is not logged:\n%s", log)
		}
	})
	if got := fmt.Sprint(store.carried); got != "map[mail:[a]]" {
		t.Errorf("carried %s, want it once", got)
	}
	want := `["mail/0 after 0s: connection refused" "mail/0 after 1m0s: connection refused" "mail/0 after 2m0s: connection refused" "mail/0 after 3m0s: "]`
	if got := fmt.Sprintf("%q", store.notes); got != want {
		t.Errorf("the store has the notes %s, want %s", got, want)
	}
}

func TestACarrierConfirmsAMinuteLater(t *testing.T) {
	store := newFakeStore()
	store.waiting["mail"] = []string{"a"}
	carrying(t, store, func(c *Carrier, log *logBuffer) {
		c.Note(source)
		time.Sleep(50 * time.Second)
		store.mu.Lock()
		if len(store.delivered["mail"]) != 1 {
			t.Errorf("%v is delivered after 50 s, want the entry", store.delivered)
		}
		store.mu.Unlock()
		time.Sleep(20 * time.Second)
		store.mu.Lock()
		calls := store.calls
		if len(store.delivered["mail"]) != 0 {
			t.Errorf("%v is delivered after 70 s, want it confirmed", store.delivered)
		}
		store.mu.Unlock()
		time.Sleep(time.Hour)
		store.mu.Lock()
		defer store.mu.Unlock()
		if store.calls != calls {
			t.Errorf("%d calls when nothing is left, want none", store.calls-calls)
		}
	})
}

// Finish waits for what was noted, and not for what fails.
func TestFinishWaitsForWhatIsCarriedNow(t *testing.T) {
	store := newFakeStore()
	store.fails = func(ctx context.Context, target protocol.Partition) error {
		if target.Queue == "bad" {
			return errors.New("connection refused")
		}
		time.Sleep(300 * time.Millisecond)
		return nil
	}
	store.waiting["mail"], store.waiting["bad"] = []string{"a"}, []string{"x"}
	carrying(t, store, func(c *Carrier, log *logBuffer) {
		c.Note(source)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		c.Finish(ctx)
		store.mu.Lock()
		defer store.mu.Unlock()
		if ctx.Err() != nil || fmt.Sprint(store.carried) != "map[mail:[a]]" {
			t.Errorf("%v, carried %v; want the entry for mail before the timeout", ctx.Err(), store.carried)
		}
	})
}

// A carrier whose lines all fail, or that is not run, remembers a bounded number of them.
func TestTheLinesInMemoryAreBounded(t *testing.T) {
	c := New(newFakeStore(), slog.New(slog.DiscardHandler))
	for i := range maxDue + 10 {
		c.Note(protocol.Partition{Queue: "q", Index: i})
	}
	if len(c.due) != maxDue {
		t.Errorf("%d lines are remembered, want %d", len(c.due), maxDue)
	}
}
