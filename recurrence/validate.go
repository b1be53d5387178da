package recurrence

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Validate returns every mistake that can be found without a creation time, with the same codes and paths as [Parse]. Its
// error is one [*Error], or several joined; [Errors] lists them. If a rule has no StartTime, [Recurrence.Series] may still
// refuse it with [CodeNeverFires], because some rules fire from one start and never from another.
func (r Recurrence) Validate() error {
	if err := checkRule(r); err != nil {
		return err
	}
	return r.neverFires()
}

// checkRule is Validate without the search for a first match. Series calls it, and Validate calls Series for that search.
func checkRule(r Recurrence) error {
	var list errorList
	given := r.given()
	add := func(field string, bad *Error) {
		if bad != nil {
			list.add(given[field].at, bad)
		}
	}
	if !r.StartTime.IsZero() {
		add("startTime", checkTime("startTime", given["startTime"].value, r.StartTime))
	}
	if !r.EndTime.IsZero() {
		add("endTime", checkTime("endTime", given["endTime"].value, r.EndTime))
	}
	if r.Frequency > Year {
		add("frequency", unknownFrequency(r.Frequency.String()))
	}
	checkNumbers(minutes, r.Minutes, add)
	checkNumbers(hours, r.Hours, add)
	checkWeekDays(r.WeekDays, given["schedule.weekDays"].value, add)
	checkNumbers(monthDays, r.MonthDays, add)
	checkOccurrences(r.MonthlyOccurrences, add)
	checkNumbers(months, r.Months, add)
	if r.TimeZone != "" {
		_, bad := findZone(r.TimeZone)
		add("timeZone", bad)
	}
	r.checkCombinations(&list, given)
	return list.join()
}

// A scheduleField is an element of the schedule and the frequencies that allow it. No frequencies means all of them.
type scheduleField struct {
	path        string
	notAllowed  Code
	frequencies []Frequency
}

var scheduleFields = []scheduleField{
	{path: "schedule.minutes"},
	{path: "schedule.hours"},
	{"schedule.weekDays", CodeWeekDaysFrequency, []Frequency{Week}},
	{"schedule.monthDays", CodeMonthDaysFrequency, []Frequency{Month}},
	{"schedule.monthlyOccurrences", CodeOccurrencesFrequency, []Frequency{Month}},
	{"schedule.months", CodeMonthsFrequency, []Frequency{Month, Year}},
}

// maxCount is the largest count. It fits a 32-bit int.
const maxCount = 1<<31 - 1

// checkCombinations refuses fields that do not go together, and values whose range depends on another field. A field that is
// given but zero in r has been refused already.
func (r Recurrence) checkCombinations(list *errorList, given map[string]source) {
	has := func(field string) bool { _, ok := given[field]; return ok }
	add := func(code Code, field, format string, args ...any) {
		list.add(given[field].at, newError(code, field, given[field].value, format, args...))
	}

	elements := slices.ContainsFunc(scheduleFields, func(e scheduleField) bool { return has(e.path) })
	switch {
	case has("cron") && (has("frequency") || has("interval") || elements):
		add(CodeCronConflict, "cron", "replaces frequency, interval and schedule: leave them out, or leave cron out")
	case has("cron") && r.Cron != "":
		for _, bad := range Errors(checkCron(r.Cron, r.TimeZone != "")) {
			list.add(given["cron"].at, bad)
		}
	case !has("cron") && !has("frequency") && (has("recurrence") || has("interval") || has("count") || has("endTime") || elements):
		list.add(given["recurrence"].at, newError(CodeFrequencyMissing, "frequency", "", "is missing, must be second, minute, hour, day, week, month or year"))
	case !has("cron") && r.Frequency != 0 && r.Frequency <= Year:
		for _, e := range scheduleFields {
			if has(e.path) && e.frequencies != nil && !slices.Contains(e.frequencies, r.Frequency) {
				add(e.notAllowed, e.path, "goes with frequency %s only, not with %v", joinOr(e.frequencies), r.Frequency)
			}
		}
	}

	if limit := maxInterval(r.Frequency); r.Interval < 0 || r.Interval > limit {
		add(CodeIntervalRange, "interval", "must be 1 to %d%s", limit, withFrequency(r.Frequency))
	}
	if r.Count < 0 || r.Count > maxCount {
		add(CodeCountRange, "count", "must be 1 to 2147483647")
	}
	if !r.StartTime.IsZero() && !r.EndTime.IsZero() && wholeSeconds(r.EndTime).Before(wholeSeconds(r.StartTime)) {
		add(CodeEndBeforeStart, "endTime", "must not be before startTime, which is %s", formatTime(r.StartTime))
	}
}

// neverFires refuses a rule that no instant matches, as far as this can be known without a creation time. r has no other
// mistake.
func (r Recurrence) neverFires() error {
	if !r.StartTime.IsZero() {
		_, err := r.Series(r.StartTime)
		return err
	}
	if r.combinesDayElements() || r.Cron == "" && len(r.MonthDays) == 0 && len(r.MonthlyOccurrences) == 0 {
		return nil // it fires from some start: at any time of day, and on the first of any month
	}
	// A rule that fires from some start at some interval also fires with interval 1 from this start.
	r.StartTime = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
	r.Interval, r.Count, r.EndTime = 0, 0, time.Time{}
	_, err := r.Series(r.StartTime)
	return err
}

