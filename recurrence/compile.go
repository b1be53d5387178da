package recurrence

import "time"

// gregorianDays is the number of days in 400 years. After that the calendar repeats.
const gregorianDays = 146097

// compile builds the rule of a valid Recurrence that starts at start. It refuses a rule that never fires: one without a match
// in the 400 years from the start, with the zone's offsets up to the horizon. open is the calendar, and limit has the days of the rule; nil: all.
func compile(r Recurrence, start int64, z *zone, open, limit *calendar, cron *cronFields) (*rule, error) {
	compiled, err := compileUnbounded(r, start, z, open, limit, cron)
	if err == nil {
		compiled.setBounds()
	}
	return compiled, err
}

// compileUnbounded is compile without the preparation of fast searches.
func compileUnbounded(r Recurrence, start int64, z *zone, open, limit *calendar, cron *cronFields) (*rule, error) {
	c := compiler{Recurrence: r, start: start, local: start + z.offsetAt(start), limit: limit}
	c.Interval = max(c.Interval, 1)
	c.rule = &rule{start: start, zone: z, calendar: open, skips: r.ClockChanges == ClockSkip}
	switch {
	case cron != nil:
		c.cron(cron)
	case r.Frequency == 0:
		c.rule.atStart = true
	case r.Frequency < Day && open != nil:
		c.openBlocks()
	case r.Frequency < Hour:
		c.secondsOrMinutes()
	case r.Frequency == Hour:
		c.hourly()
	default:
		c.daysAndTimes()
	}

	day := floorDiv(c.local, secondsPerDay)
	c.rule.firstMonth = dateOf(day).month - 1
	c.rule.setLastMonth(dateOf(day + gregorianDays).month)
	if !c.rule.fires() {
		return nil, c.neverFires()
	}
	c.rule.setLastMonth(dateOf(max(day, horizon/secondsPerDay+2)).month)
	return c.rule, nil
}

// A compiler builds one rule.
type compiler struct {
	Recurrence
	start int64
	local int64 // the wall second at the start
	limit *calendar
	rule  *rule
}

func (c *compiler) neverFires() error {
	if c.Cron != "" {
		if c.rule.calendar == nil || !c.firesWhenOpen() {
			return newError(CodeNeverFires, "cron", c.Cron, "no day has such a date")
		}
		return newError(CodeNeverFires, "schedule", "", "never matches: no time of the cron text is open from the start on")
	}
	if c.rule.calendar != nil {
		return newError(CodeNeverFires, "schedule", "", "never matches: no instant from the start on is reached by the interval, fits the schedule and is open")
	}
	return newError(CodeNeverFires, "schedule", "", "never matches: no instant from the start on is reached by the interval and fits the schedule")
}

// firesWhenOpen reports whether the rule would have a match if everything were open.
func (c *compiler) firesWhenOpen() bool {
	r := c.Recurrence
	r.Shift, r.ShiftBy = ShiftDrop, 0
	fields, _, err := r.expandCron()
	if err == nil {
		_, err = compileUnbounded(r, c.start, c.rule.zone, nil, nil, fields)
	}
	return err == nil
}

// startHour, startMinute and startSecond return what the local clock shows at the start.
func (c *compiler) startHour() int     { return int(mod(c.local, secondsPerDay) / 3600) }
func (c *compiler) startMinute() int   { return int(mod(c.local, 3600) / 60) }
func (c *compiler) startSecond() int64 { return mod(c.local, 60) }

// secondsOrMinutes compiles the frequencies second and minute. Their hours and minutes limit.
func (c *compiler) secondsOrMinutes() {
	unit := int64(1)
	if c.Frequency == Minute {
		unit = 60
	}
	if len(c.Hours) == 0 && len(c.Minutes) == 0 && len(c.Seconds) == 0 {
		c.fixedInterval(unit)
		return
	}
	hours, minutes := c.hoursOr(allHours), c.minutesOr(allMinutes)
	switch {
	case c.Frequency == Second:
		c.rule.kind = filteredPoints
		c.rule.filtered = newFilteredInterval(c.start, unit, int64(c.Interval), newTimesOfDay(hours, minutes, c.secondsOr(allSeconds)))
	case len(c.Seconds) == 0:
		c.rule.kind = filteredPoints
		c.rule.filtered = newFilteredInterval(c.start, unit, int64(c.Interval), newTimesOfDay(hours, minutes, 1))
	default:
		c.rule.kind = inMinuteBlocks
		c.rule.minutes = newMinuteBlocks(c.start-c.startSecond(), int64(c.Interval), newTimesOfDay(hours, minutes, 1), c.secondsOr(0))
	}
}

// fixedInterval compiles an interval of elapsed time without a schedule. The unit is in seconds.
func (c *compiler) fixedInterval(unit int64) {
	c.rule.kind = fixedInterval
	c.rule.interval = int64(c.Interval) * unit
}

