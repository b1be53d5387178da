package chime

import (
	"crypto/rand"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	maxSettlements = 500     // a call settles at most so many; one with a line for the record of runs counts twice
	maxTake        = 500     // and takes at most so many
	maxInstants    = 500     // placements of so many
	maxCallBytes   = 1 << 19 // bodies that one call settles, unless a single one is larger: it takes as much again and more
	settleBatch    = 250     // so many outcomes do not wait for the next take
	settleWait     = 20 * time.Millisecond
	sessionRest    = time.Second // a session that holds nothing is closed after so long
	clockTrust     = 2 * time.Minute
	lapseNews      = time.Second // a busy worker asks no more often whose session lapses
)

// A lane is one partition as one worker sees it: the session there, the call that is not answered yet, what is to be sent
// with the next one, and how long nothing needs to be asked. It belongs to the taker's goroutine.
type lane struct {
	partition protocol.Partition
	queue     *share
	clock     storeClock

	session *session           // nil: none
	sent    *protocol.WorkCall // not answered yet: sent again, unchanged, until it is
	sentAt  time.Time
	// failures in a row, and when the next attempt may be made.
	failures int
	retryAt  time.Time

	pending       []protocol.Settlement // outcomes of the session's jobs, kept until answered
	pendingSince  time.Time
	spare         []protocol.Settlement // the memory of outcomes that were answered
	begun         []*flight             // begun since, taken ahead: to be announced
	places        []protocol.Placement
	placeFailures int
	placesAt      time.Time // not before

	credit float64 // of free slots, see divide

	// asleep: the last answer left nothing takeable behind and no wake-up has come since, so nothing is asked.
	// listed: the store may have this worker among its sleepers; false only if it certainly has not.
	asleep, listed bool
	askAt          time.Time // hungry, but the last answers were empty: not before
	empty          int       // such answers in a row
	next           time.Time // alarm: when the next delayed job is due; zero: none, or others keep it
	lapse          time.Time // when somebody's session lapses: a look is due
	toldAt         time.Time // of lapses, last
	lookAt         time.Time // safety poll
	since          time.Time // when the store put this worker among its sleepers, by its clock; zero: unknown
	parked         []string  // names with parked jobs that this worker handles
}

// A session is this worker's right to hold jobs of one partition, for as long as the store hears of it.
//
// It is in one of four states: none (lane.session is nil, or number is 0: the store knows nothing of it), idle after call
// number n, call n+1 under way or unanswered (lane.sent), and lost. What holds in all of them:
//   - one numbered call at a time, its number one above the last that was answered; unanswered, it goes again unchanged;
//   - an outcome is kept until a call that carries it has been answered, or the session is lost;
//   - nothing is settled by a session that did not take it;
//   - a lost session's name is never used again.
type session struct {
	name   string
	lane   *lane
	number int64 // of the last call answered; 0: the session does not exist in the store
	held   int   // jobs taken and not known to be settled
	// alive is when the last call that kept the session alive was sent.
	alive      time.Time
	emptySince time.Time // of jobs; zero: it holds some
	resting    bool      // it holds nothing, and nothing that may bring it a job is under way: no heartbeat
	silent     bool      // not kept alive for its TTL: the handlers have been told
	lost       bool      // reaped: what its handlers return is dropped
}

func newSession(l *lane) *session { return &session{name: rand.Text(), lane: l} }

// storeClock estimates a store's clock from the last answer. It is never ahead of the store's: what is late by the estimate is due.
type storeClock struct {
	store, local time.Time
}

func (c *storeClock) set(store, local time.Time) {
	if !store.IsZero() {
		c.store, c.local = store, local
	}
}

// trusted reports whether the estimate is good to a few milliseconds: the last answer was not long ago, and the two local
// clocks agree on how long, which they do not when the machine has slept meanwhile.
func (c *storeClock) trusted(now time.Time) bool {
	passed, shown := now.Sub(c.local), now.Round(0).Sub(c.local.Round(0))
	return !c.store.IsZero() && passed < clockTrust && (passed-shown).Abs() < time.Second
}

// at returns the store's time at a local instant; before any answer it is the local one.
func (c *storeClock) at(local time.Time) time.Time {
	if c.store.IsZero() {
		return local
	}
	return c.store.Add(local.Sub(c.local))
}

// until returns the local instant at which the store's clock shows the given one.
func (c *storeClock) until(store time.Time) time.Time {
	if c.store.IsZero() {
		return store
	}
	return c.local.Add(store.Sub(c.store))
}