// An element is a list of numbers in a schedule. Zero is out of range if low is negative.
type element struct {
	name              string
	badType, badRange Code
	low, high         int64
	reason            string // of a number out of range
}

var (
	minutes    = element{"minutes", CodeMinutesType, CodeMinutesRange, 0, 59, "must be 0 to 59"}
	hours      = element{"hours", CodeHoursType, CodeHoursRange, 0, 23, "must be 0 to 23"}
	monthDays  = element{"monthDays", CodeMonthDaysType, CodeMonthDaysRange, -31, 31, "must be 1 to 31, or -1 (the last) to -31"}
	months     = element{"months", CodeMonthsType, CodeMonthsRange, 1, 12, "must be 1 to 12"}
	occurrence = element{"occurrence", CodeOccurrencesType, CodeOccurrenceRange, -5, 5, "must be 1 to 5, or -1 (the last) to -5; leave it out for every such day"}
)

// checkRange refuses a number that is out of range.
func (e element) checkRange(field, value string, n int64) *Error {
	if n < e.low || n > e.high || n == 0 && e.low < 0 {
		return newError(e.badRange, field, value, "%s", e.reason)
	}
	return nil
}

func checkNumbers[T ~int](e element, list []T, add func(string, *Error)) {
	field := "schedule." + e.name
	for i, n := range list {
		add(field, e.checkRange(indexPath(field, i), strconv.Itoa(int(n)), int64(n)))
	}
}

func checkWeekDays(list []time.Weekday, value string, add func(string, *Error)) {
	const field = "schedule.weekDays"
	if len(list) > 7 {
		add(field, tooManyWeekDays(value, len(list)))
	}
	for i, day := range list {
		if !isWeekday(day) {
			add(field, newError(CodeWeekDaysValue, indexPath(field, i), strconv.Itoa(int(day)), "must be time.Sunday to time.Saturday"))
		}
	}
}

func checkOccurrences(list []NthWeekday, add func(string, *Error)) {
	const field = "schedule.monthlyOccurrences"
	for i, nth := range list {
		item := indexPath(field, i)
		if !isWeekday(nth.Day) {
			add(field, newError(CodeOccurrenceDay, item+".day", strconv.Itoa(int(nth.Day)), "must be time.Sunday to time.Saturday"))
		}
		if nth.N != 0 {
			add(field, occurrence.checkRange(item+".occurrence", strconv.Itoa(nth.N), int64(nth.N)))
		}
	}
}

func tooManyWeekDays(value string, n int) *Error {
	return newError(CodeWeekDaysSize, "schedule.weekDays", value, "must have at most 7 days, has %d", n)
}

// locations caches zone data by name, so that a program with a million rules loads each zone once. It holds at most one entry
// a zone.
var locations sync.Map

// findZone returns a zone by its IANA name. It refuses names that time.LoadLocation accepts but that do not mean the same on
// every machine: the machine's own zone, and zones that count leap seconds.
func findZone(name string) (*time.Location, *Error) {
	refused := func(format string, args ...any) (*time.Location, *Error) {
		return nil, newError(CodeTimeZoneUnknown, "timeZone", name, format, args...)
	}
	const want = "must be an IANA name such as America/Los_Angeles or Europe/Berlin"
	switch lowered := lower(name); {
	case strings.TrimSpace(name) == "":
		return refused("is empty, " + want)
	case lowered == "local" || lowered == "localtime":
		return refused("is another zone on every machine, " + want)
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
		if path.Clean(name) == name { // a file has many paths; only one of them is cached
			locations.Store(name, loc)
		}
		return loc, nil
	}
	for _, known := range [...]string{"Europe/Berlin", "America/New_York"} {
		if _, err := time.LoadLocation(known); err == nil {
			return refused(want)
		}
	}
	return refused(`cannot be looked up, because this program finds no time zone data: import _ "time/tzdata" or install the system's tzdata package`)
}

// checkCronZone checks the zone in the prefix of a cron text.
func checkCronZone(name string) error {
	if _, bad := findZone(name); bad != nil {
		bad.Field = "cron"
		return bad
	}
	return nil
}

// weekdayNames is in the order of time.Weekday.
var weekdayNames = [...]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

// weekdayOf returns the weekday that a word names, in any case.
func weekdayOf(word string) (time.Weekday, bool) {
	i := slices.Index(weekdayNames[:], lower(word))
	return time.Weekday(max(i, 0)), i >= 0
}

func isWeekday(day time.Weekday) bool { return time.Sunday <= day && day <= time.Saturday }

// wholeSeconds drops the fraction of a second.
func wholeSeconds(t time.Time) time.Time { return t.Truncate(time.Second) }

func indexPath(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

func maxInterval(f Frequency) int {
	if f == 0 || f > Year {
		return 1000
	}
	return frequencies[f].maxInterval
}

func withFrequency(f Frequency) string {
	if maxInterval(f) == 1000 {
		return ""
	}
	return " with frequency " + f.String()
}

func joinOr(list []Frequency) string {
	words := make([]string, len(list))
	for i, f := range list {
		words[i] = f.String()
	}
	return strings.Join(words, " or ")
}
