package recurrence

import (
	"fmt"
	"slices"
	"time"
)

// costly returns a rule that is meant to be slow: many filters, dates, times and rules of also, in a proportion that is slow for one part of the engine.
// Its filters have about one of the given sizes, in bytes.
func (g generator) costly(sizes ...int) Recurrence {
	zone := pick(g.Rand, "", "", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Europe/Amsterdam", "Europe/London")
	r := g.costlyRule(0)
	r.TimeZone = zone
	r.StartTime = pick(g.Rand, minTime, minTime, time.Date(2026, 1, 1, 0, 0, g.IntN(60), 0, time.UTC), time.Time{})
	if !r.StartTime.IsZero() {
		r.StartTime = r.StartTime.Add(time.Duration(g.IntN(100*86400)) * time.Second)
	}
	room := pick(g.Rand, sizes...)
	filters := 1 + g.IntN(maxFilters)
	only := g.IntN(filters + 1)
	dates, times := pick(g.Rand, 0, 1, 1, 3), pick(g.Rand, 0, 0, 1, 3)
	form := g.costlyForm()
	for i := range filters {
		f := form.filter(g, room/filters, dates, times, i)
		if i < only {
			r.Only = append(r.Only, f)
		} else {
			r.Except = append(r.Except, f)
		}
	}
	if hasDays(r) && len(r.Positions) == 0 && g.chance(2) {
		r.Shift = ShiftNext + Shift(g.IntN(6))
	}
	if hasDays(r) && g.chance(3) {
		r.ShiftBy = pick(g.Rand, 1, -1, maxShiftBy, -maxShiftBy, g.IntN(maxShiftBy))
	}
	if hasDays(r) && g.chance(3) {
		r.ClockChanges = ClockSkip + ClockChanges(g.IntN(2))
	}
	if g.chance(2) {
		entry := g.costlyRule(r.Frequency)
		for range pick(g.Rand, 1, maxAlsoRules, maxAlsoRules) {
			if g.chance(3) {
				entry = g.costlyRule(r.Frequency)
			}
			if r.Shift != ShiftDrop {
				entry.Positions = nil
			}
			if (r.Shift != ShiftDrop || r.ShiftBy != 0 || r.ClockChanges != ClockOnce) && !hasDays(entry) {
				continue
			}
			entry.Interval = max(entry.Interval-g.IntN(2), 1)
			if entry.Days != nil && g.chance(2) {
				entry.Days = g.costlyDays(room / 8)
			}
			r.Also = append(r.Also, entry)
		}
	}
	return r
}

// costlyRule returns the rule of an entry of also, of the frequency or of another one.
func (g generator) costlyRule(f Frequency) Recurrence {
	if f == 0 || g.chance(4) {
		f = Second + Frequency(g.IntN(7))
	}
	r := Recurrence{Frequency: f, Interval: 1 + g.IntN(frequencies[f].maxInterval)}
	if g.chance(3) {
		r.Interval = pick(g.Rand, 1, 2, 4, 12, 18)
	}
	if g.chance(2) {
		r.Hours = g.some(0, 23, 6)
	}
	if g.chance(3) {
		r.Hours = upTo(0, 23, 1)
	}
	if g.chance(2) {
		r.Minutes = g.some(0, 59, 30)
	}
	if g.chance(2) {
		r.Seconds = g.some(0, 59, 30)
	}
	if f == Week && g.chance(2) {
		r.WeekDays = []time.Weekday{time.Weekday(g.IntN(7))}
	}
	if f == Month && g.chance(2) {
		r.MonthDays = g.some(1, 31, 4)
		if g.chance(2) {
			r.MonthDays = []int{pick(g.Rand, 29, 30, 31, -31)}
		}
	}
	if f == Month && g.chance(3) {
		r.MonthlyOccurrences = []NthWeekday{{time.Weekday(g.IntN(7)), pick(g.Rand, 5, -5, 1)}}
	}
	if f >= Month && g.chance(3) {
		r.Months = []time.Month{time.February}
	}
	if g.chance(4) {
		r.Days = g.costlyDays(2000)
	}
	if limit := map[Frequency]int{Week: 7, Month: 31, Year: 366}[f]; limit > 0 && g.chance(3) {
		r.Positions = []int{pick(g.Rand, limit, -limit, 1, 1+g.IntN(limit), -1-g.IntN(limit))}
		if g.chance(3) {
			r.Positions = upTo(1, limit, 1)
		}
	}
	return r
}

// costlyDays returns filters for Days, of about that many bytes.
func (g generator) costlyDays(room int) (list []Filter) {
	n := pick(g.Rand, 1, 2, 8, maxFilters)
	form := g.costlyForm()
	for i := range n {
		f := form.filter(g, room/n, 1, 0, i)
		f.Times = nil
		if f.Dates == nil && g.chance(2) {
			f.Dates = []string{pick(g.Rand, "1900-02-03", "2199-12-30", "02-29", "2026-01-01/2199-12-31")}
		}
		list = append(list, g.ofYear(f))
		if g.chance(2) {
			list[i].Weeks, list[i].YearDays, list[i].YearlyOccurrences = nil, nil, nil
			list[i].MonthDays = g.some(1, 31, 5)
		}
	}
	return list
}

// A costlyForm is what the filters of a rule have in common.
type costlyForm struct {
	nested, single, yearly, weekly, feasts, ofYear bool // the kinds of days
	step, length                                   int  // of times, in seconds
	from                                           int
}

func (g generator) costlyForm() costlyForm {
	return costlyForm{
		nested: g.chance(2), single: g.chance(2), yearly: g.chance(4), weekly: g.chance(3), feasts: g.chance(4), ofYear: g.chance(4),
		step: pick(g.Rand, 2, 7, 13, 30, 60, 61, 120, 720, 864), length: pick(g.Rand, 1, 1, 2, 30, 59, 60), from: g.IntN(86400),
	}
}

// filter returns the i-th filter, of about that many bytes, of which dates and times have a part.
func (f costlyForm) filter(g generator, room, dates, times, i int) (filter Filter) {
	day := time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, i*g.IntN(40))
	last := time.Date(2199, 12, 31-i%28, 0, 0, 0, 0, time.UTC)
	n, m := 0, 0
	if dates+times > 0 {
		n, m = min(room*dates/(dates+times)/16, 1000), min(room*times/(dates+times)/13, 100)
	}
	for k := range n {
		switch {
		case f.nested && k == 0:
			filter.Dates = append(filter.Dates, day.Format(time.DateOnly)+"/"+last.Format(time.DateOnly))
		case f.yearly && k%2 == 0:
			filter.Dates = append(filter.Dates, day.AddDate(0, 0, g.IntN(365)).Format("01-02"))
		case f.feasts:
			first, last := int64(g.IntN(maxFromEaster)-maxFromEaster), int64(g.IntN(maxFromEaster)+1)
			filter.Dates = append(filter.Dates, dateEntry{easter + feast(k&1), true, first + int64(i), last}.String(), dateEntry{easter, true, last, last}.String())
		case f.single:
			filter.Dates = append(filter.Dates, day.AddDate(0, 0, g.IntN(109_000)).Format(time.DateOnly))
		default:
			from := day.AddDate(0, 0, k*109_000/n)
			filter.Dates = append(filter.Dates, from.Format(time.DateOnly)+"/"+from.AddDate(0, 0, g.IntN(60)).Format(time.DateOnly))
		}
	}
	filter.Dates = slices.DeleteFunc(filter.Dates, func(text string) bool { _, reason := parseDates(text); return reason != "" })
	for k := range m {
		begin := (f.from + (k+i*m)*f.step) % 86400
		end := min(begin+g.IntN(f.length), 86399)
		filter.Times = append(filter.Times, fmt.Sprintf("%s/%s", formatSecond(int64(begin)), formatSecond(int64(end))))
	}
	if f.weekly || len(filter.Dates)+len(filter.Times) == 0 {
		switch g.IntN(3) {
		case 0:
			filter.WeekDays = []time.Weekday{time.Weekday(i % 7)}
		case 1:
			filter.MonthDays = g.some(1, 31, 20)
		default:
			filter.Months = []time.Month{time.Month(1 + i%12)}
		}
	}
	if f.ofYear {
		filter = g.ofYear(filter)
	}
	return filter
}
