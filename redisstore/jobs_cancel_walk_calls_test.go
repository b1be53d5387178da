package redisstore

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

func (w *cancelWalk) session(worker string) string {
	session := fmt.Sprint(worker, "-", w.sessions[worker])
	if w.held[session] == nil {
		w.held[session] = map[string]protocol.TakenJob{}
	}
	return session
}

// crash lets a worker's session lapse and reaps it.
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

// released records that no session holds a job any more: if it was cancelled it has ended.
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

// call settles some of a worker's jobs, in any way, marks some as begun, and takes more; sometimes it is repeated.
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
		if w.lives[s.ID].goes != "" { // it was replaced, so the kind of settlement does not matter
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
	for len(p.void) > 0 || w.stateField("stale") != "" { // void IDs disappear with the next takes
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
