package groupmodel

// The order between groups. It works with flights and weights as whole numbers. With c = (F + 1) / W, F and W the flights and weights of all groups
// that may start a job, the next slot goes
//   - to a group that lacks a whole slot, flights + 1 ≤ c · weight: the one with the least flights / weight, then the least tag;
//   - else, of the groups that have a right to a part of a slot, flights < c · weight, to the one with the least tag.
//
// A tag counts turns in millionths. A turn of weight 3 is rounded, and the specification leaves open how, and when the record of a group without
// flights is dropped. So a tag is a span of what it may be, and each pick that is observed makes the spans smaller.

// A span is a tag: it is known to be in [lo, hi], in millionths of a turn.
type span struct{ lo, hi int64 }

const turn = 1_000_000

func (s span) exact() bool       { return s.lo == s.hi }
func (s span) max(t span) span   { return span{max(s.lo, t.lo), max(s.hi, t.hi)} }
func (s span) plus(t span) span  { return span{s.lo + t.lo, s.hi + t.hi} }
func (s span) minus(t span) span { return span{s.lo - t.hi, s.hi - t.lo} }
func (s span) hull(t span) span  { return span{min(s.lo, t.lo), max(s.hi, t.hi)} }

// quotient is a · turn / b, rounded either way.
func quotient(a, b int) span {
	q := int64(a) * turn / int64(b)
	if int64(a)*turn%int64(b) == 0 {
		return span{q, q}
	}
	return span{q, q + 1}
}

// sums returns the flights and weights of the groups that may start a job.
func (m *Model) sums() (flights, weights int) {
	for _, g := range m.sorted {
		if g.in || !m.keeps(OnlyTurnsCount) && len(g.line) > 0 {
			flights += g.flights
			weights += g.weight
		}
	}
	return flights, weights
}

// class returns the groups of which the next one to start a job has the least tag.
func (m *Model) class() (class []*group) {
	f, w := m.sums()
	var forced, rest []*group
	for _, g := range m.sorted {
		switch {
		case !g.in:
		case (g.flights+1)*w <= (f+1)*g.weight && m.keeps(WholeSlotFirst):
			forced = append(forced, g)
		case g.flights*w < (f+1)*g.weight || !m.keeps(ShareOfSlots):
			rest = append(rest, g)
		}
	}
	if len(forced) == 0 {
		return rest
	}
	for _, g := range forced {
		switch {
		case len(class) == 0 || !m.keeps(LeastShareFirst):
			class = append(class, g)
		case g.flights*class[0].weight < class[0].flights*g.weight:
			class = append(class[:0], g)
		case g.flights*class[0].weight == class[0].flights*g.weight:
			class = append(class, g)
		}
	}
	return class
}

// before reports whether a is certainly before b.
func (m *Model) before(a, b *group) bool {
	if a.tag.exact() && a.tag == b.tag {
		return a.arrival < b.arrival
	}
	return a.tag.hi < b.tag.lo
}

// allowed reports whether a group of the class may be the next one.
func (m *Model) allowed(g *group, class []*group) (among bool) {
	for _, h := range class {
		if among = among || h == g; m.before(h, g) {
			return false
		}
	}
	return among
}

// choose returns the group that a Model starts a job of, if it decides itself.
func (m *Model) choose() (chosen *group) {
	for _, g := range m.class() {
		if chosen == nil || m.earlier(g, chosen) {
			chosen = g
		}
	}
	return chosen
}

func (m *Model) earlier(a, b *group) bool {
	if !m.keeps(LeastTagFirst) {
		a, b = b, a
	}
	if a.tag.lo == b.tag.lo && !m.keeps(ArrivalAmongTags) {
		return a.arrival > b.arrival
	}
	return a.tag.lo < b.tag.lo || a.tag.lo == b.tag.lo && a.arrival < b.arrival
}

// advance gives a group that was picked from a class the tag of its next turn, and moves the virtual time.
func (m *Model) advance(g *group, class []*group) {
	for _, h := range class {
		if h != g && m.decide == nil {
			g.tag.hi = max(g.tag.lo, min(g.tag.hi, h.tag.hi))
			h.tag.lo = min(h.tag.hi, max(h.tag.lo, g.tag.lo))
		}
	}
	f, w := m.sums()
	m.virtual = m.virtual.max(g.tag)
	share, cost := quotient(f+1, w), quotient(1, g.weight)
	if !m.keeps(TurnsByWeight) {
		cost = span{turn, turn}
	}
	if m.keeps(BoundedCredit) {
		most := share.max(cost)
		g.tag = g.tag.max(m.virtual.minus(most).minus(most))
	}
	g.tag = m.decided(g.tag.plus(cost))
	m.drawn++
	g.arrival = m.drawn
}

// enter adds a group to those that may start a job: without credit, and with a debt only while it has flights.
func (m *Model) enter(g *group) {
	g.in, g.arrival = true, m.drawn
	switch {
	case !m.keeps(NoCredit):
		g.tag = m.virtual.minus(span{3 * turn, 3 * turn})
	case g.debt == none && m.keeps(NoDebt):
		g.tag = m.virtual
	case g.debt == perhaps:
		g.tag = span{m.virtual.lo, max(m.virtual.hi, g.tag.hi)}
	default:
		g.tag = m.virtual.max(g.tag)
	}
	g.tag, g.debt = m.decided(g.tag), kept
}

// decided is what becomes of a tag that is computed.
func (m *Model) decided(tag span) span {
	if m.decide == nil {
		return tag
	}
	return m.decide(tag)
}
