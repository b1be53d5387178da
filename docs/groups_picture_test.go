package docs_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/svg"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// The picture of docs/groups.md shows the slots that ten tenants were observed to hold here, under fake time. Their weights are 1 to 10, so there are 55
// slots. Each tenant enqueues as many jobs a second as its weight, and each job takes a second. Then the smallest tenant enqueues ten seconds' work
// of all slots at once.
const (
	tenants     = 10
	allSlots    = tenants * (tenants + 1) / 2
	floodAfter  = 5 // seconds
	pictureEnds = 20
	flood       = 10 * allSlots
)

func TestThePictureOfGroupsIsWhatTheWorkersDo(t *testing.T) {
	chart := svg.Shares{
		Title: "The slots of ten tenants with weights 1 to 10; the smallest tenant enqueues 550 jobs at once", Slots: allSlots, Step: time.Second,
		Label: "Without groups the flood holds all 55 slots for ten seconds. With groups each tenant holds as many slots as its weight, also during the flood.",
	}
	for weight := 1; weight <= tenants; weight++ {
		chart.Owners = append(chart.Owners, fmt.Sprintf("weight %d", weight))
	}
	chart.Owners[0] += ", floods"
	without, with := observeSlots(t, false), observeSlots(t, true)
	for i, panel := range []svg.SharesPanel{
		{Name: "Without groups", Remark: "the oldest job is next", Held: without}, {Name: "With groups", Remark: "the tenant with the fewest slots for its weight is next", Held: with},
	} {
		panel.Mark, panel.MarkLabel = floodAfter*time.Second, ""
		if i == 0 {
			panel.MarkLabel = "the flood"
		}
		chart.Panels = append(chart.Panels, panel)
	}
	for second, held := range with {
		for tenant, slots := range held {
			if slots != tenant+1 {
				t.Errorf("with groups, after %d s: the tenant with weight %d holds %d slots", second, tenant+1, slots)
			}
		}
	}
	if held := without[floodAfter+5][0]; held != allSlots {
		t.Errorf("without groups the flood holds %d slots, want all %d", held, allSlots)
	}
	holdPicture(t, "pictures/groups.svg", chart.SVG())
}

// observeSlots returns how many slots each tenant held in each second.
func observeSlots(t *testing.T, groups bool) (held [][]int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer server.Close()
		enqueuer, queues := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{Queue: "exports"}), chime.NewQueues(server.Store())
		enqueue := func(tenant, n int) {
			items := make([]chime.Item, n)
			for i := range items {
				items[i] = chime.Item{Name: "export", Args: tenant}
				if groups {
					items[i].Options = []chime.EnqueueOption{chime.Group(fmt.Sprint("tenant-", tenant+1))}
				}
			}
			if _, err := enqueuer.EnqueueMany(t.Context(), items); err != nil {
				t.Fatal(err)
			}
		}
		for tenant := range tenants { // so that each one has jobs waiting
			enqueue(tenant, tenant+1)
			if groups {
				if err := queues.SetGroup(t.Context(), "exports", fmt.Sprint("tenant-", tenant+1), chime.GroupRule{Weight: tenant + 1}); err != nil {
					t.Fatal(err)
				}
			}
		}
		var running [tenants]atomic.Int64
		w := chime.NewWorker(server.Store(), chime.WorkerOptions{Queues: map[string]int{"exports": 1}, Concurrency: allSlots})
		w.Handle("export", func(_ context.Context, job *chime.Job) error {
			var tenant int
			if err := job.Decode(&tenant); err != nil {
				return err
			}
			running[tenant].Add(1)
			defer running[tenant].Add(-1)
			time.Sleep(time.Second) // fake time passes
			return nil
		})
		stop := inBackground(w)
		for second := range pictureEnds {
			for tenant := range tenants {
				enqueue(tenant, tenant+1)
			}
			if second == floodAfter {
				enqueue(0, flood)
			}
			time.Sleep(time.Second / 2) // fake time passes
			now := make([]int, tenants)
			for tenant := range now {
				now[tenant] = int(running[tenant].Load())
			}
			held = append(held, now)
			time.Sleep(time.Second / 2) // fake time passes
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return held
}
