package recurrence

import (
	"math/rand/v2"
	"slices"
	"time"
)

// calendar returns a rule with a random calendar: any of Seconds, Positions, Only, Except, Shift, ClockChanges and Also, in
// combinations that are valid. Its dates, times and instants lie near one of the given instants.
func (g generator) calendar(r Recurrence, near ...time.Time) Recurrence {
	if g.chance(12) && !r.StartTime.IsZero() {
		dates := Recurrence{StartTime: r.StartTime, TimeZone: r.TimeZone} // a plain list of dates
		dates.Also = g.also(dates, near)
		return dates
	}
	r = g.elements(r)
	if g.chance(3) {
		r.Only = g.filters(r.TimeZone, near)
	}
	if g.IntN(3) > 0 {
		r.Except = g.filters(r.TimeZone, near)
	}
	if hasDays(r) && len(r.Positions) == 0 && len(r.Only)+len(r.Except) > 0 && g.IntN(3) > 0 {
		r.Shift = ShiftNext + Shift(g.IntN(6))
	}
	if hasDays(r) && g.chance(3) {
		r.ClockChanges = ClockSkip + ClockChanges(g.IntN(2))
	}
	if g.chance(4) {
		r.Also = g.also(r, near)
	}
	return r
}

func pick[T any](rng *rand.Rand, values ...T) T { return values[rng.IntN(len(values))] }

// hasDays reports whether a rule has days and times of the day, so that Shift and ClockChanges are valid with it.
func hasDays(r Recurrence) bool { return r.Frequency >= Day || r.Cron != "" }

// elements adds seconds and positions.
func (g generator) elements(r Recurrence) Recurrence {
	if r.Cron != "" {
		return r
	}
	switch {
	case r.Frequency == Second && g.chance(2):
		r.Seconds = g.some(0, 59, 30)
	case r.Frequency > Second && g.chance(4):
		r.Seconds = g.some(0, 59, 3)
	}
	if limit := map[Frequency]int{Week: 7, Month: 31, Year: 366}[r.Frequency]; limit > 0 && g.chance(3) {
		if g.chance(2) {
			limit = min(limit, 5)
		}
		for _, n := range g.some(1, limit, 4) {
			r.Positions = append(r.Positions, pick(g.Rand, n, -n))
		}
		if g.chance(2) {
			r.WeekDays, r.MonthDays, r.MonthlyOccurrences = nil, nil, nil
		}
	}
	return r
}

// also returns one to four entries, which are valid in the rule.
func (g generator) also(outer Recurrence, near []time.Time) (list []Recurrence) {
	for range 1 + g.IntN(4) {
		entry := Recurrence{StartTime: g.around(near, 40)}
		if g.chance(2) {
			entry = g.elements(g.rule(""))
			if (outer.Shift != ShiftDrop || outer.ClockChanges != ClockOnce) && !hasDays(entry) {
				entry = Recurrence{Frequency: Week, WeekDays: []time.Weekday{time.Weekday(g.IntN(7))}}
			}
			if outer.Shift != ShiftDrop {
				entry.Positions = nil
			}
			if g.chance(2) {
				entry.StartTime = g.around(near, 400)
			}
			if !entry.StartTime.IsZero() && g.chance(3) {
				entry.EndTime = entry.StartTime.Add(time.Duration(g.IntN(100*86400)) * time.Second)
			}
		}
		list = append(list, entry)
	}
	return list
}

// around returns an instant within a number of days of one of the given instants.
func (g generator) around(near []time.Time, days int) time.Time {
	at := near[g.IntN(len(near))].Add(time.Duration(g.IntN(2*days*86400)-days*86400) * time.Second)
	if g.chance(2) {
		at = at.Truncate(15 * time.Minute)
	}
	first, last := time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2199, 12, 31, 0, 0, 0, 0, time.UTC)
	if at.Before(first) || at.After(last) {
		at = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return secondOf(at)
}

func (g generator) filters(zone string, near []time.Time) (list []Filter) {
	if g.chance(3) {
		list = append(list, Filter{WeekDays: []time.Weekday{time.Saturday, time.Sunday}})
	}
	for range 1 + g.IntN(3) {
		list = append(list, g.filter(zone, near))
	}
	return list
}

