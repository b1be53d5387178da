package recurrence

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An rruleReader turns one RRULE into a rule.
type rruleReader struct {
	parts  rruleParts
	start  time.Time // DTSTART on the local clock
	inZone bool      // not UTC
	float  bool      // DTSTART has neither Z nor TZID
	allDay bool      // DTSTART is a date

	weekDays                                                   []NthWeekday
	months, monthDays, yearDays, hours, minutes, seconds, kept []int

	rule  Recurrence
	only  Filter
	picks bool // the positions leave days out
}

// knownParts are the parts of an RRULE that RFC 5545 defines.
var knownParts = []string{"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYDAY", "BYHOUR",
	"BYMINUTE", "BYSECOND", "BYSETPOS"}

// read returns the rule without start, zone and the additions of other lines.
func (r *rruleReader) read() (Recurrence, error) {
	for _, step := range []func() error{
		r.checkParts, r.readInterval, r.readUntil, r.checkWeekStart, r.readLists, r.checkZone,
		r.dropSixthWeekdays, r.setDays, r.setTimes, r.setPositions,
	} {
		if err := step(); err != nil {
			return Recurrence{}, err
		}
	}
	if f := r.only; len(f.WeekDays)+len(f.MonthDays)+len(f.MonthlyOccurrences)+len(f.Months) > 0 {
		r.rule.Only = []Filter{f}
	}
	return r.rule, nil
}

// part returns a part in its written form.
func (r *rruleReader) part(name string) string { return name + "=" + r.parts[name] }

// has reports whether a part is given.
func (r *rruleReader) has(name string) bool { return r.parts[name] != "" }

// checkParts refuses parts that RFC 5545 or this package does not have.
func (r *rruleReader) checkParts() error {
	for _, name := range slices.Sorted(maps.Keys(r.parts)) { // sorted, so that errors do not depend on the order of a map
		advice := "leave it out"
		switch name {
		case "BYWEEKNO":
			return refusePart(name, r.part(name), "write positions of days, or dates in only")
		case "RSCALE":
			if r.parts[name] == "GREGORIAN" {
				continue
			}
			advice = "RFC 7529 defines it, and GREGORIAN is the only calendar here: write the dates as RDATE"
		case "SKIP":
			if r.parts[name] == "OMIT" && r.has("RSCALE") {
				continue
			}
			advice = "a month without the day is omitted: for the last day of each month write BYMONTHDAY=-1"
		case "BYEASTER":
			advice = "it is not in RFC 5545: write the dates as RDATE, or as dates in only"
		}
		if !slices.Contains(knownParts, name) {
			return refusePart(cutValue(name), r.part(name), advice)
		}
	}
	return nil
}

// readInterval reads FREQ, INTERVAL and COUNT.
func (r *rruleReader) readInterval() (err error) {
	frequency := slices.Index(rruleFrequencies[1:], r.parts["FREQ"]) + 1
	if frequency == 0 {
		return refuseSyntax(r.parts["FREQ"], "FREQ must be SECONDLY, MINUTELY, HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY")
	}
	r.rule.Frequency = Frequency(frequency)
	if r.rule.Interval, err = r.positiveInteger("INTERVAL"); err != nil {
		return err
	}
	if limit := maxInterval(r.rule.Frequency); r.rule.Interval > limit {
		return refusePart(r.part("INTERVAL"), r.part("INTERVAL"), "at most "+strconv.Itoa(limit)+" with "+r.part("FREQ"))
	}
	r.rule.Count, err = r.positiveInteger("COUNT")
	return err
}

// positiveInteger reads a part that is a number from 1 on. A part that is not given is 0.
func (r *rruleReader) positiveInteger(name string) (int, error) {
	if !r.has(name) {
		return 0, nil
	}
	n, err := strconv.ParseInt(r.parts[name], 10, 32)
	if err != nil || n < 1 {
		return 0, refuseSyntax(r.part(name), "%s must be a number from 1 to %d", name, maxCount)
	}
	return int(n), nil
}

