package chime

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
)

// A taker is a worker's one loop. It owns the lanes with their sessions and decides what every call carries; the slots run
// handlers, the heartbeat keeps sessions alive, the reaper returns what others left, and one goroutine makes the calls.
//
// Each turn of the loop looks at what has ended, gives back what waits too long, ends what is over time, and then makes
// at most one round trip: a call to each lane that needs one. While that is under way the loop goes on listening.
//
// An answer is taken in in two steps, with a call between them. The first moves the session on to its next number and
// leaves the jobs where they are, in arrived. Then the turn goes on as every turn: what has ended meanwhile is collected, and
// if there is more, and room for it, the next call is sent. Only then are the jobs admitted, and the store works while the
// handlers do. What holds at every call:
//   - arrived jobs are in hand: room counts them, their session counts them as held, and they are admitted or given back
//     before the loop waits for anything, unless their session was lost meanwhile;
//   - no outcome is ahead of its job: what is settled in a call was admitted before it.
type taker struct {
	worker *Worker
	store  protocol.Store
	name   string // among the sleepers
	ttl    time.Duration
	log    *slog.Logger

	lanes      []*lane
	slots      *slots
	line       protocol.Listener
	heartbeat  *heartbeat
	plans      schedule.Plans
	reaper     *reaper
	base       context.Context      // of the handlers: never ends by itself
	unreadable map[string]time.Time // names of parked jobs that this version cannot read: not asked for before

	requests chan request
	replies  chan reply
	calling  bool      // a request is under way
	sentAt   time.Time // the last one of work
	arrived  []arrival // answers whose jobs are not admitted yet
	arriving int       // and the number of these
	hangar   hangar
	admitted []*flight // used again in every round

	connected         bool      // the line has been, so that taking may begin
	patience          time.Time // or this long has passed
	woken             bool      // a wake-up came that nobody has looked after yet
	rewoken           bool      // it came while a request was under way
	pass              bool      // a wake-up came that cannot be used
	alarm             time.Time // a delayed job was said to be due at this local instant, in some lane
	leaveAt           time.Time // saturated since a moment: leave the sleepers' list
	leaveFailures     int
	leaveRetry        time.Time
	trouble           trouble
	reminders         reminders
	seen              collected
	takes             []int // and these: used again in every round
	asked, due, again []*lane

	drain drain
}

// A request is one round trip of the caller's goroutine; exactly one of its fields is set.
type request struct {
	lanes []*lane // for work and look, in the order of the calls
	work  []protocol.WorkCall
	look  []protocol.PollCall
	leave []protocol.LeaveCall
	close []*session
}

type reply struct {
	request
	worked []protocol.WorkAnswer
	looked []protocol.PollAnswer
	err    error // of leave
}

// An arrival is what a call has brought and nobody has looked at.
type arrival struct {
	session *session
	clock   *storeClock
	jobs    []protocol.TakenJob
}

// callTimeout bounds a call whose store does not bound it itself. What it cuts off is sent again.
const callTimeout = 30 * time.Second

// call makes the requests, one after the other, until there are no more.
func (t *taker) call(ctx context.Context) {
	for r := range t.requests {
		t.replies <- t.trip(ctx, r)
	}
}

func (t *taker) trip(ctx context.Context, r request) reply {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	done := reply{request: r}
	switch {
	case r.work != nil:
		done.worked = t.store.Work(ctx, r.work)
	case r.look != nil:
		done.looked = t.store.Poll(ctx, r.look)
	case r.leave != nil:
		done.err = t.store.Leave(ctx, r.leave)
	case r.close != nil:
		for _, s := range r.close {
			// An unknown outcome needs no second try: the session is empty, and if it still exists it lapses and is reaped.
			_ = t.store.CloseSession(ctx, s.lane.partition, s.name)
		}
	}
	return done
}

// loop runs until the worker has drained after stop is closed.
func (t *taker) loop(stop <-chan struct{}) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		now := time.Now()
		t.hear()
		t.collect(now)
		if t.drain.begun {
			t.admitArrived(now)
		}
		until := earlier(t.slotsDue(now), t.silences(now))
		if t.drain.begun {
			until = earlier(until, t.drainStep(now))
			if t.drained(now) {
				return t.result()
			}
		} else if !t.calling {
			t.act(now)
		}
		if len(t.arrived) > 0 {
			t.admitArrived(time.Now())
			continue
		}
		until = earlier(until, t.nextEvent(now))
		if until.IsZero() {
			until = now.Add(time.Hour)
		}
		timer.Reset(until.Sub(now))

		t.slots.rest(t.calling)
		select {
		case <-t.slots.poke:
		case r := <-t.replies:
			t.calling = false
			t.absorb(r, time.Now())
		case s := <-t.line.Signals():
			t.signal(s, time.Now())
		case beats := <-t.heartbeat.beats:
			t.beats(beats, time.Now())
		case <-timer.C:
		case <-stop:
			stop = nil
			t.beginDrain(time.Now())
		}
	}
}

