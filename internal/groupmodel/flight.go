package groupmodel

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// A Flight is a job that was taken.
type Flight struct {
	ID     string
	Number int // takes are numbered from 1, over all jobs of the queue
	Body   int
}

// Taken is the answer of a take.
type Taken struct {
	Flights []Flight
	Next    int64 // if it has fewer jobs than asked for: the instant at which another one may start without a call, or 0
	More    bool  // the session does not sleep: more may start
	Apart   []Apart
}

const dueStep = 500

// find gives jobs of groups that are due their places in line, in the order of their instants, then of their IDs, and lets groups join whose starts
// are free again. A take of n jobs looks at the first n jobs that are due, and if one of these belongs to a group, at the next 500 too.
func (m *Model) find(n int, now int64) {
	var due []*job
	for _, j := range m.jobs {
		if j.isDue(now) {
			due = append(due, j)
		}
	}
	slices.SortFunc(due, func(a, b *job) int {
		if !m.keeps(DueInOrder) {
			return cmp.Compare(a.ID, b.ID)
		}
		return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.ID, b.ID))
	})
	hasGroup := func(j *job) bool { return j.Group != "" }
	seen := min(n, len(due))
	if slices.ContainsFunc(due[:seen], hasGroup) {
		seen = min(n+dueStep, len(due))
	}
	if !m.keeps(DueInSteps) {
		seen = len(due)
	}
	due = slices.DeleteFunc(due[:seen], func(j *job) bool { return !hasGroup(j) })
	if m.keeps(DueInSteps) {
		due = due[:min(len(due), dueStep)]
	}
	for _, j := range due {
		m.join(j, now)
	}
	for _, g := range m.sorted {
		if len(g.line) > 0 {
			m.tune(g, now)
		}
	}
}

// readyPlain are the plain jobs that may start.
func (m *Model) readyPlain(now int64) []*job {
	var due []*job
	for _, j := range m.jobs {
		if j.Group == "" && j.isDue(now) {
			due = append(due, j)
		}
	}
	slices.SortFunc(due, func(a, b *job) int { return cmp.Compare(a.ID, b.ID) })
	return append(slices.Clone(m.plain), due...)
}

// Take starts at most n jobs, by the model's own choice. Groups and plain jobs have their turn by turn.
func (m *Model) Take(session string, n int, now int64) Taken { return m.take(session, n, now, false) }

// TakeServing is Take for a session that knows the name of the parked jobs: these come first.
func (m *Model) TakeServing(session string, n int, now int64) Taken {
	return m.take(session, n, now, true)
}

func (m *Model) take(session string, n int, now int64, serves bool) (taken Taken) {
	defer m.call(now)()
	served := m.unpark(n, now, serves)
	if n > len(served) {
		m.find(n-len(served), now)
	}
	m.gone[session] = false
	for len(taken.Flights) < n {
		g, plain := m.choose(), append(slices.Clone(served), m.readyPlain(now)...)
		m.source++
		var next *job
		switch {
		case g == nil && len(plain) == 0:
		case len(plain) > 0 && (g == nil || len(served) > 0 || m.source%2 == 0 || !m.keeps(Thirds)):
			next = plain[0]
		default:
			next = m.first(g)
		}
		alone := next != nil && next.isSuspect() && m.keeps(SuspectAlone)
		if taken.More = alone; next == nil || alone && len(taken.Flights) > 0 {
			break
		}
		if len(served) > 0 {
			served = served[1:]
		}
		if next.Group == "" {
			taken.Flights = append(taken.Flights, m.startPlain(next, session, now))
		} else {
			taken.Flights = append(taken.Flights, m.start(g, session, now))
		}
		if alone {
			break
		}
	}
	m.again = taken.More
	if m.sleep(session, len(taken.Flights) < n && !taken.More); len(taken.Flights) < n {
		taken.Next = m.horizon(now)
	}
	m.last[session] = taken
	return taken
}

// TakeAgain answers the last take of a session again, and starts nothing.
func (m *Model) TakeAgain(session string, now int64) []Flight {
	last := m.last[session].Flights
	if !m.keeps(TakenOnce) {
		return m.Take(session, len(last), now).Flights
	}
	return last
}

// repeatable reports whether a session may send its last take again: that got jobs, none of which is cancelled or replaced now, the session has made
// no other call, and it has not vanished.
func (m *Model) repeatable(session string) bool {
	last := m.last[session]
	for _, f := range last.Flights {
		if j := m.jobs[f.ID]; j.cancelled || j.next != nil {
			return false
		}
	}
	return len(last.Flights) > 0
}

