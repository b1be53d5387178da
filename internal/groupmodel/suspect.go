package groupmodel

import (
	"cmp"
	"fmt"
	"slices"
)

// An Apart is a suspect that a take has put off, because it got another one.
type Apart struct {
	ID  string
	Due int64
}

// longestApart is how many milliseconds a take puts off a suspect at most, for each job that it may get.
const longestApart = 4

// isSuspect reports whether two crashes of its holders make a job one that runs alone.
func (j *job) isSuspect() bool { return j.crashes >= 2 }

// unpark lets the first n parked jobs that have a group join the line, and returns those that have none: these start at once.
func (m *Model) unpark(n int, now int64, serves bool) (plain []*job) {
	if !serves {
		return nil
	}
	var list []*job
	for _, j := range m.jobs {
		if j.state == parked {
			list = append(list, j)
		}
	}
	slices.SortFunc(list, func(a, b *job) int { return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.ID, b.ID)) })
	for _, j := range list[:min(n, len(list))] {
		if j.Group == "" {
			plain = append(plain, j)
			continue
		}
		if !m.keeps(ServeKeepsPlace) {
			j.place = 0
		}
		m.join(j, now)
	}
	return plain
}

// suspects reports whether a suspect may be among the jobs that a take looks at.
func (m *Model) suspects(served []*job, now int64) bool {
	for _, j := range m.jobs {
		if j.isSuspect() && (j.state == waiting || j.isDue(now) || slices.Contains(served, j)) {
			return true
		}
	}
	return false
}

// followBesideSuspects is Follow while suspects wait.
func (m *Model) followBesideSuspects(session string, n int, now int64, served []*job, got Taken) error {
	for i, f := range got.Flights {
		j := m.jobs[f.ID]
		switch {
		case j == nil:
			return fmt.Errorf("took %s, which does not exist", f.ID)
		case j.isSuspect() && len(got.Flights) > 1:
			return fmt.Errorf("took the suspect %s and %d other jobs", f.ID, len(got.Flights)-1)
		}
		var want Flight
		switch at := slices.Index(served, j); {
		case at >= 0 && at == i || at >= 0 && j.isSuspect():
			want = m.startPlain(j, session, now)
		case j.isSuspect() && j.Group != "":
			g := m.group(j.Group)
			if place := slices.Index(g.line, j); !g.in || m.first(g) != j && (place < 0 || place >= n || m.rule(g.key).Ordered == On) {
				return fmt.Errorf("took the suspect %s (%s) of group %s, which may not start: %q", f.ID, j.state, g.key, m.reasons(g, now))
			}
			want = m.begin(j, nil, session, now)
		default:
			if err := m.followOne(f, session, now); err != nil {
				return err
			}
			continue
		}
		if f != want {
			return fmt.Errorf("took %+v, want %+v", f, want)
		}
	}
	if len(got.Flights) > n {
		return fmt.Errorf("took %d jobs, want at most %d", len(got.Flights), n)
	}
	for _, a := range got.Apart {
		j := m.jobs[a.ID]
		if j == nil || !j.isSuspect() || j.state != waiting && !j.isDue(now) || a.Due <= now || a.Due > now+int64(longestApart*n) {
			return fmt.Errorf("put off %+v", a)
		}
		if j.state == waiting {
			m.leave(j)
		}
		j.state, j.due = held, a.Due
	}
	clear(m.left)
	m.sleep(session, len(got.Flights) < n && !got.More)
	m.last[session] = got
	return nil
}