// hear takes in heartbeats that have already arrived, before anything is concluded from silence.
func (t *taker) hear() {
	for {
		select {
		case beats := <-t.heartbeat.beats:
			t.beats(beats, time.Now())
		default:
			return
		}
	}
}

// earlier returns the earlier of two instants, where zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// act makes the one round trip that is most due, and reports whether there was one.
func (t *taker) act(now time.Time) bool {
	t.wake(now)
	t.calling = t.work(now) || t.leave(now) || t.look(now) || t.closeEmpty(now)
	return t.calling
}

// work calls every lane that has something to settle or to place, or that may have work for a free slot.
func (t *taker) work(now time.Time) bool {
	free, take, worth := t.room(now)
	free = min(free, take)
	ahead := take - free
	asked, due, again := t.asked[:0], t.due[:0], t.again[:0]
	for _, l := range t.lanes {
		switch {
		case now.Before(l.retryAt):
		case l.sent != nil:
			again = append(again, l)
		case worth && l.hungry(now):
			asked = append(asked, l)
		case l.urgent(now, t.drain.begun):
			due = append(due, l)
		}
	}
	t.asked, t.due, t.again = asked, due, again
	if len(asked)+len(due)+len(again) == 0 {
		return false
	}
	r := request{
		lanes: make([]*lane, 0, len(asked)+len(due)+len(again)),
		work:  make([]protocol.WorkCall, 0, len(asked)+len(due)+len(again)),
	}
	send := func(l *lane, take int) {
		begin := min(take, free)
		free -= begin
		ahead -= take - begin
		r.lanes = append(r.lanes, l)
		r.work = append(r.work, *l.call(t.name, t.ttl, take, take-begin, now))
		if take > 0 {
			t.heartbeat.rest(l.session, false)
		}
	}
	for i, take := range t.divide(free+ahead, asked) {
		if take > 0 || asked[i].urgent(now, t.drain.begun) {
			send(asked[i], take)
		}
	}
	// A lane that is called anyway is asked too, unless it sleeps on, as far as the hungry have left a slot, and ahead where it may have work.
	for i, l := range due {
		room := free
		switch {
		case l.sleepsOn(now):
			room = 0
		case l.hungry(now):
			room += ahead
		}
		send(l, min((room+len(due)-i-1)/(len(due)-i), maxTake))
	}
	for _, l := range again {
		r.lanes = append(r.lanes, l)
		r.work = append(r.work, *l.sent)
	}
	if len(r.work) == 0 {
		return false
	}
	t.sentAt = now
	t.requests <- r
	return true
}

// room is how many slots are free, and how many jobs may be taken now, for them and ahead of them; worth reports whether
// that is worth a call.
func (t *taker) room(now time.Time) (free, take int, worth bool) {
	if t.drain.begun || !t.connected && now.Before(t.patience) {
		return 0, 0, false
	}
	coming, ahead := t.arriving, 0
	for _, l := range t.lanes {
		if l.sent != nil {
			coming += l.sent.Take
			ahead += l.sent.Ahead
		}
	}
	return t.slots.room(coming, ahead)
}

func (t *taker) divide(room int, asked []*lane) []int {
	t.takes = append(t.takes[:0], make([]int, len(asked))...)
	if room > 0 {
		divide(room, asked, t.takes)
	}
	return t.takes
}

// absorb takes in what a round trip has brought.
func (t *taker) absorb(r reply, now time.Time) {
	if r.work != nil && len(r.lanes) > 0 {
		t.slots.travelled(now.Sub(t.sentAt))
	}
	for i, l := range r.lanes {
		switch {
		case r.work != nil && i < len(r.worked):
			t.worked(l, &r.worked[i], now)
		case r.look != nil && i < len(r.looked):
			t.looked(l, &r.looked[i], now)
		}
	}
	if r.leave != nil {
		t.left(r.leave, r.err, now)
	}
	if t.rewoken {
		t.rewoken = false
		t.rouse()
	}
}

