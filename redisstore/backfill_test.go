package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// longKnown declares a schedule that was created long ago, also as its history has it.
func (b *bench) longKnown(name, overlap string, at ...time.Time) protocol.DeclareAnswer {
	b.Helper()
	declared := b.Scheduled(name, overlap, at...)
	b.client.HSet(b.Context(), b.keys().last, name, "2020-01-01T00:00:00.000Z 20 0 0 - 0 0")
	return declared
}

// ran is the record of an attempt that an occurrence's settlement has.
func ran(id, outcome string) *protocol.RunRecord {
	name, text, _ := protocol.CutOccurrence(id)
	at, _ := time.Parse(time.RFC3339, text)
	return &protocol.RunRecord{Schedule: name, Planned: at, Started: storesuite.Ago(0), Ended: storesuite.Ago(0), Outcome: outcome, Attempt: 1, Fence: 1, Worker: "w"}
}

// backfilled are jobs of a schedule for these instants.
func backfilled(name string, at ...time.Time) []protocol.BackfilledJob {
	jobs := make([]protocol.BackfilledJob, len(at))
	for i := range at {
		jobs[i] = protocol.BackfilledJob{ID: storesuite.OccurrenceID(name, at[i]), Body: []byte("\x01again")}
	}
	return jobs
}

// backfill returns what a call has done, as "<placed> placed, <existing> existing".
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

// Wherever an occurrence is, it is placed once; what is dead begins anew; what the schedule has before it stays its own.
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

// One that was cancelled while it stood in ready has its old place when it is backfilled; its ID is in ready once.
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

// What waits for its turn can be cancelled, and is deleted with its schedule; the others go on.
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
		taken := b.Take("a", 10) // the one at the cursor was due as well, and waits behind
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

// A schedule that has changed since it was read is a conflict, one that is gone is not found, one that nobody can read is left alone; and a
// call finds the schedule that has moved.
func TestABackfillOfAnotherRevisionIsAConflict(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		s := b.Scheduled("s", "skip", storesuite.Ago(time.Hour))
		call := protocol.Backfilling{Name: "s", Revision: s.Revision - 1, Jobs: backfilled("s", storesuite.Ago(2*time.Hour))}
		if a, err := b.store.Backfill(b.Context(), call); !errors.Is(err, protocol.ErrConflict) || a != (protocol.BackfillAnswer{}) {
			b.Errorf("of another revision: %+v, %v", a, err)
		}
		call.Name = "nobody"
		if a, err := b.store.Backfill(b.Context(), call); !errors.Is(err, protocol.ErrNotFound) || a != (protocol.BackfillAnswer{}) {
			b.Errorf("of nobody: %+v, %v", a, err)
		}
		d := protocol.Declaration{Name: "s", Queue: "mail", Overlap: "skip", Body: []byte(`{"job":"j"}`)}
		moved := b.store.Declare(b.Context(), []protocol.Declaration{d})[0]
		if moved.Err != nil || moved.Partition.Queue != "mail" {
			b.Fatalf("moved %+v", moved)
		}
		call.Name = "s"
		if a, err := b.store.Backfill(b.Context(), call); !errors.Is(err, protocol.ErrConflict) || a.Placed != 0 {
			b.Errorf("of what has moved: %+v, %v", a, err)
		}
		b.Want("where it lives", b.backfill(moved, "s", storesuite.Ago(2*time.Hour)), "1 placed, 0 existing")
		if n := b.client.LLen(b.Context(), b.store.keys.partition(protocol.Partition{Queue: "mail"}).ready).Val(); n != 1 {
			b.Errorf("%d in ready of the new queue", n)
		}
	})
}

// However many occurrences were backfilled, a take returns those that are in flight then, each by its own ID.
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

// A repeat is a hook of a client that sends each script twice, as a client does that has lost the first reply.
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
			if args := cmd.Args(); taken == "" && len(args) > 1 && args[1] == backfillScript.sha {
				meanwhile(func() { taken = storesuite.IDs(b.Take("new", 1)) })
			}
			return nil
		})
		answer, err := store.Backfill(b.Context(), protocol.Backfilling{Name: "s", Revision: s.Revision, Jobs: backfilled("s", at)})
		if err != nil || answer != (protocol.BackfillAnswer{Done: 1, Existing: 1}) {
			b.Errorf("%+v, %v; want one that exists", answer, err)
		}
		b.Want("taken meanwhile", taken, storesuite.OccurrenceID("s", at))
		b.Want("taken once more", storesuite.IDs(b.Take("other", 1)), "")
	})
}

