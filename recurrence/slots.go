package recurrence

import "math/bits"

// slots determine on which days a rule of elapsed time can have a run at all, while the clocks keep an offset with which blocks begin at one rest: the
// seconds that the clock shows then, divided by the unit of the interval. A slot is a unit of the day, from that rest on. It is usable on days of a type
// if a block that begins with it has a run. A day has a run only if the interval reaches a usable slot. So a search skips days without one.
type slots struct {
	rest   int64
	back   [32]int64  // by how much the number of the slot of midnight falls in that many days, divided by the interval
	usable [][]uint64 // for each type of day: bit n is for the slots that leave the rest n when divided by the interval; nil: no slot is usable
	all    []bool     // for each type of day: all slots are usable
}

// slotsAt returns the slots for an offset.
func (b *openBlocks) slotsAt(offset int64) *slots {
	i := 0
	if len(b.slots) > 1 {
		for rest := mod(b.origin+offset, b.unit); b.slots[i].rest != rest; {
			i++
		}
	}
	return &b.slots[i]
}

// days returns the days of a month, among some, on which a run is possible with an offset.
func (s *slots) days(b *openBlocks, month, first, offset int64, among uint32) (days uint32) {
	row := b.calendar.row(month, first)
	b.calendar.meter.add(1)
	if !b.calendar.timed {
		return s.daysOf(b, dayType{b.calendar.open[row] & among, 0}, first, offset)
	}
	for _, t := range b.calendar.types[row] {
		days |= s.daysOf(b, dayType{t.days & among, t.kind}, first, offset)
	}
	return days
}

// daysOf returns the days of one type on which a run is possible.
func (s *slots) daysOf(b *openBlocks, t dayType, first, offset int64) (days uint32) {
	usable := s.usable[t.kind]
	switch {
	case s.all[t.kind]:
		return t.days
	case usable == nil || t.days == 0:
		return 0
	}
	b.calendar.meter.add(1 + bits.OnesCount32(t.days)/4)
	slot := s.slotOf(b, first, offset)
	for left := t.days; left != 0; left &= left - 1 {
		day := bits.TrailingZeros32(left)
		n := slot - s.back[day-1]
		if n < 0 {
			n += b.interval
		}
		days |= uint32(usable[n/64]>>(n%64)&1) << day
	}
	return days
}

// mayRun reports whether a run is possible on a day of a type with an offset.
func (s *slots) mayRun(b *openBlocks, kind int, day, offset int64) bool {
	usable := s.usable[kind]
	if usable == nil || s.all[kind] {
		return usable != nil
	}
	n := s.slotOf(b, day, offset)
	return usable[n/64]>>(n%64)&1 == 1
}

// slotOf returns the number of the first slot of a day in which a block begins, divided by the interval.
func (s *slots) slotOf(b *openBlocks, day, offset int64) int64 {
	return mod((b.origin+offset-s.rest)/b.unit-day*(secondsPerDay/b.unit), b.interval)
}

// setSlots computes the slots for each rest at which blocks begin in the zone from an instant on.
func (b *openBlocks) setSlots(from int64) {
	for i := b.zone.periodAt(from); i < len(b.zone.periods); i++ {
		rest := mod(b.origin+b.zone.periods[i].offset, b.unit)
		known := false
		for k := range b.slots {
			known = known || b.slots[k].rest == rest
		}
		if !known {
			b.slots = append(b.slots, b.newSlots(rest))
		}
	}
}

func (b *openBlocks) newSlots(rest int64) slots {
	n := len(b.calendar.windows)
	s := slots{rest: rest, usable: make([][]uint64, n), all: make([]bool, n)}
	for i := range s.back {
		s.back[i] = int64(i) * (secondsPerDay / b.unit) % b.interval
	}
	words := int(b.interval+63) / 64
	set := make([]uint64, words*n)
	for kind, windows := range b.calendar.windows {
		usable := slotSet{b: b, rest: rest, left: b.interval, usable: set[kind*words : (kind+1)*words]}
		usable.addWindows(windows)
		if usable.left < b.interval {
			s.usable[kind] = usable.usable
		}
		s.all[kind] = usable.left == 0
	}
	return s
}

// A slotSet collects the usable slots of one type of day.
type slotSet struct {
	b      *openBlocks
	rest   int64
	left   int64 // the number of slots that are not usable yet
	usable []uint64
}

// addWindows adds the slots of the open times of a day, minute by minute.
func (s *slotSet) addWindows(windows []span) {
	for i, from := 0, int64(0); i < len(windows) && s.left > 0; {
		from = max(from, windows[i].first)
		if !s.b.times.hasMinute(int(from / 60)) {
			second, ok := s.b.times.next(from)
			if !ok {
				return
			}
			from = second
		}
		minute := from - from%60
		for i < len(windows) && windows[i].last < minute {
			i++
		}
		s.addMinute(minute, s.b.times.seconds&openInMinute(windows[i:], minute))
		from = minute + 60
		for i < len(windows) && windows[i].last < from {
			i++
		}
	}
}

// addMinute adds the slots of the seconds of a minute of the day that are open times of the rule.
func (s *slotSet) addMinute(minute int64, seconds uint64) {
	rest, unit := s.rest, s.b.unit
	switch {
	case seconds == 0:
	case unit == 1:
		for n := minute % s.b.interval; seconds != 0 && s.left > 0; seconds &= seconds - 1 {
			slot := n + int64(bits.TrailingZeros64(seconds))
			if slot >= s.b.interval {
				slot %= s.b.interval
			}
			s.set(slot)
		}
	case s.b.block == 1:
		if at := floorDiv(minute+59-rest, unit)*unit + rest; at >= minute && seconds>>(at-minute)&1 == 1 {
			s.add(floorDiv(at, unit))
		}
	default: // the minute may lie in two slots
		first, last := minute+int64(bits.TrailingZeros64(seconds)), minute+int64(63-bits.LeadingZeros64(seconds))
		s.add(floorDiv(first-rest, unit))
		s.add(floorDiv(last-rest, unit))
	}
}

// add adds a slot, which is the one before midnight if it is -1.
func (s *slotSet) add(slot int64) { s.set(mod(slot, s.b.interval)) }

func (s *slotSet) set(n int64) {
	if s.usable[n/64]>>(n%64)&1 == 0 {
		s.usable[n/64] |= 1 << (n % 64)
		s.left--
	}
}
