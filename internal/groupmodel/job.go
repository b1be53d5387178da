package groupmodel

import (
	"cmp"
	"slices"
)

// A Receipt is the answer for an item.
type Receipt string

// The answers for an item.
const (
	Accepted Receipt = "accepted"
	Existing Receipt = "existing" // a job of that ID exists
	Full     Receipt = "full"     // the group has as many jobs waiting as its rule allows
	Invalid  Receipt = "invalid"
	Replaced Receipt = "replaced"
)

// Enqueue adds a job, unless one of that ID exists.
func (m *Model) Enqueue(i Item, now int64) Receipt {
	return m.EnqueueMany([]Item{i}, now)[0]
}

// EnqueueMany adds jobs in their order.
func (m *Model) EnqueueMany(items []Item, now int64) (receipts []Receipt) {
	defer m.call(now)()
	for _, i := range items {
		receipts = append(receipts, m.enqueue(i, now))
	}
	return receipts
}

func (m *Model) enqueue(i Item, now int64) Receipt {
	switch {
	case i.Group != "" && checkKey(i.Group) != nil:
		return Invalid
	case m.jobs[i.ID] != nil || m.bars(i, now):
		m.lower(i, now)
		return Existing
	case i.Group != "" && m.full(i.Group) && m.keeps(Waiting):
		return Full
	}
	m.bar(i, now)
	m.accept(i, now)
	return Accepted
}

// bars reports whether Once keeps an item from being added.
func (m *Model) bars(i Item, now int64) bool {
	return i.Once > 0 && m.once[i.ID] > now && m.keeps(OnceBars)
}

// lower shortens the bar of an ID that lasts longer than the item's Once allows.
func (m *Model) lower(i Item, now int64) {
	if i.Once > 0 && m.once[i.ID] > now+i.Once {
		m.once[i.ID] = now + i.Once
	}
}

// bar begins the time within which no other job of the ID is added.
func (m *Model) bar(i Item, now int64) {
	if i.Once > 0 {
		delete(m.over, i.ID)
		m.once[i.ID] = now + i.Once
	}
}

func (m *Model) full(key string) bool {
	limit := m.rule(key).Waiting
	return limit > 0 && len(m.group(key).line) >= limit
}

// accept gives an item a body, and a place if it is to run now.
func (m *Model) accept(i Item, now int64) {
	j := &job{Item: i, state: delayed, due: now + i.Delay}
	m.jobs[i.ID] = j
	if i.Delay <= 0 {
		m.join(j, now)
	}
}

// join puts a job into the line of its group, at its place, or at the end if it has none.
func (m *Model) join(j *job, now int64) {
	if j.place == 0 {
		m.drawn++
		if j.place = m.drawn; !m.keeps(PlacesAscend) {
			j.place += now * 1000
		}
	}
	j.state, j.session = waiting, ""
	if j.Group == "" {
		m.plain = append(m.plain, j)
		return
	}
	g := m.group(j.Group)
	at, _ := slices.BinarySearchFunc(g.line, j.place, func(j *job, place int64) int { return cmp.Compare(j.place, place) })
	g.line = slices.Insert(g.line, at, j)
	m.touch(j.Group)
}

// leave takes a job out of the line.
func (m *Model) leave(j *job) {
	same := func(other *job) bool { return other == j }
	if j.Group == "" {
		m.plain = slices.DeleteFunc(m.plain, same)
		return
	}
	g := m.group(j.Group)
	g.line = slices.DeleteFunc(g.line, same)
	m.touch(j.Group)
}

// unblock ends a job as the blocker of its group.
func (m *Model) unblock(j *job) {
	if j.Group == "" {
		return
	}
	if g := m.group(j.Group); g.blocker == j.ID {
		g.blocker = ""
		m.touch(j.Group)
	}
}

// remove ends a job for good: its body goes.
func (m *Model) remove(j *job) {
	if j.state == waiting {
		m.leave(j)
	}
	m.unblock(j)
	delete(m.jobs, j.ID)
}

// A Change is the answer of Cancel, Delete and Requeue.
type Change string

// The answers of Cancel, Delete and Requeue.
const (
	Changed   Change = "changed"
	Asked     Change = "asked" // the job is in flight: the flight's end cancels it
	Unchanged Change = "unchanged"
)

