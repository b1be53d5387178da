package recurrence

import (
	"math/bits"
	"slices"
)

// openBlocks is a rule of elapsed time under a calendar. A block begins every interval units of elapsed time. It lasts a second if the rule runs at
// points, otherwise its unit: a minute or an hour. An instant matches if it lies in a block, the local clock shows one of times, and that time is open.
//
// A search goes through the periods in which the clocks keep an offset, in these through the months, in these through the days on which a run is
// possible (see slots), and on a day through its minutes.
type openBlocks struct {
	zone     *zone
	calendar *calendar
	origin   int64  // an instant at which a block begins
	unit     int64  // seconds: 1, 60 or 3600
	interval int64  // in units
	block    int64  // seconds of a block: 1, or unit
	points   uint64 // of blocks that begin more often than once a minute: the seconds at which they do, if one begins at second 0
	times    timesOfDay
	slots    []slots  // for each rest of the clock's seconds, divided by unit, at which blocks ever begin
	years    *yearSet // the years, in UTC, with a match
}

func newOpenBlocks(r *rule, origin, unit, interval, block int64, times timesOfDay) *openBlocks {
	b := &openBlocks{zone: r.zone, calendar: r.calendar, origin: origin, unit: unit, interval: interval, block: block, times: times}
	for second := int64(0); second < 60; second += unit * interval {
		b.points |= 1 << second
	}
	b.setSlots(r.start)
	return b
}

// next returns the first match at or after an instant, or [never].
func (b *openBlocks) next(from int64) int64 {
	if found := b.laterToday(from); found != never {
		return found
	}
	year := yearOf(from)
	if b.years.has(year) {
		if found := b.nextUntil(from, beginOfYear(year+1)-1); found != never {
			return found
		}
	}
	if year = b.years.next(year + 1); year == never {
		return never
	}
	return b.nextUntil(beginOfYear(year), beginOfYear(year+1)-1)
}

// laterToday returns the first match at or after an instant on its day and with its offset, or [never].
func (b *openBlocks) laterToday(from int64) int64 {
	i := b.zone.periodAt(from)
	offset := b.zone.periods[i].offset
	wall := from + offset
	day := floorDiv(wall, secondsPerDay)
	kind := b.calendar.typeOf(day)
	if kind < 0 || !b.slotsAt(offset).mayRun(b, kind, day, offset) {
		return never
	}
	midnight := day * secondsPerDay
	second := b.nextInDay(b.calendar.windows[kind], day, wall-midnight, min(b.zone.endWall(i)-midnight, secondsPerDay)-1, offset)
	if second < 0 {
		return never
	}
	return midnight + second - offset
}

// prev returns the last match at or before an instant, but not before another, or [none].
func (b *openBlocks) prev(to, start int64) int64 {
	year := yearOf(to)
	if b.years.has(year) {
		if found := b.prevUntil(to, max(beginOfYear(year), start)); found != none {
			return found
		}
	}
	if year = b.years.prev(year - 1); year == none {
		return none
	}
	return b.prevUntil(beginOfYear(year+1)-1, max(beginOfYear(year), start))
}

// setYears computes the years with a match from an instant on.
func (b *openBlocks) setYears(from int64) {
	first, last := yearOf(from), yearOf(horizon)
	b.years = newYearSet(first, last)
	if b.runsEveryMonth() {
		for year := first + 1; year < last; year++ {
			b.years.add(year)
		}
		if b.nextUntil(from, beginOfYear(first+1)-1) != never {
			b.years.add(first)
		}
		return
	}
	for from < horizon {
		at := b.nextUntil(from, horizon-1)
		if at == never {
			return
		}
		year := yearOf(at)
		b.years.add(year)
		from = beginOfYear(year + 1)
	}
}

