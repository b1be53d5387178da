package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A move that was interrupted after any step is completed by the next declaration, and the schedule lives in exactly one queue.
func TestAMoveInterruptedAfterAnyStepIsCompletedByADeclaration(t *testing.T) {
	for steps := range 5 {
		t.Run(fmt.Sprintf("after %d steps", steps), func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				declared := b.declare("s", "skip", `{"job":"j"}`)
				at := ago(-time.Hour)
				b.place(*declared.Owed, declared.Revision, 0, at)
				b.interruptMove("s", "default", "mail", steps)
				moved := b.declareOn("mail", "s", "skip", `{"job":"j"}`)
				mail := b.store.keys.partition(protocol.Partition{Queue: "mail"})
				if n := b.client.ZCard(b.Context(), b.keys().due).Val(); n != 0 {
					b.Errorf("%d placed in the old queue, want none", n)
				}
				if steps == 3 {
					// the new queue has the schedule: a ticker finds the mark
					b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, "s"))
					if _, err := b.store.Owed(b.Context(), []protocol.Partition{defaultPartition}); err != nil {
						b.Fatal(err)
					}
				}
				b.want("owed in the old queue", b.owedNames(), "[]")
				b.want("registry", b.client.HGet(b.Context(), b.store.keys.registry(), "s").Val(), "mail")
				if score, err := b.client.ZScore(b.Context(), mail.owed, "s").Result(); err != nil || score == 0 {
					b.Errorf("owed in the new queue: %v, %v", score, err)
				}
				if !moved.Created.Equal(declared.Created) || moved.Changed || moved.New {
					b.Errorf("moved %+v, want the same creation, nothing changed", moved)
				}
				again := b.declareOn("mail", "s", "skip", `{"job":"j"}`)
				if again.Revision != moved.Revision {
					b.Errorf("revision %d, then %d, want the same", moved.Revision, again.Revision)
				}
				found, err := b.store.Find(b.Context(), []string{"s"})
				if err != nil || found[0].Partition.Queue != "mail" {
					b.Errorf("found %+v, %v; want it in mail", found, err)
				}
			})
		})
	}
}

// interruptMove does the first steps of a move only.
func (b *bench) interruptMove(name, from, to string, steps int) {
	b.Helper()
	if steps == 0 {
		return
	}
	k := b.store.keys.partition(protocol.Partition{Queue: from})
	values, err := b.store.runOne(b.Context(), "begin to move", name, newCall(&moveBeginScript,
		[]string{k.schedules, k.cursors, k.owed, k.due, k.jobs, k.crashes, k.state, k.moved}, []any{name, to}))
	if err != nil {
		b.Fatal(err)
	}
	h, ok := parseHead(values.text(0))
	if !ok || h.movedTo != to || h.before != "live" {
		b.Fatalf("mark %q", values.text(0))
	}
	if steps > 1 {
		n := b.store.keys.partition(protocol.Partition{Queue: to})
		b.store.run(b.Context(), b.client, newCall(&moveArriveScript, []string{n.schedules, n.cursors, n.owed}, []any{name, h.withState("live"), values.text(1), values.number(2)}))
	}
	if steps > 2 {
		b.store.run(b.Context(), b.client, newCall(&changeQueueScript, []string{b.store.keys.registry()}, []any{name, from, to}))
	}
	if steps > 3 {
		b.store.run(b.Context(), b.client, newCall(&moveEndScript, []string{k.schedules, k.owed}, []any{name, h.revision}))
	}
}

func TestOwedCompletesAnInterruptedMove(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.declare("s", "skip", `{"job":"j"}`)
		b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, "s"))
		b.interruptMove("s", "default", "mail", 1)
		owed, err := b.store.Owed(b.Context(), []protocol.Partition{defaultPartition})
		if err != nil || len(owed) != 1 || owed[0].Partition.Queue != "mail" {
			b.Fatalf("owed %+v, %v; want s in mail", owed, err)
		}
		b.want("owed in the old queue", b.owedNames(), "[]")
	})
}