// A step that is sent twice places once and answers the same, also if what it has placed has ended meanwhile.
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

// Random calls of three workers about schedules of each policy that are backfilled meanwhile: what was placed and has not ended is in one
// place; no two of a schedule are in flight unless its policy is allow; those that were backfilled begin in order; what waits always has one
// in front of it; unfinished is right; and at the end nothing is left.
func TestRandomBackfillsRunEachOccurrenceAsOftenAsItWasPlaced(t *testing.T) {
	seeds, steps := storesuite.WalkSize(3, long.Seeds(50, 150))
	for seed := range seeds {
		onServersWith(t, randomCalls, func(b *bench) {
			for _, policy := range []string{"allow", "skip", "wait", "cancel"} {
				w := &backfillWalk{bench: b, random: rand.New(rand.NewPCG(seed, 9)), name: policy, policy: policy, placed: map[string]bool{}, held: map[string]protocol.TakenJob{}, sessions: map[string]int64{}}
				w.now = storesuite.Ago(0)
				w.declared = b.longKnown(policy, policy, w.now.Add(-time.Hour))
				w.placed[storesuite.OccurrenceID(policy, w.now.Add(-time.Hour))] = false
				for step := range steps {
					w.step()
					w.VerifiedNowAndThen(step)
				}
				w.drain()
				w.Verified()
			}
		})
	}
}

type backfillWalk struct {
	*bench
	random   *rand.Rand
	name     string
	policy   string
	declared protocol.DeclareAnswer
	now      time.Time
	placed   map[string]bool // occurrences that have not ended -> whether it counts as unfinished
	held     map[string]protocol.TakenJob
	sessions map[string]int64
}

func (w *backfillWalk) step() {
	w.Helper()
	switch w.random.IntN(6) {
	case 0:
		w.fill()
	case 1, 2, 3:
		w.takeSome()
	default:
		w.settleSome()
	}
	w.check()
}

// fill backfills some hours, any of which may exist.
func (w *backfillWalk) fill() {
	first, n := 2+w.random.IntN(40), 1+w.random.IntN(12)
	var at []time.Time
	want := 0
	for h := first + n; h > first; h-- {
		at = append(at, w.now.Add(-time.Duration(h)*time.Hour))
		if _, there := w.placed[storesuite.OccurrenceID(w.name, at[len(at)-1])]; !there {
			want++
			w.placed[storesuite.OccurrenceID(w.name, at[len(at)-1])] = true
		}
	}
	w.Want(w.name+": backfilled", w.backfill(w.declared, w.name, at...), fmt.Sprint(want, " placed, ", n-want, " existing"))
}

func (w *backfillWalk) takeSome() {
	session := fmt.Sprint(w.name, w.random.IntN(3))
	w.sessions[session]++
	answer := w.store.Work(w.Context(), []protocol.WorkCall{{
		Partition: storesuite.DefaultPartition, Worker: session, Session: session, Number: w.sessions[session], TTL: time.Hour, Take: 1 + w.random.IntN(3),
	}})[0]
	if answer.Err != nil {
		w.Fatal(answer.Err)
	}
	if len(answer.Taken) == 0 && w.sessions[session] == 1 {
		w.sessions[session] = 0 // it has not begun
	}
	for _, job := range answer.Taken {
		if _, there := w.placed[job.ID]; !there || w.held[job.ID].ID != "" {
			w.Fatalf("%s: %s was taken, want what was placed and is not held", w.name, job.ID)
		}
		w.placed[job.ID] = true
		w.held[job.ID] = job
		if w.policy != "allow" && len(w.held) > 1 {
			w.Fatalf("%s: %d are in flight, want one", w.name, len(w.held))
		}
	}
}

