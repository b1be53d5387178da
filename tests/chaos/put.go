//go:build unix

package chaos

import (
	"slices"
	"time"
)

// A PutSchedule is the history of a schedule that the changer has put.
type PutSchedule struct {
	Name     string
	Puts     []PutCall // that were acknowledged
	Deleting bool      // its deletion has begun: it is not put again
	Deleted  bool      // its deletion was acknowledged

	putting time.Time // when the call under way began
	changes []Window  // spans in which its home may have changed: calls. One without an acknowledgement may take effect until a later call is acknowledged
}

// A PutCall is an acknowledged call of Put.
type PutCall struct {
	Begun, Ended time.Time
	Queue        string
}

// add adds an event of the changer. A killed changer may leave a call without an end.
func (s *PutSchedule) add(e Event) {
	switch e.Verb {
	case Putting:
		s.putting = e.At
		s.changes = append(s.changes, Window{From: e.At})
	case Put:
		s.Puts = append(s.Puts, PutCall{s.putting, e.At, e.More})
		s.changed(e.At)
	case Deleting:
		s.Deleting = true
		s.changes = append(s.changes, Window{From: e.At})
	case Deleted:
		s.Deleted = true
		s.changed(e.At)
	}
}

// changed ends the spans of the calls until an instant.
func (s *PutSchedule) changed(at time.Time) {
	for i := range s.changes {
		if s.changes[i].To.IsZero() {
			s.changes[i].To = at
		}
	}
}

// mustLive reports whether a schedule must exist: one of its calls was acknowledged after the server was emptied, and the queue of this call has not
// lost it. Later moves and losses may not lose the schedule, because each of them spares a copy.
func (s *PutSchedule) mustLive(h *History) bool {
	return !s.Deleting && slices.ContainsFunc(s.Puts, func(p PutCall) bool {
		return !p.Begun.Before(h.Emptied.To) && !slices.ContainsFunc(h.Rollbacks, func(b Rollback) bool { return b.lost(p.Queue, p.Begun, p.Ended) })
	})
}
