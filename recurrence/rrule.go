package recurrence

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CodeNoRRule is the code of a rule that RFC 5545 cannot express. Only [Recurrence.RRule] returns it.
const CodeNoRRule Code = "no_rrule"

// RRule returns the rule in the form of RFC 5545, for calendars and other libraries: a DTSTART line and an RRULE line, with a
// line feed between them.
//
//	DTSTART;TZID=Europe/Berlin:20260105T090000
//	RRULE:FREQ=WEEKLY;INTERVAL=1;WKST=MO;BYDAY=MO,FR;BYHOUR=9;BYMINUTE=0;BYSECOND=0
//
// Days, Only and the weekdays of Except become BYMONTH, BYWEEKNO, BYYEARDAY, BYMONTHDAY and BYDAY. Positions become BYSETPOS. Single dates of Except become
// an EXDATE line, instants of Also become an RDATE line, and rules of Also become RRULE lines.
//
// The text contains every element, including those that this package takes from the start. Three things are important:
//
//   - DTSTART is StartTime, even if no run falls on it. Libraries such as python-dateutil then add no run. RFC 5545 does not
//     define this case, and some calendars show an event at DTSTART.
//   - COUNT counts from DTSTART, Count from creation. They agree for a rule created at or before its StartTime.
//   - A local time that the clocks skip or repeat means the instant that RFC 5545, section 3.3.10, defines: the one with the offset before the
//     change. This package does the same. Libraries that drop skipped times differ on those days.
//
// RRule returns an [*Error] with [CodeNoRRule] for a rule that RFC 5545 cannot express or understands differently:
//
//   - a rule without StartTime,
//   - Count together with EndTime, or with Only, Except, Positions or Also,
//   - Shift, ShiftBy, and ClockChanges in a zone other than UTC,
//   - rules in Also with another start, or with elapsed time beside a rule in a zone,
//   - Days or Only with several filters, dates or times, or with fields that RFC 5545 does not have for the frequency, such as Weeks for a daily rule,
//   - Except with anything other than weekdays and single dates; single dates without times together with Positions, or with a frequency below day,
//   - more than 3000 excluded times, or an excluded time that the clocks skip on that day or on the day before,
//   - an excluded time that the clocks repeat, with all 24 hours of a day in a zone,
//   - Positions that count more than 366 runs in a period, such as position 200 with two times a day,
//   - a cron rule that restricts both day fields, because then it is enough that one of them matches,
//   - a StartTime on the second pass of a repeated hour, with frequency day and above,
//   - in a time zone other than UTC, because of elapsed time: the frequency hour, hours or minutes with the frequencies minute and second, and all 24
//     hours of a day with Interval above 1, Positions or MonthlyOccurrences. All 24 hours of other rules become FREQ=HOURLY, which [FromRRule] reads so.
//
// For an invalid rule it returns the error of [Recurrence.Validate].
func (r Recurrence) RRule() (string, error) {
	if err := r.Validate(); err != nil {
		return "", err
	}
	if r.StartTime.IsZero() {
		return "", newError(CodeNoRRule, "startTime", "", "RFC 5545 needs a start: set StartTime")
	}
	calendar, err := r.exportCalendar()
	if err != nil {
		return "", err
	}
	if r.Count > 0 && !r.EndTime.IsZero() {
		return "", newError(CodeNoRRule, "count", strconv.Itoa(r.Count), "RFC 5545 allows count or endTime, not both: remove one")
	}
	rules, start, err := r.exportedRules()
	if err != nil {
		return "", err
	}
	if len(rules) == 0 { // a list of dates
		if dates := r.rDates(false); dates != "" {
			return rruleStart(start, "") + dates, nil // DTSTART is a run itself
		}
		return rruleStart(start, "") + "\nRRULE:FREQ=DAILY;COUNT=1", nil
	}
	var lines strings.Builder
	var excluded *excludedTimes
	local, zone := start, ""
	for i, rule := range rules {
		at, in, err := rule.inZone(start)
		switch {
		case err != nil:
			return "", atPath(rule.path, err)
		case i > 0 && in != zone:
			return "", noRRule(rule.path, "RFC 5545 has one DTSTART, and in a zone elapsed time needs one in UTC: write two rules")
		}
		local, zone = at, in
		if i == 0 {
			if excluded, err = newExcludedTimes(r.Also, zone); err != nil {
				return "", err
			}
		}
		line, err := rule.line(calendar, local, excluded)
		if err != nil {
			return "", atPath(rule.path, err)
		}
		lines.WriteString("\nRRULE:" + line)
	}
	return rruleStart(local, zone) + lines.String() + dateLine("EXDATE", excluded.found, zone) + r.rDates(r.runsOnce()), nil
}

