package enqueue

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/batch"
	"github.com/chimejobs/chime/internal/protocol"
)

func numbered(from, n int) []protocol.EnqueueItem {
	items := make([]protocol.EnqueueItem, n)
	for i := range items {
		items[i].ID = strconv.Itoa(from + i)
	}
	return items
}

// If more jobs have unknown outcomes, the latest 100,000 are remembered, for an hour.
func TestTheOutcomesThatAreRememberedAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o outcomes
		const n = maxOutcomes/1000 + 20
		held := func() int { return len(o.known) + o.unknown }
		for i := range n {
			o.add(protocol.Partition{Queue: "a"}, numbered(1000*i, 1000))
			if held() > maxOutcomes || o.oldest.Len() != len(o.known) {
				t.Fatalf("%d jobs are remembered, and %d are in order; want %d at most", held(), o.oldest.Len(), maxOutcomes)
			}
		}
		known := func(id int) bool {
			return o.answer(protocol.Partition{Queue: "a"}, &protocol.EnqueueItem{ID: strconv.Itoa(id), Own: true}, time.Now())
		}
		if known(0) || !known(1000*n-1) {
			t.Errorf("the first is known: %v, the last: %v; want the last only", known(0), known(1000*n-1))
		}
		for i := range n { // a call to each of many partitions
			call := protocol.EnqueueCall{Partition: protocol.Partition{Queue: "b", Index: i}, Number: 1, Items: numbered(0, 1000)}
			if o.addUnknown(&call, time.Now()); held() > maxOutcomes {
				t.Fatalf("%d jobs are remembered, want %d at most", held(), maxOutcomes)
			}
		}
		for i := range 2 * n { // and growths of batches
			growth := batch.Growth{Token: strconv.Itoa(i), Partition: protocol.Partition{Queue: "c"}, Items: numbered(500*i, 1000)} // each has half of the jobs of the one before it
			if o.addUnknownGrowth(&growth, time.Now()); held() > maxOutcomes || len(o.growths) > o.unknown {
				t.Fatalf("%d jobs are remembered, %d of growths, want %d at most", held(), len(o.growths), maxOutcomes)
			}
		}
		time.Sleep(outcomeAge + time.Second) // fake time
		if known(1000*n - 1) {
			t.Error("a job is known after an hour")
		}
		if o.add(protocol.Partition{}, numbered(0, 1)); held() != 1 || len(o.growths) != 0 || o.size.Load() != 1 {
			t.Errorf("after an hour %d jobs and %d of growths are remembered, want the new one only", held(), len(o.growths))
		}
	})
}

// A call that was carried out may have refused a job whose group was full, or a manual run of a schedule that had too many unfinished runs. The seal returns which
// ones, so all others are known to be enqueued.
func TestARefusedJobIsNotKnownByItsCall(t *testing.T) {
	p := protocol.Partition{Queue: "a"}
	items := []protocol.EnqueueItem{
		{ID: "plain", Own: true}, {ID: "removed", Own: true, Group: "g"}, {ID: "grouped", Own: true, Group: "g"}, {ID: "full", Own: true, Group: "g"},
		{ID: "s#1", Schedule: "s"}, {ID: "s#2", Schedule: "s", MaxUnfinished: 3}, {ID: "s#3", Schedule: "s", MaxUnfinished: 3},
	}
	for _, of := range []struct {
		sealed  protocol.Sealed
		refused []int
		want    string
	}{
		{protocol.SealedDone, []int{6, 3}, "plain grouped s#1 s#2"},
		{protocol.SealedDone, nil, "plain grouped full s#1 s#2 s#3"},
		{protocol.SealedNever, nil, ""},
		{protocol.SealedUnknown, nil, ""},
	} {
		var o outcomes
		call := protocol.EnqueueCall{Partition: p, Number: 1, Items: items}
		o.addUnknown(&call, time.Now())
		o.removed(p, "removed")
		o.resolve(p, &protocol.SealAnswer{Sealed: of.sealed, Refused: of.refused})
		var known []string
		for i := range items {
			if o.answer(p, &items[i], time.Now()) {
				known = append(known, items[i].ID)
			}
		}
		if got := strings.Join(known, " "); got != of.want {
			t.Errorf("sealed %d, %v refused: %q are known, want %q", of.sealed, of.refused, got, of.want)
		}
	}
}

// A growth with an unknown outcome that is sealed is like any other call: what it has added and not refused is known, without the jobs that were removed.
func TestAGrowthIsKnownByItsSeal(t *testing.T) {
	p := protocol.Partition{Queue: "a"}
	items := []protocol.EnqueueItem{{ID: "added", Own: true}, {ID: "removed", Own: true}, {ID: "full", Own: true, Group: "g"}}
	for sealed, want := range map[protocol.Sealed]string{protocol.SealedDone: "added", protocol.SealedNever: "", protocol.SealedUnknown: ""} {
		var o outcomes
		growth := batch.Growth{Token: "t", Partition: p, Items: items}
		o.addUnknownGrowth(&growth, time.Now())
		o.removed(p, "removed")
		call := o.unknownGrowth(&growth)
		if call == nil || call.caller != "t" || call.number != 1 || call.jobs != 3 {
			t.Fatalf("the growth is %+v", call)
		}
		for range 2 {
			o.resolveGrowth(p, call, &protocol.SealAnswer{Sealed: sealed, Refused: []int{2}})
		}
		var known []string
		for i := range items {
			if o.answer(p, &items[i], time.Now()) {
				known = append(known, items[i].ID)
			}
		}
		if got := strings.Join(known, " "); got != want || o.size.Load() != 0 || o.unknown != 0 || o.unknownGrowth(&growth) != nil {
			t.Errorf("sealed %d: %q are known, want %q; %d are remembered, %d unknown", sealed, got, want, o.size.Load(), o.unknown)
		}
	}
}