// hourly compiles the frequency hour. Its minutes expand and its hours limit, both on the local clock.
func (c *compiler) hourly() {
	if len(c.Hours) == 0 && len(c.Minutes) == 0 && len(c.Seconds) == 0 {
		c.fixedInterval(3600)
		return
	}
	c.rule.kind = inHourBlocks
	times := newTimesOfDay(c.hoursOr(allHours), c.minutesOfHour(), c.secondsOfMinute())
	c.rule.blocks = newHourBlocks(c.start-mod(c.local, 3600), int64(c.Interval), times)
}

// secondsOfMinute returns the seconds of every run: the given ones; or 0 if minutes are given; otherwise the second of the start.
func (c *compiler) secondsOfMinute() uint64 {
	if len(c.Seconds) == 0 && len(c.Minutes) == 0 {
		return 1 << c.startSecond()
	}
	return c.secondsOr(1)
}

// minutesOfHour returns the minutes of every run: those that are given, or every one if seconds are and hours are not, otherwise the
// minute of the start.
func (c *compiler) minutesOfHour() uint64 {
	if len(c.Minutes) == 0 && len(c.Seconds) > 0 && len(c.Hours) == 0 {
		return allMinutes
	}
	return c.minutesOr(1 << c.startMinute())
}

// daysAndTimes compiles the frequencies day, week, month and year.
func (c *compiler) daysAndTimes() {
	hours := c.hoursOr(1 << c.startHour())
	if len(c.Hours) == 0 && len(c.Minutes)+len(c.Seconds) > 0 {
		hours = allHours
	}
	c.setTimes(hours, newTimesOfDay(hours, c.minutesOfHour(), c.secondsOfMinute()))
	c.rule.atStart = len(c.Hours)+len(c.Minutes)+len(c.Seconds)+len(c.WeekDays)+len(c.MonthDays)+len(c.MonthlyOccurrences)+
		len(c.Months)+len(c.Positions)+len(c.Days) == 0 && c.ShiftBy == 0

	day := floorDiv(c.local, secondsPerDay)
	d := &c.rule.days
	d.interval = int64(c.Interval)
	switch c.Frequency {
	case Day:
		d.unit, d.origin = daily, day
	case Week:
		d.unit, d.weekStart = weekly, int64(c.WeekStart)
		d.origin = d.weekOf(day)
		d.weekDays = uint8(rotateWeek(c.weekDaysOr(c.unlessAll(1<<weekdayOfDay(day), 1<<7-1)), int(d.weekStart)))
	case Month:
		d.unit, d.origin = monthly, dateOf(day).month
		d.months = c.monthsOr(1<<12 - 1)
		d.fillSkipMonths()
		d.fillMonthMasks(c.daysOfMonth(dateOf(day).day))
	case Year:
		date := dateOf(day)
		d.unit, d.origin = yearly, date.month/12
		d.months = c.monthsOr(1 << (date.month % 12))
		if c.namesAllDays() {
			d.months = c.monthsOr(1<<12 - 1)
		}
		d.fillMonthMasks(c.daysOfMonth(date.day))
	}
	c.keepDays()
}

// namesAllDays reports whether a rule without day elements has all days of its periods, of which Positions or Days select some.
func (c *compiler) namesAllDays() bool { return len(c.Positions)+len(c.Days) > 0 }

// unlessAll returns a mask of days that comes from the start, or the mask of all days.
func (c *compiler) unlessAll(fromStart, all uint8) uint8 {
	if c.namesAllDays() {
		return all
	}
	return fromStart
}

// keepDays compiles which days of the rule are kept, if not all are.
func (c *compiler) keepDays() {
	if c.rule.calendar == nil && c.limit == nil && len(c.Positions) == 0 && c.ShiftBy == 0 {
		return
	}
	c.rule.kept = &keptDays{days: &c.rule.days, limit: c.limit, shift: c.Shift, shiftBy: int64(c.ShiftBy)}
	if c.rule.calendar != nil {
		c.rule.kept.calendar = c.rule.calendar
		c.rule.atStart = c.rule.atStart && c.rule.calendar.isOpen(c.local)
		if c.rule.calendar.timed {
			c.setWindows()
		}
	}
	if len(c.Positions) > 0 {
		c.rule.kept.positions = newPositions(&c.rule.days, c.Positions)
	}
}