// atPath returns an error with the path of the rule of also before its field.
func atPath(path string, err error) error {
	for _, bad := range Errors(err) {
		if path != "" {
			bad.Field = path + "." + bad.Field
		}
	}
	return err
}

// exportedRules returns the rule and those of Also with their paths, and their common start. A list of dates has only those of Also.
func (r Recurrence) exportedRules() (rules []rruleRule, start time.Time, err error) {
	start = wholeSeconds(r.StartTime).UTC()
	for path, rule := range r.rules() {
		if rule.runsOnce() {
			continue
		}
		begin := wholeSeconds(rule.StartTime).UTC()
		if rule.StartTime.IsZero() {
			begin = wholeSeconds(r.StartTime).UTC()
		}
		switch {
		case len(rules) == 0:
			start = begin
		case !begin.Equal(start):
			return nil, start, noRRule(path, "RFC 5545 has one start for all rules: write two texts")
		}
		rule = rule.within(r)
		if !r.EndTime.IsZero() && (rule.EndTime.IsZero() || r.EndTime.Before(rule.EndTime)) {
			rule.EndTime = r.EndTime
		}
		exported, err := rule.rruleElements()
		if err != nil {
			return nil, start, atPath(path, err)
		}
		exported.path, exported.Count, exported.EndTime, exported.Also = path, rule.Count, rule.EndTime, r.Also
		rules = append(rules, exported)
	}
	return rules, start, nil
}

// line returns the parts of the RRULE line. It adds the values of EXDATE to excluded.
func (r rruleRule) line(calendar rruleCalendar, start time.Time, excluded *excludedTimes) (string, error) {
	if err := excluded.addRule(r, calendar.left, start); err != nil {
		return "", err
	}
	if r.hourlyInZone() {
		r.makeHourly(start)
	}
	rule, err := r.limited(calendar.limit, start)
	if err != nil {
		return "", err
	}
	parts, err := rule.parts(start)
	return parts + r.rruleEnd(), err
}

// inZone returns the start on the local clock and its zone, if the rule follows a clock; otherwise both are in UTC, and zone is "".
func (r rruleRule) inZone(start time.Time) (local time.Time, zone string, err error) {
	if isUTC(r.zone) {
		return start, "", nil
	}
	if err := r.checkInZone(); err != nil {
		return start, "", err
	}
	if r.Frequency < Day {
		return start, "", nil
	}
	loc, bad := findZone(r.zone)
	if bad != nil {
		return start, "", bad
	}
	local = start.In(loc)
	if !resolveLocal(loc, onUTC(local)).Equal(start) {
		return start, "", newError(CodeNoRRule, "startTime", local.Format(time.RFC3339), "RFC 5545 cannot name the second pass of a repeated hour as a start")
	}
	return local, r.zone, nil
}

// rruleStart returns the DTSTART line. An empty zone means UTC.
func rruleStart(start time.Time, zone string) string {
	return rruleLine("DTSTART", zone, rruleTime(start, zone))
}

// rruleEnd returns the COUNT or the UNTIL part, or "".
func (r Recurrence) rruleEnd() string {
	if r.Count > 0 {
		return ";COUNT=" + strconv.Itoa(r.Count)
	}
	if !r.EndTime.IsZero() {
		return ";UNTIL=" + rruleTime(r.EndTime, "")
	}
	return ""
}

// An rruleRule is a rule whose cron text has been turned into a frequency and elements.
type rruleRule struct {
	Recurrence
	zone string // the zone in which it runs; "" means UTC
	path string // of a rule of also

	weeks, yearDays []int        // of a year
	yearly          []NthWeekday // of a year
}

