package redisstore

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
	"github.com/chimejobs/chime/redisstore/internal/script"
)

// For all calls while queues are purged, even if the caller that began a purge vanishes: a job that waited when a purge began is never taken,
// and its body is removed when the purge ends; a later job, or one that did not wait, remains; an ID is in one place, and none is left void.
func TestRandomPurgesEndWhatWaited(t *testing.T) {
	seeds, steps := storesuite.WalkSize(3, 300)
	for _, seed := range seeds {
		onServersWith(t, randomCalls, func(b *bench) {
			w := &cancelWalk{
				bench: b, seed: seed, random: rand.New(rand.NewPCG(seed, 15)), lives: map[string]*jobLife{},
				held: map[string]map[string]protocol.TakenJob{}, sessions: map[string]int{}, barred: map[string]bool{}, deleted: map[string]bool{}, purges: true,
			}
			for step := range steps {
				w.step()
				w.check()
				w.VerifiedNowAndThen(step)
			}
			if _, err := w.sweep(); err != nil { // the caller that began the last purge has vanished
				w.fatal("sweep: %v", err)
			}
			w.purgeEnds()
			w.drain()
			w.Verified()
			if n := w.client.Exists(w.Context(), w.keys().purged, w.keys().spared).Val(); n != 0 || w.stateField("purge") != "" {
				w.fatal("%d of purged and spared are left, and the field purge %q", n, w.stateField("purge"))
			}
		})
	}
}

// purge begins a purge, or continues one, or lets the sweep do that.
func (w *cancelWalk) purge() {
	switch w.random.IntN(4) {
	case 0:
		w.note("purge: step")
		k := w.keys()
		keys := []string{k.state, k.purged, k.spared, k.ready, k.jobs, k.crashes, k.open, k.behind, k.schedules, k.cursors, k.owed, k.callers, k.idle, k.once, k.last, k.results, k.kept, k.purgedline, k.places, k.line, k.turns, k.groups, k.grules, k.opens, k.batches, k.reports}
		first := w.twice(&purgeScript, keys, func() {}, fmt.Sprint("step ", len(w.notes)), w.store.keys.wake())
		purged := 0
		for _, life := range w.lives {
			if life.purged {
				purged++
			}
		}
		if int(first.number(2)) != purged || first.number(3) != 0 {
			w.fatal("a step has deleted %d jobs and leaves %d, want %d and none", first.number(2), first.number(3), purged)
		}
		w.purgeEnds()
	case 1:
		w.note("purge: sweep")
		if _, err := w.sweep(); err != nil {
			w.fatal("sweep: %v", err)
		}
		w.purgeEnds()
	default:
		w.note("purge: begin")
		waits := map[string]bool{}
		begun := w.stateField("purge") != ""
		for id, where := range w.look().where {
			waits[id] = where == "waiting"
		}
		k := w.keys()
		if first := w.twice(&purgeBeginScript, []string{k.state, k.ready, k.stale, k.purged, k.spared, k.callers, k.line, k.purgedline, k.turns, k.opens}, w.add, fmt.Sprint("purge ", len(w.notes))); first.number(1) != map[bool]int64{false: 1}[begun] {
			w.fatal("a purge began: %d, while another one was under way: %v", first.number(1), begun)
		}
		for id, life := range w.lives {
			life.purged = life.purged || !begun && waits[id]
		}
	}
}

// twice makes a call, and sometimes repeats it after another one, as if its answer had been lost.
func (w *cancelWalk) twice(s *script.Script, keys []string, between func(), args ...any) reply {
	first, err := w.store.runOne(w.Context(), "purge queue", "default", newCall(s, keys, args))
	if err != nil {
		w.fatal("%v", err)
	}
	if w.random.IntN(2) == 0 {
		between()
		again, err := w.store.runOne(w.Context(), "purge queue", "default", newCall(s, keys, args))
		if err != nil || fmt.Sprint(again[1:]) != fmt.Sprint(first[1:]) {
			w.fatal("repeated: %v, %v; want %v", again, err, first)
		}
	}
	return first
}

// purgeEnds records that a purge, if one is running, has ended, or that the next call ends it.
func (w *cancelWalk) purgeEnds() {
	for id, life := range w.lives {
		if life.purged {
			delete(w.lives, id)
			delete(w.barred, id)
		}
	}
}
