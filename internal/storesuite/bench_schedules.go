package storesuite

import (
	"context"
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// Declare declares one schedule and returns the answer.
func (b *Bench) Declare(name string, overlap string, body string) protocol.DeclareAnswer {
	b.Helper()
	return b.DeclareOn("default", name, overlap, body)
}

// DeclareOn declares one schedule on a queue and returns the answer.
func (b *Bench) DeclareOn(queue, name string, overlap string, body string) protocol.DeclareAnswer {
	b.Helper()
	answer := b.Store.Declare(b.Context(), []protocol.Declaration{{Name: name, Queue: queue, Overlap: overlap, Body: []byte(body)}})[0]
	if answer.Err != nil {
		b.Fatal(answer.Err)
	}
	return answer
}

// Scheduled declares a schedule, as if it had been created long ago, and places an occurrence at each instant, the last one at the cursor.
func (b *Bench) Scheduled(name string, overlap string, at ...time.Time) protocol.DeclareAnswer {
	b.Helper()
	answer := b.Declare(name, overlap, `{"job":"j"}`)
	b.backdate(name)
	if placed := b.Place(*answer.Owed, answer.Revision, 0, at...); placed.Placed != len(at) {
		b.Fatalf("placed %+v, want %d", placed, len(at))
	}
	return answer
}

// PauseSchedule pauses or resumes a schedule and returns what is owed then.
func PauseSchedule(ctx context.Context, s protocol.Store, name string, paused bool) (protocol.Owed, error) {
	answer, err := s.PauseSchedule(ctx, protocol.Pausing{Name: name, Paused: paused})
	if answer.Owed == nil {
		return protocol.Owed{}, err
	}
	return *answer.Owed, err
}

// Owns declares a schedule of an owner.
func (b *Bench) Owns(queue, name string, owner protocol.Owner) protocol.DeclareAnswer {
	b.Helper()
	declared := protocol.Declaration{Name: name, Queue: queue, Overlap: "skip", Body: []byte(`{"job":"j"}`), Owner: owner}
	answer := b.Store.Declare(b.Context(), []protocol.Declaration{declared})[0]
	if answer.Err != nil {
		b.Fatal(answer.Err)
	}
	return answer
}

// Prune prunes an owner's schedules and returns which.
func (b *Bench) Prune(owner protocol.Owner) string {
	b.Helper()
	var all []string
	for cursor := ""; ; {
		next, pruned, err := b.Store.Prune(b.Context(), owner, cursor)
		if err != nil {
			b.Fatal(err)
		}
		if all, cursor = append(all, pruned...), next; next == "" {
			return fmt.Sprint(all)
		}
	}
}

// Place places one occurrence for an owed schedule.
func (b *Bench) Place(owed protocol.Owed, revision int64, count int, at ...time.Time) protocol.PlaceAnswer {
	b.Helper()
	answer := b.Store.Place(b.Context(), []protocol.Placement{{
		Partition: owed.Partition, Name: owed.Name, Revision: revision, Cursor: owed.Cursor, Instants: at, Count: count,
	}})[0]
	if answer.Err != nil {
		b.Fatal(answer.Err)
	}
	return answer
}

// CatchUp places a caught-up occurrence.
func (b *Bench) CatchUp(owed protocol.Owed, revision int64, at time.Time) protocol.PlaceAnswer {
	b.Helper()
	answer := b.Store.Place(b.Context(), []protocol.Placement{{
		Partition: owed.Partition, Name: owed.Name, Revision: revision, Cursor: owed.Cursor, Instants: []time.Time{at}, CaughtUp: 1,
	}})[0]
	if answer.Err != nil {
		b.Fatal(answer.Err)
	}
	return answer
}

// OccurrenceID returns the ID of a schedule's occurrence.
func OccurrenceID(name string, at time.Time) string {
	return name + "@" + at.UTC().Format(time.RFC3339)
}

// Ago returns the second of that time ago.
func Ago(d time.Duration) time.Time { return time.Now().Add(-d).Truncate(time.Second) }
