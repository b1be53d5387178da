package chime

import (
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/wire"
)

// owed works out what follows the occurrences that a call has taken, and hands it to the lane's next call. What cannot be
// worked out here is left to the ticker.
func (t *taker) owed(l *lane, owed []protocol.Owed, now time.Time) {
	for i := range owed {
		o := &owed[i]
		p, err := t.plans.Of(o.Name, o.Definition)
		if err != nil {
			if t.reminders.due("schedule "+o.Name, now) {
				t.log.Warn("chime: cannot work out a schedule's next occurrence, left to the ticker", "schedule", o.Name, "error", err)
			}
			continue
		}
		l.places = append(l.places, p.Next(*o))
	}
}

// placed takes in what became of a call's placements. What failed is tried again; what somebody else has placed is done.
func (t *taker) placed(l *lane, sent []protocol.Placement, answers []protocol.PlaceAnswer, now time.Time) {
	var failed []protocol.Placement
	var err error
	for i := range sent {
		if i >= len(answers) {
			failed = append(failed, sent[i])
			err = errNoAnswer
		} else if answers[i].Err != nil {
			failed = append(failed, sent[i])
			err = answers[i].Err
		}
	}
	if len(failed) == 0 {
		if len(sent) > 0 {
			l.placeFailures = 0
			t.trouble.end(&l.placeFailures, now)
		}
		return
	}
	if t.drain.begun {
		return // the ticker's
	}
	l.placeFailures++
	l.placesAt = now.Add(troubleDelay(l.placeFailures))
	l.places = append(failed, l.places...)
	t.trouble.begin(&l.placeFailures, "place", err, now)
}

// read makes a flight's job of what the store has given: the envelope, or the definition of an occurrence's schedule. An
// error means that nobody can ever run it, but for errNewerVersion and schedule.ErrNotHere: then another worker may.
func (t *taker) read(f *flight, taken *protocol.TakenJob) (p *schedule.Plan, err error) {
	name, planned, err := schedule.SplitOccurrence(taken.ID)
	f.schedule = name
	f.message = wire.Envelope{Name: "?", Schedule: name, Planned: planned}
	if err != nil {
		return nil, err
	}
	switch {
	case len(taken.Body) > 0:
		err := f.message.Decode(taken.Body, t.worker.names)
		if err != nil && !errors.Is(err, wire.ErrNewerVersion) {
			f.message = wire.Envelope{Name: wire.NoName, Schedule: name, Planned: planned, Payload: taken.Body[:min(len(taken.Body), maxEvidence)]}
			return nil, fmt.Errorf("its body cannot be read: %w", err)
		}
		return nil, err
	case len(taken.Definition) > 0:
		p, err := t.plans.Of(name, taken.Definition)
		if err != nil {
			f.message.Name = schedule.JobNameOf(taken.Definition)
			return nil, err
		}
		f.message = p.Job(f.schedule, planned)
		f.cancels = p.Overlap == schedule.OverlapCancel
		return p, nil
	}
	return nil, errors.New("its body is gone from the store")
}

// maxEvidence is how much is kept of a body that cannot be read.
const maxEvidence = 64 << 10