// readUntil reads UNTIL.
func (r *rruleReader) readUntil() error {
	if !r.has("UNTIL") {
		return nil
	}
	if r.has("COUNT") {
		return refuseSyntax(r.part("UNTIL"), "COUNT and UNTIL exclude each other: remove one")
	}
	end, err := r.until(r.parts["UNTIL"])
	if err != nil {
		return err
	}
	if end.Before(r.start) {
		return newError(CodeEndBeforeStart, "", r.part("UNTIL"), "UNTIL must not be before DTSTART, which is %s", rruleTime(r.start, ""))
	}
	r.rule.EndTime = end
	return nil
}

// until reads the value of UNTIL: an instant with Z. It is local time if DTSTART is, and a date if DTSTART is one.
func (r *rruleReader) until(text string) (time.Time, error) {
	local, utc := strings.CutSuffix(text, "Z")
	if r.allDay && len(text) == len("20060102") {
		local += "T235959" // the whole day
	}
	wall, err := time.Parse(rruleLocal, local)
	switch {
	case err != nil || len(local) != len(rruleLocal):
		return wall, refuseSyntax(r.part("UNTIL"), "UNTIL must be an instant with Z, such as 20261231T235959Z")
	case utc:
		return wall, nil
	case !r.float:
		return wall, refuseSyntax(r.part("UNTIL"), "UNTIL must be an instant with Z, such as 20261231T235959Z, because DTSTART has Z or TZID")
	}
	return resolveLocal(r.start.Location(), wall), nil
}

// checkWeekStart refuses a WKST other than Monday if it affects which days run.
func (r *rruleReader) checkWeekStart() error {
	week, given := r.parts["WKST"]
	if _, known := rruleWeekday(week); given && !known {
		return refuseSyntax(r.part("WKST"), "WKST must be SU to SA")
	}
	if given && week != "MO" && r.rule.Frequency == Week && (r.rule.Interval > 1 || r.has("BYSETPOS")) {
		return refusePart(r.part("WKST"), r.part("WKST"), "weeks begin on Monday")
	}
	return nil
}

// rruleWeekday returns the weekday of two letters.
func rruleWeekday(word string) (time.Weekday, bool) {
	i := slices.Index([]string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}, word)
	return time.Weekday(max(i, 0)), i >= 0
}

// readLists reads the parts that hold lists.
func (r *rruleReader) readLists() (err error) {
	if slices.Contains(strings.Split(r.parts["BYSECOND"], ","), "60") {
		return refusePart("BYSECOND=60, a leap second,", r.part("BYSECOND"), "write 59, or 0 of the next minute")
	}
	for _, list := range []struct {
		name      string
		low, high int
		values    *[]int
	}{
		{"BYMONTH", 1, 12, &r.months}, {"BYMONTHDAY", -31, 31, &r.monthDays}, {"BYYEARDAY", -366, 366, &r.yearDays},
		{"BYHOUR", 0, 23, &r.hours}, {"BYMINUTE", 0, 59, &r.minutes}, {"BYSECOND", 0, 59, &r.seconds}, {"BYSETPOS", -366, 366, &r.kept},
	} {
		if *list.values, err = r.parts.numbers(list.name, list.low, list.high); err != nil {
			return err
		}
	}
	if r.weekDays, err = r.parts.weekDays(); err != nil {
		return err
	}
	switch frequency := r.rule.Frequency; {
	case r.numbered() && frequency < Month:
		return refuseSyntax(r.part("BYDAY"), "BYDAY has numbers with MONTHLY and YEARLY only")
	case frequency == Week && r.monthDays != nil:
		return refuseSyntax(r.part("BYMONTHDAY"), "BYMONTHDAY does not go with WEEKLY")
	case frequency != Year && r.yearDays != nil:
		return refusePart("BYYEARDAY", r.part("BYYEARDAY"), "write it with YEARLY")
	case frequency < Week && r.kept != nil:
		return refusePart("BYSETPOS", r.part("BYSETPOS"), "write it with WEEKLY, MONTHLY or YEARLY")
	case r.kept != nil && len(r.months)+len(r.monthDays)+len(r.yearDays)+len(r.weekDays)+len(r.hours)+len(r.minutes)+len(r.seconds) == 0:
		return refuseSyntax(r.part("BYSETPOS"), "BYSETPOS needs another BY part")
	}
	return nil
}