// runsEveryMonth reports whether every month of the table has many days of types on which there is a run whenever the blocks begin. Then every year
// has a match, and need not be searched: some of these days have no clock change.
func (b *openBlocks) runsEveryMonth() bool {
	const many = 16
	always := func(kind int) bool {
		for i := range b.slots {
			if !b.slots[i].all[kind] {
				return false
			}
		}
		return true
	}
	if !b.calendar.timed {
		return always(0) && !slices.ContainsFunc(b.calendar.open, func(days uint32) bool { return bits.OnesCount32(days) < many })
	}
	return !slices.ContainsFunc(b.calendar.types, func(types []dayType) bool {
		n := 0
		for _, t := range types {
			if always(int(t.kind)) {
				n += bits.OnesCount32(t.days)
			}
		}
		return n < many
	})
}

// yearOf returns the year of an instant, in UTC.
func yearOf(instant int64) int64 { return dateOf(floorDiv(instant, secondsPerDay)).month / 12 }

// beginOfYear returns the first instant of a year, in UTC.
func beginOfYear(year int64) int64 { return firstDayOf(year*12) * secondsPerDay }

// nextUntil returns the first match from one instant to another, or [never].
func (b *openBlocks) nextUntil(from, to int64) int64 {
	for i := b.zone.periodAt(from); i < len(b.zone.periods); i++ {
		p := &b.zone.periods[i]
		if p.begin > to {
			break
		}
		if wall := b.nextWall(max(from, p.begin)+p.offset, min(to+p.offset, b.zone.endWall(i)-1), p.offset); wall != never {
			return wall - p.offset
		}
	}
	return never
}

// prevUntil returns the last match at or before an instant, but not before another, or [none].
func (b *openBlocks) prevUntil(to, from int64) int64 {
	for i := b.zone.periodAt(to); i >= 0 && to >= from; i-- {
		p := &b.zone.periods[i]
		if wall := b.prevWall(to+p.offset, max(from, p.begin)+p.offset, p.offset); wall != none {
			return wall - p.offset
		}
		to = p.begin - 1
	}
	return none
}

// nextWall returns the first match from one wall second to another, as the clocks show it with an offset, or [never].
func (b *openBlocks) nextWall(from, to, offset int64) int64 {
	s := b.slotsAt(offset)
	today, lastDay := floorDiv(from, secondsPerDay), floorDiv(to, secondsPerDay)
	date := dateOf(today)
	first := today - int64(date.day-1)
	for month, day := date.month, date.day; first <= lastDay; month, day = month+1, 1 {
		days := s.days(b, month, first, offset, ^uint32(0)<<day)
		for ; days != 0; days &= days - 1 {
			day := first + int64(bits.TrailingZeros32(days)) - 1
			if day > lastDay {
				return never
			}
			midnight := day * secondsPerDay
			if second := b.nextInDay(b.windowsOn(day), day, max(from-midnight, 0), min(to-midnight, secondsPerDay-1), offset); second >= 0 {
				return midnight + second
			}
		}
		first += int64(lengthOf(month))
	}
	return never
}

// prevWall returns the last match at or before a wall second, but not before another, as the clocks show it with an offset, or [none].
func (b *openBlocks) prevWall(to, from, offset int64) int64 {
	s := b.slotsAt(offset)
	today, firstDay := floorDiv(to, secondsPerDay), floorDiv(from, secondsPerDay)
	date := dateOf(today)
	first := today - int64(date.day-1)
	for month, day := date.month, date.day; first+int64(day) > firstDay; month, day = month-1, 31 {
		days := s.days(b, month, first, offset, 2<<day-1)
		for days != 0 {
			last := 31 - bits.LeadingZeros32(days)
			days &^= 1 << last
			day := first + int64(last) - 1
			if day < firstDay {
				return none
			}
			midnight := day * secondsPerDay
			if second := b.prevInDay(b.windowsOn(day), day, min(to-midnight, secondsPerDay-1), max(from-midnight, 0), offset); second >= 0 {
				return midnight + second
			}
		}
		first -= int64(lengthOf(month - 1))
	}
	return none
}

// windowsOn returns the open times of a day on which slots allow a run.
func (b *openBlocks) windowsOn(day int64) []span {
	return b.calendar.windows[b.calendar.typeOf(day)]
}