// Cancel ends a job before it starts, or asks the session that holds it to end it. It does not change a dead one.
func (m *Model) Cancel(id string, now int64) Change {
	defer m.call(now)()
	j := m.jobs[id]
	switch {
	case j == nil || j.state == dead:
		return Unchanged
	case j.state == flying:
		j.cancelled = true
		delete(m.once, id)
		return Asked
	case j.state == waiting && j.Group == "":
		m.void[id] = true
	}
	m.forget(j)
	return Changed
}

// Delete removes a job that is not in flight, or the bar of an ID that Once left.
func (m *Model) Delete(id string, now int64) Change {
	defer m.call(now)()
	j := m.jobs[id]
	switch {
	case j == nil && m.once[id] > now:
		delete(m.once, id)
		return Changed
	case j == nil || j.state == flying:
		return Unchanged
	}
	m.forget(j)
	return Changed
}

// forget removes a job, on the wish of a caller.
func (m *Model) forget(j *job) {
	blocks := j.Group != "" && m.group(j.Group).blocker == j.ID
	delete(m.once, j.ID)
	if m.remove(j); blocks && !m.keeps(CancelEndsBlocker) {
		m.group(j.Group).blocker = j.ID
	}
}

// Requeue puts a job that is delayed, retrying, held, parked or dead before all others of its group. A dead one has all of its attempts again.
func (m *Model) Requeue(id string, now int64) Change {
	defer m.call(now)()
	j := m.jobs[id]
	if j == nil || j.state == flying || j.state == waiting {
		return Unchanged
	}
	if j.state == dead {
		j.crashes = 0
	}
	j.place = 0
	if m.keeps(RequeueFirst) {
		m.front--
		j.place = m.front
	}
	m.join(j, now)
	return Changed
}

// Replace enqueues an item in the place of the job with its ID, or as a new one: in line it changes the body alone, in flight it waits for the
// end of the flight. Once keeps it from what has had, or has, its attempt.
func (m *Model) Replace(i Item, now int64) Receipt {
	defer m.call(now)()
	j := m.jobs[i.ID]
	switch {
	case j == nil:
		return m.enqueue(i, now)
	case (j.state == flying || j.state == dead) && m.bars(i, now):
		m.lower(i, now)
		return Existing
	}
	m.bar(i, now)
	switch {
	case j.state == flying:
		if m.keeps(ReplaceAfter) {
			j.next = &i
		}
		return Replaced
	case j.state == waiting && j.Group == i.Group && m.keeps(ReplaceInLine), j.state == waiting && !m.keeps(ReplaceMoves):
		j.Body, j.crashes = i.Body, 0
		return Replaced
	}
	blocks := j.Group != "" && m.group(j.Group).blocker == j.ID
	if m.remove(j); blocks && !m.keeps(ReplaceEndsBlock) {
		m.group(j.Group).blocker = j.ID
	}
	m.accept(i, now)
	return Replaced
}

// Purge removes all jobs that are in line or ready, and returns their number.
func (m *Model) Purge(now int64) (n int) {
	defer m.call(now)()
	for _, j := range m.plain {
		delete(m.jobs, j.ID)
		delete(m.once, j.ID)
		n++
	}
	m.plain = nil
	for _, g := range m.sorted {
		n += m.purge(g)
	}
	return n
}

// PurgeGroup removes all jobs that are in the line of a group, and returns their number.
func (m *Model) PurgeGroup(key string, now int64) (n int) {
	defer m.call(now)()
	if m.keeps(PurgeOfOneGroup) {
		return m.purge(m.group(key))
	}
	for _, g := range m.sorted {
		n += m.purge(g)
	}
	return n
}

func (m *Model) purge(g *group) int {
	n := len(g.line)
	for _, j := range slices.Clone(g.line) {
		delete(m.once, j.ID)
		m.remove(j)
	}
	if !m.keeps(PurgeSparesBegun) {
		for _, j := range m.jobs {
			if j.Group == g.key && j.state == retrying {
				m.remove(j)
			}
		}
	}
	if n > 0 && g.debt == kept {
		g.debt = perhaps // without a debt even if flights are left
	}
	return n
}
