package work

import (
	"cmp"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// shapes counts the failed attempts of a lane since the last call with measures, by job name and shape of the error. It costs nothing while nothing
// fails. However many different errors there are, it has at most MaxMeasuredShapes entries, and every failed attempt is in one of them. The zero value
// is empty.
type shapes struct {
	all []protocol.MeasuredShape
}

// A shaped is what is counted of a failed attempt.
type shaped struct {
	at     time.Time // by the store's clock
	id     string    // of the job
	shape  string
	worker string // the name of this worker
}

// add counts a failed attempt of a job name.
func (s *shapes) add(name string, f *shaped) {
	to := s.of(name, f.shape, f)
	to.Count++
	if f.at.Before(to.First) {
		to.First = f.at
	}
	if !f.at.Before(to.Last) {
		to.Last, to.ID = f.at, f.id
	}
}

// of returns the entry of a shape. If there is no room for the shape, it returns the entry of all other errors of the name; if there is no room for that
// either, that of all other names.
func (s *shapes) of(name, shape string, f *shaped) *protocol.MeasuredShape {
	ofName := 0
	for i := range s.all {
		if s.all[i].Name == name {
			if s.all[i].Shape == shape {
				return &s.all[i]
			}
			ofName++
		}
	}
	last := name == protocol.OtherNames && shape == ""
	switch room := protocol.MaxMeasuredShapes - 1 - len(s.all); {
	case shape != "" && (room <= 0 || ofName >= protocol.MaxNameShapes):
		return s.of(name, "", f)
	case room <= 0 && !last:
		return s.of(protocol.OtherNames, "", f)
	}
	_, _, version, _ := protocol.ParseWorkerName(f.worker)
	s.all = append(s.all, protocol.MeasuredShape{Name: name, Shape: shape, Version: version, First: f.at, Last: f.at})
	return &s.all[len(s.all)-1]
}

// take returns and resets the counts, in the order of the names.
func (s *shapes) take() []protocol.MeasuredShape {
	taken := s.all
	s.all = nil
	slices.SortFunc(taken, func(a, b protocol.MeasuredShape) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Shape, b.Shape))
	})
	return taken
}
