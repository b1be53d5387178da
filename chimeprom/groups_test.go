package chimeprom_test

import (
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

// grouped enqueues a job for each group of a queue.
func grouped(t *testing.T, store chime.Store, queue string, groups ...string) {
	t.Helper()
	var items []chime.Item
	for _, group := range groups {
		items = append(items, chime.Item{Name: "export", Options: []chime.EnqueueOption{chime.Queue(queue), chime.Group(group)}})
	}
	if _, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: quiet}).EnqueueMany(t.Context(), items); err != nil {
		t.Fatal(err)
	}
}

func manyGroups(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("g%05d", i))
	}
	return names
}

// Groups are counted by what blocks them. More than a scrape may read are counted between scrapes, and no group is a label.
func TestGroupsAreCountedByWhatBlocksThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(700 * 24 * time.Hour) // fake time passes: places are instants after 2001
		server := embedded.StartInMemory()
		defer server.Close()
		queues := chime.NewQueues(server.Store())
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(chimeprom.CountGroups(chimeprom.New(chimeprom.Options{}).Store(server.Store()), 1))
		const counts, oldest = `chime_queue_groups{queue="exports",state="`, `chime_queue_groups_oldest_seconds{queue="exports",state="`
		grouped(t, server.Store(), "exports", "g00001", "g00003", "g00005")
		pause := func(group string) {
			t.Helper()
			if err := queues.PauseGroup(t.Context(), "exports", group); err != nil {
				t.Fatal(err)
			}
		}
		pause("g00003")
		if err := queues.SetGroup(t.Context(), "exports", "quiet", chime.GroupRule{Weight: 2}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // fake time
		shows(t, "few groups", registry, counts+"may_start\"} 2\n", counts+"paused\"} 1\n", counts+"ordered\"} 0", oldest+"paused\"} 59.99", oldest+"running\"} 0")

		grouped(t, server.Store(), "exports", manyGroups(600)...)
		pause("g00500")
		pause("g00599")
		time.Sleep(5 * time.Second) // fake time: a read is valid for this time
		shows(t, "more than a scrape reads", registry, counts+"may_start\"} 597\n", counts+"paused\"} 1\n", oldest+"paused\"} 64.99")
		time.Sleep(5 * time.Second) // fake time
		shows(t, "after the walk", registry, counts+"may_start\"} 597\n", counts+"paused\"} 3\n", oldest+"paused\"} 69.99", noErrors)
		if text := exposition(t, registry); strings.Contains(text, "g0") || strings.Contains(text, "quiet") {
			t.Errorf("a group is shown:\n%s", text)
		}
		time.Sleep(time.Second) // fake time: the walk ends
	})
}

// The queues without their own label are counted together, and one that was deleted meanwhile stops nothing.
func TestGroupsOfManyQueuesAreCountedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer server.Close()
		queues := chime.NewQueues(server.Store())
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(chimeprom.CountGroups(chimeprom.New(chimeprom.Options{}).Store(server.Store()), 1))
		for i := range 203 {
			queue := fmt.Sprintf("q%03d", i)
			if i < 197 { // it has no groups
				if _, err := server.Store().Protocol().Partitions(t.Context(), queue); err != nil {
					t.Fatal(err)
				}
				continue
			}
			grouped(t, server.Store(), queue, "a", "b")
			if err := queues.PauseGroup(t.Context(), queue, "b"); err != nil {
				t.Fatal(err)
			}
		}
		shows(t, "at first", registry, `chime_queue_groups{queue="other",state="may_start"} 3`, `!chime_queue_groups{queue="other",state="paused"}`, noErrors)
		if _, err := queues.Purge(t.Context(), "q198", "q198", nil); err != nil {
			t.Fatal(err)
		}
		if err := queues.Delete(t.Context(), "q198"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second) // fake time
		shows(t, "after the walk", registry, `chime_queue_groups{queue="other",state="paused"} 3`, `chime_queue_groups{queue="q199",state="paused"} 1`,
			`!chime_queue_groups{queue="q198"`, noErrors)
		time.Sleep(3 * time.Second) // fake time: the walk ends
	})
}
