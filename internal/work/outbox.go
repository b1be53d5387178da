package work

import (
	"errors"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
)

// maxSpareOutcomes is for how many outcomes memory is kept: about the number that is collected while a full call is under way.
const maxSpareOutcomes = 2 * protocol.MaxSettlements

// An outbox contains what the next call of a lane carries: outcomes, jobs that have begun, and placements. What a call carries leaves the outbox;
// the lane keeps the call until it was answered.
type outbox struct {
	pending []protocol.Settlement
	begun   []*flight // taken ahead, and begun since
	since   time.Time // when the oldest outcome or begun job came
	spare   []protocol.Settlement

	places        []protocol.Placement
	placesAt      time.Time // no placement before this instant
	placeFailures int
}

// keep holds a settlement for the next call.
func (o *outbox) keep(s protocol.Settlement, now time.Time) {
	o.startWait(now)
	o.pending = append(o.pending, s)
}

// hurry sets that the content does not wait for the next take.
func (o *outbox) hurry(now time.Time) { o.since = now.Add(-settleWait) }

// begin notes for the next call that a job taken ahead has begun.
func (o *outbox) begin(f *flight, now time.Time) {
	o.startWait(now)
	o.begun = append(o.begun, f)
	f.list(true)
}

// placing returns the key of this outbox's placements in an outage.
func (o *outbox) placing() any { return &o.placeFailures }

// place holds placements for the next call.
func (o *outbox) place(places []protocol.Placement) { o.places = append(o.places, places...) }

// startWait begins the wait for the next take.
func (o *outbox) startWait(now time.Time) {
	if len(o.pending) == 0 && len(o.begun) == 0 {
		o.since = now
	}
}

// outcomes returns how many outcomes are held.
func (o *outbox) outcomes() int { return len(o.pending) }

// nothingToSend reports whether no outcome and no placement is held.
func (o *outbox) nothingToSend() bool { return len(o.pending) == 0 && len(o.places) == 0 }

// urgent reports whether something must not wait for the next take.
func (o *outbox) urgent(now time.Time, draining bool) bool {
	if o.placesDue(now) {
		return true
	}
	if len(o.pending) == 0 && len(o.begun) == 0 {
		return false
	}
	return draining || len(o.pending) >= settleBatch || !now.Before(o.since.Add(settleWait))
}

// urgentAt returns when something becomes urgent because it has waited; zero: nothing does.
func (o *outbox) urgentAt() (until time.Time) {
	if len(o.pending)+len(o.begun) > 0 {
		until = o.since.Add(settleWait)
	}
	if len(o.places) > 0 {
		until = earlier(until, o.placesAt)
	}
	return until
}

func (o *outbox) placesDue(now time.Time) bool { return len(o.places) > 0 && !now.Before(o.placesAt) }

// onlyFinished reports whether the outbox contains nothing but ordinary jobs that have finished.
func (o *outbox) onlyFinished(now time.Time) bool {
	return len(o.pending) > 0 && !o.placesDue(now) && !slices.ContainsFunc(o.pending, func(s protocol.Settlement) bool { return !s.Finished() })
}

// load moves as much as fits into a call.
func (o *outbox) load(call *protocol.WorkCall, now time.Time) {
	n := settleable(o.pending)
	if n > 0 {
		call.Settle = o.pending[:n]
		o.pending = append(o.spare, o.pending[n:]...)
		o.spare = nil
	}
	waiting := o.begun[:0]
	for _, f := range o.begun {
		switch {
		case f.hasEnded(): // its settlement implies that it has begun
		case len(call.Settle)+len(call.Begun) < protocol.MaxSettlements:
			call.Begun = append(call.Begun, f.begunJob())
		default:
			waiting = append(waiting, f)
			continue
		}
		f.list(false)
	}
	clear(o.begun[len(waiting):])
	o.begun = waiting
	if !now.Before(o.placesAt) {
		n = placeable(o.places)
		call.Place, o.places = o.places[:n:n], o.places[n:]
	}
	if len(o.pending)+len(o.begun) > 0 {
		o.hurry(now) // the rest is sent with the next call, at once
	}
}

// reuse keeps the memory of settled outcomes for later ones. It frees memory that has grown in an outage.
func (o *outbox) reuse(settled []protocol.Settlement) {
	if cap(settled) > cap(o.spare) && cap(settled) <= maxSpareOutcomes {
		clear(settled)
		o.spare = settled[:0]
	}
}

// drop removes outcomes and begun jobs: their session is lost.
func (o *outbox) drop() { o.pending, o.begun = nil, nil }

// placed notes the results of a call's placements. A placement that failed is tried again, unless the worker drains: then it is left to a
// scheduler. A placement that another process has made is done. It returns why some of them failed.
func (o *outbox) placed(sent []protocol.Placement, answers []protocol.PlaceAnswer, draining bool, now time.Time) (failed error) {
	var again []protocol.Placement
	for i := range sent {
		if i >= len(answers) {
			again = append(again, sent[i])
			failed = errNoAnswer
		} else if answers[i].Err != nil && !errors.Is(answers[i].Err, protocol.ErrUnreadable) { // a placement with an unreadable schedule is left to a scheduler
			again = append(again, sent[i])
			failed = answers[i].Err
		}
	}
	switch {
	case failed == nil:
		if len(sent) > 0 {
			o.placeFailures = 0
		}
	case draining:
	default:
		o.placeFailures++
		o.placesAt = now.Add(retry.Delay(o.placeFailures))
		o.places = append(again, o.places...)
	}
	return failed
}

// settleable returns how many of the outcomes are sent in one call: the store does nothing else meanwhile.
func settleable(outcomes []protocol.Settlement) (n int) {
	weight, bytes := 0, 0
	for n < len(outcomes) {
		weight += settlementWeight(outcomes[n].Run)
		bytes += len(outcomes[n].Body)
		if outcomes[n].Follower != nil {
			bytes += len(outcomes[n].Follower.Body)
		}
		if outcomes[n].Result != nil {
			bytes += len(outcomes[n].Result.Body)
		}
		if weight > protocol.MaxSettlements || n > 0 && bytes > maxBodies {
			break
		}
		n++
	}
	return n
}

// settlementWeight returns how many of the MaxSettlements of a call an outcome uses. A run that joins a history takes the store
// longer than an ordinary job, and the longer its note, the more.
func settlementWeight(run *protocol.RunRecord) int {
	if run == nil {
		return 1
	}
	return protocol.RunWeight + (len(run.Note)+len(run.Error))/512
}

// placeable returns how many of the placements are sent in one call.
func placeable(places []protocol.Placement) (n int) {
	size := 0
	for n < len(places) {
		if size += 1 + len(places[n].Instants); n > 0 && size > protocol.MaxInstants {
			break
		}
		n++
	}
	return n
}
