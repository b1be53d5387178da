package chimeprom_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeprom"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// Batches are counted by their states, with the age of the oldest that has not ended. More than a scrape may read are counted between scrapes, and no batch is a label.
func TestBatchesAreCountedByState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(700 * 24 * time.Hour) // fake time passes: places are instants after 2001
		server := embedded.StartInMemory()
		defer server.Close()
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(chimeprom.CountBatches(chimeprom.New(chimeprom.Options{}).Store(server.Store()), 5))
		const counts, oldest = `chime_batches{state="`, `chime_batches_oldest_seconds{state="`
		shows(t, "none", registry, counts+"open\"} 0\n", counts+"done\"} 0\n", oldest+"open\"} 0\n", noErrors)

		enqueuer, failed := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{Logger: quiet}), errors.New("line 2 is broken")
		enqueue := func(id string, members int, end error) {
			t.Helper()
			if _, err := enqueuer.EnqueueBatch(t.Context(), chime.Batch{ID: "canary-" + id, Items: func(yield func(chime.Item, error) bool) {
				for range members {
					if !yield(chime.Item{Name: "line"}, nil) {
						return
					}
				}
				if end != nil {
					yield(chime.Item{}, end)
				}
			}}); !errors.Is(err, end) {
				t.Fatal(err)
			}
		}
		enqueue("open", 1, failed)
		time.Sleep(time.Hour) // fake time
		enqueue("running", 1, nil)
		enqueue("cancelled", 0, failed)
		if _, err := chime.NewBatches(server.Store()).Cancel(t.Context(), "canary-cancelled"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // fake time
		shows(t, "a few", registry, counts+"open\"} 1\n", counts+"running\"} 1\n", counts+"cancelled\"} 1\n", counts+"ended\"} 0\n",
			oldest+"open\"} 3660\n", oldest+"running\"} 60\n", oldest+"cancelled\"} 0\n")

		for i := range 12 {
			enqueue(fmt.Sprint("empty", i), 0, nil)
		}
		time.Sleep(5 * time.Second) // fake time: a read is valid for this time
		shows(t, "more than a scrape reads", registry, counts+"done\"} 0\n", counts+"open\"} 1\n")
		time.Sleep(5 * time.Second) // fake time
		shows(t, "after the walk", registry, counts+"done\"} 12\n", counts+"open\"} 1\n", oldest+"open\"} 3670\n", noErrors)
		if text := exposition(t, registry); strings.Contains(text, "canary") {
			t.Errorf("a batch is shown:\n%s", text)
		}
		time.Sleep(5 * time.Second) // fake time: the walk ends
	})
}
