package recurrence

import "math/bits"

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

// has reports whether a candidate is at one of the positions: it is the n-th candidate of a number of them.
func (p *positions) has(n, of int) bool {
	back := of - n + 1
	return p.fromStart[n/64]>>(n%64)&1 == 1 || p.fromEnd[back/64]>>(back%64)&1 == 1
}

// mask returns the candidates of a month that are at the positions in their week, month or year.
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

// weeks selects days within each week that the month touches.
func (p *positions) weeks(candidates monthMask, mine uint32, month, first int64) (picked uint32) {
	length := lengthOf(month)
	weekday := int(weekdayOfDay(first))
	// The candidates from the Monday of the first week on: the end of the month before, the month, the beginning of the next.
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

// pick returns the days that are at the positions among of candidates; before candidates come before the days.
func (p *positions) pick(days uint32, before, of int) (picked uint32) {
	for n := before + 1; days != 0; n++ {
		if p.has(n, of) {
			picked |= days & -days
		}
		days &= days - 1
	}
	return picked
}
