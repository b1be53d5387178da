package enqueue

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func TestIDsAreShortSortedAndDifferent(t *testing.T) {
	last := ""
	for range 200_000 {
		id := NewID()
		if len(id) != 14 || protocol.CheckName("ID", id) != nil {
			t.Fatalf("ID %q: want 14 characters that are allowed in a name", id)
		}
		if id <= last {
			t.Fatalf("ID %q follows %q", id, last)
		}
		last = id
	}
}

func TestIDsOfManyGoroutinesAreDifferent(t *testing.T) {
	var mu sync.Mutex
	seen := make(map[string]bool)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5000 {
				id := NewID()
				mu.Lock()
				if seen[id] {
					t.Errorf("ID %q was made twice", id)
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
}

func TestIDsOfABlockAreLikeSingleOnes(t *testing.T) {
	last := NewID()
	for n := range 200 {
		var ids idBlock
		for i := range n {
			id := ids.next(n - 1 - i)
			if len(id) != 14 || protocol.CheckName("ID", id) != nil || id <= last {
				t.Fatalf("ID %d of %d, %q, follows %q", i, n, id, last)
			}
			last = id
		}
		if ids.left != "" {
			t.Errorf("%d IDs were wanted, %d more were made", n, len(ids.left)/14)
		}
		if id := NewID(); id <= last {
			t.Fatalf("ID %q alone follows %q", id, last)
		}
	}
}

func TestIDsSortByTimeAmongProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a, b idSource
		last := ""
		for range 1000 {
			for _, source := range []*idSource{&a, &b} {
				id := source.next(time.Now())
				if id <= last {
					t.Fatalf("ID %q follows %q", id, last)
				}
				last = id
				time.Sleep(time.Millisecond) // fake time: an ID begins with its millisecond
			}
		}
	})
}

func TestIDsCarryIntoTheNextMillisecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s idSource
		first := s.next(time.Now())
		s.low = 1<<idLowBits - 1
		if second := s.next(time.Now()); second <= first || second[:7] <= first[:7] {
			t.Errorf("%q follows %q, want a later millisecond", second, first)
		}
	})
}

func TestIDsAreNotConsecutive(t *testing.T) {
	steps := make(map[uint64]bool)
	var s idSource
	s.next(time.Now())
	for range 1000 {
		before := s.low
		s.next(time.Now())
		steps[(s.low-before)&(1<<idLowBits-1)] = true
	}
	if len(steps) < 900 {
		t.Errorf("1000 IDs have %d different steps between them", len(steps))
	}
}

func BenchmarkID(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		NewID()
	}
}
