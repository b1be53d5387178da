package pages

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/history"
	"github.com/chimejobs/chime/internal/overview"
)

// Histories in memory have at most maxEntries entries together, except for a single one that is longer.
func TestHistoriesInMemoryAreBounded(t *testing.T) {
	h := newHistories[int](nil)
	for i := range 300 {
		h.keep(fmt.Sprint("s", i), keptHistory[int]{entries: make([]int, 999)})
		if h.total > maxEntries || len(h.kept) > maxEntries/1000 {
			t.Fatalf("%d histories with %d entries are kept, want %d entries at most", len(h.kept), h.total, maxEntries)
		}
	}
	h.keep("long", keptHistory[int]{entries: make([]int, 2*maxEntries)})
	if len(h.kept) != 1 {
		t.Errorf("%d histories are kept beside one that is too long, want none", len(h.kept)-1)
	}
}

// Summaries of deleted schedules are removed when there are more than twice as many as the schedules of a list.
func TestSummariesInMemoryAreBounded(t *testing.T) {
	all := newSummaries(func(_ context.Context, some []*chime.Schedule) ([]history.History, error) {
		return make([]history.History, len(some)), nil
	})
	defer all.close()
	const batch = 500
	for i := range 5 * maxDirectory / batch {
		var some []*chime.Schedule
		for j := range batch {
			some = append(some, &chime.Schedule{Name: fmt.Sprint("s", i, "-", j)})
		}
		if err := all.readBatch(t.Context(), some); err != nil {
			t.Fatal(err)
		}
		if n := len(all.known); n > 2*maxDirectory+batch {
			t.Fatalf("%d summaries are kept, want %d at most", n, 2*maxDirectory+batch)
		}
	}
}

// The figures of a queue are forgotten when they are not current any more, whichever queue is viewed next.
func TestFiguresOfQueuesThatAreNotViewedAreForgotten(t *testing.T) {
	now := time.Now()
	n, h := names{all: map[named]summed{}}, hours{all: map[string]hour{}}
	viewed := named{"viewed", overview.Day}
	n.all[viewed], h.all["viewed"] = summed{read: now}, hour{read: now}
	for i := range 100 {
		name := fmt.Sprint("q", i)
		n.all[named{name, overview.Day}], h.all[name] = summed{read: now.Add(-sumsFor)}, hour{read: now.Add(-samplesFor)}
	}
	if _, err := n.read(t.Context(), nil, "viewed", overview.Day, now); err != nil || len(n.all) != 1 {
		t.Errorf("sums of %d queues are kept, %v; want those of one", len(n.all), err)
	}
	if _, err := h.read(t.Context(), nil, "viewed", now); err != nil || len(h.all) != 1 {
		t.Errorf("samples of %d queues are kept, %v; want those of one", len(h.all), err)
	}
}