// hungry reports whether there may be work to take: nothing says that there is none.
func (l *lane) hungry(now time.Time) bool {
	return !l.asleep && l.sent == nil && !now.Before(l.askAt) && !now.Before(l.retryAt)
}

// urgent reports whether something is to be sent that does not wait for a take.
func (l *lane) urgent(now time.Time, draining bool) bool {
	if len(l.places) > 0 && !now.Before(l.placesAt) {
		return true
	}
	if len(l.pending) == 0 && len(l.begun) == 0 {
		return false
	}
	return draining || len(l.pending) >= settleBatch || !now.Before(l.pendingSince.Add(settleWait))
}

// sleepsOn reports whether the next call need not ask for work: this worker is asleep here, and all there is to say is that
// ordinary jobs have finished.
func (l *lane) sleepsOn(now time.Time) bool {
	return l.asleep && l.listed && len(l.pending) > 0 && !slices.ContainsFunc(l.pending, unfinished) &&
		(len(l.places) == 0 || now.Before(l.placesAt))
}

func unfinished(s protocol.Settlement) bool { return !s.Finished() }

// keep holds a settlement for the next call.
func (l *lane) keep(s protocol.Settlement, now time.Time) {
	l.stir(now)
	l.pending = append(l.pending, s)
}

// stir starts the wait of what may ride with the next take.
func (l *lane) stir(now time.Time) {
	if len(l.pending) == 0 && len(l.begun) == 0 {
		l.pendingSince = now
	}
}

// call builds the next numbered call with as much as fits of what is pending. take jobs are asked for, the last ahead of
// them without a free slot.
func (l *lane) call(worker string, ttl time.Duration, take, ahead int, now time.Time) *protocol.WorkCall {
	if l.session == nil {
		l.session = newSession(l)
	}
	call := &protocol.WorkCall{
		Partition: l.partition,
		Worker:    worker,
		Session:   l.session.name,
		Number:    l.session.number + 1,
		TTL:       ttl,
		Take:      take,
		Ahead:     ahead,
		Sleep:     take > 0,
		SleepOn:   take == 0 && l.sleepsOn(now),
		Lapses:    take > 0 && (now.Sub(l.toldAt) >= lapseNews || !l.lapse.IsZero() && !now.Before(l.lapse)),
	}
	n := settleable(l.pending)
	if n > 0 {
		call.Settle = l.pending[:n:n]
		l.pending = append(l.spare, l.pending[n:]...)
		l.spare = nil
	}
	waiting := l.begun[:0]
	for _, f := range l.begun {
		switch {
		case f.ended: // it is settled, which says more
		case len(call.Settle)+len(call.Begun) < maxSettlements:
			call.Begun = append(call.Begun, protocol.BegunJob{ID: f.id, Fence: f.fence})
		default:
			waiting = append(waiting, f)
			continue
		}
		f.listed = false
	}
	clear(l.begun[len(waiting):])
	l.begun = waiting
	if !now.Before(l.placesAt) {
		n = placeable(l.places)
		call.Place, l.places = l.places[:n:n], l.places[n:]
	}
	if take > 0 {
		call.Serve = l.parked
	}
	if len(l.pending)+len(l.begun) > 0 {
		l.pendingSince = now.Add(-settleWait) // the rest goes with the next call, at once
	}
	l.sent, l.sentAt = call, now
	return call
}

// reuse keeps the memory of outcomes that are settled for those to come.
func (l *lane) reuse(settled []protocol.Settlement) {
	if cap(settled) > cap(l.spare) {
		clear(settled)
		l.spare = settled[:0]
	}
}

// settleable is how many of the outcomes go into one call: the store does nothing else meanwhile.
func settleable(outcomes []protocol.Settlement) (n int) {
	weight, bytes := 0, 0
	for n < len(outcomes) {
		weight++
		if outcomes[n].Run != nil {
			weight++
		}
		bytes += len(outcomes[n].Body)
		if weight > maxSettlements || n > 0 && bytes > maxCallBytes {
			break
		}
		n++
	}
	return n
}

// placeable is how many of the placements go into one call.
func placeable(places []protocol.Placement) (n int) {
	size := 0
	for n < len(places) {
		if size += 1 + len(places[n].Instants); n > 0 && size > maxInstants {
			break
		}
		n++
	}
	return n
}
