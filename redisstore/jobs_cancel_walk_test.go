package redisstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A cancelWalk makes random calls about jobs of a few IDs, which are reused, and cancels, deletes and requeues them meanwhile.
// Its model is one life for each time that an ID was enqueued; the life's number is in the body.
type cancelWalk struct {
	*bench
	seed      uint64
	random    *rand.Rand
	lives     map[string]*jobLife // of the existing jobs
	barred    map[string]bool     // IDs that Once keeps from being added again
	deleted   map[string]bool     // IDs in ready that are void because their job was deleted, not cancelled
	held      map[string]map[string]protocol.TakenJob
	sessions  map[string]int // of each worker: its sessions so far
	made      int
	cancelled int // lives that were cancelled and have ended
	done      int
	fence     int64
	notes     []string
	purges    bool         // queues are purged meanwhile, see queues_purge_walk_test.go
	manual    *manualModel // many jobs are manual runs, see schedules_manual_walk_test.go; nil: none
}

// A jobLife is a job from its enqueuing to its end.
type jobLife struct {
	number    int
	body      string
	session   string        // that holds it; empty: none
	cancelled bool          // while it was held
	follows   string        // the body that has replaced it while it was held
	in        time.Duration // of the job that follows
	goes      string        // its place after the call
	purged    bool          // it waited when a purge began that has not ended
	manual    bool          // it is a manual run, or follows one
}

// For all calls in any order: a job that was cancelled while it waited, or deleted, is never taken; one that was cancelled while
// it was held ends with its settlement, of any kind, or with its session; an ID is in ready at most once; and every
// job is in one place, with its own body, until it ends. An ID that was added with Once is not added so again before its time, with any outcome
// of the job, unless it is cancelled or deleted.
// A job that replaces another takes its place, or follows it after its flight has ended, in any way: then only the newest one does.
func TestRandomCancellationsEndEachJobOnce(t *testing.T) {
	seeds, steps := storesuite.WalkSize(3, 300)
	for _, seed := range seeds {
		onServersWith(t, randomCalls, func(b *bench) {
			w := &cancelWalk{
				bench: b, seed: seed, random: rand.New(rand.NewPCG(seed, 3)), lives: map[string]*jobLife{}, barred: map[string]bool{}, deleted: map[string]bool{},
				held: map[string]map[string]protocol.TakenJob{}, sessions: map[string]int{},
			}
			for step := range steps {
				w.step()
				w.check()
				w.VerifiedNowAndThen(step)
			}
			w.drain()
			w.Verified()
		})
	}
}

func (w *cancelWalk) note(format string, arguments ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, arguments...))
}

func (w *cancelWalk) fatal(format string, arguments ...any) {
	w.Helper()
	w.Fatalf("seed %d, %d calls: %s\nthe last of them:\n%s", w.seed, len(w.notes), fmt.Sprintf(format, arguments...), strings.Join(w.notes[max(0, len(w.notes)-30):], "\n"))
}

// anyID returns one of few IDs, so that most are reused.
func (w *cancelWalk) anyID() string {
	if w.manual != nil {
		return w.manual.anyID(w)
	}
	return fmt.Sprintf("job%02d", w.random.IntN(30))
}

func (w *cancelWalk) step() {
	worker := fmt.Sprintf("w%d", w.random.IntN(3))
	if w.purges && w.random.IntN(4) == 0 {
		w.purge()
		return
	}
	switch w.random.IntN(15) {
	case 0, 1, 2:
		w.add()
	case 3, 4:
		w.cancelOne()
	case 5:
		w.deleteSome()
	case 6:
		w.requeueSome()
	case 7:
		w.hurry()
	case 8:
		w.crash(worker)
	case 9:
		w.unbar()
	case 10, 11:
		w.replaceSome()
	default:
		w.call(worker, false, 0)
	}
}

