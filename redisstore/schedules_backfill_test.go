package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// longKnown declares a schedule that was created long ago, according to its history too.
func (b *bench) longKnown(name, overlap string, at ...time.Time) protocol.DeclareAnswer {
	b.Helper()
	declared := b.Scheduled(name, overlap, at...)
	b.client.HSet(b.Context(), b.keys().last, name, "2020-01-01T00:00:00.000Z 20 0 0 - 0 0")
	return declared
}

// ran returns the record of an attempt for an occurrence's settlement.
func ran(id, outcome string) *protocol.RunRecord {
	name, text, _ := protocol.CutOccurrence(id)
	at, _ := time.Parse(time.RFC3339, text)
	return &protocol.RunRecord{Schedule: name, Planned: at, Started: storesuite.Ago(0), Ended: storesuite.Ago(0), Outcome: outcome, Attempt: 1, Fence: 1, Worker: "w"}
}

// backfilled returns jobs of a schedule for these instants.
func backfilled(name string, at ...time.Time) []protocol.BackfilledJob {
	jobs := make([]protocol.BackfilledJob, len(at))
	for i := range at {
		jobs[i] = protocol.BackfilledJob{ID: storesuite.OccurrenceID(name, at[i]), Body: []byte("\x01again")}
	}
	return jobs
}

// backfill returns the effect of a call, as "<placed> placed, <existing> existing".
func (b *bench) backfill(declared protocol.DeclareAnswer, name string, at ...time.Time) string {
	b.Helper()
	a, err := b.store.Backfill(b.Context(), protocol.Backfilling{Name: name, Revision: declared.Revision, Jobs: backfilled(name, at...)})
	if err != nil || a.Done != len(at) {
		b.Fatalf("backfilled %+v, %v; want all of %d done", a, err, len(at))
	}
	return fmt.Sprint(a.Placed, " placed, ", a.Existing, " existing")
}

func (b *bench) unfinished(name string) string {
	return fmt.Sprint(parseLast(b.client.HGet(b.Context(), b.keys().last, name).Val()).Unfinished)
}

// An occurrence in any place is placed once; a dead one starts again; the schedule still places its own occurrences.
func TestWhatExistsIsNotBackfilled(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		now := storesuite.Ago(0)
		at := func(h int) time.Time { return now.Add(-time.Duration(h) * time.Hour) }
		s := b.longKnown("s", "allow", at(9), at(8), at(7), at(6), at(5), at(4), at(3))
		k := b.keys()
		taken := b.Take("a", 10)
		if len(taken) != 7 {
			b.Fatalf("taken %+v", taken)
		}
		// 9 is dead, 8 waits for a retry, 7 is done, 6 is parked without an envelope, 5 was put back without one, 4 and 3 are in flight
		settlements := []protocol.Settlement{
			{Kind: protocol.SettleDead, Body: []byte("\x01dead"), Failed: true}, {Kind: protocol.SettleLater, Body: []byte("\x01later"), Delay: time.Hour, Failed: true},
			{Kind: protocol.SettleDone}, {Kind: protocol.SettlePark, Name: "j"}, {Kind: protocol.SettleBack},
		}
		for i, settled := range settlements {
			settled.ID, settled.Fence = taken[i].ID, taken[i].Fence
			if i < 3 {
				settled.Run = ran(taken[i].ID, []string{"dead", "failed", "done"}[i])
			}
			if !b.Settle("a", settled) {
				b.Fatalf("%+v was refused", settled)
			}
		}
		b.Want("before", b.unfinished("s"), "5")
		all := []time.Time{at(10), at(9), at(8), at(7), at(6), at(5), at(4), at(3), at(2), at(-2)}
		b.Want("at first", b.backfill(s, "s", all...), "3 placed, 5 existing") // 10, 9 and 7; the last two are the schedule's own
		b.Want("again", b.backfill(s, "s", all...), "0 placed, 8 existing")
		b.Want("unfinished", b.unfinished("s"), "8")
		if n := b.client.ZCard(b.Context(), k.dead).Val(); n != 0 {
			b.Errorf("%d are dead, want none", n)
		}
		var ready []string
		for _, id := range b.client.LRange(b.Context(), k.ready, 0, -1).Val() {
			ready = append(ready, strings.TrimPrefix(id, "s@"))
		}
		text := func(h int) string { return at(h).UTC().Format(time.RFC3339) }
		if want := []string{text(5), text(10), text(9), text(7)}; !slices.Equal(ready, want) {
			b.Errorf("ready has %v, want %v", ready, want)
		}
	})
}