func (w *backfillWalk) settleSome() {
	for id, job := range w.held {
		for session := range w.sessions {
			if w.client.HGet(w.Context(), w.keys().inflight(session), id).Val() == "" {
				continue
			}
			w.sessions[session]++
			settled := protocol.Settlement{ID: id, Fence: job.Fence, Kind: protocol.SettleDone, Run: ran(id, "done")}
			ends := true
			switch w.random.IntN(6) {
			case 0:
				settled.Kind, settled.Body, settled.Failed, ends = protocol.SettleLater, []byte("\x01failed"), true, false
				settled.Run = ran(id, "failed")
			case 1:
				settled.Kind, settled.Run, ends = protocol.SettleBack, nil, false
			case 2:
				settled.Kind, settled.Body, settled.Failed = protocol.SettleDead, []byte("\x01dead"), true
				settled.Run = ran(id, "dead")
			}
			if a := w.store.Work(w.Context(), []protocol.WorkCall{{Partition: storesuite.DefaultPartition, Worker: session, Session: session, Number: w.sessions[session], TTL: time.Hour, Settle: []protocol.Settlement{settled}}})[0]; a.Err != nil || len(a.Refused) > 0 {
				w.Fatalf("%s: %+v settled as %+v: %+v", w.name, job, settled, a)
			}
			delete(w.held, id)
			if ends {
				delete(w.placed, id)
			}
			return
		}
		w.Fatalf("%s: %s is in flight nowhere", w.name, id)
	}
}

// check compares what is stored with what was placed. Under policy cancel what came back may have been superseded: then it is gone.
func (w *backfillWalk) check() {
	w.Helper()
	k := w.keys()
	due, ready := w.client.ZRange(w.Context(), k.due, 0, -1).Val(), w.client.LRange(w.Context(), k.ready, 0, -1).Val()
	behind := w.client.ZRange(w.Context(), k.behind, 0, -1).Val()
	waiting := map[string]int{}
	for _, id := range append(due, ready...) {
		waiting[id]++
	}
	for _, member := range behind {
		waiting[behindID(member)]++
	}
	unfinished := 0
	for id, counts := range w.placed {
		if w.policy == "cancel" && waiting[id] == 0 && w.held[id].ID == "" {
			delete(w.placed, id)
			continue
		}
		if held := w.held[id].ID != ""; held && waiting[id] != 0 || !held && waiting[id] != 1 {
			w.Fatalf("%s: %s is in flight %v and in %d lists, want one place\ndue %v\nready %v\nbehind %q", w.name, id, held, waiting[id], due, ready, behind)
		}
		delete(waiting, id)
		if counts {
			unfinished++
		}
	}
	if len(waiting) > 0 {
		w.Fatalf("%s: %v are there, and were not placed", w.name, waiting)
	}
	if got := w.unfinished(w.name); got != fmt.Sprint(unfinished) {
		w.Fatalf("%s: %s are unfinished, want %d", w.name, got, unfinished)
	}
	open := w.client.HGet(w.Context(), k.open, w.name).Val()
	if fields := strings.Split(open, "\t"); len(behind) > 0 && (len(fields) != 6 || fields[1] == "-") {
		w.Fatalf("%s: %q wait and nothing holds the schedule: %q", w.name, behind, open)
	}
}

// drain runs all that is left. Those that are backfilled and begin for the first time go in order, but for the one that is ahead already: a
// later call may have placed older ones behind it.
func (w *backfillWalk) drain() {
	last, ahead := time.Time{}, w.client.HGet(w.Context(), w.keys().open, w.name).Val()
	for range 2000 {
		if len(w.placed) == 0 {
			break
		}
		for _, id := range w.client.ZRange(w.Context(), w.keys().due, 0, -1).Val() { // their time comes
			w.client.ZAdd(w.Context(), w.keys().due, redisZ(float64(storesuite.Ago(2*time.Hour).UnixMilli()), id))
		}
		fresh := strings.Contains(w.client.HGet(w.Context(), w.keys().open, w.name).Val(), "\t0\t\t\t"+strings.ToUpper(w.policy[:1])+"\t")
		w.takeSome()
		for id := range w.held {
			_, text, _ := protocol.CutOccurrence(id)
			at, err := time.Parse(time.RFC3339, text)
			if err != nil || fresh && w.policy != "allow" && len(w.held) == 1 && at.Before(last) {
				w.Fatalf("%s: %s begins after %v", w.name, id, last)
			}
			if fresh && !strings.HasPrefix(ahead, id+"\t") {
				last = at
			}
		}
		w.settleSome()
		w.check()
	}
	if len(w.placed) > 0 {
		w.Fatalf("%s: %d have not ended: %v", w.name, len(w.placed), w.placed)
	}
	k := w.keys()
	left := cmp.Or(w.client.LLen(w.Context(), k.ready).Val(), w.client.ZCard(w.Context(), k.due).Val(), w.client.ZCard(w.Context(), k.behind).Val(), w.client.HLen(w.Context(), k.open).Val())
	if left > 0 {
		w.Fatalf("%s: %d entries are left", w.name, left)
	}
}
