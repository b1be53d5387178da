package jobs_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

func TestEnqueueManySendsFewCallsInOrder(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		e := quietEnqueuer(store, chime.EnqueuerOptions{})
		items := make([]chime.Item, 1750)
		for i := range items {
			items[i] = chime.Item{Name: "a", Args: i}
		}
		items[7].Options = []chime.EnqueueOption{chime.ID("twice")}
		items[1700].Options = []chime.EnqueueOption{chime.ID("twice")}
		receipts, err := e.EnqueueMany(t.Context(), items)
		if err != nil {
			t.Fatal(err)
		}
		if len(store.EnqueueCalls()) != 4 {
			t.Errorf("%d calls, want 4", len(store.EnqueueCalls()))
		}
		if receipts[7].Existing || !receipts[1700].Existing {
			t.Errorf("two items with the same ID: %+v and %+v, want the second Existing", receipts[7], receipts[1700])
		}
		want := make([]string, 0, len(items))
		for i, receipt := range receipts {
			if i != 1700 {
				want = append(want, receipt.ID)
			}
		}
		if !slices.Equal(store.order(), want) {
			t.Error("jobs are not in the order of the items")
		}
	})
}

func TestEnqueueManySendsAllPartitionsInOneRoundTrip(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Partition("x", 8)
		f.Partition("y", 8)
		store := newSendStore(f, 1)
		e := quietEnqueuer(store, chime.EnqueuerOptions{})
		items := make([]chime.Item, 1000)
		for i := range items {
			items[i] = chime.Item{Name: "a", Options: []chime.EnqueueOption{chime.ID(fmt.Sprint(i)), chime.Queue([]string{"x", "y"}[i%2])}}
		}
		for _, existing := range []bool{false, true} {
			before := store.RoundTrips("enqueue")
			receipts, err := e.EnqueueMany(t.Context(), items)
			if err != nil {
				t.Fatal(err)
			}
			for i, receipt := range receipts {
				if receipt.ID != fmt.Sprint(i) || receipt.Existing != existing {
					t.Fatalf("receipt %d is %+v, want Existing %v", i, receipt, existing)
				}
			}
			if n := store.RoundTrips("enqueue") - before; n != 1 {
				t.Errorf("%d round trips, want 1", n)
			}
		}
	})
}

func TestLargePayloadsAreSplitIntoCallsOfAboutAMebibyte(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		e := quietEnqueuer(store, chime.EnqueuerOptions{})
		items := make([]chime.Item, 10)
		for i := range items {
			items[i] = chime.Item{Name: "a", Args: make([]byte, 400<<10)}
		}
		items[3].Args = make([]byte, 1<<20)
		if _, err := e.EnqueueMany(t.Context(), items); err != nil {
			t.Fatal(err)
		}
		if store.waiting() != 10 || len(store.EnqueueCalls()) != 6 {
			t.Errorf("%d jobs in %d calls, want 10 in 6", store.waiting(), len(store.EnqueueCalls()))
		}
	})
}