// filter returns a filter with at least one field.
func (g generator) filter(zone string, near []time.Time) (f Filter) {
	if g.chance(3) {
		for _, day := range g.some(0, 6, 5) {
			if len(f.WeekDays) < 7 {
				f.WeekDays = append(f.WeekDays, time.Weekday(day))
			}
		}
	}
	if g.chance(5) {
		for _, day := range g.some(1, 31, 15) {
			f.MonthDays = append(f.MonthDays, pick(g.Rand, day, day, -day))
		}
	}
	if g.chance(6) {
		for range 1 + g.IntN(3) {
			f.MonthlyOccurrences = append(f.MonthlyOccurrences, NthWeekday{time.Weekday(g.IntN(7)), g.IntN(11) - 5})
		}
	}
	if g.chance(6) {
		for _, m := range g.some(1, 12, 8) {
			f.Months = append(f.Months, time.Month(m))
		}
	}
	if g.chance(3) {
		for range 1 + g.IntN(5) {
			f.Dates = append(f.Dates, g.dates(near))
		}
	}
	if g.chance(3) {
		for range 1 + g.IntN(2) {
			f.Times = append(f.Times, g.times(zone, near))
		}
	}
	if len(f.WeekDays)+len(f.MonthDays)+len(f.MonthlyOccurrences)+len(f.Months)+len(f.Dates)+len(f.Times) == 0 {
		f.Dates = []string{g.dates(near)}
	}
	return f
}

// dates returns a date or a range, of one year or of every year.
func (g generator) dates(near []time.Time) string {
	from := g.around(near, 40)
	to := from.AddDate(0, 0, pick(g.Rand, 0, 1, 6, 35, 60, 400))
	if g.chance(10) {
		from, to = time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC), time.Date(2024, 2, 29+g.IntN(3), 0, 0, 0, 0, time.UTC)
	}
	if to.Year() > 2199 {
		to = from
	}
	layout := pick(g.Rand, time.DateOnly, "01-02")
	if g.chance(2) {
		return from.Format(layout)
	}
	if layout != time.DateOnly && g.chance(4) {
		from, to = time.Date(2024, 12, 10+g.IntN(22), 0, 0, 0, 0, time.UTC), time.Date(2024, 1, 1+g.IntN(20), 0, 0, 0, 0, time.UTC) // over New Year
	}
	return from.Format(layout) + "/" + to.Format(layout)
}

// times returns a time of the day or a range. A range contains midnight if its end is before its begin.
func (g generator) times(zone string, near []time.Time) string {
	loc := time.UTC
	if zone != "" {
		loc, _ = time.LoadLocation(zone)
	}
	from := near[g.IntN(len(near))].In(loc)
	if g.chance(2) {
		from = from.Add(time.Duration(g.IntN(86400)) * time.Second)
	}
	if g.chance(2) {
		from = time.Date(2026, 1, 1, g.IntN(4), pick(g.Rand, 0, 15, 30, 59), pick(g.Rand, 0, 30, 59), 0, time.UTC) // when clocks change
	}
	to := from.Add(pick(g.Rand, 0, time.Second, time.Minute, 29*time.Minute, time.Hour, 9*time.Hour, 20*time.Hour, 24*time.Hour-time.Minute))
	layouts := []string{"15:04", "15:04", "15:04:05"}
	begin := from.Format(layouts[g.IntN(3)])
	if g.chance(3) {
		return begin
	}
	return begin + "/" + to.Format(layouts[g.IntN(3)])
}

// withoutCalendar returns a rule without the fields that calendar sets.
func withoutCalendar(r Recurrence) Recurrence {
	r.Seconds, r.Positions, r.Only, r.Except, r.Shift, r.Also, r.ClockChanges = nil, nil, nil, nil, ShiftDrop, nil, ClockOnce
	return r
}