// rruleElements turns a cron text into a frequency and elements of the same meaning.
func (r Recurrence) rruleElements() (rruleRule, error) {
	if r.Cron == "" {
		return rruleRule{Recurrence: r, zone: r.TimeZone}, nil
	}
	f, err := compileCron(r.Cron)
	if err != nil {
		return rruleRule{}, err
	}
	rule := rruleRule{Recurrence: f.every, zone: cmp.Or(f.zone, r.TimeZone)}
	rule.Only, rule.Except, rule.ClockChanges = r.Only, r.Except, r.ClockChanges
	if rule.Frequency != 0 {
		return rule, nil
	}
	everyDay, everyWeekDay := bits.OnesCount32(f.daysOfMonth) == 31, f.weekDays == 0x7f
	switch {
	case f.domRestricted && f.dowRestricted && !everyDay && !everyWeekDay:
		return rruleRule{}, newError(CodeNoRRule, "cron", r.Cron, "RFC 5545 cannot express that either of two day fields is enough: make two rules of it")
	case f.domRestricted && f.dowRestricted, everyDay && everyWeekDay:
		rule.Frequency = Day
	case everyWeekDay:
		rule.Frequency, rule.MonthDays = Month, maskValues[int](uint64(f.daysOfMonth))
	default:
		rule.Frequency, rule.WeekDays = Week, maskValues[time.Weekday](uint64(f.weekDays))
	}
	rule.Minutes, rule.Hours = maskValues[int](f.minutes), maskValues[int](uint64(f.hours))
	if bits.OnesCount16(f.months) < 12 {
		rule.Months = maskValues[time.Month](uint64(f.months))
	}
	return rule, nil
}

// maskValues returns the numbers of the bits that are set in a mask, in order.
func maskValues[T ~int](mask uint64) []T {
	values := make([]T, 0, bits.OnesCount64(mask))
	for ; mask != 0; mask &= mask - 1 {
		values = append(values, T(bits.TrailingZeros64(mask)))
	}
	return values
}

// checkInZone refuses a rule that follows elapsed time in this package and the clock in RFC 5545.
func (r rruleRule) checkInZone() error {
	switch {
	case r.ClockChanges != ClockOnce:
		return noRRule("clockChanges", "RFC 5545 has only \"once\": remove clockChanges or the timeZone")
	case r.hourlyInZone() && (r.Interval > 1 || len(r.Positions)+len(r.MonthlyOccurrences) > 0):
		return noRRule("schedule.hours", "in a zone RFC 5545 has every hour of a day only for interval 1 without positions and monthlyOccurrences: name fewer hours, or remove the timeZone")
	case r.Frequency == Hour:
		return newError(CodeNoRRule, "frequency", Hour.String(), "in a zone RFC 5545 has no rule for elapsed hours: remove the timeZone")
	case r.Frequency < Hour && len(r.Hours)+len(r.Minutes)+len(r.Seconds)+len(r.Days)+len(r.Only)+len(r.Except) > 0:
		return newError(CodeNoRRule, "schedule", "", "in a zone RFC 5545 has no rule for elapsed time limited by the clock: remove the timeZone")
	}
	return nil
}

var rruleFrequencies = [...]string{
	Second: "SECONDLY", Minute: "MINUTELY", Hour: "HOURLY", Day: "DAILY", Week: "WEEKLY", Month: "MONTHLY", Year: "YEARLY",
}

// parts returns the parts of the RRULE. Elements that are not set come from the start, which is in the rule's zone.
func (r rruleRule) parts(start time.Time) (string, error) {
	text := "FREQ=" + rruleFrequencies[r.Frequency] + ";INTERVAL=" + strconv.Itoa(cmp.Or(r.Interval, 1))
	if r.Frequency == Week || len(r.weeks) > 0 {
		text += ";WKST=" + strings.ToUpper(r.WeekStart.String()[:2])
	}
	text += r.rruleDays(start)
	hours, minutes, seconds := r.clock(start)
	positions, err := r.setPositions(len(hours) * len(minutes) * len(seconds))
	return text + rrulePart("BYHOUR", hours) + rrulePart("BYMINUTE", minutes) + rrulePart("BYSECOND", seconds) + positions, err
}

