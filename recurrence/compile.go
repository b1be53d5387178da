package recurrence

import "time"

// gregorianDays are the days of 400 years, after which the calendar repeats.
const gregorianDays = 146097

// compile turns a valid Recurrence, with the start in place, into its rule. It refuses what can never fire: nothing
// matches in 400 years from the start, in the zone with its offsets up to the horizon.
func compile(r Recurrence, start int64, z *zone, cron *cronFields) (rule, error) {
	c := compiler{Recurrence: r, start: start, local: start + z.offsetAt(start)}
	c.Interval = max(c.Interval, 1)
	c.rule = rule{start: start, zone: z}
	switch {
	case cron != nil:
		c.cron(cron)
	case r.Frequency == 0:
		c.rule.atStart = true
	case r.Frequency < Hour:
		c.elapsed()
	case r.Frequency == Hour:
		c.hourly()
	default:
		c.civil()
	}

	day := floorDiv(c.local, secondsPerDay)
	c.rule.days.limit = day + gregorianDays
	if !c.rule.fires() {
		return rule{}, c.refusal()
	}
	c.rule.days.limit = max(day, horizon/secondsPerDay+2)
	return c.rule, nil
}

// A compiler builds one rule.
type compiler struct {
	Recurrence
	start int64
	local int64 // the wall second of the start
	rule  rule
}

func (c *compiler) refusal() error {
	if c.Cron != "" {
		return refuse(CodeNeverFires, "cron", c.Cron, "no day has such a date")
	}
	return refuse(CodeNeverFires, "schedule", "", "never matches: from the start on, no instant that the interval reaches fits the schedule")
}

// startHour, startMinute and startSecond are what the clock shows at the start.
func (c *compiler) startHour() int     { return int(mod(c.local, secondsPerDay) / 3600) }
func (c *compiler) startMinute() int   { return int(mod(c.local, 3600) / 60) }
func (c *compiler) startSecond() int64 { return mod(c.local, 60) }

// elapsed compiles second and minute, which hours and minutes limit.
func (c *compiler) elapsed() {
	unit := int64(1)
	if c.Frequency == Minute {
		unit = 60
	}
	if len(c.Hours) == 0 && len(c.Minutes) == 0 {
		c.lattice(unit)
		return
	}
	c.rule.kind = stepped
	c.rule.step = newStep(c.start, unit, int64(c.Interval), newDial(c.hoursOr(allHours), c.minutesOr(allMinutes), 0))
}

// lattice compiles an interval of elapsed time and nothing else.
func (c *compiler) lattice(unit int64) {
	c.rule.kind = lattice
	c.rule.length = int64(c.Interval) * unit
}

// hourly compiles hour: minutes expand, hours limit, both on the local clock.
func (c *compiler) hourly() {
	if len(c.Hours) == 0 && len(c.Minutes) == 0 {
		c.lattice(3600)
		return
	}
	c.rule.kind = blocked
	clock := newDial(c.hoursOr(allHours), c.minutesOr(1<<c.startMinute()), c.second())
	c.rule.blocks = newBlocks(c.start-mod(c.local, 3600), int64(c.Interval), clock)
}

// second is 0 where minutes are given, otherwise that of the start.
func (c *compiler) second() int64 {
	if len(c.Minutes) > 0 {
		return 0
	}
	return c.startSecond()
}

// civil compiles day, week, month and year: days of the calendar and times of the day.
func (c *compiler) civil() {
	hours := c.hoursOr(1 << c.startHour())
	if len(c.Hours) == 0 && len(c.Minutes) > 0 {
		hours = allHours
	}
	c.times(hours, newDial(hours, c.minutesOr(1<<c.startMinute()), c.second()))
	c.rule.atStart = len(c.Hours) == 0 && len(c.Minutes) == 0 && len(c.WeekDays) == 0 &&
		len(c.MonthDays) == 0 && len(c.MonthlyOccurrences) == 0 && len(c.Months) == 0

	day := floorDiv(c.local, secondsPerDay)
	d := &c.rule.days
	d.interval = int64(c.Interval)
	switch c.Frequency {
	case Day:
		d.period, d.origin = daily, day
	case Week:
		d.period, d.origin = weekly, weekOf(day)
		d.weekDays = c.weekDaysOr(1 << weekdayAt(day))
	case Month:
		d.period, d.origin = monthly, dateOf(day).month
		d.months = c.monthsOr(1<<12 - 1)
		d.fillSkip()
		d.fillMonth(c.monthHas(dateOf(day).day))
	case Year:
		date := dateOf(day)
		d.period, d.origin = yearly, date.month/12
		d.months = c.monthsOr(1 << (date.month % 12))
		d.fillMonth(func(day, _, _ int) bool { return day == date.day })
	}
}

// times sets the times of a day. All 24 hours follow the real instants, named hours the clock.
func (c *compiler) times(hours uint32, times dial) {
	c.rule.kind = named
	if hours == allHours {
		c.rule.kind = allDay
	}
	c.rule.clock = times
}

// monthHas says which days of a month the day elements allow: both where both are given, the start's where none is.
func (c *compiler) monthHas(startDay int) func(day, length, weekday int) bool {
	if len(c.MonthDays) == 0 && len(c.MonthlyOccurrences) == 0 {
		return func(day, _, _ int) bool { return day == startDay }
	}
	return func(day, length, weekday int) bool {
		byDate := len(c.MonthDays) == 0
		for _, d := range c.MonthDays {
			byDate = byDate || d == day || d == day-length-1
		}
		byWeekday := len(c.MonthlyOccurrences) == 0
		for _, o := range c.MonthlyOccurrences {
			nth := o.N == 0 || o.N == (day-1)/7+1 || o.N == -((length-day)/7+1)
			byWeekday = byWeekday || nth && mondayBased(o.Day) == weekday
		}
		return byDate && byWeekday
	}
}

// cron compiles five fields. They hold no interval and take nothing from the start.
func (c *compiler) cron(f *cronFields) {
	c.times(f.hours, newDial(f.hours, f.minutes, 0))
	var weekDays uint8
	for day := range 7 {
		if f.weekDays>>day&1 == 1 {
			weekDays |= 1 << mondayBased(time.Weekday(day))
		}
	}
	d := &c.rule.days
	d.interval = 1
	if f.months == 1<<13-2 && !f.domRestricted {
		d.period, d.weekDays = weekly, weekDays
		return
	}
	d.period, d.months = monthly, f.months>>1
	d.fillSkip()
	d.fillMonth(func(day, _, weekday int) bool {
		byDate := f.daysOfMonth>>day&1 == 1
		byWeekday := weekDays>>weekday&1 == 1
		if f.domRestricted && f.dowRestricted {
			return byDate || byWeekday
		}
		return byDate && byWeekday
	})
}

// mondayBased numbers the weekdays from Monday, which is 0.
func mondayBased(day time.Weekday) int { return (int(day) + 6) % 7 }

func (c *compiler) minutesOr(mask uint64) uint64 { return maskOr(c.Minutes, 0, mask) }
func (c *compiler) hoursOr(mask uint32) uint32   { return uint32(maskOr(c.Hours, 0, uint64(mask))) }
func (c *compiler) monthsOr(mask uint16) uint16  { return uint16(maskOr(c.Months, 1, uint64(mask))) }

func (c *compiler) weekDaysOr(mask uint8) uint8 {
	if len(c.WeekDays) == 0 {
		return mask
	}
	mask = 0
	for _, day := range c.WeekDays {
		mask |= 1 << mondayBased(day)
	}
	return mask
}

// maskOr has a bit for each value, counted from lowest; a mask in its place where there are no values.
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
