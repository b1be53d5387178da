package pages

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// failMany leaves n dead jobs, each with one of five errors.
func failMany(t *testing.T, store chime.Store, n int) {
	t.Helper()
	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
	for first := 0; first < n; first += 500 {
		items := make([]chime.Item, min(500, n-first))
		for i := range items {
			items[i] = chime.Item{Name: fmt.Sprint("charge", (first+i)%5), Options: []chime.EnqueueOption{chime.Queue("cards"), chime.MaxAttempts(1)}}
		}
		if _, err := enqueuer.EnqueueMany(t.Context(), items); err != nil {
			t.Fatal(err)
		}
	}
	worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"cards": 1}, Concurrency: 100, Logger: slog.New(slog.DiscardHandler)})
	for i := range 5 {
		worker.Handle(fmt.Sprint("charge", i), func(context.Context, *chime.Job) error { return errors.New("declined") })
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if err := chime.Run(ctx, worker); err != nil {
		t.Fatal(err)
	}
}

// A page with many jobs reads a thousand of them, and shows that number. Each repeated request reads more, until every job was read once.
func TestAPageLooksThroughJobsAPartAtATime(t *testing.T) {
	onShop(t, func(t *testing.T, server *embedded.Server) {
		const many = 3300
		failMany(t, server.Store(), many)
		site := NewSite(server.Store(), Hooks{})
		var last *Failures
		for looked := 0; last == nil || len(last.GoOn) > 0; time.Sleep(5 * time.Second) { // fake time passes
			m := failuresPage(t, site, "state=dead&queue=cards")
			if m.Looked < looked || m.Looked > looked+searchPart+500 || m.Jobs != m.Looked {
				t.Fatalf("after %d jobs it has read %d, of which %d failed; want some %d more", looked, m.Looked, m.Jobs, searchPart)
			}
			looked, last = m.Looked, m
		}
		if len(last.Groups) != 5 || last.Jobs != many {
			t.Fatalf("%d groups of %d jobs, want 5 of %d", len(last.Groups), last.Jobs, many)
		}
		for _, g := range last.Groups {
			if g.Count != many/5 || g.First.IsZero() || g.Last.Before(g.First) || fmt.Sprint(g.Queues) != "[cards]" {
				t.Errorf("group %+v, want %d of cards", g.Group, many/5)
			}
		}

		list := jobsPage(t, site, "q=state:dead+queue:cards+job:none*")
		if list.Looked > searchPart+500 || list.Next == "" {
			t.Errorf("a list has read %d jobs and its next page is %q, want some %d and a next page", list.Looked, list.Next, searchPart)
		}
		for range 20 {
			time.Sleep(5 * time.Second) // fake time passes
			list = jobsPage(t, site, "q=state:dead+queue:cards+job:none*")
		}
		if list.Looked != many || list.Next != "" || len(list.Rows) > 0 {
			t.Errorf("in the end it has read %d jobs, found %d and its next page is %q; want all %d, 0 and no next page", list.Looked, len(list.Rows), list.Next, many)
		}
	})
}

// Retries are found at once, for any number of delayed jobs on queues without retries.
func TestRetriesAreLookedForWhereThereAreSome(t *testing.T) {
	onShop(t, func(t *testing.T, server *embedded.Server) {
		enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
		for range 6 {
			items := make([]chime.Item, 500)
			for i := range items {
				items[i] = chime.Item{Name: "later", Options: []chime.EnqueueOption{chime.Queue("a-queue"), chime.In(time.Hour)}}
			}
			if _, err := enqueuer.EnqueueMany(t.Context(), items); err != nil {
				t.Fatal(err)
			}
		}
		m := jobsPage(t, NewSite(server.Store(), Hooks{}), "state=retrying")
		if len(m.Rows) != 1 {
			t.Errorf("found %d retries among %d jobs, want the one of the shop", len(m.Rows), m.Looked)
		}
	})
}
