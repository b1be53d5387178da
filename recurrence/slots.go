package recurrence

// slots determine on which days an interval of elapsed time can meet an open time at all. A slot is a second, minute or hour of the day, in the
// unit of the interval. It is usable on days of a type if it contains a time of the rule that is open then. A day has a run only if the interval
// reaches a usable slot. So a search skips days without one, and does not visit their open times one by one.
type slots struct {
	unit     int64      // seconds: 1, 60 or 3600
	interval int64      // in units
	origin   int64      // an instant of the interval
	rest     int64      // seconds of the local slot at which the interval reaches it, while the clocks do not change by parts of a slot
	usable   [][]uint64 // for each type of day: bit n is for the slots that leave the rest n when divided by interval
}

func newSlots(unit, interval, origin, offset int64, times timesOfDay, calendar *calendar) *slots {
	s := &slots{unit: unit, interval: interval, origin: origin, rest: mod(origin+offset, unit)}
	for _, windows := range calendar.windows {
		usable, left := make([]uint64, (interval+63)/64), interval
		for i := 0; i < len(windows) && left > 0; i++ {
			for from := windows[i].first; left > 0; {
				second, ok := times.next(from)
				if !ok || second > windows[i].last {
					break
				}
				slot := second / unit
				if n := slot % interval; usable[n/64]>>(n%64)&1 == 0 {
					usable[n/64] |= 1 << (n % 64)
					left--
				}
				from = (slot + 1) * unit
			}
		}
		s.usable = append(s.usable, usable)
	}
	return s
}

// mayRun reports whether a day of that type may have a run while the clocks keep that offset.
func (s *slots) mayRun(day int64, kind int, offset int64) bool {
	if s == nil || mod(s.origin+offset, s.unit) != s.rest {
		return true
	}
	n := mod(floorDiv(s.origin+offset, s.unit)-day*(secondsPerDay/s.unit), s.interval)
	return s.usable[kind][n/64]>>(n%64)&1 == 1
}