// add enqueues some jobs, now or later; a job whose ID exists does not change.
func (w *cancelWalk) add() {
	var items []protocol.EnqueueItem
	var want []bool
	for range 1 + w.random.IntN(7) {
		w.made++
		id := w.anyID()
		item := protocol.EnqueueItem{ID: id, Own: true, Body: fmt.Appendf(nil, "\x01%s life %d", id, w.made)}
		if w.random.IntN(2) == 0 {
			item.In = time.Hour
		}
		if w.random.IntN(2) == 0 {
			item.Once = time.Hour
		}
		if w.manual != nil && w.random.IntN(3) > 0 {
			item.Schedule = manualSchedule
		}
		exists := w.lives[id] != nil || item.Once > 0 && w.barred[id]
		items, want = append(items, item), append(want, exists)
		if !exists {
			if item.Once > 0 {
				w.barred[id] = true
			}
			w.lives[id] = &jobLife{number: w.made, body: string(item.Body), manual: item.Schedule != ""}
		}
		w.note("enqueue %s, life %d, in %v, once %v, of %q", id, w.made, item.In, item.Once, item.Schedule)
	}
	if got := w.Enqueue(items...); len(got) > 0 && storesuite.BoolsText(got) != storesuite.BoolsText(want) {
		w.fatal("existing %v, want %v", got, want)
	}
	if w.random.IntN(4) == 0 { // a repeated call
		w.Callers--
		w.Enqueue(items...)
	}
}

func (w *cancelWalk) cancelOne() {
	w.purgeEnds()
	id, p := w.anyID(), w.look()
	life, want := w.lives[id], "none"
	switch {
	case life != nil && life.session != "":
		want = "asked"
		life.cancelled, life.follows = true, ""
		delete(w.barred, id)
	case p.where[id] == "dead":
		want = "too late"
	case life != nil:
		want = "done"
		if p.where[id] == "waiting" {
			delete(w.deleted, id)
		}
		w.manual.ended(id, life, "cancelled")
		delete(w.lives, id)
		delete(w.barred, id)
		w.cancelled++
	case p.void[id] && !w.deleted[id]:
		want = "done" // it was cancelled before
	}
	got := w.Cancel(id)
	if w.note("cancel %s: %s", id, got); got != want {
		w.fatal("cancelling %s, in %q: %s, want %s", id, p.where[id], got, want)
	}
}

