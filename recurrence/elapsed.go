package recurrence

// A step is a lattice of elapsed time, start + k·length, of which only what the clock shows is kept.
// It serves the frequencies second and minute where hours or minutes limit them.
type step struct {
	start    int64
	unit     int64 // seconds: 1, or 60 for minutes
	interval int64 // in units; shorter than a day
	clock    dial

	// wait is, by the units from midnight to the day's first lattice point, the days until one whose points the
	// clock shows; noDay where that never comes. After interval days at most the days repeat.
	wait []uint16
}

const noDay = 1<<16 - 1

func newStep(start, unit, interval int64, c dial) step {
	s := step{start: start, unit: unit, interval: interval, clock: c, wait: make([]uint16, interval)}
	for phase := range s.wait {
		s.wait[phase] = noDay
	}
	perDay := secondsPerDay / unit
	for phase := range interval {
		if _, ok := s.inDay(phase); !ok {
			continue
		}
		// The days before it wait for it, back to the one that need not.
		s.wait[phase] = 0
		before := mod(phase+perDay, interval)
		for days := uint16(1); s.wait[before] > days; days++ {
			s.wait[before] = days
			before = mod(before+perDay, interval)
		}
	}
	return s
}

// next is the first wall second at or after from on clocks that keep this offset for ever.
func (s *step) next(from, offset int64) int64 {
	perDay := secondsPerDay / s.unit
	origin := floorDiv(s.start+offset, s.unit)
	rest := s.start + offset - origin*s.unit // seconds within the unit
	at := floorDiv(from-rest+s.unit-1, s.unit)
	at += mod(origin-at, s.interval)

	midnight := floorDiv(at, perDay) * perDay
	if found, ok := s.inDay(at - midnight); ok {
		return (midnight+found)*s.unit + rest
	}
	midnight += perDay
	days := s.wait[mod(origin-midnight, s.interval)]
	if days == noDay {
		return never
	}
	midnight += int64(days) * perDay
	found, _ := s.inDay(mod(origin-midnight, s.interval))
	return (midnight+found)*s.unit + rest
}

// inDay is the first point that the clock shows at or after a lattice point, both in units from midnight of one day.
func (s *step) inDay(at int64) (found int64, ok bool) {
	perDay := secondsPerDay / s.unit
	for at < perDay {
		if s.clock.shows(int(at * s.unit / 60)) {
			return at, true
		}
		shown, ok := s.clock.next(at * s.unit)
		if !ok {
			return 0, false
		}
		gap := shown/s.unit - at
		at += (gap + s.interval - 1) / s.interval * s.interval
	}
	return 0, false
}
