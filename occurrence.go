package chime

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// splitOccurrence takes an occurrence's ID apart, "<schedule>@<planned>"; other IDs give no schedule.
func splitOccurrence(id string) (schedule string, planned time.Time, err error) {
	schedule, instant, ok := strings.Cut(id, "@")
	if !ok {
		return "", time.Time{}, nil
	}
	if planned, err = time.Parse(time.RFC3339, instant); err != nil {
		return schedule, time.Time{}, fmt.Errorf("the occurrence's ID %q has no instant", id)
	}
	return schedule, planned, nil
}

// fresh is the job that a schedule's definition makes of an occurrence that has no body of its own yet.
func (f *flight) fresh(p *plan, planned time.Time) wire.Envelope {
	return wire.Envelope{
		Name:        p.Job,
		Payload:     p.payload(),
		Planned:     planned,
		MaxAttempts: p.MaxAttempts,
		Timeout:     p.timeout,
		Schedule:    f.schedule,
	}
}

// jobNamed reads the one thing that holds in every version of a definition: the name of its job.
func jobNamed(definition []byte) string {
	var d struct {
		Job string `json:"job"`
	}
	if json.Unmarshal(definition, &d) != nil || protocol.CheckName("job name", d.Job) != nil {
		return "?"
	}
	return d.Job
}

// owed works out what follows the occurrences that a call has taken, and hands it to the lane's next call. What cannot be
// worked out here is left to the ticker.
func (t *taker) owed(l *lane, owed []protocol.Owed, now time.Time) {
	for i := range owed {
		o := &owed[i]
		p, err := t.plans.of(o.Name, o.Definition)
		if err != nil {
			if t.reminders.due("schedule "+o.Name, now) {
				t.log.Warn("chime: cannot work out a schedule's next occurrence, left to the ticker", "schedule", o.Name, "error", err)
			}
			continue
		}
		l.places = append(l.places, p.next(*o))
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
// error means that nobody can ever run it, but for errNewerVersion and errNotHere: then another worker may.
func (t *taker) read(f *flight, taken *protocol.TakenJob) (p *plan, err error) {
	schedule, planned, err := splitOccurrence(taken.ID)
	f.schedule = schedule
	f.message = wire.Envelope{Name: "?", Schedule: schedule, Planned: planned}
	if err != nil {
		return nil, err
	}
	switch {
	case len(taken.Body) > 0:
		err := f.message.Decode(taken.Body, t.worker.names)
		if err != nil && !errors.Is(err, wire.ErrNewerVersion) {
			f.message = wire.Envelope{Name: wire.NoName, Schedule: schedule, Planned: planned, Payload: taken.Body[:min(len(taken.Body), maxEvidence)]}
			return nil, fmt.Errorf("its body cannot be read: %w", err)
		}
		return nil, err
	case len(taken.Definition) > 0:
		p, err := t.plans.of(schedule, taken.Definition)
		if err != nil {
			f.message.Name = jobNamed(taken.Definition)
			return nil, err
		}
		f.message = f.fresh(p, planned)
		f.cancels = p.Overlap == OverlapCancel
		return p, nil
	}
	return nil, errors.New("its body is gone from the store")
}

// maxEvidence is how much is kept of a body that cannot be read.
const maxEvidence = 64 << 10
