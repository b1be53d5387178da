package redisstore

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A cancelWalk makes random calls about jobs of a few IDs, which are used again and again, and cancels, deletes and requeues them meanwhile.
// Its model is one life for each time that an ID was enqueued; the life's number is in the body.
type cancelWalk struct {
	*bench
	seed      uint64
	random    *rand.Rand
	lives     map[string]*jobLife // of the jobs that there are
	barred    map[string]bool     // IDs that Once keeps from being added again
	held      map[string]map[string]protocol.TakenJob
	sessions  map[string]int // of each worker: its sessions so far
	made      int
	cancelled int // lives that were cancelled and have ended
	done      int
	fence     int64
	notes     []string
	purges    bool         // queues are purged meanwhile, see purge_walk_test.go
	manual    *manualModel // many jobs are manual runs, see manual_walk_test.go; nil: none
}

// A jobLife is a job from its enqueuing to its end.
type jobLife struct {
	number    int
	body      string
	session   string        // that holds it; empty: none
	cancelled bool          // while it was held
	follows   string        // the body that has replaced it while it was held
	in        time.Duration // of what follows
	goes      string        // where it has to be after the call
	purged    bool          // it waited when a purge began that has not ended
	manual    bool          // it is a manual run, or follows the death of one
}

// A jobPlaces is where each ID is in the store.
type jobPlaces struct {
	where map[string]string // waiting, due, dead, parked, or a session
	void  map[string]bool   // IDs in ready that are void
	held  map[string]string
}