// worked takes in the answer to a lane's call.
func (t *taker) worked(l *lane, a *protocol.WorkAnswer, now time.Time) {
	call, s := l.sent, l.session
	lost := errors.Is(a.Err, ErrSessionLost) || s.lost
	if a.Err != nil && !lost {
		l.failures++
		l.retryAt = now.Add(troubleDelay(l.failures))
		t.trouble.begin(l, "work", a.Err, now)
		return
	}
	l.sent, l.failures = nil, 0
	t.trouble.end(l, now)
	l.clock.set(a.Now, now)
	t.placed(l, call.Place, a.Placed, now)
	t.owed(l, a.Owed, now)
	if lost {
		t.lose(s, now)
		return
	}
	if len(a.Taken) > 0 || s.number > 0 {
		t.answered(s, call, a, now)
	}
	l.reuse(call.Settle)
	if len(a.Taken) > 0 {
		clock := l.clock
		t.arrived = append(t.arrived, arrival{s, &clock, a.Taken})
		t.arriving += len(a.Taken)
	}
	t.rested(l, call, a, now)
}

// answered moves a session on to its next call.
func (t *taker) answered(s *session, call *protocol.WorkCall, a *protocol.WorkAnswer, now time.Time) {
	if s.number == 0 {
		t.heartbeat.open(s)
	}
	s.number = call.Number
	s.alive = s.lane.sentAt
	s.silent = false
	s.held += len(a.Taken) - len(call.Settle)
	s.emptySince = time.Time{}
	if s.held == 0 {
		s.emptySince = now
		t.heartbeat.rest(s, true)
	}
	for _, i := range a.Refused {
		if i >= 0 && i < len(call.Settle) {
			t.log.Warn("chime: an outcome came too late, the job was not ours any more", "queue", s.lane.partition.Queue, "id", call.Settle[i].ID)
		}
	}
}

// rested works out when the lane is to be asked again.
func (t *taker) rested(l *lane, call *protocol.WorkCall, a *protocol.WorkAnswer, now time.Time) {
	if call.SleepOn {
		return
	}
	t.horizon(l, &a.WaitHint, call.Lapses, now)
	left := a.More || len(l.parked) > 0 && !a.Paused
	l.listed = call.Sleep && !left && len(a.Taken) < call.Take
	if l.asleep = l.listed; l.asleep {
		l.since = a.Now
	}
	switch {
	case call.Take == 0:
		return
	case l.asleep || len(a.Taken) > 0 || len(a.Owed) > 0:
		l.empty = 0
	default:
		// More than nothing is said to be there, yet nothing came.
		if l.empty++; l.empty > 3 {
			l.askAt = now.Add(troubleDelay(l.empty - 3))
		}
	}
}

// looked takes in what a sleeper's look has found.
func (t *taker) looked(l *lane, a *protocol.PollAnswer, now time.Time) {
	if a.Err != nil {
		l.failures++
		l.lookAt = now.Add(troubleDelay(l.failures))
		t.trouble.begin(l, "look", a.Err, now)
		return
	}
	l.failures = 0
	t.trouble.end(l, now)
	l.clock.set(a.Now, now)
	l.since = a.Since
	t.horizon(l, &a.WaitHint, true, now)
	if a.More || len(l.parked) > 0 && !a.Paused {
		l.asleep = false
	}
}

// horizon notes what an answer says of the time until the next one; lapses says whether it tells of them.
func (t *taker) horizon(l *lane, h *protocol.WaitHint, lapses bool, now time.Time) {
	l.next = time.Time{}
	if lapses {
		l.lapse, l.toldAt = time.Time{}, now
	}
	if h.Next > 0 {
		l.next = now.Add(h.Next)
		if h.Second {
			l.next = l.next.Add(secondKeeper)
		}
	}
	if !h.Lapse.IsZero() {
		if l.lapse = l.clock.until(h.Lapse); !l.lapse.After(now) {
			l.lapse = time.Time{} // it is among the lapsed
		}
	}
	l.lookAt = now.Add(min(safetyPoll(), t.ttl))
	l.parked = l.parked[:0:0]
	for _, name := range h.Parked {
		if t.serves(name, now) {
			l.parked = append(l.parked, name)
		}
	}
	for _, lapsed := range h.Lapsed {
		if l.session == nil || l.session.name != lapsed.Session {
			t.reaper.note(l.partition, []protocol.LapsedSession{lapsed}, now)
		}
	}
}
