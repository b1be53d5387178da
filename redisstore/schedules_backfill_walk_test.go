package redisstore

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// Random calls of three workers about schedules of each policy that are backfilled meanwhile: a placed occurrence that has not ended is in one
// place; no two of a schedule are in flight unless its policy is allow; backfilled ones begin in order; a waiting one always has one
// in front of it; unfinished is right; and at the end nothing is left.
func TestRandomBackfillsRunEachOccurrenceAsOftenAsItWasPlaced(t *testing.T) {
	seeds, steps := storesuite.WalkSize(3, long.Seeds(50, 150))
	for _, seed := range seeds {
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
			w.Fatalf("%s: %s was taken, want one that was placed and is not held", w.name, job.ID)
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
		w.Fatalf("%s: %s is not in flight", w.name, id)
	}
}

// check compares the stored occurrences with the placed ones. Under policy cancel a returned one may have been superseded: then it is gone.
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
		w.Fatalf("%s: %v are there, but were not placed", w.name, waiting)
	}
	if got := w.unfinished(w.name); got != fmt.Sprint(unfinished) {
		w.Fatalf("%s: %s are unfinished, want %d", w.name, got, unfinished)
	}
	open := w.client.HGet(w.Context(), k.open, w.name).Val()
	if fields := strings.Split(open, "\t"); len(behind) > 0 && (len(fields) != 6 || fields[1] == "-") {
		w.Fatalf("%s: %q wait and nothing holds the schedule: %q", w.name, behind, open)
	}
}

// drain runs all that is left. Backfilled ones that begin for the first time are in order, except one that is already ahead: a
// later call may have placed older ones behind it.
func (w *backfillWalk) drain() {
	last, ahead := time.Time{}, w.client.HGet(w.Context(), w.keys().open, w.name).Val()
	for range 2000 {
		if len(w.placed) == 0 {
			break
		}
		for _, id := range w.client.ZRange(w.Context(), w.keys().due, 0, -1).Val() { // makes them due
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
