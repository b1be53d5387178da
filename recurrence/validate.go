package recurrence

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Validate tells all that can be known to be wrong with a rule before it starts, under the same codes and paths as
// [Parse]. Its error is an [*Error], or several joined. A rule without StartTime may still prove never to fire
// when [Recurrence.Series] is told its creation.
func (r Recurrence) Validate() error {
	if err := checkRule(r); err != nil {
		return err
	}
	return r.neverFires()
}

// checkRule is Validate but for the search for a first instant. Series, which searches for Validate, asks this one.
func checkRule(r Recurrence) error {
	var p problems
	given := r.given()
	add := func(field string, bad *Error) {
		if bad != nil {
			p.add(given[field].at, bad)
		}
	}
	if !r.StartTime.IsZero() {
		add("startTime", checkTime("startTime", given["startTime"].shown, r.StartTime))
	}
	if !r.EndTime.IsZero() {
		add("endTime", checkTime("endTime", given["endTime"].shown, r.EndTime))
	}
	if r.Frequency > Year {
		add("frequency", unknownFrequency(r.Frequency.String()))
	}
	checkNumbers(minutes, r.Minutes, add)
	checkNumbers(hours, r.Hours, add)
	checkWeekDays(r.WeekDays, given["schedule.weekDays"].shown, add)
	checkNumbers(monthDays, r.MonthDays, add)
	checkOccurrences(r.MonthlyOccurrences, add)
	checkNumbers(months, r.Months, add)
	if r.TimeZone != "" {
		_, bad := findZone(r.TimeZone)
		add("timeZone", bad)
	}
	r.between(&p, given)
	return p.join()
}

// A placement says which frequencies an element goes with; none: all.
type placement struct {
	field       string
	misplaced   Code
	frequencies []Frequency
}

var scheduleFields = []placement{
	{field: "schedule.minutes"},
	{field: "schedule.hours"},
	{"schedule.weekDays", CodeWeekDaysFrequency, []Frequency{Week}},
	{"schedule.monthDays", CodeMonthDaysFrequency, []Frequency{Month}},
	{"schedule.monthlyOccurrences", CodeOccurrencesFrequency, []Frequency{Month}},
	{"schedule.months", CodeMonthsFrequency, []Frequency{Month, Year}},
}

// longestCount is as far as count goes, and a 32-bit int.
const longestCount = 1<<31 - 1

// between notes what is wrong between fields that are right by themselves, and the ranges that depend on another field.
// A field that is given and zero in r has been refused already.
func (r Recurrence) between(p *problems, given map[string]source) {
	has := func(field string) bool { _, ok := given[field]; return ok }
	add := func(code Code, field, format string, args ...any) {
		p.add(given[field].at, refuse(code, field, given[field].shown, format, args...))
	}

	elements := slices.ContainsFunc(scheduleFields, func(e placement) bool { return has(e.field) })
	switch {
	case has("cron") && (has("frequency") || has("interval") || elements):
		add(CodeCronConflict, "cron", "stands instead of frequency, interval and schedule, not beside them")
	case has("cron") && r.Cron != "":
		for _, bad := range Errors(checkCron(r.Cron, r.TimeZone != "")) {
			p.add(given["cron"].at, bad)
		}
	case !has("cron") && !has("frequency") && (has("recurrence") || has("interval") || has("count") || has("endTime") || elements):
		p.add(given["recurrence"].at, refuse(CodeFrequencyMissing, "frequency", "", "is missing, must be second, minute, hour, day, week, month or year"))
	case !has("cron") && r.Frequency != 0 && r.Frequency <= Year:
		for _, e := range scheduleFields {
			if has(e.field) && e.frequencies != nil && !slices.Contains(e.frequencies, r.Frequency) {
				add(e.misplaced, e.field, "goes with frequency %s only, not with %v", either(e.frequencies), r.Frequency)
			}
		}
	}

	if longest := longestInterval(r.Frequency); r.Interval < 0 || r.Interval > longest {
		add(CodeIntervalRange, "interval", "must be 1 to %d%s", longest, withFrequency(r.Frequency))
	}
	if r.Count < 0 || r.Count > longestCount {
		add(CodeCountRange, "count", "must be 1 to 2147483647")
	}
	if !r.StartTime.IsZero() && !r.EndTime.IsZero() && whole(r.EndTime).Before(whole(r.StartTime)) {
		add(CodeEndBeforeStart, "endTime", "must not lie before startTime, %s", timeText(r.StartTime))
	}
}

// neverFires refuses a rule that no instant matches, as far as that can be told without its creation. r is right otherwise.
func (r Recurrence) neverFires() error {
	if !r.StartTime.IsZero() {
		_, err := r.Series(r.StartTime)
		return err
	}
	if r.meets() || r.Cron == "" && len(r.MonthDays) == 0 && len(r.MonthlyOccurrences) == 0 {
		return nil // some start fits any times of day, and the first of a month any months
	}
	// Whatever fires from some start at some interval also fires every month from here on.
	r.StartTime = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
	r.Interval, r.Count, r.EndTime = 0, 0, time.Time{}
	_, err := r.Series(r.StartTime)
	return err
}

// An element is a list of numbers in a schedule. Zero is out of range where numbers may be negative.
type element struct {
	name              string
	badType, badRange Code
	low, high         int64
	must              string
}