// clock returns the hours, minutes and seconds. Elements that are not set come from the start.
func (r rruleRule) clock(start time.Time) (hours, minutes, seconds []int) {
	hours, minutes, seconds = r.allHours(), sortedSet(r.Minutes), sortedSet(r.Seconds)
	if r.Frequency == Second {
		return hours, minutes, seconds
	}
	if len(seconds) == 0 {
		seconds = []int{start.Second()}
		if r.Frequency >= Hour && len(minutes) > 0 {
			seconds = []int{0}
		}
	}
	if r.Frequency >= Hour && len(minutes) == 0 {
		minutes = []int{start.Minute()}
		if len(r.Seconds) > 0 && len(r.Hours) == 0 {
			minutes = maskValues[int](1<<60 - 1)
		}
	}
	if r.Frequency >= Day && len(hours) == 0 {
		hours = []int{start.Hour()}
	}
	return hours, minutes, seconds
}

// rruleDays returns the parts for months and days.
func (r rruleRule) rruleDays(start time.Time) string {
	months, monthDays, weekDays := sortedSet(r.Months), sortedSet(r.MonthDays), rruleWeekDays(r.WeekDays, r.MonthlyOccurrences, r.yearly)
	switch r.Frequency {
	case Week:
		if len(weekDays) == 0 {
			weekDays = rruleWeekDays([]time.Weekday{start.Weekday()}, nil, nil)
		}
	case Month:
		if len(monthDays)+len(weekDays) == 0 && !r.selectsDays() {
			monthDays = []int{start.Day()}
		}
	case Year:
		if r.selectsDays() {
			break
		}
		if len(months) == 0 {
			months = []time.Month{start.Month()}
		}
		monthDays = []int{start.Day()}
	}
	numbers := make([]int, len(months))
	for i, month := range months {
		numbers[i] = int(month)
	}
	text := rrulePart("BYMONTH", numbers) + rrulePart("BYWEEKNO", sortedSet(r.weeks)) + rrulePart("BYYEARDAY", sortedSet(r.yearDays)) + rrulePart("BYMONTHDAY", monthDays)
	if len(weekDays) > 0 {
		text += ";BYDAY=" + strings.Join(weekDays, ",")
	}
	return text
}

// rruleWeekDays returns the values of BYDAY, sorted from Monday on and by number. A monthly occurrence without a number becomes
// its first to fifth. One of the year becomes every such day.
func rruleWeekDays(days []time.Weekday, occurrences, yearly []NthWeekday) []string {
	all := slices.Clone(occurrences)
	for _, o := range occurrences {
		for n := 1; o.N == 0 && n <= 5; n++ {
			all = append(all, NthWeekday{o.Day, n})
		}
	}
	all = slices.DeleteFunc(all, func(o NthWeekday) bool { return o.N == 0 })
	all = append(all, yearly...)
	for _, day := range days {
		all = append(all, NthWeekday{Day: day})
	}
	slices.SortFunc(all, func(a, b NthWeekday) int {
		return cmp.Or(cmp.Compare(daysSinceMonday(a.Day), daysSinceMonday(b.Day)), cmp.Compare(a.N, b.N))
	})
	var words []string
	for _, o := range slices.Compact(all) {
		word := strings.ToUpper(o.Day.String()[:2])
		if o.N != 0 {
			word = strconv.Itoa(o.N) + word
		}
		words = append(words, word)
	}
	return words
}

// rrulePart returns one part with a list of numbers, or "" for an empty list.
func rrulePart(name string, values []int) string {
	if len(values) == 0 {
		return ""
	}
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = strconv.Itoa(v)
	}
	return ";" + name + "=" + strings.Join(words, ",")
}

// sortedSet returns the values in order, each once. It does not change the given slice.
func sortedSet[T cmp.Ordered](values []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(values)))
}

// onUTC returns the instant at which a UTC clock shows what the clock of t shows.
func onUTC(t time.Time) time.Time {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	return time.Date(year, month, day, hour, minute, second, 0, time.UTC)
}
