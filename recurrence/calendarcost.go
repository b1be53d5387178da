package recurrence

import "slices"

// maxSteps is the budget of a definition: how many steps the compilation of its calendar may take, at any start and on any machine. A step takes some
// nanoseconds. The steps are:
//
//   - one for each filter and each month that has days of its own, and for each group of its days that fit the same filters one and a quarter of
//     the filters with different times,
//   - 336 for each filter that has fields which count in the year: one for each month of each shape of years,
//   - ten for each range of times of each filter that the days of a type fit,
//   - for each rule of days two for each range of open times of each type of days,
//   - for each rule of elapsed time, and each fraction of its unit by which the clocks of its zone have ever been off, one for each open range and each
//     minute that is open on a type of days, or for each eight seconds with frequency second.
//
// A definition that people write needs less than a hundredth of it.
const maxSteps = 2_000_000

// compileCalendar compiles the calendar of a rule without a mistake, and refuses one that is too large for the budget. It returns nil without filters.
func (r Recurrence) compileCalendar() (*calendar, error) {
	c, err := newCalendar(r.Only, r.Except)
	if err != nil || c == nil || !c.timed {
		return c, err
	}
	ranges, minutes, eighths := 0, 0, 0
	for _, windows := range c.windows {
		ranges += len(windows)
		for _, w := range windows {
			minutes += int(w.last/60 - w.first/60)
			eighths += int(w.last-w.first) / 8
		}
	}
	for _, rule := range r.rules() {
		rule = rule.within(r)
		if rule.runsOnce() {
			continue
		}
		fields, z, err := rule.expandCron()
		switch {
		case err != nil:
			return nil, err
		case fields != nil || rule.Frequency >= Day:
			c.left -= 2 * ranges
		case rule.Frequency == Second:
			c.left -= ranges + eighths
		default:
			c.left -= z.rests(unitOf(rule.Frequency)) * (ranges + minutes)
		}
	}
	if c.left < 0 {
		return nil, tooManySteps(r.Only, r.Except)
	}
	return c, nil
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

func tooManySteps(only, except []Filter) *Error {
	field := "except"
	if len(except) == 0 || len(only) > 0 && !slices.ContainsFunc(except, func(f Filter) bool { return len(f.Times) > 0 }) {
		field = "only"
	}
	return newError(CodeFilterSize, field, "", "must compile in at most %d steps, with the rest of the calendar and all rules: the filters give too many types of days and times; "+
		"write fewer filters, or fewer dates and times in each", maxSteps)
}