// numbered reports whether a weekday has a number.
func (r *rruleReader) numbered() bool {
	return slices.ContainsFunc(r.weekDays, func(d NthWeekday) bool { return d.N != 0 })
}

// checkZone refuses a rule that follows elapsed time in this package and the clock in RFC 5545.
func (r *rruleReader) checkZone() error {
	const advice = "write DTSTART with Z"
	switch frequency := r.rule.Frequency; {
	case !r.inZone:
	case frequency >= Day && len(r.hours) == 24:
		return refusePart("every hour of a day in a zone", r.part("BYHOUR"), advice+", or fewer hours")
	case frequency == Hour && r.rule.Interval <= 1 && r.hours == nil: // a day with all hours follows elapsed time too
		r.rule.Frequency, r.rule.Interval, r.hours = Day, 0, upToHour23()
	case frequency == Hour:
		return refusePart("FREQ=HOURLY in a zone, with INTERVAL or BYHOUR,", r.part("FREQ"), advice)
	case frequency < Hour && len(r.months)+len(r.monthDays)+len(r.weekDays)+len(r.hours)+len(r.minutes)+len(r.seconds) > 0:
		return refusePart(r.part("FREQ")+" in a zone, limited by the clock,", r.part("FREQ"), advice)
	}
	return nil
}

// upToHour23 returns all hours.
func upToHour23() []int { return maskValues[int](uint64(allHours)) }

// days returns the weekdays without their numbers.
func (r *rruleReader) days() (list []time.Weekday) {
	for _, d := range r.weekDays {
		if !slices.Contains(list, d.Day) {
			list = append(list, d.Day)
		}
	}
	return list
}

// monthsOf converts numbers.
func monthsOf(numbers []int) (list []time.Month) {
	for _, n := range numbers {
		list = append(list, time.Month(n))
	}
	return list
}

// dropSixthWeekdays removes weekdays with numbers that no month has, if the numbers count in a month. It refuses a list that becomes empty,
// because an empty list would mean the day of the start.
func (r *rruleReader) dropSixthWeekdays() error {
	if r.weekDays == nil || r.rule.Frequency != Month && r.months == nil {
		return nil
	}
	r.weekDays = slices.DeleteFunc(r.weekDays, func(d NthWeekday) bool { return d.N < -5 || d.N > 5 })
	if len(r.weekDays) == 0 {
		return newError(CodeNeverFires, "", r.part("BYDAY"), "no month has a weekday more than five times")
	}
	return nil
}

// setDays sets the elements of days.
func (r *rruleReader) setDays() error {
	switch r.rule.Frequency {
	case Week:
		r.rule.WeekDays, r.only.Months = r.days(), monthsOf(r.months)
		if r.kept != nil && r.weekDays == nil {
			r.rule.WeekDays = []time.Weekday{r.start.Weekday()}
		}
	case Month:
		r.setMonth()
	case Year:
		return r.setYear()
	default:
		r.only.WeekDays, r.only.MonthDays, r.only.Months = r.days(), r.monthDays, monthsOf(r.months)
	}
	return nil
}

// setMonth sets the elements of MONTHLY, and of a YEARLY that means the same.
func (r *rruleReader) setMonth() {
	r.rule.Frequency, r.rule.Months, r.rule.MonthDays = Month, monthsOf(r.months), r.monthDays
	if r.kept != nil && !r.numbered() {
		r.only.WeekDays = r.days()
		if r.weekDays == nil && r.monthDays == nil {
			r.rule.MonthDays = []int{r.start.Day()}
		}
		return
	}
	r.rule.MonthlyOccurrences = r.weekDays
}

// setYear sets the elements of YEARLY.
func (r *rruleReader) setYear() error {
	limits := len(r.months)+len(r.monthDays)+len(r.weekDays) > 0
	numberedOfYear := r.numbered() && r.months == nil
	switch {
	case r.yearDays != nil && (limits || r.kept != nil):
		return refusePart("BYYEARDAY together with other days", r.part("BYYEARDAY"), "write it alone")
	case r.yearDays != nil:
		r.rule.Positions, r.picks = r.yearDays, true
	case numberedOfYear:
		return r.setWeekdaysOfYear()
	case len(r.monthDays)+len(r.weekDays) == 0 && r.kept == nil:
		r.rule.Months = monthsOf(r.months)
	case r.rule.Interval <= 1 && r.kept == nil:
		r.setMonth()
	default:
		r.setFilteredYear()
	}
	return nil
}

