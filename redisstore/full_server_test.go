//go:build real

package redisstore

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

func TestAtMaxmemoryLapsedSessionsAreReportedAndTheLeaderKeepsItsLease(t *testing.T) {
	b, client := onRedis(t), redisAdmin()
	defer client.ConfigSet(context.WithoutCancel(b.Context()), "maxmemory", "0")
	b.Enqueue(storesuite.Job("a"))
	b.Work("s", protocol.WorkCall{Take: 1, TTL: time.Millisecond})
	owed := b.Declare("report", "skip", `{"job":"report"}`).Owed
	b.UntilLapsed()
	client.ConfigSet(b.Context(), "maxmemory", "1")
	poll := b.store.Poll(b.Context(), []protocol.PollCall{{Partition: storesuite.DefaultPartition, Worker: "w", Sleep: true}})[0]
	if poll.Err != nil || len(poll.Lapsed) != 1 {
		b.Errorf("poll: error %v, lapsed %v; want the session", poll.Err, poll.Lapsed)
	}
	for range 2 {
		if answer, err := b.store.Lead(b.Context(), "me", time.Minute); err != nil || !answer.Leading {
			b.Errorf("lead: %+v, %v", answer, err)
		}
	}
	if err := b.store.Postpone(b.Context(), *owed); err != nil {
		b.Error(err)
	}
}

func TestAtMaxmemoryAShortCallWritesNothing(t *testing.T) {
	b, client := onRedis(t), redisAdmin()
	defer client.ConfigSet(context.WithoutCancel(b.Context()), "maxmemory", "0")
	p := newProducer(b)
	client.ConfigSet(b.Context(), "maxmemory", "1")
	before := snapshotOf(b)
	p.number++
	if answer := p.again("a"); answer.Err == nil || !strings.Contains(answer.Err.Error(), "OOM") {
		b.Errorf("%v, want that the server is full", answer.Err)
	}
	b.Want("the keys", snapshotOf(b), before)
	client.ConfigSet(b.Context(), "maxmemory", "0")
	if one := fmt.Sprint(p.one(p.number, "a")); one != "1" {
		b.Errorf("the same call when there is room: %s, want 1", one)
	}
}

// Every call that removes or stops something succeeds on a server over its memory limit: it needs no memory for its first write.
func TestAtMaxmemoryWhateverRemovesOrStopsIsCarriedOut(t *testing.T) {
	b, client := onRedis(t), redisAdmin()
	defer client.ConfigSet(context.WithoutCancel(b.Context()), "maxmemory", "0")
	for _, name := range []string{"pauses", "goes", "goes with its jobs"} {
		b.Declare(name, "skip", dailyBody)
	}
	manual := storesuite.Own("manual run")
	manual.Schedule = "goes with its jobs"
	b.Enqueue(storesuite.Job("dies"), once("done"))
	for _, taken := range b.Take("s", 2) {
		kind := protocol.SettleDone
		if taken.ID == "dies" {
			kind = protocol.SettleDead
		}
		b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: kind, Body: []byte("\x01dead")})
	}
	b.Enqueue(manual, storesuite.Job("cancelled"), storesuite.Job("deleted"), storesuite.Job("purged"))
	for _, queue := range []string{"empty", "gone"} {
		if _, err := b.store.queues.register(b.Context(), queue); err != nil {
			b.Fatal(err)
		}
	}
	pausing := protocol.Note{Text: strings.Repeat("why ", 20), By: "me"}
	client.ConfigSet(b.Context(), "maxmemory", "1")
	if err := client.Set(b.Context(), "full", "x", 0).Err(); err == nil {
		b.Fatal("the server is not full")
	}
	deleted := func(id string) func() error {
		return func() error {
			became, err := b.store.DeleteJobs(b.Context(), "default", []string{id})
			if err == nil && became[0] != protocol.ChangeDone {
				err = fmt.Errorf("became %c", became[0])
			}
			return err
		}
	}
	purged := func(queue string) func() error {
		return func() error {
			p := protocol.Partition{Queue: queue}
			for done, err := b.store.BeginPurge(b.Context(), p); err != nil || done.More; {
				if err != nil {
					return err
				}
				done, err = b.store.PurgeStep(b.Context(), p)
			}
			return nil
		}
	}
	for _, act := range []struct {
		name string
		do   func() error
	}{
		{"pausing a schedule", func() error {
			_, err := b.store.PauseSchedule(b.Context(), protocol.Pausing{Name: "pauses", Paused: true, Note: &pausing})
			return err
		}},
		{"deleting a schedule", func() error { _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "goes"}); return err }},
		{"deleting a schedule with its jobs", func() error {
			_, err := b.store.Remove(b.Context(), protocol.Removal{Name: "goes with its jobs", Waiting: true})
			return err
		}},
		{"cancelling a job", func() error { _, err := b.store.CancelJob(b.Context(), "default", "cancelled", nil); return err }},
		{"deleting a waiting job", deleted("deleted")},
		{"deleting a dead job", deleted("dies")},
		{"lifting Once", deleted("done")},
		{"pausing a queue", func() error { return b.store.PauseQueue(b.Context(), "default", true, pausing) }},
		{"resuming a queue", func() error { return b.store.PauseQueue(b.Context(), "default", false, protocol.Note{}) }},
		{"limiting a queue", func() error {
			return b.store.LimitQueue(b.Context(), "default", protocol.QueueLimit{Running: 1, Starts: 10, Per: time.Minute})
		}},
		{"removing a limit", func() error { return b.store.LimitQueue(b.Context(), "default", protocol.QueueLimit{}) }},
		{"purging where nothing waits", purged("empty")},
		{"purging", purged("default")},
		{"deleting a queue", func() error { _, err := b.store.DeleteQueue(b.Context(), "gone"); return err }},
		{"sweeping", func() error { _, err := b.sweep(); return err }},
	} {
		if err := act.do(); err != nil {
			b.Errorf("%s: %v", act.name, err)
		}
	}
	client.ConfigSet(b.Context(), "maxmemory", "0")
	if s := b.Stats(); s.Waiting != 0 || s.Dead != 0 || s.Schedules != 1 {
		b.Errorf("left are %+v, want one schedule", s)
	}
	if n := b.queues()["gone"]; n != 0 {
		b.Error("the queue is still listed")
	}
	b.Want("existing", storesuite.BoolsText(b.Enqueue(once("done"))), storesuite.BoolsText([]bool{false}))
}
