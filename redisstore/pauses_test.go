package redisstore

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// endPauses ends the pauses of two queues that are over. It returns what it has ended, and the time until the next one ends.
func (b *bench) endPauses() (ended []string, next time.Duration) {
	b.Helper()
	answer, err := b.store.EndPauses(b.Context(), []protocol.Partition{storesuite.DefaultPartition, {Queue: "mail"}})
	if err != nil {
		b.Fatal(err)
	}
	for _, of := range answer.Ended {
		switch {
		case of.Schedule != "":
			ended = append(ended, "schedule "+of.Schedule)
		case of.Group != "":
			ended = append(ended, "group "+of.Group)
		default:
			ended = append(ended, "queue "+of.Partition.Queue)
		}
	}
	return ended, answer.Next
}

func (b *bench) pauseUntil(name string, until time.Time) {
	b.Helper()
	if _, err := b.store.PauseSchedule(b.Context(), protocol.Pausing{Name: name, Paused: true, Note: &protocol.Note{Text: `"until":5}`, Until: until}}); err != nil {
		b.Fatal(err)
	}
}

// Each pause ends at its end and not before, and its entry leaves the index, also if it is resumed or deleted before.
func TestAPauseWithAnEndLeavesNothing(t *testing.T) {
	onServersWith(t, settableClock, func(b *bench) {
		now := b.serverSecond()
		owner := protocol.Owner{Name: "o", Version: 1}
		for _, name := range []string{"ends", "resumed", "deleted"} {
			b.Owns("default", name, owner)
		}
		end := now.Add(time.Hour)
		pause := func() {
			for _, name := range []string{"ends", "resumed", "deleted"} {
				b.pauseUntil(name, end)
			}
			note := protocol.Note{By: "anna", Until: end.Add(time.Second)}
			if err := b.store.PauseQueue(b.Context(), "default", true, note); err != nil {
				b.Fatal(err)
			}
			b.pauseGroup("a", true, note)
		}
		pause()
		pause() // again: nothing changes
		if stats, err := b.store.QueueStats(b.Context(), []string{"default"}); err != nil || !stats[0].Note.Until.Equal(end.Add(time.Second)) {
			b.Errorf("the pause of the queue ends %v, %v; want %v", stats[0].Note.Until, err, end.Add(time.Second))
		}
		if _, err := storesuite.PauseSchedule(b.Context(), b.store, "resumed", false); err != nil {
			b.Fatal(err)
		}
		if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "deleted"}); err != nil {
			b.Fatal(err)
		}
		if n := b.client.ZCard(b.Context(), b.keys().ends).Val(); n != 3 {
			b.Errorf("%d entries, want those of the schedule, the group and the queue", n)
		}

		b.SetClock(end.Add(-time.Second))
		if ended, next := b.endPauses(); len(ended) > 0 || next <= 0 || next > 1100*time.Millisecond {
			b.Errorf("a second before the end: ended %q, the next in %v", ended, next)
		}
		b.SetClock(end)
		if ended, _ := b.endPauses(); len(ended) != 1 || ended[0] != "schedule ends" {
			b.Errorf("at its end: ended %q, want the schedule", ended)
		}
		b.SetClock(end.Add(time.Second))
		if ended, _ := b.endPauses(); len(ended) != 2 || ended[0] != "group a" || ended[1] != "queue default" {
			b.Errorf("at their end: ended %q, want the group and the queue", ended)
		}
		if ended, next := b.endPauses(); len(ended) > 0 || next != -1 {
			b.Errorf("afterwards: ended %q, the next in %v; want nothing", ended, next)
		}
		if left := b.remains(b.keys(), b.keys().ends, b.keys().notes, b.keys().grules); len(left) > 0 || b.stateField("paused") != "" {
			b.Errorf("%q remain, and the queue is paused: %q", left, b.stateField("paused"))
		}
		b.Verify(true)
	})
}

// The note of the pause decides: an entry whose pause has another end, or none, ends nothing. Such entries remain after a resume and another pause by an older version.
func TestOnlyTheEndInTheNoteEndsAPause(t *testing.T) {
	onServersWith(t, settableClock, func(b *bench) {
		now := b.serverSecond()
		b.Owns("default", "s", protocol.Owner{Name: "o", Version: 1})
		old := now.Add(time.Hour)
		entries := func() {
			for _, member := range []string{"queue", "group\ta", "schedule\ts", "schedule\tnever", "of a newer version"} {
				b.client.ZAdd(b.Context(), b.keys().ends, redis.Z{Score: float64(old.UnixMilli()), Member: member})
			}
		}
		note := protocol.Note{Text: "why"}
		for _, until := range []time.Time{{}, now.Add(2 * time.Hour)} {
			note.Until = until
			b.pauseGroup("a", true, note)
			if err := b.store.PauseQueue(b.Context(), "default", true, note); err != nil {
				b.Fatal(err)
			}
			if _, err := b.store.PauseSchedule(b.Context(), protocol.Pausing{Name: "s", Paused: true, Note: &note}); err != nil {
				b.Fatal(err)
			}
			entries()
			b.SetClock(old)
			if ended, _ := b.endPauses(); len(ended) > 0 {
				b.Errorf("with the end %v: ended %q", until, ended)
			}
			want := int64(0)
			if !until.IsZero() {
				want = 3 // with their own ends
			}
			if n := b.client.ZCard(b.Context(), b.keys().ends).Val(); n != want {
				b.Errorf("with the end %v: %d entries, want %d", until, n, want)
			}
		}
		b.SetClock(note.Until)
		if ended, _ := b.endPauses(); len(ended) != 3 {
			b.Errorf("at the end: ended %q, want the queue, the group and the schedule", ended)
		}
	})
}

// A paused schedule takes the end of its pause to another queue. Its entry in the old queue ends nothing there.
func TestTheEndOfAPauseMovesWithItsSchedule(t *testing.T) {
	onServersWith(t, settableClock, func(b *bench) {
		end := b.serverSecond().Add(time.Hour)
		owner := protocol.Owner{Name: "o", Version: 1}
		b.Owns("default", "s", owner)
		b.pauseUntil("s", end)
		b.Owns("mail", "s", owner)
		b.SetClock(end)
		if ended, _ := b.endPauses(); len(ended) != 1 || ended[0] != "schedule s" {
			b.Errorf("ended %q, want the schedule, once", ended)
		}
		if found, err := b.store.Find(b.Context(), []string{"s"}); err != nil || found[0].Partition.Queue != "mail" || found[0].Since.IsZero() {
			b.Errorf("found %+v, %v; want it on mail, and owed its next occurrence", found, err)
		}
		if ended, next := b.endPauses(); len(ended) > 0 || next != -1 {
			b.Errorf("again: ended %q, the next in %v", ended, next)
		}
	})
}
