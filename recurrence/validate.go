package recurrence

import (
	"fmt"
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
	w := jsonWriter{given: map[string]source{}}
	w.rule(r)
	var list errorList
	add := func(field string, bad *Error) {
		if bad != nil {
			list.add(w.given[field].at, bad)
		}
	}
	r.checkFields(&list, w.given)
	if r.TimeZone != "" {
		_, bad := findZone(r.TimeZone)
		add("timeZone", bad)
	}
	checkFilters("only", r.Only, w.given["only"].value, func(bad *Error) { add("only", bad) })
	checkFilters("except", r.Except, w.given["except"].value, func(bad *Error) { add("except", bad) })
	if r.Shift > ShiftNearestInMonth {
		add("shift", unknownShift(r.Shift.String()))
	}
	if r.ClockChanges > ClockShown {
		add("clockChanges", unknownClockChanges(r.ClockChanges.String()))
	}
	r.checkAlso(&list, w.given["also"])
	r.checkCombinations(&list, w.given, false)
	r.checkCalendar(&list, w.given)
	if len(list.list) == 0 {
		add("", canonicalTooLong(len(w.text)))
	}
	return list.join()
}

// checkFields checks the values of the fields that an entry of also may have as well.
func (r Recurrence) checkFields(list *errorList, given map[string]source) {
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
	const object = "schedule."
	checkNumbers(minutes, object, r.Minutes, add)
	checkNumbers(hours, object, r.Hours, add)
	checkWeekDays(object, r.WeekDays, given["schedule.weekDays"].value, add)
	checkNumbers(monthDays, object, r.MonthDays, add)
	checkOccurrences(monthlyOccurrences, object, r.MonthlyOccurrences, add)
	checkNumbers(months, object, r.Months, add)
	checkNumbers(seconds, object, r.Seconds, add)
	checkNumbers(positionsOf(r.Frequency), object, r.Positions, add)
	if r.WeekStart > WeekStartSunday {
		add("schedule.weekStart", unknownWeekStart(r.WeekStart.String()))
	}
	r.checkDays(given["schedule.days"].value, func(bad *Error) { add("schedule.days", bad) })
}

// canonicalTooLong refuses a rule that Parse could not read back, because its canonical JSON is too long.
func canonicalTooLong(n int) *Error {
	if n <= maxJSONBytes {
		return nil
	}
	return newError(CodeSyntax, "", "", "must be at most 64 KiB as canonical JSON, is %d bytes", n)
}

// A scheduleField is an element of the schedule and the frequencies that allow it. No frequencies means all of them.
type scheduleField struct {
	path        string
	notAllowed  Code
	frequencies []Frequency
	filter      string // how to limit other frequencies by the element; "": it is not possible
}

var scheduleFields = []scheduleField{
	{path: "schedule.minutes"},
	{path: "schedule.hours"},
	{path: "schedule.seconds"},
	{path: "schedule.days"},
	{path: "schedule.weekStart"},
	{"schedule.weekDays", CodeWeekDaysFrequency, []Frequency{Week}, "weekDays"},
	{"schedule.monthDays", CodeMonthDaysFrequency, []Frequency{Month}, "monthDays"},
	{"schedule.monthlyOccurrences", CodeOccurrencesFrequency, []Frequency{Month}, "monthlyOccurrences"},
	{"schedule.months", CodeMonthsFrequency, []Frequency{Month, Year}, "months"},
	{"schedule.positions", CodePositionsFrequency, []Frequency{Week, Month, Year}, ""},
}

// refuse returns the error for an element that does not go with a frequency.
func (e scheduleField) refuse(value string, f Frequency) *Error {
	reason := fmt.Sprintf("goes with frequency %s only, not with %v", joinOr(e.frequencies), f)
	if e.filter != "" {
		reason += fmt.Sprintf(`; to limit other frequencies write only: [{"%s": […]}]`, e.filter)
	}
	return newError(e.notAllowed, e.path, value, "%s", reason)
}

// maxCount is the largest count. It fits a 32-bit int.
const maxCount = 1<<31 - 1

// checkCombinations refuses fields that do not go together, and values whose range depends on another field. If a field is given but zero in r,
// it has been refused already. inAlso is true for an entry of also. checkCalendar does the same for the calendar.
func (r Recurrence) checkCombinations(list *errorList, given map[string]source, inAlso bool) {
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
	case !has("cron") && !has("frequency") && (lacksRule(has, elements) || inAlso && !has("startTime")):
		reason := "is missing, must be second, minute, hour, day, week, month or year"
		if has("also") {
			reason += "; only, except and shift need a rule beside also, not only in it"
		}
		list.add(given["recurrence"].at, newError(CodeFrequencyMissing, "frequency", "", "%s", reason))
	case !has("cron") && r.Frequency != 0 && r.Frequency <= Year:
		for _, e := range scheduleFields {
			if has(e.path) && e.frequencies != nil && !slices.Contains(e.frequencies, r.Frequency) {
				list.add(given[e.path].at, e.refuse(given[e.path].value, r.Frequency))
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

// lacksRule reports whether the given fields need a frequency or cron. A startTime alone runs once. With also it is a list of dates, which may
// have a count and an endTime.
func lacksRule(has func(string) bool, elements bool) bool {
	if elements || has("interval") || has("only") || has("except") || has("shift") || has("shiftBy") || has("clockChanges") || has("immediateRun") && !has("startTime") {
		return true
	}
	listed := has("also") && has("startTime")
	return !listed && (has("recurrence") || has("count") || has("endTime") || has("also"))
}

// locations caches zone data by name, so that a program with a million rules loads each zone once. It has at most one entry for each zone.
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
	case windowsZones[lowered] != "":
		return refused("is a Windows name: write %s", windowsZones[lowered])
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

// weekdayOf returns the weekday of a word, in any case.
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
	return joinList(words, "or")
}
