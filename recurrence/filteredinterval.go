package recurrence

// A filteredInterval is a fixed interval of elapsed time, start + k·interval, limited to the points whose local time is one
// of times. It serves the frequencies second and minute when hours or minutes limit them.
type filteredInterval struct {
	start    int64
	unit     int64 // seconds: 1 for the frequency second, 60 for minute
	interval int64 // in units; shorter than a day
	times    timesOfDay
	minutely bool // times has whole minutes

	// skipDays is how many days to skip to find one with a point in times; noDay means that no day has one. Its index is the position of the day's
	// first point, in units from midnight. After at most interval days the positions repeat.
	skipDays []uint16
}

const noDay = 1<<16 - 1

func newFilteredInterval(start, unit, interval int64, times timesOfDay) filteredInterval {
	f := filteredInterval{start: start, unit: unit, interval: interval, times: times, skipDays: make([]uint16, interval)}
	f.minutely = unit == 60 || times.seconds == allSeconds
	for position := range f.skipDays {
		f.skipDays[position] = noDay
	}
	unitsPerDay := secondsPerDay / unit
	for position := range interval {
		if _, ok := f.nextInDay(position); !ok {
			continue
		}
		// The days before this one skip to it, back to a day for which another one is nearer.
		f.skipDays[position] = 0
		before := mod(position+unitsPerDay, interval)
		for days := uint16(1); f.skipDays[before] > days; days++ {
			f.skipDays[before] = days
			before = mod(before+unitsPerDay, interval)
		}
	}
	return f
}

// next returns the first wall second at or after from that matches, as if the clocks kept this offset without end.
func (f *filteredInterval) next(from, offset int64) int64 {
	unitsPerDay := secondsPerDay / f.unit
	origin := floorDiv(f.start+offset, f.unit)
	rest := f.start + offset - origin*f.unit // seconds within the unit
	at := floorDiv(from-rest+f.unit-1, f.unit)
	at += mod(origin-at, f.interval)

	midnight := floorDiv(at, unitsPerDay) * unitsPerDay
	if f.skipDays[(at-midnight)%f.interval] == 0 {
		if found, ok := f.nextInDay(at - midnight); ok {
			return (midnight+found)*f.unit + rest
		}
	}
	midnight += unitsPerDay
	days := f.skipDays[mod(origin-midnight, f.interval)]
	if days == noDay {
		return never
	}
	midnight += int64(days) * unitsPerDay
	found, _ := f.nextInDay(mod(origin-midnight, f.interval))
	return (midnight+found)*f.unit + rest
}

// nextInDay returns the first point of the same day that is in times, at or after the point at. Both are in units from midnight.
func (f *filteredInterval) nextInDay(at int64) (found int64, ok bool) {
	unitsPerDay := secondsPerDay / f.unit
	for at < unitsPerDay {
		if f.minutely && f.times.hasMinute(int(at*f.unit/60)) {
			return at, true
		}
		second, ok := f.times.next(at * f.unit)
		if !ok {
			return 0, false
		}
		gap := second/f.unit - at
		if gap == 0 {
			return at, true
		}
		at += (gap + f.interval - 1) / f.interval * f.interval
	}
	return 0, false
}
