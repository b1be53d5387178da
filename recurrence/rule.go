package recurrence

// A rule is an endless set of instants, from the start on. It has no count, no end and no immediate run. It never changes once made. The time of
// a search does not depend on how long ago the start was.
type rule struct {
	kind  kind
	start int64
	zone  *zone

	// atStart adds the start itself. A rule without schedule runs then, even on the second pass of a repeated hour.
	atStart bool

	// A rule with calendar or kept is bounded: it knows its first and last match, because a search beyond them would be long.
	bounded bool
	skips   bool // for namedHours: a time that the clocks skip does not run

	calendar *calendar // nil: all is open
	kept     *keptDays // for everyHour and namedHours; nil: all of days

	interval int64            // for fixedInterval, in seconds
	filtered filteredInterval // for filteredPoints
	minutes  minuteBlocks     // for inMinuteBlocks
	blocks   hourBlocks       // for inHourBlocks
	days     days             // for everyHour and namedHours, with times
	times    timesOfDay

	open *openBlocks // for inOpenBlocks

	// lastPeriod is the last offset period in which filteredPoints, inMinuteBlocks or inHourBlocks find a match.
	lastPeriod int

	firstMonth, lastMonth int64 // a search for days ends before the first and after the last

	first, last int64 // for a bounded rule
}

// A kind determines how the instants of a rule are computed.
type kind uint8

const (
	runOnce        kind = iota // the start alone
	fixedInterval              // start + k·interval
	inOpenBlocks               // elapsed time under a calendar
	filteredPoints             // the points of a fixed interval that hours or minutes limit
	inMinuteBlocks             // every n-th minute of elapsed time, and the seconds within it
	inHourBlocks               // every n-th hour of elapsed time, and the times of day within it
	everyHour                  // days with all 24 hours: every instant at which the clocks show one of times
	namedHours                 // days with named hours: one run for each time of day, moved in a gap, on the first pass in an overlap
)

// next returns the first match at or after an instant, or [never].
func (r *rule) next(from int64) int64 {
	from = max(from, r.start)
	if r.bounded {
		if from > r.last {
			return never
		}
		if from <= r.first {
			return r.first
		}
	}
	if r.atStart && from == r.start {
		return from
	}
	switch r.kind {
	case fixedInterval:
		return from + mod(r.start-from, r.interval)
	case inOpenBlocks:
		return r.open.next(from)
	case filteredPoints, inMinuteBlocks, inHourBlocks:
		return r.nextInPeriods(from)
	case everyHour:
		return r.nextEveryHour(from)
	case namedHours:
		return r.nextNamedHours(from)
	}
	return never
}

// nextInPeriods searches one offset period after another, because the matches depend on the offset.
func (r *rule) nextInPeriods(from int64) int64 {
	for i := r.zone.periodAt(from); i <= r.lastPeriod; i++ {
		if found := r.nextInPeriod(i, from); found != never {
			return found
		}
	}
	return never
}

// nextInPeriod returns the first match of filteredPoints, inMinuteBlocks or inHourBlocks at or after from within offset period i.
func (r *rule) nextInPeriod(i int, from int64) int64 {
	p := &r.zone.periods[i]
	from = max(from, p.begin, r.start) + p.offset
	var wall int64
	switch r.kind {
	case filteredPoints:
		wall = r.filtered.next(from, p.offset)
	case inMinuteBlocks:
		wall = r.minutes.next(from, p.offset)
	default:
		wall = r.blocks.next(from, p.offset)
	}
	if wall >= r.zone.endWall(i) {
		return never
	}
	return wall - p.offset
}

// nextWall returns the first wall second at or after from that matches days and times. It ignores clock changes.
func (r *rule) nextWall(from int64) int64 {
	if r.kept != nil {
		return r.nextKeptWall(from)
	}
	today := floorDiv(from, secondsPerDay)
	day := r.days.next(today)
	if day == today {
		if second, ok := r.times.next(from - today*secondsPerDay); ok {
			return today*secondsPerDay + second
		}
		day = r.days.next(today + 1)
	}
	if day == never {
		return never
	}
	return day*secondsPerDay + r.times.first
}

// nextKeptWall is nextWall for a rule with kept days.
func (r *rule) nextKeptWall(from int64) int64 {
	today := floorDiv(from, secondsPerDay)
	second := from - today*secondsPerDay
	for day := r.kept.next(today); day != never; day = r.kept.next(day + 1) {
		if day > today {
			second = 0
		}
		if found, ok := r.nextTime(day, second); ok {
			return day*secondsPerDay + found
		}
	}
	return never
}

// nextTime returns the first open time of a kept day at or after a second.
func (r *rule) nextTime(day, second int64) (found int64, ok bool) {
	if r.kept.windows == nil {
		return r.times.next(second)
	}
	windows := r.kept.windows[r.calendar.typeOf(day)]
	for i := spanAt(windows, second); i < len(windows); i++ {
		if found, ok = r.times.next(max(second, windows[i].first)); found <= windows[i].last {
			return found, ok
		}
	}
	return 0, false
}