// An occurrence that was cancelled in ready gets its old place when it is backfilled; its ID is in ready once.
func TestACancelledOccurrenceIsBackfilledAtItsOldPlace(t *testing.T) {
	for _, policy := range []string{"allow", "skip"} {
		onEveryServer(t, func(b *bench) {
			two, three := storesuite.Ago(2*time.Hour), storesuite.Ago(3*time.Hour)
			s := b.longKnown("s", policy, storesuite.Ago(time.Hour))
			b.Want("at first", b.backfill(s, "s", three, two), "2 placed, 0 existing")
			if how, err := b.store.CancelJob(b.Context(), "default", storesuite.OccurrenceID("s", three), nil); err != nil || how != protocol.CancelDone {
				b.Fatal(how, err)
			}
			b.Want("again", b.backfill(s, "s", three, two), "1 placed, 1 existing")
			b.Want("unfinished", b.unfinished("s"), "2")
			began := map[string]bool{}
			for i := range 5 {
				session := fmt.Sprint("s", i)
				for _, job := range b.Take(session, 1) {
					if began[job.ID] || !b.Settle(session, protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleDone, Run: ran(job.ID, "done")}) {
						b.Fatalf("%+v ran before, or was refused", job)
					}
					began[job.ID] = true
				}
			}
			if !began[storesuite.OccurrenceID("s", two)] || !began[storesuite.OccurrenceID("s", three)] {
				b.Errorf("%v ran, want both", began)
			}
			b.Want("unfinished then", b.unfinished("s"), "0")
		})
	}
}

// A waiting occurrence can be cancelled, and is deleted with its schedule; the others continue.
func TestWhatIsBackfilledAndWaitsCanBeEnded(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		now := storesuite.Ago(0)
		at := func(h int) time.Time { return now.Add(-time.Duration(h) * time.Hour) }
		s := b.longKnown("s", "skip", at(1))
		b.Want("placed", b.backfill(s, "s", at(6), at(5), at(4), at(3), at(2)), "5 placed, 0 existing")
		for _, h := range []int{5, 6} { // one that waits behind, then the one for which the schedule is held
			if how, err := b.store.CancelJob(b.Context(), "default", storesuite.OccurrenceID("s", at(h)), nil); err != nil || how != protocol.CancelDone {
				b.Fatalf("%d: %v, %v", h, how, err)
			}
		}
		b.Want("unfinished", b.unfinished("s"), "3")
		taken := b.Take("a", 10) // the one at the cursor was also due, and waits behind
		if len(taken) != 1 || taken[0].ID != storesuite.OccurrenceID("s", at(4)) {
			b.Fatalf("taken %+v, want the oldest that is left", taken)
		}
		became, err := b.store.DeleteJobs(b.Context(), "default", []string{storesuite.OccurrenceID("s", at(3))})
		if err != nil || became[0] != protocol.ChangeDone {
			b.Errorf("deleted: %q, %v", became, err)
		}
		if found, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s", Waiting: true}); err != nil || !found {
			b.Fatal(found, err)
		}
		if n := b.client.ZCard(b.Context(), b.keys().behind).Val(); n != 0 {
			b.Errorf("%d wait behind, want none", n)
		}
		if !b.Settle("a", protocol.Settlement{ID: taken[0].ID, Fence: taken[0].Fence, Kind: protocol.SettleDone, Run: ran(taken[0].ID, "done")}) {
			b.Error("its settlement was refused")
		}
		for _, key := range []string{b.keys().jobs, b.keys().open} {
			if left := b.client.HGetAll(b.Context(), key).Val(); len(left) > 0 {
				b.Errorf("%s has %v", key, left)
			}
		}
	})
}

// A schedule that has changed since it was read is a conflict, one that is gone is not found, an unreadable one is not changed; and a
// call finds a schedule that has moved.
func TestABackfillOfAnotherRevisionIsAConflict(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		s := b.Scheduled("s", "skip", storesuite.Ago(time.Hour))
		call := protocol.Backfilling{Name: "s", Revision: s.Revision - 1, Jobs: backfilled("s", storesuite.Ago(2*time.Hour))}
		if a, err := b.store.Backfill(b.Context(), call); !errors.Is(err, protocol.ErrConflict) || a != (protocol.BackfillAnswer{}) {
			b.Errorf("of another revision: %+v, %v", a, err)
		}
		call.Name = "nobody"
		if a, err := b.store.Backfill(b.Context(), call); !errors.Is(err, protocol.ErrNotFound) || a != (protocol.BackfillAnswer{}) {
			b.Errorf("of a missing one: %+v, %v", a, err)
		}
		d := protocol.Declaration{Name: "s", Queue: "mail", Overlap: "skip", Body: []byte(`{"job":"j"}`)}
		moved := b.store.Declare(b.Context(), []protocol.Declaration{d})[0]
		if moved.Err != nil || moved.Partition.Queue != "mail" {
			b.Fatalf("moved %+v", moved)
		}
		call.Name = "s"
		if a, err := b.store.Backfill(b.Context(), call); !errors.Is(err, protocol.ErrConflict) || a.Placed != 0 {
			b.Errorf("of a moved one: %+v, %v", a, err)
		}
		b.Want("where it lives", b.backfill(moved, "s", storesuite.Ago(2*time.Hour)), "1 placed, 0 existing")
		if n := b.client.LLen(b.Context(), b.store.keys.partition(protocol.Partition{Queue: "mail"}).ready).Val(); n != 1 {
			b.Errorf("%d in ready of the new queue", n)
		}
	})
}