// drawCalendar returns a random rule with a calendar, its creation, and an instant near which something happens.
func (g generator) drawCalendar() (r Recurrence, created, from time.Time) {
	zone := engineZones[g.IntN(len(engineZones))]
	r = g.rule(zone)
	created = g.instant(zone).Add(time.Duration(g.IntN(2)) * 500 * time.Millisecond)
	if g.chance(30) {
		created = horizonTime.Add(-time.Duration(1+g.IntN(60*86400)) * time.Second)
	}
	switch g.IntN(7) {
	case 0:
	case 1:
		r.StartTime = g.instant(zone)
	case 2:
		r.StartTime = g.nearClockChange(zone)
		created = r.StartTime.Add(-time.Duration(g.IntN(3*86400)) * time.Second)
	default:
		r.StartTime = g.around([]time.Time{created}, 40)
	}
	from = g.around([]time.Time{created}, 20)
	switch {
	case g.chance(3):
		from = g.instant(zone)
	case g.chance(2) && !r.StartTime.IsZero():
		from = r.StartTime.Add(time.Duration(g.IntN(6*3600)) * time.Second)
	}
	near := []time.Time{created, from}
	if !r.StartTime.IsZero() {
		near = append(near, r.StartTime)
	}
	r = g.calendar(r, near...)
	if g.chance(8) {
		r, created, from = g.night(r, zone)
	}
	return r, created, later(from, newBruteForce(r, created).earliest().AddDate(0, -1, 0))
}

// night returns the rule for one day only, on which the clocks change, and an instant of that day: the rule has no matches except those of that
// day, on either pass.
func (g generator) night(r Recurrence, zone string) (_ Recurrence, created, from time.Time) {
	r.StartTime = g.nearClockChange(zone)
	from = r.StartTime.Add(time.Duration(g.IntN(3*3600)) * time.Second)
	loc := time.UTC
	if zone != "" {
		loc, _ = time.LoadLocation(zone)
	}
	r.Only = []Filter{{Dates: []string{from.In(loc).Format(time.DateOnly)}}}
	r.Except, r.Positions, r.Shift = nil, nil, ShiftDrop
	if r.Frequency == 0 && r.Cron == "" || g.chance(2) {
		r.Cron, r.Frequency, r.Interval, r.Seconds = "", Day, 0, nil
		r.WeekDays, r.MonthDays, r.MonthlyOccurrences, r.Months = nil, nil, nil, nil
		r.Hours, r.Minutes = g.some(0, 4, 2), []int{0, 30}
	}
	if hasDays(r) {
		r.ClockChanges = ClockChanges(g.IntN(3))
	}
	r.Also = slices.DeleteFunc(r.Also, func(entry Recurrence) bool { return !entry.runsOnce() })
	r.TimeZone = zone
	return r, r.StartTime, from
}

// nearClockChange returns an instant in the three hours before a change of the clocks or the two after it: one in the second pass of an
// hour, or one from which the first match may lie in the first pass.
func (g generator) nearClockChange(zone string) time.Time {
	z, err := loadZone(zone)
	if err != nil || len(z.periods) < 2 {
		return g.instant(zone)
	}
	at := time.Unix(z.periods[1+g.IntN(len(z.periods)-1)].begin, 0).Add(time.Duration(g.IntN(5*3600)-3*3600) * time.Second)
	if g.chance(2) {
		at = at.Truncate(time.Minute)
	}
	return at.UTC()
}

// drawManyFilters is drawCalendar with up to 40 filters whose ranges of dates begin and end in other months each, with few or many times, so that
// the types of days differ from day to day.
func (g generator) drawManyFilters() (r Recurrence, created, from time.Time) {
	r, created, from = g.drawCalendar()
	for len(r.Only)+len(r.Except) == 0 {
		r, created, from = g.drawCalendar()
	}
	alike := g.times(r.TimeZone, []time.Time{from})
	filters := func() (list []Filter) {
		for i := range 2 + g.IntN(19) {
			f := g.filter(r.TimeZone, []time.Time{from})
			begin := from.AddDate(0, 0, -i*g.IntN(20)-g.IntN(40))
			end := from.AddDate(0, 0, i*g.IntN(20)+g.IntN(40))
			if begin.Year() >= 1900 && end.Year() < 2200 && g.chance(2) {
				f.Dates = []string{begin.Format(time.DateOnly) + "/" + end.Format(time.DateOnly), g.dates([]time.Time{from})}
			}
			if g.chance(4) {
				f.Times = []string{alike}
			}
			if g.chance(3) {
				for range 10 {
					f.Times = append(f.Times, g.times(r.TimeZone, []time.Time{from}))
				}
			}
			list = append(list, f)
		}
		return list
	}
	if len(r.Only) > 0 || g.chance(2) {
		r.Only = filters()
	}
	if len(r.Except) > 0 || len(r.Only) == 0 {
		r.Except = filters()
	}
	return r, created, from
}
