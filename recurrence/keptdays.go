package recurrence

import "math/bits"

// keptDays are the days of a rule that are left when the calendar has been asked: the open ones, those at positions among them, and
// those to which a shift moves the closed ones.
type keptDays struct {
	days      *days     // of the rule
	open      *openDays // nil: every day
	shift     Shift
	positions *positions // nil: all
	lastMonth int64      // the search ends after this month
}

// maxShift is how many days a shift moves a run at most.
const maxShift = 31

// next returns the first kept day at or after a day, or [never].
func (k *keptDays) next(day int64) int64 { return nextDay(day, k.lastMonth, k.mask) }

// prev returns the last kept day at or before a day, or [none] if there is none from a month on.
func (k *keptDays) prev(day, firstMonth int64) int64 { return prevDay(day, firstMonth, k.mask) }

// mask returns the kept days of a month: a [monthMask].
func (k *keptDays) mask(month, first int64) uint32 {
	if k.positions != nil {
		return k.positions.mask(k.candidates, month, first)
	}
	kept := k.candidates(month, first)
	if k.shift != ShiftDrop {
		kept |= k.moved(month, first)
	}
	return kept
}

// candidates returns the open days of the rule in a month: a [monthMask].
func (k *keptDays) candidates(month, first int64) uint32 {
	mask := k.days.mask(month, first)
	if mask != 0 && k.open != nil {
		mask &= k.open.maskOf(month, first)
	}
	return mask
}

// closed returns the closed days of the rule in a month: a [monthMask].
func (k *keptDays) closed(month, first int64) uint32 {
	mask := k.days.mask(month, first)
	if mask != 0 {
		mask &^= k.open.maskOf(month, first)
	}
	return mask
}

// moved returns the days of a month to which closed days are moved.
func (k *keptDays) moved(month, first int64) (days uint32) {
	if k.open.maskOf(month, first) == 0 {
		return 0
	}
	last := first + int64(lengthOf(month)) - 1
	from, to := first, last // the days that may be moved into the month
	if k.shift == ShiftNext || k.shift == ShiftNearest {
		from = first - maxShift
	}
	if k.shift == ShiftPrevious || k.shift == ShiftNearest {
		to = last + maxShift
	}
	for day := from; ; day++ {
		if day = nextDay(day, dateOf(to).month, k.closed); day > to {
			return days
		}
		if target := k.target(day, first, last); first <= target && target <= last {
			days |= 1 << (target - first + 1)
		}
	}
}

// target returns the day to which a closed day is moved, or [never]. first and last bound the month that is asked for, which is the
// day's own if the shift stays in the month.
func (k *keptDays) target(day, first, last int64) int64 {
	from, to := day-maxShift, day+maxShift
	if k.shift >= ShiftNextInMonth {
		from, to = first, last
	}
	next := k.open.next(day+1, dateOf(to).month)
	if next > to {
		next = never
	}
	if (k.shift == ShiftNext || k.shift == ShiftNextInMonth) && next != never {
		return next
	}
	prev := none
	if k.shift != ShiftNext {
		if prev = k.open.prev(day-1, dateOf(from).month); prev < from {
			prev = none
		}
	}
	switch {
	case prev == none && k.shift == ShiftPrevious:
		return never
	case prev == none:
		return next
	case (k.shift == ShiftNearest || k.shift == ShiftNearestInMonth) && next-day <= day-prev:
		return next
	}
	return prev
}

// positions are the numbers of days among the candidates of their week, month or year: from the first, and from the last.
type positions struct {
	unit      calendarUnit
	fromStart [6]uint64 // bit n is the n-th
	fromEnd   [6]uint64
}

func newPositions(unit calendarUnit, list []int) *positions {
	p := &positions{unit: unit}
	for _, n := range list {
		if n > 0 {
			p.fromStart[n/64] |= 1 << (n % 64)
		} else {
			p.fromEnd[-n/64] |= 1 << (-n % 64)
		}
	}
	return p
}

// has reports whether a candidate is one of the positions: it is the n-th of so many.
func (p *positions) has(n, of int) bool {
	back := of - n + 1
	return p.fromStart[n/64]>>(n%64)&1 == 1 || p.fromEnd[back/64]>>(back%64)&1 == 1
}

// mask returns which candidates of a month are at the positions in their week, month or year.
func (p *positions) mask(candidates monthMask, month, first int64) uint32 {
	mine := candidates(month, first)
	if mine == 0 {
		return 0
	}
	switch p.unit {
	case weekly:
		return p.weeks(candidates, mine, month, first)
	case monthly:
		return p.pick(mine, 0, bits.OnesCount32(mine))
	}
	before, of := 0, 0
	january := month - month%12
	at := firstDayOf(january)
	for m := january; m < january+12; m++ {
		n := bits.OnesCount32(candidates(m, at))
		if m < month {
			before += n
		}
		of += n
		at += int64(lengthOf(m))
	}
	return p.pick(mine, before, of)
}

// weeks picks within each week that the month touches.
func (p *positions) weeks(candidates monthMask, mine uint32, month, first int64) (picked uint32) {
	length := lengthOf(month)
	weekday := int(weekdayOfDay(first))
	// The candidates from the Monday on that begins the first week: the end of the month before, the month, the beginning of the next.
	line := uint64(mine>>1) << weekday
	if weekday > 0 {
		before := lengthOf(month - 1)
		line |= uint64(candidates(month-1, first-int64(before)) >> (before - weekday + 1))
	}
	if end := (weekday + length) % 7; end > 0 {
		line |= uint64(candidates(month+1, first+int64(length))>>1&(1<<(7-end)-1)) << (weekday + length)
	}
	kept := uint64(0)
	for monday := 0; monday < weekday+length; monday += 7 {
		week := uint32(line >> monday & 0x7f)
		kept |= uint64(p.pick(week<<1, 0, bits.OnesCount32(week))>>1) << monday
	}
	return uint32(kept>>weekday<<1) & daysOf(length)
}

// pick returns the days that are at the positions; before of the others come before them.
func (p *positions) pick(days uint32, before, of int) (picked uint32) {
	for n := before + 1; days != 0; n++ {
		if p.has(n, of) {
			picked |= days & -days
		}
		days &= days - 1
	}
	return picked
}
