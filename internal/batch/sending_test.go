package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/chimejobs/chime/internal/protocol"
)

// A fillingStore answers a call that fills when the test lets it.
type fillingStore struct {
	EndingStore
	calls    []string
	under    int // calls under way
	answers  chan struct{}
	refuses  int64 // the position of an item that is refused
	refusing error
}

func (s *fillingStore) OpenBatch(_ context.Context, def protocol.BatchDefinition) (protocol.BatchRecord, bool, error) {
	return protocol.BatchRecord{BatchDefinition: def, State: protocol.BatchOpen}, false, nil
}

func (s *fillingStore) NoteFill(_ context.Context, _ string, note protocol.FillNote) (protocol.BatchRecord, error) {
	s.calls = append(s.calls, fmt.Sprintf("note %d, %d under way", note.Position, s.under))
	return protocol.BatchRecord{State: protocol.BatchOpen}, nil
}

func (s *fillingStore) FillBatch(_ context.Context, calls []protocol.FillCall) []protocol.FillAnswer {
	positions := calls[0].Positions
	s.calls = append(s.calls, fmt.Sprintf("fill %d to %d with %s", positions[0], positions[len(positions)-1], calls[0].Items[0].ID))
	s.under++
	<-s.answers
	s.under--
	answer := protocol.FillAnswer{Full: make([]error, len(positions))}
	if at := slices.Index(positions, s.refuses); at >= 0 {
		answer.Full[at] = s.refusing
	}
	return []protocol.FillAnswer{answer}
}

func openFilling(t *testing.T, s *fillingStore) *Filling {
	t.Helper()
	f, err := Open(t.Context(), s, Options{Timeout: 1 << 40}, protocol.BatchDefinition{ID: "x"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func addTo(t *testing.T, f *Filling, from, to int) error {
	for i := from; i <= to; i++ {
		item := Item{Partition: protocol.Partition{Queue: "q"}, Name: "job", EnqueueItem: protocol.EnqueueItem{ID: fmt.Sprint("i", i), Body: []byte("body")}}
		if err := f.Add(t.Context(), item, true); err != nil {
			return err
		}
	}
	return nil
}

// The items of the next call are collected while a call is under way, and no call is made before that one is answered.
func TestItemsAreCollectedWhileACallIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fillingStore{answers: make(chan struct{})}
		f := openFilling(t, s)
		if err := addTo(t, f, 1, 999); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s.under != 1 || f.Position() != 0 {
			t.Errorf("%d calls are under way, and %d items are added; want 1 and 0", s.under, f.Position())
		}
		go func() {
			for range 3 {
				s.answers <- struct{}{}
			}
		}()
		if err := addTo(t, f, 1000, 1001); err != nil || f.Position() != 500 {
			t.Errorf("%v, %d items are added, want 500", err, f.Position())
		}
		if err := f.Flush(t.Context()); err != nil || f.Position() != 1001 {
			t.Errorf("%v, %d items are added, want 1001", err, f.Position())
		}
		want := []string{
			"note 500, 0 under way", "fill 1 to 500 with i1", "note 1000, 0 under way", "fill 501 to 1000 with i501", "note 1001, 0 under way", "fill 1001 to 1001 with i1001",
		}
		if !slices.Equal(s.calls, want) {
			t.Errorf("calls %q, want %q", s.calls, want)
		}
	})
}

// An item that is refused stops the filling before its next call.
func TestARefusedItemStopsTheNextCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fillingStore{answers: make(chan struct{}, 1), refuses: 3, refusing: errors.New("full")}
		s.answers <- struct{}{}
		f := openFilling(t, s)
		err := addTo(t, f, 1, 1000)
		if !errors.Is(err, s.refusing) || f.Position() != 2 || len(s.calls) != 2 {
			t.Errorf("%v, %d items are added, calls %q; want that it is full, 2, and two calls", err, f.Position(), s.calls)
		}
		f.Stop()
	})
}