var (
	minutes    = element{"minutes", CodeMinutesType, CodeMinutesRange, 0, 59, "must be 0 to 59"}
	hours      = element{"hours", CodeHoursType, CodeHoursRange, 0, 23, "must be 0 to 23"}
	monthDays  = element{"monthDays", CodeMonthDaysType, CodeMonthDaysRange, -31, 31, "must be 1 to 31, or -1 (the last) to -31"}
	months     = element{"months", CodeMonthsType, CodeMonthsRange, 1, 12, "must be 1 to 12"}
	occurrence = element{"occurrence", CodeOccurrencesType, CodeOccurrenceRange, -5, 5, "must be 1 to 5, or -1 (the last) to -5; leave it out for every such day"}
)

// outside refuses a number that is out of range.
func (e element) outside(field, shown string, n int64) *Error {
	if n < e.low || n > e.high || n == 0 && e.low < 0 {
		return refuse(e.badRange, field, shown, "%s", e.must)
	}
	return nil
}

func checkNumbers[T ~int](e element, list []T, add func(string, *Error)) {
	field := "schedule." + e.name
	for i, n := range list {
		add(field, e.outside(indexed(field, i), strconv.Itoa(int(n)), int64(n)))
	}
}

func checkWeekDays(list []time.Weekday, shown string, add func(string, *Error)) {
	const field = "schedule.weekDays"
	if len(list) > 7 {
		add(field, tooManyWeekDays(shown, len(list)))
	}
	for i, day := range list {
		if !isWeekday(day) {
			add(field, refuse(CodeWeekDaysValue, indexed(field, i), strconv.Itoa(int(day)), "must be time.Sunday to time.Saturday"))
		}
	}
}

func checkOccurrences(list []NthWeekday, add func(string, *Error)) {
	const field = "schedule.monthlyOccurrences"
	for i, nth := range list {
		item := indexed(field, i)
		if !isWeekday(nth.Day) {
			add(field, refuse(CodeOccurrenceDay, item+".day", strconv.Itoa(int(nth.Day)), "must be time.Sunday to time.Saturday"))
		}
		if nth.N != 0 {
			add(field, occurrence.outside(item+".occurrence", strconv.Itoa(nth.N), int64(nth.N)))
		}
	}
}

func tooManyWeekDays(shown string, n int) *Error {
	return refuse(CodeWeekDaysSize, "schedule.weekDays", shown, "must be at most 7 days, is %d", n)
}

// locations remembers zone data by name, so that a program with a million rules reads each zone's once. There are no more than
// there are zones.
var locations sync.Map

// findZone finds a zone by its IANA name. time.LoadLocation also takes names for this machine's clock and for
// clocks that count leap seconds; neither is the same everywhere.
func findZone(name string) (*time.Location, *Error) {
	refused := func(format string, args ...any) (*time.Location, *Error) {
		return nil, refuse(CodeTimeZoneUnknown, "timeZone", name, format, args...)
	}
	const want = "must be an IANA name such as America/Los_Angeles or Europe/Berlin"
	switch lowered := lower(name); {
	case strings.TrimSpace(name) == "":
		return refused("is empty, " + want)
	case lowered == "local" || lowered == "localtime":
		return refused("means another clock on every machine, " + want)
	case strings.HasSuffix(lowered, " time"):
		return refused("is a Windows name, " + want)
	case lowered == "posixrules" || strings.HasPrefix(lowered, "posix/") || strings.HasPrefix(lowered, "right/"):
		return refused(want)
	}
	if known, ok := locations.Load(name); ok {
		return known.(*time.Location), nil
	}
	loc, err := time.LoadLocation(name)
	if err == nil {
		if path.Clean(name) == name { // a file has many paths; one of them is enough to remember
			locations.Store(name, loc)
		}
		return loc, nil
	}
	for _, known := range [...]string{"Europe/Berlin", "America/New_York"} {
		if _, err := time.LoadLocation(known); err == nil {
			return refused(want)
		}
	}
	return refused(`cannot be looked up, for this program finds no time zone data: import _ "time/tzdata" or install the system's tzdata package`)
}

// checkCronZone is [findZone] for the name that cron text begins with.
func checkCronZone(name string) error {
	if _, bad := findZone(name); bad != nil {
		bad.Field = "cron"
		return bad
	}
	return nil
}

// weekdayNames is in the order of time.Weekday.
var weekdayNames = [...]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

// weekdayOf finds the weekday that a word names, in any case.
func weekdayOf(word string) (time.Weekday, bool) {
	i := slices.Index(weekdayNames[:], lower(word))
	return time.Weekday(max(i, 0)), i >= 0
}

func isWeekday(day time.Weekday) bool { return time.Sunday <= day && day <= time.Saturday }

// whole drops the part of a second.
func whole(t time.Time) time.Time { return t.Truncate(time.Second) }

func indexed(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

func longestInterval(f Frequency) int {
	if f == 0 || f > Year {
		return 1000
	}
	return frequencies[f].longest
}

func withFrequency(f Frequency) string {
	if longestInterval(f) == 1000 {
		return ""
	}
	return " with frequency " + f.String()
}

func either(list []Frequency) string {
	words := make([]string, len(list))
	for i, f := range list {
		words[i] = f.String()
	}
	return strings.Join(words, " or ")
}
