package chime

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestEnqueueManyNamesAllBadItems(t *testing.T) {
	e := quietEnqueuer(newEnqueueStore(t, 1), EnqueuerOptions{})
	receipts, err := e.EnqueueMany(t.Context(), []Item{{Name: "a"}, {Name: ""}, {Name: "b"}, {Name: "c", Options: []EnqueueOption{MaxAttempts(-1), Queue("")}}})
	if err == nil || !strings.Contains(err.Error(), "item 1") || !strings.Contains(err.Error(), "item 3") || strings.Contains(err.Error(), "item 2") {
		t.Errorf("got %v", err)
	}
	for i, receipt := range receipts {
		if receipt.ID == "" {
			t.Errorf("receipt %d has no ID", i)
		}
	}
}

func TestEnqueueManySendsFewCallsInOrder(t *testing.T) {
	store := newEnqueueStore(t, 1)
	e := quietEnqueuer(store, EnqueuerOptions{})
	items := make([]Item, 1750)
	for i := range items {
		items[i] = Item{Name: "a", Args: i}
	}
	items[7].Options = []EnqueueOption{ID("twice")}
	items[1700].Options = []EnqueueOption{ID("twice")}
	receipts, err := e.EnqueueMany(t.Context(), items)
	if err != nil {
		t.Fatal(err)
	}
	if len(store.calls) != 4 {
		t.Errorf("%d calls, want 4", len(store.calls))
	}
	if receipts[7].Existing || !receipts[1700].Existing {
		t.Errorf("of two with one ID: %+v and %+v, want the second Existing", receipts[7], receipts[1700])
	}
	want := make([]string, 0, len(items))
	for i, receipt := range receipts {
		if i != 1700 {
			want = append(want, receipt.ID)
		}
	}
	if !slices.Equal(store.order, want) {
		t.Error("jobs are not in the order of the items")
	}
}

func TestEnqueueManySendsAllPartitionsInOneRoundTrip(t *testing.T) {
	store := newEnqueueStore(t, 8)
	e := quietEnqueuer(store, EnqueuerOptions{})
	items := make([]Item, 1000)
	for i := range items {
		items[i] = Item{Name: "a", Options: []EnqueueOption{ID(fmt.Sprint(i)), Queue([]string{"x", "y"}[i%2])}}
	}
	for _, existing := range []bool{false, true} {
		store.roundTrips = 0
		receipts, err := e.EnqueueMany(t.Context(), items)
		if err != nil {
			t.Fatal(err)
		}
		for i, receipt := range receipts {
			if receipt.ID != fmt.Sprint(i) || receipt.Existing != existing {
				t.Fatalf("receipt %d is %+v, want Existing %v", i, receipt, existing)
			}
		}
		if store.roundTrips != 1 {
			t.Errorf("%d round trips, want 1", store.roundTrips)
		}
	}
}

func TestLargePayloadsAreSplitIntoCallsOfAboutAMebibyte(t *testing.T) {
	store := newEnqueueStore(t, 1)
	e := quietEnqueuer(store, EnqueuerOptions{})
	items := make([]Item, 10)
	for i := range items {
		items[i] = Item{Name: "a", Args: make([]byte, 400<<10)}
	}
	items[3].Args = make([]byte, 1<<20)
	if _, err := e.EnqueueMany(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	if len(store.order) != 10 || len(store.calls) != 6 {
		t.Errorf("%d jobs in %d calls, want 10 in 6", len(store.order), len(store.calls))
	}
}

func TestEnqueueManyOfNothingMakesNoCall(t *testing.T) {
	store := newEnqueueStore(t, 1)
	receipts, err := quietEnqueuer(store, EnqueuerOptions{}).EnqueueMany(t.Context(), nil)
	if err != nil || len(receipts) != 0 || store.asked+store.roundTrips > 0 {
		t.Errorf("got %v, %v", receipts, err)
	}
}