// With any number of backfilled occurrences, a take returns those that are then in flight, each by its own ID.
func TestATakeOfManyBackfilledOccurrencesNamesEach(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		own := storesuite.Ago(time.Hour)
		s := b.Scheduled("s", "allow", own)
		var at []time.Time
		for h := range 400 {
			at = append(at, own.Add(time.Duration(h-500)*time.Hour))
		}
		b.Want("backfilled", b.backfill(s, "s", at...), "400 placed, 0 existing")
		placed := map[string]bool{storesuite.OccurrenceID("s", own): true}
		for _, instant := range at {
			placed[storesuite.OccurrenceID("s", instant)] = true
		}
		for calls := 1; len(placed) > 0; calls++ {
			taken := b.Take("a", 400)
			if len(taken) == 0 || calls > 10 {
				b.Fatalf("call %d: %d taken, %d are left", calls, len(taken), len(placed))
			}
			for _, job := range taken {
				if !placed[job.ID] || b.client.HGet(b.Context(), b.keys().inflight("a"), job.ID).Val() == "" {
					b.Fatalf("call %d: %q was taken, want an occurrence that was placed, and in flight", calls, job.ID)
				}
				delete(placed, job.ID)
			}
		}
	})
}

// A repeat is a hook of a client that sends each script twice, like a client that has lost the first reply.
type repeat struct{ sent *int }

func (r repeat) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (r repeat) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if strings.HasPrefix(cmd.Name(), "eval") && err == nil {
			*r.sent++
			err = next(ctx, cmd)
		}
		return err
	}
}

func (r repeat) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if strings.HasPrefix(cmd.Name(), "eval") && cmd.Err() == nil {
				*r.sent++
				err = next(ctx, cmds)
				break
			}
		}
		return err
	}
}

// An occurrence that a new session takes just before the step that would place it is in flight there, and is not placed.
func TestWhatANewSessionTakesIsNotBackfilled(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := storesuite.Ago(time.Hour)
		s := b.longKnown("s", "allow", at)
		taken := ""
		store := b.hooked(func(cmd redis.Cmder) error {
			if args := cmd.Args(); taken == "" && len(args) > 1 && args[1] == backfillScript.SHA {
				meanwhile(func() { taken = storesuite.IDs(b.Take("new", 1)) })
			}
			return nil
		})
		answer, err := store.Backfill(b.Context(), protocol.Backfilling{Name: "s", Revision: s.Revision, Jobs: backfilled("s", at)})
		if err != nil || answer != (protocol.BackfillAnswer{Done: 1, Existing: 1}) {
			b.Errorf("%+v, %v; want one that exists", answer, err)
		}
		b.Want("taken meanwhile", taken, storesuite.OccurrenceID("s", at))
		b.Want("taken again", storesuite.IDs(b.Take("other", 1)), "")
	})
}

// A step that is sent twice places once and has the same answer, even if the placed occurrences have ended meanwhile.
func TestABackfillThatIsSentTwicePlacesOnce(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		own := storesuite.Ago(time.Hour)
		s := b.longKnown("s", "wait", own)
		client := newClient(b.client)
		defer client.Close()
		sent := 0
		client.AddHook(repeat{&sent})
		twice := newStore(client, Options{Namespace: string(b.store.keys)})
		jobs := backfilled("s", own.Add(-3*time.Hour), own.Add(-2*time.Hour), own.Add(-time.Hour), own)
		a, err := twice.Backfill(b.Context(), protocol.Backfilling{Name: "s", Revision: s.Revision, Jobs: jobs})
		if err != nil || a != (protocol.BackfillAnswer{Done: 4, Placed: 3, Existing: 1}) || sent == 0 {
			b.Errorf("%+v, %v, %d sent twice; want 3 placed, 1 existing", a, err, sent)
		}
		b.Want("unfinished", b.unfinished("s"), "3")
		b.Want("ready and behind", fmt.Sprint(b.client.LLen(b.Context(), b.keys().ready).Val(), b.client.ZCard(b.Context(), b.keys().behind).Val()), "1 2")
	})
}

// A repeated backfill returns the same numbers, also if it has skipped as many as a call can have.
func TestABackfillThatIsSentTwiceSkipsTheSame(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		own := storesuite.Ago(time.Hour)
		s := b.longKnown("s", "wait", own)
		client := newClient(b.client)
		defer client.Close()
		sent := 0
		client.AddHook(repeat{&sent})
		twice := newStore(client, Options{Namespace: string(b.store.keys)})
		var planned []time.Time
		for i := range 400 {
			planned = append(planned, own.Add(time.Duration(i-400)*time.Minute))
		}
		jobs := backfilled("s", append(planned, own)...)
		a, err := twice.Backfill(b.Context(), protocol.Backfilling{Name: "s", Revision: s.Revision, MaxUnfinished: 10, Jobs: jobs})
		if err != nil || a != (protocol.BackfillAnswer{Done: 401, Placed: 10, Existing: 1, Full: 390}) || sent == 0 {
			b.Errorf("%+v, %v, %d sent twice; want 10 placed, 1 existing, 390 skipped", a, err, sent)
		}
		b.Want("unfinished", b.unfinished("s"), "10")
		b.Want("skipped", b.client.HGet(b.Context(), b.keys().counters, "s/skipped").Val(), "390")
	})
}
