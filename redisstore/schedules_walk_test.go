package redisstore

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A scheduleWalk makes random calls of three workers about schedules of each overlap policy, with some ordinary jobs among them, and
// compares the store with the model after each.
type scheduleWalk struct {
	*bench
	seed        uint64
	random      *rand.Rand
	schedules   map[string]*modelSchedule
	occurrences map[string]*modelOccurrence
	held        map[string]map[string]protocol.TakenJob // session → its jobs
	lives       map[string]int                          // of each worker: its sessions so far
	jobs        map[string]bool                         // ordinary ones that have not ended
	made        int                                     // ordinary jobs
	pruned      protocol.Owner                          // the last owner that has pruned; the model knows no other
	notes       []string                                // the calls
	now         *picture
}

// For all calls in any order, repeated or interrupted: under skip, wait and cancel at most one occurrence of a schedule is
// in flight; a run that has begun ends in one way, and vanishes only under policy cancel, or if it was cancelled; at most one new occurrence
// waits behind the one in flight; the oldest is first; each dropped one is counted and gives its run back; a live schedule is in owed or has an
// untaken occurrence at its cursor; and at the end every key is empty.
func TestRandomCallsEndEachOccurrenceOnce(t *testing.T) {
	seeds, steps := storesuite.WalkSize(4, 250)
	for _, seed := range seeds {
		onServersWith(t, randomCalls, func(b *bench) {
			w := &scheduleWalk{
				bench: b, seed: seed, random: rand.New(rand.NewPCG(seed, 2)),
				schedules: map[string]*modelSchedule{}, occurrences: map[string]*modelOccurrence{},
				held: map[string]map[string]protocol.TakenJob{}, lives: map[string]int{}, jobs: map[string]bool{},
			}
			w.begin()
			for step := range steps {
				w.step()
				if step%storesuite.VerifyEvery == 0 {
					if found := w.Verify(false); len(found) > 0 {
						w.fatal("found %+v", found)
					}
				}
			}
			w.drain()
			w.Verified()
		})
	}
}

func (w *scheduleWalk) note(format string, arguments ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, arguments...))
}

// fatal ends the test with the calls that led there, for the schedule in the message.
func (w *scheduleWalk) fatal(format string, arguments ...any) {
	w.Helper()
	message, notes := fmt.Sprintf(format, arguments...), w.notes
	for _, name := range w.names() {
		if strings.Contains(message, name) {
			notes = slices.DeleteFunc(slices.Clone(notes), func(note string) bool { return !strings.Contains(note, name) && !strings.HasPrefix(note, "reap") })
			break
		}
	}
	w.Fatalf("seed %d, %d calls: %s\nthe last of them:\n%s", w.seed, len(w.notes), message, strings.Join(notes[max(0, len(notes)-40):], "\n"))
}

