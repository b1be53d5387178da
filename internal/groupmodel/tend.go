package groupmodel

// Sweep is called after a sweep of the queue: what is left of a group without jobs is tuned, so that it has only starts that still count.
func (m *Model) Sweep(now int64) {
	defer m.call(now)()
	for _, g := range m.sorted {
		if len(g.line) == 0 && g.flights == 0 {
			m.touch(g.key)
		}
	}
}

// Rewrite is called after all groups were written: groups whose starts are free again join those that may start a job.
func (m *Model) Rewrite(now int64) {
	defer m.call(now)()
	for _, g := range m.sorted {
		g.starts.passed(now, m.rule(g.key).Per)
		m.touch(g.key)
	}
}

// Verify is called after a verification of the queue that may repair it. It returns what was found and what has changed: nothing.
func (m *Model) Verify(int64) string { return "" }

// DeleteQueue deletes a queue without jobs, with the rules and pauses of its groups, and reports whether it did.
func (m *Model) DeleteQueue(now int64) bool {
	defer m.call(now)()
	if len(m.jobs) > 0 {
		return false
	}
	clear(m.groups)
	clear(m.once)
	clear(m.left)
	clear(m.last)
	clear(m.gone)
	m.sorted, m.virtual, m.front, m.latest = nil, span{}, 0, 0
	if m.keeps(DeleteTakesRules) {
		clear(m.rules)
		clear(m.paused)
		m.queueRule = Rule{}
	}
	return true
}