func (w *cancelWalk) someIDs() (ids []string) {
	for range 1 + w.random.IntN(4) {
		if id := w.anyID(); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// givenIDs returns someIDs, sometimes with a repeated one.
func (w *cancelWalk) givenIDs() []string {
	ids := w.someIDs()
	if w.random.IntN(3) == 0 {
		ids = append(ids, ids[w.random.IntN(len(ids))])
	}
	return ids
}

func (w *cancelWalk) deleteSome() {
	w.purgeEnds()
	ids, want, p := w.givenIDs(), "", w.look()
	for i, id := range ids {
		switch life := w.lives[id]; {
		case life == nil && w.barred[id]: // it has ended, and its ID is free again
			want += "e"
			delete(w.barred, id)
		case life == nil, slices.Contains(ids[:i], id):
			want += "n"
		case life.session != "":
			want += "r"
		default:
			want += "e"
			if p.where[id] == "waiting" {
				w.deleted[id] = true
			}
			delete(w.lives, id)
			delete(w.barred, id)
		}
	}
	got := w.bulk(w.store.DeleteJobs(w.Context(), "default", ids))
	if w.note("delete %v: %s", ids, got); got != want {
		w.fatal("deleting %v: %s, want %s", ids, got, want)
	}
}

func (w *cancelWalk) requeueSome() {
	ids, want, p := w.givenIDs(), "", w.look()
	var jobs []protocol.RequeuedJob
	for i, id := range ids {
		job := protocol.RequeuedJob{ID: id}
		life, where := w.lives[id], p.where[id]
		if first := slices.Index(ids[:i], id); first >= 0 {
			job, where = jobs[first], "" // a repeated ID counts once
		}
		switch where {
		case "dead":
			job.Read, job.Body = []byte(life.body), []byte(life.body+" again")
			if life.manual {
				job.Schedule, job.Planned, job.Follows, job.Name = manualSchedule, w.serverTime(), isFollower(id), "alert"
			}
			life.body += " again"
			want += "e"
		case "due", "parked":
			want += "e"
		default:
			want += "n"
		}
		jobs = append(jobs, job)
	}
	got := w.requeue(jobs...)
	if w.note("requeue %v: %s", ids, got); got != want {
		w.fatal("requeuing %v: %s, want %s", ids, got, want)
	}
	for id, where := range w.look().where {
		if slices.Contains(ids, id) && (p.where[id] == "dead" || p.where[id] == "due" || p.where[id] == "parked") && where != "waiting" {
			w.fatal("%s was requeued and is in %s", id, where)
		}
	}
}

// replaceSome enqueues a job in place of another, every other time of one that is held.
func (w *cancelWalk) replaceSome() {
	id := w.anyID()
	for held, life := range w.lives {
		if life.session != "" && w.made%2 == 0 && (w.lives[id] == nil || w.lives[id].session == "" || held < id) {
			id = held // the first of them, so that a seed is always the same walk
		}
	}
	w.replaceOne(id)
}

// replaceOne enqueues a job in place of the one of its ID.
func (w *cancelWalk) replaceOne(id string) {
	w.purgeEnds()
	p := w.look()
	w.made++
	item := protocol.EnqueueItem{ID: id, Own: true, Body: fmt.Appendf(nil, "\x01%s life %d", id, w.made)}
	if w.random.IntN(2) == 0 {
		item.In = time.Hour
	}
	if w.random.IntN(3) == 0 {
		item.Once = time.Hour
	}
	goes := map[bool]string{true: "waiting", false: "due"}[item.In == 0]
	life, barred, want := w.lives[id], item.Once > 0 && w.barred[id], protocol.ReplaceDone
	switch {
	case life == nil && barred, p.where[id] == "dead" && barred, life != nil && life.session != "" && (barred || life.cancelled):
		want = protocol.ReplaceStayed
	case life == nil:
		want = protocol.ReplaceAdded
		w.lives[id] = &jobLife{number: w.made, body: string(item.Body), goes: goes}
	case life.session != "":
		life.follows, life.in = string(item.Body), item.In
	case p.where[id] == "waiting":
		life.body, life.goes, life.manual = string(item.Body), "waiting", false
	default:
		life.body, life.goes, life.manual = string(item.Body), goes, false
	}
	if item.Once > 0 && want != protocol.ReplaceStayed {
		w.barred[id] = true
	}
	call := protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: fmt.Sprint("replace", w.made), Item: item}
	for range 1 + w.random.IntN(2) { // a repeated call changes nothing
		got, err := w.store.Replace(w.Context(), call)
		if w.note("replace %s, in %q, by life %d, in %v, once %v: %d", id, p.where[id], w.made, item.In, item.Once, got); err != nil || got != want {
			w.fatal("replacing %s, in %q: %d (%v), want %d", id, p.where[id], got, err, want)
		}
	}
}

// hurry makes delayed jobs due.
func (w *cancelWalk) hurry() {
	w.note("hurry")
	for _, id := range w.client.ZRange(w.Context(), w.keys().due, 0, -1).Val() {
		w.client.ZAdd(w.Context(), w.keys().due, redisZ(float64(storesuite.Ago(time.Minute).UnixMilli()), id))
	}
}

// unbar lets some records of Once expire, and sometimes sweeps them.
func (w *cancelWalk) unbar() {
	for _, id := range w.someIDs() {
		if w.barred[id] {
			w.note("%s may be added again", id)
			w.client.ZAdd(w.Context(), w.keys().once, redisZ(float64(storesuite.Ago(time.Second).UnixMilli()), id))
			delete(w.barred, id)
		}
	}
	if w.random.IntN(2) == 0 {
		w.purgeEnds()
		if more, err := w.sweep(); more || err != nil {
			w.fatal("swept: more %v, %v", more, err)
		}
		if n := w.client.ZCard(w.Context(), w.keys().once).Val(); n != int64(len(w.barred)) {
			w.fatal("%d records of Once are left, want %d", n, len(w.barred))
		}
	}
}
