package work

import (
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// measuresWait is how long measurements wait for more before a call carries them that is made anyway. So charts show them that much later, and
// they are lost if the worker vanishes.
const measuresWait = 5 * time.Second

// measures are the durations of attempts of a lane that have ended since the last call with measures. They cost an attempt about ten nanoseconds
// and no memory. They belong to the processor's goroutine.
type measures struct {
	since               time.Time // when the first attempt ended; zero: no attempt has ended
	lateness, wait, run protocol.Durations
	names               map[string]*protocol.MeasuredName
	last                *protocol.MeasuredName // of the last attempt: mostly also of the next one
	shapes              shapes
}

// An ending is what is measured of one attempt.
type ending struct {
	name         string
	wait, run    time.Duration // wait is below zero if the start of the wait is not known
	late         bool          // wait is the lateness of an occurrence
	done, failed bool
	shaped       shaped // if it failed
}

// attempted counts an attempt that has ended.
func (m *measures) attempted(e *ending, now time.Time) {
	if m.since.IsZero() {
		m.since = now
	}
	if e.wait >= 0 {
		m.wait.Add(e.wait)
		if e.late {
			m.lateness.Add(e.wait)
		}
	}
	m.run.Add(e.run)
	named := m.last
	if named == nil || named.Name != e.name {
		named = m.of(e.name)
		m.last = named
	}
	named.Run.Add(e.run)
	if e.done {
		named.Done++
	}
	if e.failed {
		named.Failed++
		m.shapes.add(named.Name, &e.shaped)
	}
}

// of returns the counts of a job name. If there is no room for the name, it returns the counts of all other names.
func (m *measures) of(name string) *protocol.MeasuredName {
	if named := m.names[name]; named != nil {
		return named
	}
	if len(m.names) >= protocol.MaxMeasured && name != protocol.OtherNames {
		return m.of(protocol.OtherNames)
	}
	if m.names == nil {
		m.names = make(map[string]*protocol.MeasuredName)
	}
	named := &protocol.MeasuredName{Name: name}
	m.names[name] = named
	return named
}

// due reports whether the next call has to carry the measures.
func (m *measures) due(now time.Time) bool {
	return !m.since.IsZero() && !now.Before(m.since.Add(measuresWait))
}

// take returns and resets the measures, with the next number of their session; nil: there are no measures.
func (m *measures) take(number func() int64) *protocol.Measured {
	if m.since.IsZero() {
		return nil
	}
	taken := &protocol.Measured{Number: number(), Lateness: m.lateness, Wait: m.wait, Run: m.run, Shapes: m.shapes.take()}
	m.since, m.lateness, m.wait, m.run = time.Time{}, protocol.Durations{}, protocol.Durations{}, protocol.Durations{}
	for name, named := range m.names {
		if named.Run == (protocol.Durations{}) { // no such job since the last time
			delete(m.names, name)
			continue
		}
		taken.Names = append(taken.Names, *named)
		*named = protocol.MeasuredName{Name: name}
	}
	m.last = nil
	return taken
}
