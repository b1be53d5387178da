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
				b.want("registry", b.registered("s").queue, "mail")
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

// registered is where the registry has a schedule.
func (b *bench) registered(name string) home {
	b.Helper()
	homes, err := b.store.homes(b.Context(), name)
	if err != nil {
		b.Fatal(err)
	}
	return homes[0]
}

// interruptMove does the first steps of a move only.
func (b *bench) interruptMove(name, from, to string, steps int) {
	b.Helper()
	if steps == 0 {
		return
	}
	at := b.registered(name)
	mark, cursor, counts, _, err := b.store.beginMove(b.Context(), name, at, to, 0)
	if err != nil {
		b.Fatal(err)
	}
	h, ok := parseHead(mark)
	if !ok || h.movedTo != to || h.before != "live" {
		b.Fatalf("mark %q", mark)
	}
	if steps > 1 {
		b.arrive(name, to, mark, cursor, counts)
	}
	if steps > 2 {
		if _, err := b.store.changeHome(b.Context(), name, at, home{to, h.generation}); err != nil {
			b.Fatal(err)
		}
	}
	if steps > 3 {
		if err := b.store.endMove(b.Context(), name, from, h.generation); err != nil {
			b.Fatal(err)
		}
	}
}

// arrive takes the second step of a move, and returns what it answers.
func (b *bench) arrive(name, to, mark, cursor string, counts reply) reply {
	b.Helper()
	k := b.store.keys.partition(protocol.Partition{Queue: to})
	values, err := b.store.runOne(b.Context(), "arrive", name, newCall(&moveArriveScript,
		[]string{k.schedules, k.cursors, k.owed, k.gone, k.counters, k.state}, append([]any{name, mark, cursor}, counts...)))
	if err != nil {
		b.Fatal(err)
	}
	return values
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