// nextInDay returns the first second of a day, from one to another, that matches, or -1. windows are the open times of the day.
func (b *openBlocks) nextInDay(windows []span, day, from, to, offset int64) int64 {
	begin := b.origin + offset - day*secondsPerDay // a second of this day, in the same numbers, at which a block begins
	i := spanAt(windows, from)
	for from <= to {
		b.calendar.meter.add(1)
		minute := from - from%60
		inBlock, later := b.blocksFrom(minute, begin)
		if inBlock >>= from - minute; inBlock == 0 {
			from = max(later, minute+60)
			continue
		}
		if !b.times.hasMinute(int(minute / 60)) {
			second, ok := b.times.next(from)
			if !ok {
				return -1
			}
			from = second
			continue
		}
		for i < len(windows) && windows[i].last < from {
			i++
		}
		if i == len(windows) {
			return -1
		}
		if windows[i].first >= minute+60 {
			from = windows[i].first
			continue
		}
		found := inBlock << (from - minute) & b.times.seconds & openInMinute(windows[i:], minute)
		if found != 0 {
			second := minute + int64(bits.TrailingZeros64(found))
			if second > to {
				return -1
			}
			return second
		}
		from = minute + 60
	}
	return -1
}

// prevInDay returns the last second of a day, at or before one and not before another, that matches, or -1. windows are the open times of the day.
func (b *openBlocks) prevInDay(windows []span, day, to, from, offset int64) int64 {
	begin := b.origin + offset - day*secondsPerDay
	i := len(windows) - 1
	if at := spanAt(windows, to); at < len(windows) {
		i = at
	}
	for to >= from {
		b.calendar.meter.add(1)
		minute := to - to%60
		inBlock, _ := b.blocksFrom(minute, begin)
		if inBlock &= 2<<(to-minute) - 1; inBlock == 0 {
			to = min(b.blockBefore(minute, begin), minute-1)
			continue
		}
		if !b.times.hasMinute(int(minute / 60)) {
			second, ok := b.times.prev(to)
			if !ok {
				return -1
			}
			to = second
			continue
		}
		for i >= 0 && windows[i].first > to {
			i--
		}
		if i < 0 {
			return -1
		}
		if windows[i].last < minute {
			to = windows[i].last
			continue
		}
		first := i
		for first > 0 && windows[first-1].last >= minute {
			first--
		}
		if found := inBlock & b.times.seconds & openInMinute(windows[first:i+1], minute); found != 0 {
			second := minute + int64(63-bits.LeadingZeros64(found))
			if second < from {
				return -1
			}
			return second
		}
		to = minute - 1
	}
	return -1
}

// openInMinute returns the open seconds of a minute that begins at a second of the day. Windows before it have been left out.
func openInMinute(windows []span, minute int64) (seconds uint64) {
	for _, w := range windows {
		if w.first >= minute+60 {
			break
		}
		from, to := max(w.first-minute, 0), min(w.last-minute, 59)
		seconds |= 2<<to - 1<<from
	}
	return seconds
}

// blocksFrom returns the seconds of a minute that lie in blocks, and the second at which the first block begins that does not begin before the minute.
func (b *openBlocks) blocksFrom(minute, begin int64) (seconds uint64, next int64) {
	length := b.unit * b.interval
	since := mod(minute-begin, length) // since the beginning of the last block that began at the minute or before it
	wait := length - since
	if since == 0 {
		wait = 0
	}
	next = minute + wait
	if length < 60 {
		return b.points << wait & allSeconds, next
	}
	if since < b.block {
		seconds = 1<<min(b.block-since, 60) - 1
	}
	if wait < 60 {
		seconds |= 1<<min(wait+b.block, 60) - 1<<wait
	}
	return seconds, next
}

// blockBefore returns the last second before a minute that lies in a block.
func (b *openBlocks) blockBefore(minute, begin int64) int64 {
	since := mod(minute-1-begin, b.unit*b.interval)
	return minute - 1 - max(since-b.block+1, 0)
}