// Follow starts the jobs that a Queue answered to the same take, and reports the first one that the specification does not allow. serves: the session
// knows the name of the parked jobs.
func (m *Model) Follow(session string, n int, now int64, serves bool, got Taken) error {
	defer m.call(now)()
	m.again = got.More
	served := m.unpark(n, now, serves)
	first, left := served, n-len(served)
	if left > 0 {
		m.find(left, now)
	}
	m.gone[session] = false
	if m.suspects(served, now) {
		return m.followBesideSuspects(session, n, now, served, got)
	}
	plain, grouped := 0, 0
	for _, f := range got.Flights {
		switch {
		case len(served) > 0 && served[0].ID != f.ID:
			return fmt.Errorf("took %s, want %s first, which was parked", f.ID, served[0].ID)
		case len(served) > 0:
			served = served[1:]
			if want := m.startPlain(m.jobs[f.ID], session, now); f != want {
				return fmt.Errorf("took %+v, want %+v", f, want)
			}
			continue
		}
		if err := m.followOne(f, session, now); err != nil {
			return err
		}
		if m.jobs[f.ID].Group == "" {
			plain++
		} else {
			grouped++
		}
	}
	if len(served) > 0 {
		return fmt.Errorf("left %s parked", served[0].ID)
	}
	if left == 0 && len(first) > 0 {
		m.sleep(session, false)
		m.last[session] = got
		return nil
	}
	return m.checkBatch(left, now, got, plain, grouped, session)
}

// followOne starts a job in its turn.
func (m *Model) followOne(f Flight, session string, now int64) error {
	j := m.jobs[f.ID]
	if j == nil {
		return fmt.Errorf("took %s, which does not exist", f.ID)
	}
	var want Flight
	if j.Group == "" {
		if !slices.Contains(m.readyPlain(now), j) {
			return fmt.Errorf("took %s, which is %s until %d", f.ID, j.state, j.due)
		}
		want = m.startPlain(j, session, now)
	} else {
		g := m.group(j.Group)
		switch class := m.class(); {
		case !g.in:
			return fmt.Errorf("took %s (%s) of group %s, which may start nothing: %q", f.ID, j.state, g.key, m.reasons(g, now))
		case m.first(g) != j:
			return fmt.Errorf("took %s (%s) of group %s, whose next job is %s", f.ID, j.state, g.key, m.first(g).ID)
		case !m.allowed(g, class):
			return fmt.Errorf("took %s of group %s, whose turn it is not: %s", f.ID, g.key, m.describe(class))
		}
		want = m.start(g, session, now)
	}
	if f != want {
		return fmt.Errorf("took %+v, want %+v", f, want)
	}
	return nil
}

// checkBatch checks how many jobs a take returned, with and without a group, and the instant that it returned.
func (m *Model) checkBatch(n int, now int64, got Taken, plain, grouped int, session string) error {
	total, plainLeft, groupedLeft := plain+grouped, len(m.readyPlain(now)) > 0, m.choose() != nil
	m.sleep(session, total < n && !got.More)
	m.last[session] = got
	switch {
	case total > n:
		return fmt.Errorf("took %d jobs, want at most %d", total, n)
	case total < n && (plainLeft || groupedLeft):
		return fmt.Errorf("took %d jobs of %d although more may start", total, n)
	case total < n:
		if want := m.horizon(now); want > 0 && (got.Next <= now || got.Next > want) {
			return fmt.Errorf("the next instant is %d, want %d or earlier and after %d", got.Next, want, now)
		}
	case plain < n/3 && plainLeft, grouped < n/3 && groupedLeft:
		return fmt.Errorf("took %d plain jobs and %d of groups, want at least a third of each while they last", plain, grouped)
	}
	return errors.Join(m.leftOut("plain jobs", plain == 0 && plainLeft), m.leftOut("jobs of groups", grouped == 0 && groupedLeft))
}

// leftOut counts how often in a row a take left out what it could have started.
func (m *Model) leftOut(kind string, out bool) error {
	if m.left[kind]++; !out {
		m.left[kind] = 0
	}
	if m.left[kind] > 2 {
		return fmt.Errorf("three takes in a row left out %s", kind)
	}
	return nil
}

func (m *Model) describe(class []*group) (text string) {
	f, w := m.sums()
	text = fmt.Sprintf("%d flights, weights %d;", f, w)
	for _, g := range class {
		text += fmt.Sprintf(" %s: %d flights, weight %d, tag %d to %d, arrival %d;", g.key, g.flights, g.weight, g.tag.lo, g.tag.hi, g.arrival)
	}
	return text
}

func (m *Model) sleep(session string, asleep bool) {
	if delete(m.sleepers, session); asleep {
		m.sleepers[session] = true
	}
}

func (m *Model) startPlain(j *job, session string, now int64) Flight {
	if j.state == waiting {
		m.leave(j)
	}
	return m.fly(j, session, now)
}

func (m *Model) fly(j *job, session string, now int64) Flight {
	m.flights++
	m.callers = append(m.callers, session)
	m.latest = max(m.latest, now) // fences never go back
	j.began = m.latest
	j.state, j.session, j.number = flying, session, m.flights
	return Flight{j.ID, j.number, j.Body}
}