// Whatever is called in whatever order: a job that was cancelled while it waited, or deleted, is never taken; one that was cancelled while
// it was held ends there, by its settlement or with its session, whatever the settlement says; an ID is in ready once at most; and every
// job is in one place, with its own body, until it ends. What was added with Once is not added so again before its time, whatever
// becomes of it, unless it is cancelled or deleted.
// What replaces a job takes its place, or follows it once its flight has ended, in whatever way: then the newest does, and alone.
func TestRandomCancellationsEndEachJobOnce(t *testing.T) {
	seeds, steps := storesuite.WalkSize(3, 300)
	for seed := range seeds {
		onServersWith(t, randomCalls, func(b *bench) {
			w := &cancelWalk{
				bench: b, seed: seed, random: rand.New(rand.NewPCG(seed, 3)), lives: map[string]*jobLife{}, barred: map[string]bool{},
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

// anyID is one of few, so that most are used again.
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

// look reads where everything is. An ID that is in two places, or twice in ready, ends the test.
func (w *cancelWalk) look() jobPlaces {
	w.Helper()
	ctx, k := w.Context(), w.keys()
	p := jobPlaces{where: map[string]string{}, void: map[string]bool{}, held: map[string]string{}}
	put := func(id, where string) {
		if before := p.where[id]; before != "" {
			w.fatal("%s is in %s and in %s", id, before, where)
		}
		p.where[id] = where
	}
	stale := w.client.ZRange(ctx, k.stale, 0, -1).Val()
	for _, id := range w.client.LRange(ctx, k.ready, 0, -1).Val() {
		switch {
		case p.void[id]:
			w.fatal("%s is in ready twice", id)
		case slices.Contains(stale, id):
			p.void[id] = true
		default:
			put(id, "waiting")
		}
	}
	for _, id := range stale {
		if !p.void[id] {
			w.fatal("%s is in stale and not in ready", id)
		}
	}
	if w.stateField("stale") == "" && len(stale) > 0 { // it may say so where there is none any more: the next take sees that
		w.fatal("stale has %v, and state does not say so", stale)
	}
	for _, id := range w.client.ZRange(ctx, k.due, 0, -1).Val() {
		put(id, "due")
	}
	for _, id := range w.client.ZRange(ctx, k.dead, 0, -1).Val() {
		put(id, "dead")
	}
	for _, name := range storesuite.WalkParks {
		for _, id := range w.client.ZRange(ctx, k.parked(name), 0, -1).Val() {
			put(id, "parked")
		}
	}
	spared := w.client.ZRange(ctx, k.spared, 0, -1).Val()
	for _, id := range w.client.LRange(ctx, k.purged, 0, -1).Val() {
		if !slices.Contains(spared, id) {
			put(id, "purged")
		}
	}
	asked := 0
	for session := range w.held {
		for id, fence := range w.client.HGetAll(ctx, k.inflight(session)).Val() {
			if id == self {
				continue
			}
			put(id, session)
			p.held[id] = fence
			if fence[0] == '!' {
				asked++
			}
		}
	}
	if text := w.stateField("asked"); text != map[bool]string{true: fmt.Sprint(asked)}[asked > 0] {
		w.fatal("%d in flight were cancelled, and state says %q", asked, text)
	}
	return p
}

// check compares the store with the model between two calls.
func (w *cancelWalk) check() {
	w.Helper()
	p := w.look()
	bodies := w.client.HGetAll(w.Context(), w.keys().jobs).Val()
	for id, life := range w.lives {
		switch where := p.where[id]; {
		case where == "":
			w.fatal("%s is nowhere", id)
		case life.session != "" && where != life.session, life.session == "" && p.held[id] != "":
			w.fatal("%s is held by %q and in %s", id, life.session, where)
		case life.session != "" && life.cancelled != strings.HasPrefix(p.held[id], "!"):
			w.fatal("%s, cancelled %v, has the fence %s", id, life.cancelled, p.held[id])
		case life.purged != (where == "purged"):
			w.fatal("%s, to be purged %v, is in %s", id, life.purged, where)
		case life.session != "" && (life.follows != "") != strings.HasPrefix(p.held[id], "+"):
			w.fatal("%s, followed by %q, has the fence %s", id, life.follows, p.held[id])
		case life.goes != "" && where != life.goes:
			w.fatal("%s is in %s, want it in %s", id, where, life.goes)
		case p.void[id] && where != "due":
			w.fatal("%s is void in ready and in %s", id, where)
		case bodies[id] != life.body:
			w.fatal("%s has the body %q, want %q", id, bodies[id], life.body)
		}
		life.goes = ""
		if got := w.client.HGet(w.Context(), w.keys().after, id).Val(); life.follows == "" && got != "" || !strings.HasSuffix(got, life.follows) {
			w.fatal("%s is followed by %q, want %q", id, got, life.follows)
		}
	}
	for id, where := range p.where {
		if w.lives[id] == nil {
			w.fatal("%s has ended and is in %s", id, where)
		}
	}
	if len(bodies) != len(w.lives) {
		w.fatal("bodies of %v, want those of %d jobs", slices.Collect(maps.Keys(bodies)), len(w.lives))
	}
	now := fmt.Sprint(w.serverTime().UnixMilli())
	barred := w.client.ZRangeByScore(w.Context(), w.keys().once, &redis.ZRangeBy{Min: now, Max: "+inf"}).Val()
	if slices.Sort(barred); !slices.Equal(barred, slices.Sorted(maps.Keys(w.barred))) {
		w.fatal("not to be added again: %v, want %v", barred, slices.Sorted(maps.Keys(w.barred)))
	}
	if w.manual != nil {
		w.manual.check(w, p)
	}
	if s := w.Stats(); s.Cancelled != int64(w.cancelled) || s.Done != int64(w.done) {
		w.fatal("%d cancelled, %d done; want %d and %d", s.Cancelled, s.Done, w.cancelled, w.done)
	}
}

// add enqueues some jobs, now or later; those whose ID there is stay as they are.
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
	if w.random.IntN(4) == 0 { // the same call again
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
		w.manual.ended(id, life, "cancelled")
		delete(w.lives, id)
		delete(w.barred, id)
		w.cancelled++
	case p.void[id]:
		want = "done" // it was cancelled or deleted before, or at least it never starts
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

// givenIDs are someIDs, and now and then one of them again.
func (w *cancelWalk) givenIDs() []string {
	ids := w.someIDs()
	if w.random.IntN(3) == 0 {
		ids = append(ids, ids[w.random.IntN(len(ids))])
	}
	return ids
}

func (w *cancelWalk) deleteSome() {
	w.purgeEnds()
	ids, want := w.givenIDs(), ""
	for i, id := range ids {
		switch life := w.lives[id]; {
		case life == nil, slices.Contains(ids[:i], id):
			want += "n"
		case life.session != "":
			want += "r"
		default:
			want += "e"
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
			job, where = jobs[first], "" // an ID that is given twice counts once
		}
		switch where {
		case "dead":
			job.Read, job.Body = []byte(life.body), []byte(life.body+" anew")
			if life.manual {
				job.Schedule, job.Planned, job.Death, job.Name = manualSchedule, w.serverTime(), strings.Contains(id, "#dead-"), "alert"
			}
			life.body += " anew"
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

// replaceSome enqueues a job in place of one, every other time of one that is held.
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
	for range 1 + w.random.IntN(2) { // the same call again changes nothing
		got, err := w.store.Replace(w.Context(), call)
		if w.note("replace %s, in %q, by life %d, in %v, once %v: %d", id, p.where[id], w.made, item.In, item.Once, got); err != nil || got != want {
			w.fatal("replacing %s, in %q: %d (%v), want %d", id, p.where[id], got, err, want)
		}
	}
}

// hurry makes due what is delayed.
func (w *cancelWalk) hurry() {
	w.note("hurry")
	for _, id := range w.client.ZRange(w.Context(), w.keys().due, 0, -1).Val() {
		w.client.ZAdd(w.Context(), w.keys().due, redisZ(float64(storesuite.Ago(time.Minute).UnixMilli()), id))
	}
}

// unbar lets the time of some records of Once run out, and sweeps them away now and then.
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

func (w *cancelWalk) session(worker string) string {
	session := fmt.Sprint(worker, "-", w.sessions[worker])
	if w.held[session] == nil {
		w.held[session] = map[string]protocol.TakenJob{}
	}
	return session
}

// crash lets a worker's session lapse and has it reaped.
func (w *cancelWalk) crash(worker string) {
	session := w.session(worker)
	w.call(worker, false, time.Millisecond)
	if w.Numbers[session] == 0 {
		return // it has never held a job
	}
	lapsed := w.UntilLapsed()
	w.Want("lapsed", lapsed.Session, session)
	w.note("reap %s", session)
	w.Reap(lapsed, w.random.Int64N(1000))
	w.sessions[worker]++
	for id, job := range w.held[session] {
		if life := w.lives[id]; job.Begun && !life.cancelled && life.follows == "" {
			w.manual.ended(id, life, "crashed")
		}
		w.released(id)
	}
	delete(w.held, session)
}

// released notes that no session holds a job any more: if it was cancelled it has ended.
func (w *cancelWalk) released(id string) (ended bool) {
	life := w.lives[id]
	life.session = ""
	switch {
	case life.cancelled:
		w.manual.ended(id, life, "cancelled")
		delete(w.lives, id)
		w.cancelled++
		return true
	case life.follows != "":
		life.body, life.follows, life.goes, life.manual = life.follows, "", "waiting", false
		if life.in > 0 {
			life.goes = "due"
		}
	}
	return false
}

// call settles some of what a worker holds, in any way, says of some that they have begun, and takes more; now and then it is made again.
func (w *cancelWalk) call(worker string, draining bool, ttl time.Duration) {
	session := w.session(worker)
	held := w.held[session]
	call := protocol.WorkCall{Take: w.random.IntN(3), Sleep: w.random.IntN(2) == 0, TTL: ttl}
	call.Ahead = w.random.IntN(call.Take + 1)
	if draining || w.random.IntN(2) == 0 {
		call.Serve = storesuite.WalkParks
	}
	text := ""
	for _, id := range slices.Sorted(maps.Keys(held)) {
		switch n := w.random.IntN(6); {
		case draining || n < 3:
			s := protocol.Settlement{ID: id, Fence: held[id].Fence, Kind: protocol.SettleDone}
			if kinds := "ddlxbpc"; !draining {
				s.Kind = protocol.SettleKind(kinds[w.random.IntN(len(kinds))])
			}
			s.Name, s.Failed, s.Delay = storesuite.WalkParks[w.random.IntN(2)], s.Kind == protocol.SettleDead, time.Hour
			w.manual.say(w, &s)
			call.Settle = append(call.Settle, s)
			text += fmt.Sprintf(" %s %c", id, s.Kind)
		case n == 3 && !held[id].Begun:
			call.Begun = append(call.Begun, protocol.BegunJob{ID: id, Fence: held[id].Fence})
			text += " " + id + " begun"
		}
	}
	w.note("%s: take %d, serve %v, settle%s", session, call.Take, call.Serve, text)
	answer := w.Work(session, call)
	if len(answer.Refused) > 0 {
		w.fatal("refused %v of %+v", answer.Refused, call.Settle)
	}
	for _, begun := range call.Begun {
		job := held[begun.ID]
		job.Begun = true
		held[begun.ID] = job
	}
	for _, s := range call.Settle {
		delete(held, s.ID)
		if w.released(s.ID) {
			continue
		}
		if w.lives[s.ID].goes != "" { // it was replaced, whatever the settlement says
			if s.Kind == protocol.SettleDone {
				w.done++
			}
			continue
		}
		w.manual.settled(w, &s)
		switch s.Kind {
		case protocol.SettleDone:
			delete(w.lives, s.ID)
			w.done++
		case protocol.SettleCancelled:
			delete(w.lives, s.ID)
			w.cancelled++
		}
	}
	for _, job := range answer.Taken {
		life := w.lives[job.ID]
		switch {
		case life == nil:
			w.fatal("%s was taken and has ended", job.ID)
		case life.session != "":
			w.fatal("%s was taken while %s held it", job.ID, life.session)
		case string(job.Body) != life.body:
			w.fatal("%s was taken with the body %q, want %q", job.ID, job.Body, life.body)
		case job.Fence <= w.fence:
			w.fatal("%s has fence %d, and %d was used before", job.ID, job.Fence, w.fence)
		}
		life.session, life.goes, w.fence, held[job.ID] = session, "", job.Fence, job
	}
	w.note("   %s took %s", session, storesuite.IDs(answer.Taken))
	if w.Numbers[session] == 0 || w.random.IntN(3) > 0 {
		return
	}
	if len(answer.Taken) > 0 && w.random.IntN(2) == 0 { // cancelled before its worker has the answer
		w.purgeEnds()
		id := answer.Taken[w.random.IntN(len(answer.Taken))].ID
		w.lives[id].cancelled, w.lives[id].follows = true, ""
		delete(w.barred, id)
		w.note("cancel %s: %s", id, w.Cancel(id))
	}
	if len(answer.Taken) > 0 && w.random.IntN(2) == 0 { // replaced before its worker has the answer
		w.replaceOne(answer.Taken[w.random.IntN(len(answer.Taken))].ID)
	}
	again := w.Repeat(session, call)
	if again.Err != nil || storesuite.IDs(again.Taken) != storesuite.IDs(answer.Taken) || len(again.Taken) > 0 && again.Taken[0].Fence != answer.Taken[0].Fence {
		w.fatal("repeated: %v, took %+v, want %+v", again.Err, again.Taken, answer.Taken)
	}
}

// drain ends everything and checks that nothing is left.
func (w *cancelWalk) drain() {
	for round := 0; ; round++ {
		w.hurry()
		for _, worker := range []string{"w0", "w1", "w2"} {
			w.call(worker, true, 0)
		}
		w.check()
		left := len(w.lives)
		for id, where := range w.look().where {
			if where == "dead" && w.lives[id] != nil {
				left--
			}
		}
		if left == 0 {
			break
		}
		if round == 300 {
			w.fatal("not drained: %d left", left)
		}
	}
	p := w.look()
	for len(p.void) > 0 || w.stateField("stale") != "" { // what is void goes with the next takes
		before := len(p.void)
		w.call("w0", true, 0)
		if p = w.look(); len(p.void) > before {
			w.fatal("%d are void, then %d", before, len(p.void))
		}
	}
	if n := w.client.Exists(w.Context(), w.keys().ready, w.keys().stale, w.keys().due, w.keys().unhandled, w.keys().after).Val(); n != 0 {
		w.fatal("%d of ready, stale, due, unhandled, after are left", n)
	}
	if w.stateField("stale")+w.stateField("asked")+w.stateField("parked") != "" {
		w.fatal("flags are left in state: stale %q, asked %q, parked %q", w.stateField("stale"), w.stateField("asked"), w.stateField("parked"))
	}
}
