package recurrence

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// An importedCron is what a cron text of another program names, after it was read by that program's fields. Its rule is the same for all programs.
type importedCron struct {
	seconds, minutes, hours, months uint64 // masks; bit 1 of months is January
	years                           []string
	dates                           importedDates
	week                            importedWeek
	either                          bool // one day field is enough if both are restricted; otherwise both must match
	staysInMonth                    bool // W on a Sunday that ends a month goes to the Friday before. Otherwise it has no run in that month
}

// importedDates is a field for days of the month.
type importedDates struct {
	any         bool
	days        []int // 1 to 31, -1 (the last) to -31
	nearest     []int // W: the weekday that is nearest to these days, within their month
	lastWeekday bool  // LW
}

// importedWeek is a field for days of the week.
type importedWeek struct {
	any  bool
	days uint8 // bit 0 is Sunday
	nth  []NthWeekday
}

// noDayFits is a filter that no day fits: the first of a month is never its fifth Monday.
var noDayFits = Filter{MonthDays: []int{1}, MonthlyOccurrences: []NthWeekday{{time.Monday, 5}}}

var (
	weekend  = []time.Weekday{time.Saturday, time.Sunday}
	workdays = []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday}
)

// readImport reads a text of at most maxCronText bytes. A byte order mark at its beginning is not a part of it. read returns a reason if it refuses
// the text.
func readImport(expr string, read func(text string) (r Recurrence, reason string)) (Recurrence, error) {
	if bad := cronTextTooLong(expr); bad != nil {
		return Recurrence{}, bad
	}
	r, reason := read(strings.TrimSpace(strings.TrimPrefix(expr, byteOrderMark)))
	if reason != "" {
		return Recurrence{}, newError(CodeCronSyntax, "cron", expr, "%s", reason)
	}
	if err := r.Validate(); err != nil {
		return Recurrence{}, err
	}
	return r, nil
}

// byteOrderMark is what some editors write at the beginning of a file.
const byteOrderMark = "\ufeff"

// rule returns the rule of the values.
func (c *importedCron) rule() Recurrence {
	r := Recurrence{NoImmediateRun: true}
	c.dates.days, c.dates.nearest = sortedSet(c.dates.days), sortedSet(c.dates.nearest)
	slices.SortFunc(c.week.nth, byOccurrence)
	c.week.nth = slices.Compact(c.week.nth)
	c.setTimes(&r)
	only := c.setDays(&r)
	var listed []time.Month
	if bits.OnesCount64(c.months) < 12 {
		listed = maskValues[time.Month](c.months)
	}
	if r.Frequency == Month {
		r.Months, listed = listed, nil
	}
	if len(only) == 0 && len(listed)+len(c.years) > 0 {
		only = []Filter{{}}
	}
	for _, f := range only {
		if len(listed) > 0 {
			kept, some := both(f.Months, listed)
			if !some {
				continue
			}
			f.Months = kept
		}
		if len(c.years) > 0 {
			f.Dates = inYears(f.Dates, c.years)
			if len(f.Dates) == 0 {
				continue
			}
		}
		r.Only = append(r.Only, f)
	}
	if len(only) > 0 && len(r.Only) == 0 {
		r.Only = []Filter{noDayFits}
	}
	return r
}

// setTimes sets second, minute and hour. It does not set values that the rule has without them: second 0 together with minutes, and all hours.
func (c *importedCron) setTimes(r *Recurrence) {
	everyHour := c.hours == uint64(allHours)
	if !everyHour {
		r.Hours = maskValues[int](c.hours)
	}
	if c.minutes != allMinutes || !everyHour {
		r.Minutes = maskValues[int](c.minutes)
	}
	if c.seconds != 1 || len(r.Minutes) == 0 {
		r.Seconds = maskValues[int](c.seconds)
	}
}