// start begins the next job of a group, in its turn.
func (m *Model) start(g *group, session string, now int64) Flight {
	return m.begin(m.first(g), m.class(), session, now)
}

// begin begins a job. class: the groups whose turn it could have been; empty: it is not known.
func (m *Model) begin(j *job, class []*group, session string, now int64) Flight {
	g, rule := m.group(j.Group), m.rule(j.Group)
	m.advance(g, class)
	m.leave(j)
	g.flights++
	j.turn = quotient(1, g.weight)
	if rule.Starts > 0 {
		g.starts.add(now, rule.Per, rule.Starts)
	}
	if rule.Ordered == On {
		g.blocker = j.ID
	}
	f := m.fly(j, session, now)
	m.tune(g, now)
	return f
}

// land ends the flight of a job. It returns nil if the job that flew is gone: it was cancelled, or something replaces it.
func (m *Model) land(j *job, now int64) *job {
	if j.Group != "" {
		g := m.group(j.Group)
		if m.keeps(FlightsEnd) || !j.cancelled {
			g.flights--
		}
		m.touch(j.Group)
	}
	next, cancelled := j.next, j.cancelled && m.keeps(CancelledFlightEnd)
	j.session, j.next, j.cancelled = "", nil, false
	switch {
	case next != nil:
		if g := m.groups[j.Group]; g != nil && g.flights == 0 && len(g.line) == 0 && g.debt == kept {
			g.debt = perhaps // for an instant it has no job
		}
		m.remove(j)
		m.accept(*next, now)
		return nil
	case cancelled:
		m.remove(j)
		return nil
	}
	return j
}

// flight returns the job of a flight, or nil if the session no longer holds it or has vanished.
func (m *Model) flight(f Flight) *job {
	j := m.jobs[f.ID]
	if j == nil || j.state != flying || m.gone[j.session] || j.number != f.Number && m.keeps(LateSettlement) {
		return nil
	}
	return j
}

// settle ends a flight, and calls then with its job unless that is gone with the flight. It reports whether the flight existed.
func (m *Model) settle(f Flight, now int64, then func(j *job)) bool {
	defer m.call(now)()
	delete(m.last, m.callers[f.Number-1])
	j := m.flight(f)
	if j == nil {
		return false
	}
	if j = m.land(j, now); j != nil {
		then(j)
	}
	return true
}

// Done ends a job.
func (m *Model) Done(f Flight, now int64) bool { return m.settle(f, now, m.remove) }

// Fail lets a job wait for its retry.
func (m *Model) Fail(f Flight, after, now int64) bool {
	return m.settle(f, now, func(j *job) { m.wait(j, now+after, OrderedRetry) })
}

// Snooze lets a job wait.
func (m *Model) Snooze(f Flight, after, now int64) bool {
	return m.settle(f, now, func(j *job) { m.wait(j, now+after, OrderedSnooze) })
}

func (m *Model) wait(j *job, due int64, p Promise) {
	j.state, j.due = retrying, due
	if m.keeps(RetryLosesPlace) {
		j.place = 0
	}
	if !m.keeps(p) {
		m.unblock(j)
	}
}

// Dead moves a job to the dead ones.
func (m *Model) Dead(f Flight, now int64) bool { return m.settle(f, now, m.die) }

func (m *Model) die(j *job) {
	j.state, j.place = dead, 0
	if m.keeps(DeadEndsBlocker) {
		m.unblock(j)
	}
}

// Park lets a job wait for a session that knows its name.
func (m *Model) Park(f Flight, now int64) bool {
	return m.settle(f, now, func(j *job) {
		if j.state, j.since = parked, now; !m.keeps(OrderedParked) {
			m.unblock(j)
		}
	})
}

// Back gives a job back unbegun: it gets its place back, its group the turn and the start.
func (m *Model) Back(f Flight, now int64) bool {
	return m.settle(f, now, func(j *job) {
		if !m.keeps(BackKeepsPlace) {
			j.place = 0
		}
		if !m.keeps(OrderedBack) {
			m.unblock(j)
		}
		m.join(j, now)
		if j.Group == "" {
			return
		}
		g := m.group(j.Group)
		if m.rule(g.key).Starts > 0 && m.keeps(StartGivenBack) {
			g.starts.giveBack(j.began)
		}
		if m.keeps(TurnGivenBack) {
			g.tag = g.tag.minus(j.turn.hull(quotient(1, m.rule(g.key).Weight)))
			g.tag.lo-- // it may get its arrival back, or another one
			g.tag = m.decided(g.tag)
		}
	})
}

// Serve brings the parked jobs back into line, and returns their number.
func (m *Model) Serve(now int64) (n int) {
	defer m.call(now)()
	for _, id := range slices.Sorted(maps.Keys(m.jobs)) {
		if j := m.jobs[id]; j.state == parked {
			if !m.keeps(ServeKeepsPlace) {
				j.place = 0
			}
			m.join(j, now)
			n++
		}
	}
	return n
}
