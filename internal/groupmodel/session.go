package groupmodel

import (
	"fmt"
	"maps"
	"slices"
)

// A Fate is what reaping did with a job.
type Fate string

// What reaping does with a job.
const (
	ToLine   Fate = "line" // its first crash: it keeps its place
	ToHold   Fate = "hold" // its second: it is held back for 5 to 60 s
	ToDead   Fate = "dead" // its third
	ToNobody Fate = "gone" // it was cancelled, or something replaces it
)

const minHold, maxHold = 5_000, 60_000

// A Reaped is a job that reaping took from a vanished session.
type Reaped struct {
	ID   string
	Fate Fate
	Due  int64 // of a job held back
}

// Crash is called when a session has vanished. Its flights are counted until they are reaped.
func (m *Model) Crash(session string, now int64) {
	defer m.call(now)()
	m.gone[session] = true
	delete(m.sleepers, session)
	delete(m.last, session)
	if !m.keeps(FlightsUntilReaped) {
		for _, j := range m.jobs {
			if j.session == session && j.Group != "" {
				m.group(j.Group).flights--
				m.touch(j.Group)
			}
		}
	}
}

// flightsOf returns the jobs in flight of a session, in the order of IDs.
func (m *Model) flightsOf(session string) (jobs []*job) {
	for _, id := range slices.Sorted(maps.Keys(m.jobs)) {
		if j := m.jobs[id]; j.state == flying && j.session == session {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// Reap takes at that number of jobs from a vanished session.
func (m *Model) Reap(session string, most int, now int64) (reaped []Reaped) {
	defer m.call(now)()
	if !m.gone[session] {
		return nil
	}
	for _, j := range m.flightsOf(session) {
		if len(reaped) == most {
			break
		}
		reaped = append(reaped, m.reap(j, now+minHold, now))
	}
	return reaped
}

// reap ends a flight of a vanished session.
func (m *Model) reap(j *job, due, now int64) Reaped {
	id := j.ID
	if j = m.land(j, now); j == nil {
		return Reaped{id, ToNobody, 0}
	}
	j.crashes++
	switch {
	case j.crashes >= 3 && m.keeps(ThirdCrashDead):
		m.die(j)
		return Reaped{id, ToDead, 0}
	case j.crashes == 2 && m.keeps(SecondCrashHeld):
		j.state, j.due = held, due
		if !m.keeps(OrderedSuspect) {
			m.unblock(j)
		}
		return Reaped{id, ToHold, due}
	}
	if !m.keeps(ReapKeepsPlace) {
		j.place = 0
	}
	m.join(j, now)
	return Reaped{id, ToLine, 0}
}

// FollowReap reaps the jobs that a Queue answered to the same call, and reports the first difference.
func (m *Model) FollowReap(session string, most int, now int64, got []Reaped) error {
	defer m.call(now)()
	jobs := m.flightsOf(session)
	if want := min(most, len(jobs)); m.gone[session] && len(got) != want || !m.gone[session] && len(got) > 0 {
		return fmt.Errorf("reaped %d jobs of a session with %d flights, vanished: %v", len(got), len(jobs), m.gone[session])
	}
	for _, r := range got {
		at := slices.IndexFunc(jobs, func(j *job) bool { return j.ID == r.ID })
		if at < 0 {
			return fmt.Errorf("reaped %s, which the session does not hold", r.ID)
		}
		if r.Fate == ToHold && (r.Due < now+minHold || r.Due > now+maxHold) {
			return fmt.Errorf("reaped %s is held back until %d, want %d to %d", r.ID, r.Due, now+minHold, now+maxHold)
		}
		j := jobs[at]
		jobs = slices.Delete(jobs, at, at+1)
		if want := m.reap(j, r.Due, now); r != want {
			return fmt.Errorf("reaped %+v, want %+v", r, want)
		}
	}
	return nil
}
