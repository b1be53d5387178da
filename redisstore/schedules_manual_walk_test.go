package redisstore

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// manualSchedule is the schedule of the manual runs in walks.
const manualSchedule = "sch"

// A manualModel computes what a walk's manual runs, and the jobs that follow them, leave in the history of their schedule.
type manualModel struct {
	ran map[string]int // "<outcome> <ID>" -> how often
}

// For all calls in any order, with any repetitions: the accepted manual runs and followers of a schedule that have not ended count as unfinished,
// each once; and its history has each of their attempts, and each cancelled one, once.
func TestRandomEndsOfManualRunsAreCountedOnce(t *testing.T) {
	seeds, steps := storesuite.WalkSize(3, 300)
	for _, seed := range seeds {
		onServersWith(t, randomCalls, func(b *bench) {
			w := &cancelWalk{
				bench: b, seed: seed, random: rand.New(rand.NewPCG(seed, 16)), lives: map[string]*jobLife{}, barred: map[string]bool{}, deleted: map[string]bool{},
				held: map[string]map[string]protocol.TakenJob{}, sessions: map[string]int{}, purges: seed%2 == 0, manual: &manualModel{map[string]int{}},
			}
			b.client.HSet(b.Context(), b.keys().last, manualSchedule, "2020-01-01T00:00:00Z 1000 0 0 - 0 0")
			for range steps {
				w.step()
				w.check()
			}
			if _, err := w.sweep(); err != nil { // it finishes a purge
				w.fatal("sweep: %v", err)
			}
			w.purgeEnds()
			w.drain()
			if len(w.manual.ran) < 10 {
				w.fatal("the history has %v: too few for a check", w.manual.ran)
			}
			w.Verified()
		})
	}
}

// isFollower reports whether an ID is that of a job that follows another one.
func isFollower(id string) bool {
	return strings.Contains(id, "#dead-") || strings.Contains(id, "#done-")
}

// anyID returns one of few IDs, or that of a follower.
func (m *manualModel) anyID(w *cancelWalk) string {
	if all := slices.DeleteFunc(slices.Sorted(maps.Keys(w.lives)), func(id string) bool { return !isFollower(id) }); len(all) > 0 && w.random.IntN(3) == 0 {
		return all[w.random.IntN(len(all))]
	}
	return fmt.Sprintf("%s#%02d", manualSchedule, w.random.IntN(20))
}

var manualOutcomes = map[protocol.SettleKind]string{
	protocol.SettleDone: "done", protocol.SettleLater: "snoozed", protocol.SettleDead: "dead", protocol.SettleCancelled: "cancelled",
}

// say adds to a settlement what a worker sends for a manual run.
func (m *manualModel) say(w *cancelWalk, s *protocol.Settlement) {
	life := w.lives[s.ID]
	if m == nil || !life.manual {
		return
	}
	if outcome := manualOutcomes[s.Kind]; outcome != "" {
		now := w.serverTime()
		s.Run = &protocol.RunRecord{Outcome: outcome, Started: now, Ended: now, Attempt: 1, Fence: s.Fence, Worker: "w", Note: s.ID}
	}
	if end := endOf[s.Kind]; end != "" && w.random.IntN(2) == 0 {
		s.Follower = &protocol.Follower{Body: []byte("\x01\x93\xa5alert\xc4\x00\xc0"), In: time.Duration(w.random.IntN(2)) * time.Hour}
	}
}

// endOf has the kinds of settlements that a job may follow.
var endOf = map[protocol.SettleKind]string{protocol.SettleDone: protocol.EndDone, protocol.SettleDead: protocol.EndDead}

// settled records the effect of a settlement that counts.
func (m *manualModel) settled(w *cancelWalk, s *protocol.Settlement) {
	if life := w.lives[s.ID]; m != nil && s.Run != nil && life.manual {
		m.ended(s.ID, life, s.Run.Outcome)
		if s.Follower != nil {
			goes := "waiting"
			if s.Follower.In > 0 {
				goes = "due"
			}
			w.lives[protocol.FollowerID(s.ID, endOf[s.Kind], s.Fence, manualSchedule)] = &jobLife{body: string(s.Follower.Body), manual: true, goes: goes}
		}
	}
}

// ended records the outcome of a job's attempt, or of the job without one.
func (m *manualModel) ended(id string, life *jobLife, outcome string) {
	if m != nil && life.manual {
		m.ran[outcome+" "+id]++
	}
}

func (m *manualModel) check(w *cancelWalk, p jobPlaces) {
	entries := w.client.HGetAll(w.Context(), w.keys().last).Val()
	unfinished := 0
	for id, life := range w.lives {
		text, counted := entries["\t"+id]
		if want := life.manual && p.where[id] != "dead"; counted != want {
			w.fatal("%s, a manual run: %v, is in %s; …:last has %q of it", id, life.manual, p.where[id], text)
		}
		if counted {
			unfinished++
		}
	}
	if last := parseLast(entries[manualSchedule]); last.Unfinished != unfinished || len(entries) != unfinished+1 {
		w.fatal("%d are unfinished, with %d fields in …:last; want %d: %q", last.Unfinished, len(entries), unfinished, entries)
	}
	ran := map[string]int{}
	for _, run := range w.storedRuns(manualSchedule) {
		follows := strings.Contains(run.ID, "#dead-") || strings.Contains(run.ID, "#done-")
		if run.Note != "" && run.Note != run.ID || run.Manual == follows || !run.Manual && run.Name != "alert" || run.Planned.Before(w.serverTime().Add(-time.Hour)) {
			w.fatal("the history has %+v", run)
		}
		ran[run.Outcome+" "+run.ID]++
	}
	if !maps.Equal(ran, m.ran) {
		w.fatal("the history has %v, want %v", ran, m.ran)
	}
	if n := w.client.XLen(w.Context(), w.keys().runs).Val(); n != 0 {
		w.fatal("the record of runs has %d entries, want none", n)
	}
}
