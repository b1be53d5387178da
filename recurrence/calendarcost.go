package recurrence

import "slices"

// maxSteps is the budget of a definition: how many steps the compilation of its calendars may take, at any start and on any machine. A step takes some
// nanoseconds. The steps are:
//
//   - for each month that has days of its own (in which a range of dates begins or ends, or that has days that count from Easter, once for each day that
//     Easter may have): one for each filter of the calendar or of the days of a rule; and for each group of its days that fit the same filters one, and
//     a quarter of the number of filters with different times,
//   - 336 for each filter that has fields which count in the year: one for each month of each shape of years,
//   - ten for each range of times of each filter that the days of a type fit,
//   - for each rule of days two for each range of open times of each type of days,
//   - for each rule of elapsed time, and each fraction of its unit by which the clocks of its zone have ever been off, one for each open range and each
//     minute that is open on a type of days, or for each eight seconds with frequency second.
//
// A definition that people write needs less than a hundredth of it.
const maxSteps = 2_000_000

// calendars are the compiled calendars of a definition.
type calendars struct {
	whole *calendar   // of Only and Except; nil: all is open
	own   []*calendar // of each rule, in the order of [Recurrence.rules]; nil for a rule without Days, and if no rule has Days
	left  int         // what is left of the budget of maxSteps
}

// of returns the calendar of the n-th rule, and the days that limit it; nil: all. A rule of elapsed time has both in one calendar.
func (c *calendars) of(n int, f Frequency) (open, limit *calendar) {
	switch {
	case c.own == nil || c.own[n] == nil:
		return c.whole, nil
	case f < Day:
		return c.own[n], nil
	}
	return c.whole, c.own[n]
}

// compileCalendars compiles the calendars of a rule without a mistake, and refuses filters that are too large for the budget.
func (r Recurrence) compileCalendars() (c calendars, err error) {
	c.left = maxSteps
	if len(r.Only)+len(r.Except) > 0 {
		if c.whole = newCalendar(calendarFilters{only: r.Only, except: r.Except}, &c.left); c.whole == nil {
			return c, r.tooManySteps("")
		}
	}
	limited := r.limitsDays()
	if !limited && (c.whole == nil || !c.whole.timed) {
		return c, nil
	}
	for path, rule := range r.rules() {
		if err = c.addRule(rule.within(r), limited); err != nil {
			return c, err
		}
		if c.left < 0 {
			return c, r.tooManySteps(path)
		}
	}
	return c, nil
}

// limitsDays reports whether a rule has Days.
func (r Recurrence) limitsDays() bool {
	return len(r.Days) > 0 || slices.ContainsFunc(r.Also, func(entry Recurrence) bool { return len(entry.Days) > 0 })
}

// addRule adds the calendar of a rule, if any rule has its own, and subtracts the steps that the rule takes with its calendar.
func (c *calendars) addRule(rule Recurrence, limited bool) error {
	var own *calendar
	if len(rule.Days) > 0 {
		filters := calendarFilters{days: rule.Days, weekStart: int64(rule.WeekStart)}
		if rule.Frequency < Day {
			filters.only, filters.except = rule.Only, rule.Except
		}
		if own = newCalendar(filters, &c.left); own == nil {
			return nil
		}
	}
	if limited {
		c.own = append(c.own, own)
	}
	open := c.whole
	if own != nil && rule.Frequency < Day {
		open = own
	}
	if open == nil || !open.timed || rule.runsOnce() {
		return nil
	}
	fields, z, err := rule.expandCron()
	switch size := &open.size; {
	case err != nil:
		return err
	case fields != nil || rule.Frequency >= Day:
		c.left -= 2 * size.ranges
	case rule.Frequency == Second:
		c.left -= size.ranges + size.eighths
	default:
		c.left -= z.rests(unitOf(rule.Frequency)) * (size.ranges + size.minutes)
	}
	return nil
}

// A calendarSize determines how many steps a rule takes with a calendar: the ranges of open times of its types of days, and their minutes and eighths of
// minutes. It is 0 for a calendar without times.
type calendarSize struct{ ranges, minutes, eighths int }

func (c *calendar) setSize() {
	for _, windows := range c.windows {
		c.size.ranges += len(windows)
		for _, w := range windows {
			c.size.minutes += int(w.last/60 - w.first/60)
			c.size.eighths += int(w.last-w.first) / 8
		}
	}
}

// rests returns how many different remainders the offsets of a zone have, divided by a unit in seconds.
func (z *zone) rests(unit int64) int {
	var seen []int64
	for i := range z.periods {
		if rest := mod(z.periods[i].offset, unit); !slices.Contains(seen, rest) {
			seen = append(seen, rest)
		}
	}
	return len(seen)
}

// tooManySteps is the error of a definition that exceeds the budget with a rule, of which path is the path.
func (r Recurrence) tooManySteps(path string) *Error {
	field := "except"
	switch {
	case len(r.Only)+len(r.Except) == 0:
		if field = "schedule.days"; path != "" {
			field = path + "." + field
		}
	case len(r.Except) == 0 || len(r.Only) > 0 && !slices.ContainsFunc(r.Except, func(f Filter) bool { return len(f.Times) > 0 }):
		field = "only"
	}
	return newError(CodeFilterSize, field, "", "must compile in at most %d steps, with the rest of the calendar and all rules: the filters give too many types of days and times; "+
		"write fewer filters, or fewer dates and times in each", maxSteps)
}