// names returns the names of the schedules, in order.
func (w *scheduleWalk) names() []string {
	names := make([]string, 0, len(w.schedules))
	for name := range w.schedules {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// ids returns the IDs of the occurrences, in order.
func (w *scheduleWalk) ids() []string {
	var ids []string
	for _, name := range w.names() {
		ids = append(ids, w.schedules[name].ids...)
	}
	return ids
}

func (w *scheduleWalk) begin() {
	w.setRules()
	kinds := []string{"allow", "skip", "wait", "cancel", "skip", "wait", "skip", "cancel", "wait"}
	for i, policy := range kinds {
		s := &modelSchedule{name: fmt.Sprintf("%s%d", policy, i), policy: policy, rule: 1, last: storesuite.Ago(5 * time.Hour), group: walkGroups[i%len(walkGroups)], mixed: i >= 6, keep: []int{1000, 3, 1000, 20, 0}[i%5]}
		if i == 4 || i == 5 {
			s.count = 5 + w.random.IntN(20)
		}
		w.schedules[s.name] = s
		w.create(s)
	}
	w.now = w.look()
	w.check(w.now)
}

func (w *scheduleWalk) step() {
	worker := fmt.Sprintf("w%d", w.random.IntN(3))
	switch w.random.IntN(14) {
	case 13:
		w.pauseGroup()
	case 12:
		w.cancelOne()
	case 0, 1, 2:
		w.placeSome()
	case 3, 4:
		w.hurry()
	case 5:
		w.crash(worker)
	case 6:
		w.made++
		id := fmt.Sprintf("job%05d", w.made)
		w.jobs[id] = true
		w.Enqueue(w.job(id))
		w.now = w.look()
	case 7:
		w.steer()
	default:
		w.call(worker, false, 0)
	}
}

// seen compares the store after a call with the model and with the store before it.
func (w *scheduleWalk) seen(e event) {
	w.Helper()
	after := w.look()
	w.moved(w.now, after, e)
	w.check(after)
	w.now = after
}

// placeSome places the next occurrence of some schedules that are owed one, as a ticker or a worker does; sometimes for an
// old revision or cursor.
func (w *scheduleWalk) placeSome() {
	for _, name := range w.names() {
		s := w.schedules[name]
		if score, owed := w.now.owed[name]; owed && w.random.IntN(2) == 0 && (score < passedOver || w.random.IntN(2) == 0) {
			w.placeNext(s)
		} else if s.exists && w.random.IntN(8) == 0 {
			w.placeLate(s)
		}
	}
}

func (w *scheduleWalk) placement(s *modelSchedule, at ...time.Time) protocol.Placement {
	return protocol.Placement{
		Partition: storesuite.DefaultPartition, Name: s.name, Revision: s.revision, Cursor: w.now.found[s.name].Cursor, Instants: at, Count: s.count, Group: s.group,
	}
}

// placeLate repeats a placement that another process has made before.
func (w *scheduleWalk) placeLate(s *modelSchedule) {
	p := w.placement(s, s.last.Add(-time.Second))
	if w.random.IntN(2) == 0 {
		p.Revision--
	} else {
		p.Cursor = protocol.Cursor{At: s.last.Add(-time.Minute), Placed: true}
	}
	w.note("place late %s %+v", s.name, p)
	if answer := w.store.Place(w.Context(), []protocol.Placement{p})[0]; answer.Err != nil || !answer.Lost || answer.Held {
		w.fatal("placed for an old revision or cursor: %+v, want lost", answer)
	}
	w.seen(event{})
}

func (w *scheduleWalk) placeNext(s *modelSchedule) {
	o := &modelOccurrence{schedule: s, at: s.last.Add(time.Second), created: s.created}
	if w.random.IntN(6) == 0 {
		o.future, o.at = true, time.Now().Add(time.Hour+time.Duration(len(w.notes))*time.Second).Truncate(time.Second)
	}
	spread := time.Duration(0)
	if !o.future && w.random.IntN(6) == 0 {
		o.future, spread = true, 24*time.Hour // planned in the past, and due in the future
	}
	o.id = storesuite.OccurrenceID(s.name, o.at)
	p := w.placement(s, o.at)
	p.Offset = spread
	left := s.count == 0 || s.used < s.count
	if left { // nothing was to follow the last one
		p.Missed = w.random.IntN(3)
	}
	if o.caughtUp = !o.future && w.random.IntN(3) == 0; o.caughtUp {
		p.CaughtUp = 1
	}
	entry := w.now.open[s.name]
	w.note("place %s of %s, caught up %v, missed %d, count %d used %d", o.id, s.policy, o.caughtUp, p.Missed, s.count, s.used)
	answer := w.store.Place(w.Context(), []protocol.Placement{p})[0]
	held := left && o.caughtUp && s.policy != "allow" && !entry.free()
	switch {
	case answer.Err != nil || answer.Lost:
		w.fatal("%s is owed and placed %+v", s.name, answer)
	case !left && answer.Held && o.caughtUp: // it is reported later that none is left: one may be given back until then
	case !left && !answer.Completed:
		w.fatal("%s has no run left and placed %+v", s.name, answer)
	case left && answer.Held != held && s.policy != "allow":
		w.fatal("%s: %+v, caught up: %v, open %+v", o.id, answer, o.caughtUp, entry)
	case !left:
		s.state = protocol.StateCompleted
	case answer.Held:
		if after := w.look(); after.owed[s.name] < passedOver {
			w.fatal("%s is held and has the score %v in owed", s.name, after.owed[s.name])
		}
	case answer.Placed != 1:
		w.fatal("%s is owed and placed %+v", s.name, answer)
	default:
		s.used++
		s.cursor = o.id
		s.ids = append(s.ids, o.id)
		s.counts[1] += int64(p.Missed)
		s.counts[3] += int64(p.CaughtUp)
		w.occurrences[o.id] = o
		s.withdrawn = time.Time{}
		if !o.future || spread > 0 {
			s.last = o.at
		}
		w.now.where[o.id] = "due"
	}
	w.seen(event{})
}

// hurry makes delayed jobs due, including retries, except occurrences placed in the future.
func (w *scheduleWalk) hurry() {
	w.note("hurry")
	for _, id := range slices.Sorted(maps.Keys(w.now.due)) {
		if o := w.occurrences[id]; o == nil || !o.future || !o.fresh() {
			w.client.ZAdd(w.Context(), w.keys().due, redisZ(float64(storesuite.Ago(time.Minute).UnixMilli()+int64(w.random.IntN(5))), id))
		}
	}
	w.now = w.look()
}

// session returns the present session of a worker.
func (w *scheduleWalk) session(worker string) string {
	session := worker + "-" + strconv.Itoa(w.lives[worker])
	if w.held[session] == nil {
		w.held[session] = map[string]protocol.TakenJob{}
	}
	return session
}

// crash lets a worker's session lapse and reaps it.
func (w *scheduleWalk) crash(worker string) {
	session := w.session(worker)
	w.call(worker, false, time.Millisecond)
	if w.Numbers[session] == 0 {
		return // it has never held a job
	}
	lapsed := w.UntilLapsed()
	w.Want("lapsed", lapsed.Session, session)
	w.note("reap %s", session)
	w.Reap(lapsed, w.random.Int64N(1000))
	w.lives[worker]++
	e := event{reaped: session}
	w.seen(e)
	delete(w.held, session)
}

// call settles some of a worker's jobs, marks some as begun, and takes more; sometimes it is repeated.
func (w *scheduleWalk) call(worker string, draining bool, ttl time.Duration) {
	session := w.session(worker)
	held := w.held[session]
	call := protocol.WorkCall{Take: w.random.IntN(8), Sleep: w.random.IntN(2) == 0, TTL: ttl}
	call.Ahead = w.random.IntN(call.Take + 1)
	if draining || w.random.IntN(2) == 0 {
		call.Serve = storesuite.WalkParks
	}
	e := event{session: session, settled: map[string]protocol.Settlement{}, taken: map[string]protocol.TakenJob{}}
	text := ""
	for _, id := range slices.Sorted(maps.Keys(held)) {
		switch n := w.random.IntN(6); {
		case draining || n < 3:
			s := w.settlement(held[id], draining)
			call.Settle, e.settled[id] = append(call.Settle, s), s
			text += fmt.Sprintf(" %s %c %v", id, s.Kind, s.Delay)
		case n == 3 && !held[id].Begun:
			call.Begun = append(call.Begun, protocol.BegunJob{ID: id, Fence: held[id].Fence})
			text += " " + id + " begun"
		}
	}
	w.note("%s: take %d, %d ahead, serve %v, settle%s", session, call.Take, call.Ahead, call.Serve, text)
	answer := w.Work(session, call)
	if len(answer.Refused) > 0 {
		w.fatal("refused %v of %+v", answer.Refused, call.Settle)
	}
	for _, begun := range call.Begun {
		job := held[begun.ID]
		job.Begun = true
		held[begun.ID] = job
		if o := w.occurrences[begun.ID]; o != nil {
			o.begun, o.running = true, true
		}
	}
	for id, s := range e.settled {
		delete(held, id)
		if w.jobs[id] && (s.Kind == protocol.SettleDone || s.Kind == protocol.SettleDead) {
			delete(w.jobs, id)
		}
	}
	for _, job := range answer.Taken {
		held[job.ID], e.taken[job.ID] = job, job
	}
	w.note("   %s took %s, superseded %v", session, storesuite.IDs(answer.Taken), answer.Superseded)
	e.superseded, e.skipped = answer.Superseded, answer.Skipped
	before := w.now
	w.seen(e)
	w.checkOwed(before, answer.Owed)
	if w.Numbers[session] > 0 && w.random.IntN(3) == 0 {
		w.again(session, call, answer)
	}
}

// checkOwed checks that the answer to a call names every schedule that the call made owed, and no other.
func (w *scheduleWalk) checkOwed(before *picture, answered []protocol.Owed) {
	named := map[string]bool{}
	for _, owed := range answered {
		named[owed.Name] = true
		found := w.now.found[owed.Name]
		if score, ok := w.now.owed[owed.Name]; !ok || score >= passedOver || owed.Cursor != found.Cursor || string(owed.Definition) != string(found.Definition) {
			w.fatal("answered as owed: %s, cursor %+v, definition %s; in owed: %v with %.0f, cursor %+v, definition %s",
				owed.Name, owed.Cursor, owed.Definition, ok, score, found.Cursor, found.Definition)
		}
	}
	for name, score := range w.now.owed {
		if was, ok := before.owed[name]; score < passedOver && (!ok || was >= passedOver) && !named[name] {
			w.fatal("%s became owed in this call, but the answer does not have it", name)
		}
	}
}

// again repeats the last call of a session.
func (w *scheduleWalk) again(session string, call protocol.WorkCall, first protocol.WorkAnswer) {
	answer := w.Repeat(session, call)
	if answer.Err != nil || fmt.Sprint(answer.Taken) != fmt.Sprint(storesuite.Unparked(first.Taken)) {
		w.fatal("repeated %+v: %v, took %+v, want %+v", call, answer.Err, answer.Taken, first.Taken)
	}
	if after := w.look(); after.rest != w.now.rest {
		w.fatal("a repeated call wrote: before %s\nafter %s", w.now.rest, after.rest)
	}
}
