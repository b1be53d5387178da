package recurrence

// A rule is the instants that match, from the start on, endless: no count, no end, no immediate run. It never changes once made.
// What is asked of it takes the same time however long ago the start was.
type rule struct {
	kind  kind
	start int64
	zone  *zone

	// atStart adds the start itself: a rule without schedule runs then, even on the second pass of a repeated hour.
	atStart bool

	length int64 // of lattice: seconds
	step   step
	blocks blocks
	days   days // of civil kinds, with clock
	clock  dial

	// lastRegime is the last one in which a step or blocks find anything.
	lastRegime int
}

// A kind is how the instants of a rule are found.
type kind uint8

const (
	once    kind = iota // the start
	lattice             // start + k·length
	stepped             // a lattice that the clock limits
	blocked             // blocks of hours
	allDay              // days, and every real instant of them that the clock shows
	named               // days, and the times the clock names, moved where they are skipped, on the first pass where they repeat
)

// next is the first match at or after an instant; [never] where there is none.
func (r *rule) next(from int64) int64 {
	from = max(from, r.start)
	if r.atStart && from == r.start {
		return from
	}
	switch r.kind {
	case lattice:
		return from + mod(r.start-from, r.length)
	case stepped, blocked:
		return r.nextByRegime(from)
	case allDay:
		return r.nextShown(from)
	case named:
		return r.nextNamed(from)
	}
	return never
}

// nextByRegime asks regime after regime, for what a step or blocks find depends on the offset.
func (r *rule) nextByRegime(from int64) int64 {
	for i := r.zone.at(from); i <= r.lastRegime; i++ {
		if found := r.nextWithin(i, from); found != never {
			return found
		}
	}
	return never
}

// nextWithin is the first match of a step or blocks at or after from within regime i.
func (r *rule) nextWithin(i int, from int64) int64 {
	g := &r.zone.regimes[i]
	from = max(from, g.from, r.start) + g.offset
	var wall int64
	if r.kind == stepped {
		wall = r.step.next(from, g.offset)
	} else {
		wall = r.blocks.next(from, g.offset)
	}
	if wall >= r.zone.end(i) {
		return never
	}
	return wall - g.offset
}

// nextWall is the first wall second at or after from that the rule's days and clock name, as if no zone ever changed.
func (r *rule) nextWall(from int64) int64 {
	today := floorDiv(from, secondsPerDay)
	day := r.days.next(today)
	if day == today {
		if second, ok := r.clock.next(from - today*secondsPerDay); ok {
			return today*secondsPerDay + second
		}
		day = r.days.next(today + 1)
	}
	if day == never {
		return never
	}
	return day*secondsPerDay + r.clock.first
}

// nextShown finds what the clocks really show: twice where they repeat it, not at all where they skip it.
func (r *rule) nextShown(from int64) int64 {
	z := r.zone
	i := z.at(from)
	wall := r.nextWall(from + z.regimes[i].offset)
	for i+1 < len(z.regimes) && wall >= z.end(i) {
		// Clocks that fell back show again what lies before, even where nothing comes after. Otherwise nothing matches before wall.
		i++
		if g := z.regimes[i]; g.first < g.wall {
			wall = r.nextWall(g.first)
			continue
		}
		i = z.atWall(wall)
		if g := z.regimes[i]; wall < g.first {
			wall = r.nextWall(g.first)
		}
	}
	if wall == never {
		return never
	}
	return wall - z.regimes[i].offset
}

// nextNamed finds what the rule names, in the order in which it runs. Every wall second has one instant: its first
// pass or, where it is skipped, the one that the offset before the gap gives it. So a run that was moved lands among those
// that the clocks show after the gap, and both must be asked.
func (r *rule) nextNamed(from int64) int64 {
	z := r.zone
	i := z.at(from)
	g := z.regimes[i]
	moved := never
	if from-g.from < g.first-g.wall {
		moved = r.nextSkipped(i, from)
	}
	wall := r.nextWall(max(from+g.offset, g.wall))
	if wall < z.end(i) {
		return min(moved, wall-g.offset)
	}
	if moved != never || wall == never {
		return moved
	}
	i = z.atWall(wall)
	g = z.regimes[i]
	if wall >= g.first {
		return wall - g.offset
	}
	return min(wall-(g.wall-g.from), r.nextWall(g.first)-g.offset)
}

// nextSkipped is the first match at or after an instant that the gap before regime i moved there.
func (r *rule) nextSkipped(i int, from int64) int64 {
	g := r.zone.regimes[i]
	before := g.wall - g.from // the offset before the gap
	wall := r.nextWall(from + before)
	if wall >= g.first {
		return never
	}
	return wall - before
}

// fires reports whether anything ever matches. It also finds the last regime in which a step or blocks do.
func (r *rule) fires() bool {
	if r.kind != stepped && r.kind != blocked {
		return r.next(r.start) != never
	}
	for i := len(r.zone.regimes) - 1; i >= r.zone.at(r.start); i-- {
		if r.nextWithin(i, r.start) != never {
			r.lastRegime = i
			return true
		}
	}
	return r.atStart
}