// setWeekdaysOfYear sets weekdays with numbers that count in the year, such as 20MO.
func (r *rruleReader) setWeekdaysOfYear() error {
	if r.kept != nil || r.monthDays != nil || len(r.days()) > 1 || slices.ContainsFunc(r.weekDays, func(d NthWeekday) bool { return d.N == 0 }) {
		return refusePart("a numbered BYDAY of a year together with other days", r.part("BYDAY"), "write an RRULE for each weekday, or BYMONTH")
	}
	r.picks = true
	for _, d := range r.weekDays {
		r.rule.Positions = append(r.rule.Positions, d.N)
	}
	r.only.WeekDays = r.days()
	return nil
}

// setFilteredYear sets days as a filter, and positions that keep all or some of these days.
func (r *rruleReader) setFilteredYear() {
	r.rule.Months = monthsOf(r.months)
	r.only.MonthDays = r.monthDays
	perMonth := len(r.monthDays)
	if r.numbered() {
		r.only.MonthlyOccurrences = r.weekDays
	} else {
		r.only.WeekDays = r.days()
	}
	switch {
	case len(r.monthDays)+len(r.weekDays) == 0: // BYSETPOS of the start's day
		r.only.MonthDays = []int{r.start.Day()}
		if r.months == nil {
			r.rule.Months = []time.Month{r.start.Month()}
		}
	case perMonth == 0:
		for _, d := range r.weekDays {
			perMonth++
			if d.N == 0 {
				perMonth += 4
			}
		}
	}
	if r.kept != nil {
		return
	}
	months := len(r.months)
	if months == 0 {
		months = 12
	}
	for n := 1; n <= min(366, months*min(perMonth, 31)); n++ {
		r.rule.Positions = append(r.rule.Positions, n)
	}
}

// setTimes sets the elements of times. A part that is not given comes from the start, as in RFC 5545.
func (r *rruleReader) setTimes() error {
	r.rule.Hours, r.rule.Minutes, r.rule.Seconds = r.hours, r.minutes, r.seconds
	if r.rule.Frequency < Hour || len(r.hours)+len(r.minutes)+len(r.seconds) == 0 {
		return nil
	}
	if r.rule.Frequency >= Day && r.hours == nil {
		r.rule.Hours = []int{r.start.Hour()}
	}
	if r.minutes == nil && r.seconds != nil {
		r.rule.Minutes = []int{r.start.Minute()}
	}
	if r.rule.Minutes == nil {
		return nil // the start's minute and second
	}
	if r.seconds == nil {
		r.rule.Seconds = []int{r.start.Second()}
	}
	if slices.Equal(r.rule.Seconds, []int{0}) {
		r.rule.Seconds = nil
	}
	return nil
}

// setPositions sets BYSETPOS. With k times a day, k consecutive numbers are one day.
func (r *rruleReader) setPositions() error {
	if r.kept == nil {
		return nil
	}
	r.picks = true
	times := max(len(r.hours), 1) * max(len(r.minutes), 1) * max(len(r.seconds), 1)
	limit := map[Frequency]int{Week: 7, Month: 31, Year: 366}[r.rule.Frequency]
	count := map[int]int{}
	for _, n := range r.kept {
		day := (n + times - 1) / times
		if n < 0 {
			day = -((-n + times - 1) / times)
		}
		if count[day]++; count[day] == 1 && day >= -limit && day <= limit {
			r.rule.Positions = append(r.rule.Positions, day)
		}
	}
	for _, n := range count {
		if n != times {
			return refusePart("BYSETPOS with several times a day", r.part("BYSETPOS"), "positions count days: write one time, or an RRULE for each")
		}
	}
	if len(r.rule.Positions) == 0 {
		return newError(CodeNeverFires, "", r.part("BYSETPOS"), "no period has that many days")
	}
	return nil
}
