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

	slots   *slots   // for elapsed time, if the calendar has times; otherwise nil
	windows [][]span // for everyHour and namedHours, if the calendar has times: those of each type of day that contain a time of times

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
		if r.calendar == nil {
			return from + mod(r.start-from, r.interval)
		}
		return r.nextOpenPoint(from)
	case filteredPoints, inMinuteBlocks, inHourBlocks:
		if r.calendar == nil {
			return r.nextInPeriods(from)
		}
		return r.nextOpenPoint(from)
	case everyHour:
		return r.nextEveryHour(from)
	case namedHours:
		return r.nextNamedHours(from)
	}
	return never
}

// nextPoint returns the first point of elapsed time at or after from, open or not.
func (r *rule) nextPoint(from int64) int64 {
	if r.kind == fixedInterval {
		return from + mod(r.start-from, r.interval)
	}
	return r.nextInPeriods(from)
}

// nextOpenPoint returns the first point of elapsed time at or after from at which the local clock shows an open time.
func (r *rule) nextOpenPoint(from int64) int64 {
	end := firstDayOf(r.lastMonth+1) * secondsPerDay
	for {
		at := r.nextPoint(from)
		if at >= end {
			return never
		}
		i := r.zone.periodAt(at)
		offset := r.zone.periods[i].offset
		wall := at + offset
		lastMonth := r.lastMonth
		if i+1 < len(r.zone.periods) { // the search ends at the end of the period, in which the clocks keep this offset
			lastMonth = min(lastMonth, dateOf(floorDiv(r.zone.endWall(i), secondsPerDay)).month)
		}
		open := r.calendar.next(wall, lastMonth, r.slots, offset)
		if open == wall {
			return at
		}
		from = never
		if open != never {
			from = open - offset
		}
		if i+1 < len(r.zone.periods) {
			from = min(from, r.zone.periods[i+1].begin)
		}
		if from == never {
			return never
		}
	}
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
	if r.calendar == nil || !r.calendar.timed {
		return r.times.next(second)
	}
	windows := r.windows[r.calendar.typeOf(day)]
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
	wall := r.nextWall(from + z.periods[i].offset)
	for i+1 < len(z.periods) && wall >= z.endWall(i) {
		// After an overlap the clocks show earlier wall seconds again, so search from its beginning, even if nothing
		// matches later. Otherwise nothing matches before wall.
		i++
		if p := z.periods[i]; p.wallAfter < p.wallBefore {
			wall = r.nextWall(p.wallAfter)
			continue
		}
		i = max(i, z.periodAtWall(wall))
		if p := z.periods[i]; wall < p.wallAfter {
			wall = r.nextWall(p.wallAfter)
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
		open := r.calendar.next(lands, r.lastMonth, nil, 0)
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
	}
}

// setBounds finds the first and the last match.
func (r *rule) setBounds() {
	if r.calendar == nil && r.kept == nil {
		return
	}
	r.first, r.last = r.next(r.start), r.prev(horizon)
	r.bounded = true
}

// fires reports whether there is any match. It also sets lastPeriod.
func (r *rule) fires() bool {
	if r.kind != filteredPoints && r.kind != inMinuteBlocks && r.kind != inHourBlocks {
		return r.next(r.start) != never
	}
	for i := len(r.zone.periods) - 1; i >= r.zone.periodAt(r.start); i-- {
		if r.nextInPeriod(i, r.start) != never {
			r.lastPeriod = i
			return r.next(r.start) != never
		}
	}
	return r.atStart
}
