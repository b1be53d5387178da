package recurrence

// prev returns the last match before an instant, or [none].
func (r *rule) prev(before int64) int64 {
	if before <= r.start {
		return none
	}
	if r.bounded {
		if before <= r.first {
			return none
		}
		if before > r.last {
			return r.last
		}
	}
	found := none
	switch r.kind {
	case inOpenBlocks:
		found = r.open.prev(before-1, r.start)
	case fixedInterval, filteredPoints, inMinuteBlocks, inHourBlocks:
		found = r.prevPoint(before)
	case everyHour:
		found = r.prevEveryHour(before)
	case namedHours:
		found = r.prevNamedHours(before)
	}
	switch {
	case found >= r.start:
		return found
	case r.atStart:
		return r.start
	}
	return none
}

// prevPoint returns the last point of elapsed time before an instant, open or not, or [none].
func (r *rule) prevPoint(before int64) int64 {
	if before <= r.start {
		return none
	}
	if r.kind == fixedInterval {
		return before - 1 - mod(before-1-r.start, r.interval)
	}
	// Offset periods after lastPeriod have no match.
	i := r.zone.periodAt(before - 1)
	if i > r.lastPeriod {
		i = r.lastPeriod
		before = r.zone.periods[i+1].begin
	}
	for ; ; i-- {
		begin := max(r.zone.periods[i].begin, r.start)
		if found := r.prevInPeriod(i, begin, before); found != none || begin == r.start {
			return found
		}
		before = begin
	}
}

// prevInPeriod returns the last match of filteredPoints, inMinuteBlocks or inHourBlocks within offset period i, not before begin, and before an
// instant; or [none].
func (r *rule) prevInPeriod(i int, begin, before int64) int64 {
	// Search from further and further back, until there is a match in between.
	const far = 1 << 12
	low, high := before, before
	for step := int64(1); ; step *= 2 {
		if step == far && r.nextInPeriod(i, begin) >= before {
			return none
		}
		low = max(before-step, begin)
		if r.nextInPeriod(i, low) < before {
			break
		}
		if low == begin {
			return none
		}
		high = low
	}
	for low++; low < high; {
		middle := low + (high-low)/2
		if found := r.nextInPeriod(i, middle); found < before {
			low = found + 1
		} else {
			high = middle
		}
	}
	return low - 1
}

// prevWall returns the last wall second before to that matches days and times, or [none]. It ignores clock changes.
func (r *rule) prevWall(to int64) int64 {
	today := floorDiv(to-1, secondsPerDay)
	second := to - 1 - today*secondsPerDay
	for day := r.prevDay(today); day != none; day = r.prevDay(day - 1) {
		if day < today {
			second = secondsPerDay - 1
		}
		if found, ok := r.prevTime(day, second); ok {
			return day*secondsPerDay + found
		}
	}
	return none
}

// prevDay returns the last day of the rule at or before a day, or [none] from the first month on.
func (r *rule) prevDay(day int64) int64 {
	if r.kept != nil {
		return r.kept.prev(day, r.firstMonth)
	}
	return prevDay(day, r.firstMonth, r.days.mask)
}

// prevTime returns the last open time of a day at or before a second.
func (r *rule) prevTime(day, second int64) (found int64, ok bool) {
	if r.kept == nil || r.kept.windows == nil {
		return r.times.prev(second)
	}
	windows := r.kept.windows[r.calendar.typeOf(day)]
	i := spanAt(windows, second)
	if i == len(windows) || windows[i].first > second {
		i--
	}
	for ; i >= 0; i-- {
		if found, ok = r.times.prev(min(second, windows[i].last)); ok && found >= windows[i].first {
			return found, true
		}
	}
	return 0, false
}

// prevEveryHour returns the last instant before another at which the clocks really show a match, or [none].
func (r *rule) prevEveryHour(before int64) int64 {
	z := r.zone
	i := z.periodAt(before - 1)
	to := before + z.periods[i].offset // nothing matches from wall to here
	wall := r.prevWall(to)
	for i > 0 && wall < z.periods[i].wallAfter {
		i--
		// Before an overlap the clocks show later wall seconds, and a gap skips wall. Otherwise nothing else matches after wall.
		if end := z.endWall(i); end > to || wall >= end {
			to = end
			wall = r.prevWall(to)
		}
	}
	if wall == none {
		return none
	}
	return wall - z.periods[i].offset
}

// prevNamedHours returns the last run before an instant, or [none]. Within a period the runs that were moved out of the gap before it and the
// other runs follow two clocks. The later of the two is the last.
func (r *rule) prevNamedHours(before int64) int64 {
	z := r.zone
	for i := z.periodAt(before - 1); ; {
		p := &z.periods[i]
		wall := r.prevWall(before + p.offset)
		found := none
		if wall >= max(p.wallAfter, p.wallBefore) {
			found = wall - p.offset
		}
		if p.wallAfter > p.wallBefore {
			found = max(found, r.prevMoved(p, before))
		}
		if found != none || i == 0 {
			return found
		}
		if wall = r.prevWall(p.wallBefore); wall == none {
			return none
		}
		i = z.periodAtWall(wall)
		before = z.periods[i+1].begin
	}
}

// prevMoved returns the last run before an instant that was moved out of the gap before a period, or [none].
func (r *rule) prevMoved(p *offsetPeriod, before int64) int64 {
	if r.skips {
		return none
	}
	shift := p.wallBefore - p.begin // the offset before the gap
	for {
		wall := r.prevWall(min(before+shift, p.wallAfter))
		if wall < p.wallBefore {
			return none
		}
		if r.calendar == nil {
			return wall - shift
		}
		lands := wall - shift + p.offset
		open := r.calendar.prev(lands, p.wallAfter)
		if open == lands {
			return wall - shift
		}
		if open == none {
			return none
		}
		before = open + 1 - p.offset
	}
}