// setDays sets the frequency and the days, and returns filters for what the days cannot express.
func (c *importedCron) setDays(r *Recurrence) (only []Filter) {
	d, w := &c.dates, &c.week
	plain := len(d.nearest) == 0 && !d.lastWeekday
	switch {
	case c.either && !d.any && !w.any:
		r.Frequency = Day
		if !d.everyDay() && !w.everyDay() {
			only = []Filter{{MonthDays: d.days}, {WeekDays: w.list()}}
		}
	case d.any && w.any:
		r.Frequency = Day
	case d.any && len(w.nth) == 0:
		r.Frequency, r.WeekDays = Week, w.list()
	case d.any:
		r.Frequency, r.MonthlyOccurrences = Month, w.occurrences()
	case plain:
		r.Frequency, r.MonthDays, r.MonthlyOccurrences = Month, d.days, w.occurrences()
	case w.any && d.lastWeekday && len(d.days)+len(d.nearest) == 0:
		r.Frequency, r.Positions, r.Except = Month, []int{-1}, []Filter{{WeekDays: weekend}}
	case w.any && !d.lastWeekday && len(d.days) == 0 && (c.staysInMonth || slices.Max(d.nearest) < 28):
		r.Frequency, r.MonthDays = Month, d.nearest
		r.Except, r.Shift = []Filter{{WeekDays: weekend}}, ShiftNearestInMonth
	default:
		r.Frequency = Day
		return c.dayFilters()
	}
	return only
}

// everyDay reports whether a field that is restricted has every day.
func (d *importedDates) everyDay() bool {
	for day := 1; day <= 31; day++ {
		if !slices.Contains(d.days, day) {
			return false
		}
	}
	return true
}

func (w *importedWeek) everyDay() bool { return w.days == 1<<7-1 }

func (w *importedWeek) list() []time.Weekday { return maskValues[time.Weekday](uint64(w.days)) }

// occurrences returns the days as days of a month; nil for any day.
func (w *importedWeek) occurrences() (list []NthWeekday) {
	if w.any {
		return nil
	}
	for _, day := range w.list() {
		list = append(list, NthWeekday{Day: day})
	}
	return append(list, w.nth...)
}

// dayFilters returns filters that together fit the days of a list with W. A day is the weekday nearest to day n of its month if it is day n from
// Monday to Friday, the Friday before a Saturday n, or the Monday after a Sunday n. The weekday nearest to a Saturday the 1st is Monday the 3rd.
func (c *importedCron) dayFilters() (only []Filter) {
	d := &c.dates
	var fridays, mondays []int
	for _, n := range d.nearest {
		if n > 1 && n < 29 {
			fridays = append(fridays, n-1)
		}
		if n < 31 {
			mondays = append(mondays, n+1)
		}
		if n == 1 {
			mondays = append(mondays, 3)
		}
	}
	friday, monday := []time.Weekday{time.Friday}, []time.Weekday{time.Monday}
	if len(d.days) > 0 {
		only = append(only, Filter{MonthDays: d.days})
	}
	if d.lastWeekday {
		only = append(only, Filter{MonthDays: []int{-1}, WeekDays: workdays}, Filter{MonthDays: []int{-3, -2}, WeekDays: friday})
	}
	if len(d.nearest) > 0 {
		only = append(only, Filter{MonthDays: d.nearest, WeekDays: workdays})
	}
	if len(fridays) > 0 {
		only = append(only, Filter{MonthDays: fridays, WeekDays: friday})
	}
	if len(mondays) > 0 {
		only = append(only, Filter{MonthDays: mondays, WeekDays: monday})
	}
	for _, n := range d.nearest { // a Friday 28 to 30 is the day before a Saturday only in a month that has this Saturday
		if n >= 29 {
			only = append(only, Filter{MonthDays: []int{n - 1}, WeekDays: friday, Months: monthsWithDay(n)})
		}
		if n == 29 {
			only = append(only, Filter{Dates: leapFridays()})
		}
	}
	return c.week.limit(only)
}

