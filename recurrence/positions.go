package recurrence

import "math/bits"

// positions are the numbers of days among the candidates of their week, month or year: from the first, and from the last.
type positions struct {
	unit      calendarUnit
	weekStart int64     // the first day of a week, counted from Monday
	fromStart [6]uint64 // bit n is the n-th
	fromEnd   [6]uint64
	least     int // the number of candidates without which no position exists
}

func newPositions(d *days, list []int) *positions {
	p := &positions{unit: d.unit, weekStart: d.weekStart, least: 366}
	for _, n := range list {
		p.least = min(p.least, max(n, -n))
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

// mask returns the candidates of a month that are at the positions in their week or month.
func (p *positions) mask(candidates monthMask, month, first int64) uint32 {
	mine := candidates(month, first)
	if mine == 0 {
		return 0
	}
	if p.unit == weekly {
		return p.weeks(candidates, mine, month, first)
	}
	return p.pick(mine, 0, bits.OnesCount32(mine))
}

// pickInYear keeps only the candidates that are at the positions in their year. days has the candidates of each month.
func (p *positions) pickInYear(days *[12]uint32) {
	of := 0
	for _, candidates := range days {
		of += bits.OnesCount32(candidates)
	}
	before := 0
	for i, candidates := range days {
		n := bits.OnesCount32(candidates)
		if of < p.least || !anyBit(&p.fromStart, before+1, before+n) && !anyBit(&p.fromEnd, of-before-n+1, of-before) {
			days[i] = 0
		} else {
			days[i] = p.pick(candidates, before, of)
		}
		before += n
	}
}

// anyBit reports whether one of the bits from a first to a last one is set. Both are 0 to 383.
func anyBit(set *[6]uint64, first, last int) bool {
	for first <= last {
		if bit, ok := nextBit(set[first/64], first%64); ok {
			return first/64*64+bit <= last
		}
		first = (first/64 + 1) * 64
	}
	return false
}

// weeks selects days within each week that the month touches.
func (p *positions) weeks(candidates monthMask, mine uint32, month, first int64) (picked uint32) {
	length := lengthOf(month)
	weekday := int(mod(first+3-p.weekStart, 7))
	// The candidates from the beginning of the first week on: the end of the month before, the month, the beginning of the next.
	line := uint64(mine>>1) << weekday
	if weekday > 0 {
		before := lengthOf(month - 1)
		line |= uint64(candidates(month-1, first-int64(before)) >> (before - weekday + 1))
	}
	if end := (weekday + length) % 7; end > 0 {
		line |= uint64(candidates(month+1, first+int64(length))>>1&(1<<(7-end)-1)) << (weekday + length)
	}
	kept := uint64(0)
	for begin := 0; begin < weekday+length; begin += 7 {
		week := uint32(line >> begin & 0x7f)
		kept |= uint64(p.pick(week<<1, 0, bits.OnesCount32(week))>>1) << begin
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