// openBlocks compiles the frequencies second, minute and hour with a calendar.
func (c *compiler) openBlocks() {
	hours, minutes, seconds := c.hoursOr(allHours), c.minutesOr(allMinutes), c.secondsOr(allSeconds)
	unit, block, origin := unitOf(c.Frequency), int64(1), c.start
	switch {
	case c.Frequency == Minute && len(c.Seconds) > 0:
		block, origin = unit, c.start-c.startSecond()
	case c.Frequency == Hour && len(c.Hours)+len(c.Minutes)+len(c.Seconds)+len(c.Days) > 0:
		block, origin = unit, c.start-mod(c.local, unit)
		minutes, seconds = c.minutesOfHour(), c.secondsOfMinute()
	}
	c.rule.kind = inOpenBlocks
	c.rule.open = newOpenBlocks(c.rule, origin, unit, int64(c.Interval), block, newTimesOfDay(hours, minutes, seconds))
}

// unitOf returns the seconds of a frequency that follows elapsed time.
func unitOf(f Frequency) int64 { return [...]int64{Second: 1, Minute: 60, Hour: 3600}[f] }

// setWindows computes which open times of each type of day contain a time of the rule.
func (c *compiler) setWindows() {
	r := c.rule
	r.kept.windows = make([][]span, len(r.calendar.windows))
	for kind, windows := range r.calendar.windows {
		meets := func(w span) bool {
			first, ok := r.times.next(w.first)
			return ok && first <= w.last
		}
		n := 0
		for _, w := range windows {
			if meets(w) {
				n++
			}
		}
		if n == len(windows) {
			r.kept.windows[kind] = windows
			continue
		}
		for _, w := range windows {
			if n > 0 && meets(w) {
				r.kept.windows[kind] = append(r.kept.windows[kind], w)
			}
		}
	}
}

// setTimes sets the times of day. All 24 hours follow elapsed time; named hours follow the clock.
func (c *compiler) setTimes(hours uint32, times timesOfDay) {
	c.rule.kind = namedHours
	if hours == allHours || c.ClockChanges == ClockShown {
		c.rule.kind = everyHour
	}
	c.rule.times = times
}

// daysOfMonth returns a function that returns the days of a shape of a month that match the day elements. If both elements are given, both must match.
// If none is given, only the day of the start matches, or all days if Positions or Days select some of them.
func (c *compiler) daysOfMonth(startDay int) func(length, firstWeekday int) uint32 {
	set := newMonthDaySet(c.MonthDays, c.MonthlyOccurrences)
	if set.empty() && !c.namesAllDays() {
		set = newMonthDaySet([]int{startDay}, nil)
	}
	return set.mask
}

// cron compiles five cron fields. They have no interval, and nothing in them comes from the start.
func (c *compiler) cron(f *cronFields) {
	c.setTimes(f.hours, newTimesOfDay(f.hours, f.minutes, 1))
	defer c.keepDays()
	var weekDays uint8
	for day := range 7 {
		if f.weekDays>>day&1 == 1 {
			weekDays |= 1 << daysSinceMonday(time.Weekday(day))
		}
	}
	d := &c.rule.days
	d.interval = 1
	if f.months == 1<<13-2 && !f.domRestricted {
		d.unit, d.weekDays = weekly, weekDays
		return
	}
	d.unit, d.months = monthly, f.months>>1
	d.fillSkipMonths()
	d.fillMonthMasks(func(length, firstWeekday int) uint32 {
		byDate, byWeekday := uint32(f.daysOfMonth), weekdayMask(weekDays, firstWeekday)
		if f.domRestricted && f.dowRestricted {
			return (byDate | byWeekday) & daysOf(length)
		}
		return byDate & byWeekday & daysOf(length)
	})
}

// The methods below return a mask of an element's values, or the given mask if the element is not set.

func (c *compiler) secondsOr(mask uint64) uint64 { return maskOr(c.Seconds, 0, mask) }
func (c *compiler) minutesOr(mask uint64) uint64 { return maskOr(c.Minutes, 0, mask) }
func (c *compiler) hoursOr(mask uint32) uint32   { return uint32(maskOr(c.Hours, 0, uint64(mask))) }
func (c *compiler) monthsOr(mask uint16) uint16  { return uint16(maskOr(c.Months, 1, uint64(mask))) }

func (c *compiler) weekDaysOr(mask uint8) uint8 { return maskOfWeekDays(c.WeekDays, mask) }

// maskOfWeekDays returns a mask with a bit for each weekday; bit 0 is Monday. Without weekdays it returns the given mask.
func maskOfWeekDays(days []time.Weekday, mask uint8) uint8 {
	if len(days) == 0 {
		return mask
	}
	mask = 0
	for _, day := range days {
		mask |= 1 << daysSinceMonday(day)
	}
	return mask
}

// maskOr returns a mask with a bit for each value; bit 0 is the value lowest. Without values it returns the given mask.
func maskOr[T ~int](values []T, lowest T, mask uint64) uint64 {
	if len(values) == 0 {
		return mask
	}
	mask = 0
	for _, v := range values {
		mask |= 1 << (v - lowest)
	}
	return mask
}