// nextEveryHour returns the first instant at or after from at which the clocks really show a match: both passes of an
// overlap count, and a wall second in a gap does not.
func (r *rule) nextEveryHour(from int64) int64 {
	z := r.zone
	i := z.periodAt(from)
	searched := from + z.periods[i].offset // nothing matches from here to wall
	wall := r.nextWall(searched)
	for i+1 < len(z.periods) && wall >= z.endWall(i) {
		i++
		// After an overlap the clocks show earlier wall seconds again, and a gap skips wall. Otherwise nothing else matches before wall.
		if p := &z.periods[i]; p.wallAfter < searched || wall < p.wallAfter {
			searched = p.wallAfter
			wall = r.nextWall(searched)
		}
	}
	if wall == never {
		return never
	}
	return wall - z.periods[i].offset
}

// nextNamedHours returns the first run at or after from. Every wall second has one instant: its first pass, or in a gap the instant by the offset
// before the gap. So a run that is moved out of a gap falls among the wall seconds after the gap, and the earlier of the two is next.
func (r *rule) nextNamedHours(from int64) int64 {
	z := r.zone
	for i := z.periodAt(from); ; {
		p := &z.periods[i]
		moved := never
		if from-p.begin < p.wallAfter-p.wallBefore {
			moved = r.nextMoved(p, from)
		}
		wall := r.nextWall(max(from+p.offset, p.wallBefore))
		if wall < z.endWall(i) {
			return min(moved, wall-p.offset)
		}
		if moved != never || wall == never {
			return moved
		}
		i = z.periodAtWall(wall)
		p = &z.periods[i]
		if wall >= p.wallAfter {
			return wall - p.offset
		}
		from = p.begin // wall is skipped when this period begins
	}
}

// nextMoved returns the first run at or after from that was moved out of the gap before a period.
func (r *rule) nextMoved(p *offsetPeriod, from int64) int64 {
	if r.skips {
		return never
	}
	before := p.wallBefore - p.begin // the offset before the gap
	for {
		wall := r.nextWall(from + before)
		if wall >= p.wallAfter {
			return never
		}
		if r.calendar == nil {
			return wall - before
		}
		lands := wall - before + p.offset
		open := r.calendar.next(lands, p.wallAfter+p.wallAfter-p.wallBefore)
		if open == lands {
			return wall - before
		}
		if open == never {
			return never
		}
		from = open - p.offset
	}
}

// setLastMonth sets where searches end.
func (r *rule) setLastMonth(month int64) {
	r.lastMonth, r.days.lastMonth = month, month
	if r.kept != nil {
		r.kept.lastMonth = month
		r.days.lastMonth = month + 2 // shiftBy may move a day back
	}
}

// setBounds finds the years with a match, and the first and the last match.
func (r *rule) setBounds() {
	if r.calendar == nil && r.kept == nil {
		return
	}
	switch {
	case r.open != nil:
		r.open.setYears(r.start)
	case r.kept != nil && (r.calendar != nil || r.kept.limit != nil):
		r.setYears()
	}
	r.first, r.last = r.next(r.start), r.prev(horizon)
	r.bounded = true
}

// setYears finds the years with a match, for a rule with days.
func (r *rule) setYears() {
	const maxDropped = 8
	near := 0 // years whose first kept day is near a clock change, which may drop its runs
	r.kept.setYears(r.firstMonth, func(day int64) {
		if len(r.zone.periods) > 1 && r.zone.periodAtWall((day-1)*secondsPerDay) != r.zone.periodAtWall((day+2)*secondsPerDay) {
			near++
		}
	})
	if near <= maxDropped {
		return
	}
	// Leave out the years whose runs are all dropped. A run may have another year than its day, at New Year and after a clock change.
	const margin = 2 * secondsPerDay
	years := newYearSet(r.kept.years.first, r.kept.lastMonth/12)
	for at := r.next(r.start); at < horizon; {
		last := yearOf(at + margin)
		years.add(yearOf(at - margin))
		years.add(last)
		at = r.next(beginOfYear(last+1) - margin)
	}
	for i, kept := range r.kept.years.years { // a search in a year without a kept day would end there
		years.years[i] &= kept
	}
	r.kept.years = years
}

// fires reports whether there is any match. It also sets lastPeriod.
func (r *rule) fires() bool {
	switch r.kind {
	case inOpenBlocks:
		return r.open.nextUntil(r.start, firstDayOf(r.lastMonth+1)*secondsPerDay-1) != never
	case filteredPoints, inMinuteBlocks, inHourBlocks:
		for i := len(r.zone.periods) - 1; i >= r.zone.periodAt(r.start); i-- {
			if r.nextInPeriod(i, r.start) != never {
				r.lastPeriod = i
				return true
			}
		}
		return false
	}
	return r.next(r.start) != never
}
