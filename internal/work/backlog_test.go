package work

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The oracle is a plain slice.
func TestABacklogIsAQueue(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var b backlog
	var want []*flight
	for step := range 20_000 {
		grows := step/2000%2 == 0 // it grows for a while and then shrinks to nothing
		if random.IntN(5) < 3 == grows {
			f := new(flight)
			b.push(f)
			want = append(want, f)
		} else if len(want) > 0 {
			if b.head() != want[0] {
				t.Fatalf("step %d: head is not the flight that has waited longest", step)
			}
			if b.pop() != want[0] {
				t.Fatalf("step %d: pop did not return the flight that has waited longest", step)
			}
			want = want[1:]
		}
		if b.len() != len(want) || !slices.Equal(b.all(), want) {
			t.Fatalf("step %d: the backlog has %d flights, want %d in the order of push", step, b.len(), len(want))
		}
	}
}

func TestABacklogKeepsNoFlightThatLeftIt(t *testing.T) {
	var b backlog
	b.push(new(flight))
	for range 1000 { // it is never empty
		b.push(new(flight))
		b.push(new(flight))
		b.pop()
		b.pop()
	}
	if c := cap(b.flights); c > 16 {
		t.Errorf("a backlog of at most 3 flights has memory for %d", c)
	}
	b.pop()
	for i := range 10 {
		b.push(new(flight))
		b.push(new(flight))
		b.pop()
		kept := 0
		for _, f := range b.flights[:cap(b.flights)] {
			if f != nil {
				kept++
			}
		}
		if kept != i+1 {
			t.Fatalf("a backlog of %d flights keeps %d", i+1, kept)
		}
	}
}