// monthsWithDay returns the months that have a day in every year.
func monthsWithDay(n int) (list []time.Month) {
	for month := time.January; month <= time.December; month++ {
		if time.Date(2001, month, n, 0, 0, 0, 0, time.UTC).Month() == month {
			list = append(list, month)
		}
	}
	return list
}

// leapFridays returns every 28 February that is a Friday and has a day after it in its month.
func leapFridays() (dates []string) {
	for year := 1904; year < 2200; year += 4 {
		day := time.Date(year, time.February, 28, 0, 0, 0, 0, time.UTC)
		if day.Weekday() == time.Friday && day.AddDate(0, 0, 1).Month() == time.February {
			dates = append(dates, day.Format(time.DateOnly))
		}
	}
	return dates
}

// limit returns the filters for days that also match the days of the week.
func (w *importedWeek) limit(list []Filter) (limited []Filter) {
	for _, f := range list {
		switch {
		case w.any:
		case len(w.nth) > 0:
			f.MonthlyOccurrences = w.occurrences()
		default:
			kept, some := both(f.WeekDays, w.list())
			if !some {
				continue
			}
			f.WeekDays = kept
		}
		limited = append(limited, f)
	}
	if len(limited) == 0 {
		return []Filter{noDayFits}
	}
	return limited
}

// inYears returns the dates that lie in ranges of years; no dates mean all.
func inYears(dates, years []string) []string {
	if len(dates) == 0 {
		return years
	}
	return slices.DeleteFunc(slices.Clone(dates), func(date string) bool {
		return !slices.ContainsFunc(years, func(span string) bool { return span[:4] <= date[:4] && date[:4] <= span[11:15] })
	})
}

// yearRanges reads a field of years as ranges of dates; none for every year.
func yearRanges(f *importField, word string) (dates []string, reason string) {
	years := map[int]bool{}
	if reason = f.each(word, func(year int) { years[year] = true }); reason != "" {
		return nil, reason
	}
	for year := f.lo; year <= f.hi; year++ {
		if !years[year] {
			continue
		}
		first := year
		for years[year+1] {
			year++
		}
		if first == f.lo && year == f.hi {
			return nil, ""
		}
		dates = append(dates, fmt.Sprintf("%d-01-01/%d-12-31", first, year))
	}
	return dates, ""
}

// nthWeekday reads a day of the week with # or L, such as 6#3 or FRIL: the number of the day, and N.
func nthWeekday(f *importField, word string) (day, n int, reason string) {
	before, after, numbered := strings.Cut(word, "#")
	n = -1
	if numbered {
		var ok bool
		if n, ok = cronNumber(after); !ok || n < 1 || n > 5 {
			return 0, 0, f.name + ": # is followed by 1 to 5, such as FRI#3"
		}
	} else {
		before = strings.TrimSuffix(word, "L")
	}
	day, _, reason = f.value(before)
	return day, n, reason
}

// lastDay reads L and L-n as a day of the month: -1 for the last one.
func lastDay(f *importField, word string) (day int, reason string) {
	back, _ := strings.CutPrefix(word, "L")
	if back == "" {
		return -1, ""
	}
	number, ok := strings.CutPrefix(back, "-")
	n, isNumber := cronNumber(number)
	switch {
	case strings.HasPrefix(back, "W"):
		return 0, f.name + ": the last weekday of the month is LW, the one nearest to a day L-2W"
	case !ok || !isNumber || n < 1 || n > 30:
		return 0, f.name + ": the days before the last are L-1 to L-30"
	}
	return -1 - n, ""
}

// nearestDay reads nW, where n is a day of the month.
func nearestDay(f *importField, word string) (day int, reason string) {
	n, ok := cronNumber(strings.TrimSuffix(word, "W"))
	if !strings.HasSuffix(word, "W") || !ok || n < 1 || n > 31 {
		return 0, f.name + ": W follows one day, such as 15W, or L as in LW"
	}
	return n, ""
}

// notACalendar is the reason for refusing C.
func notACalendar(f *importField) string {
	return f.name + ": C (a calendar) is not supported: write the calendar as except"
}
