package recurrence

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An rruleReader turns one RRULE into a rule, or into several if BYSETPOS selects other days at each time of day.
type rruleReader struct {
	parts  rruleParts
	start  time.Time // DTSTART on the local clock
	inZone bool      // not UTC
	float  bool      // DTSTART has neither Z nor TZID
	allDay bool      // DTSTART is a date

	weekDays                                                          []NthWeekday
	months, monthDays, weeks, yearDays, hours, minutes, seconds, kept []int

	frequency Frequency // FREQ
	rule      Recurrence
	limit     Filter
	list      []Recurrence // the rules that the RRULE becomes
	picks     bool         // there are positions, which count days that EXDATE excludes
}

// knownParts are the parts of an RRULE that RFC 5545 defines.
var knownParts = []string{"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYMONTH", "BYMONTHDAY", "BYWEEKNO", "BYYEARDAY", "BYDAY", "BYHOUR",
	"BYMINUTE", "BYSECOND", "BYSETPOS"}

// read returns the rules without start, zone and the additions of other lines.
func (r *rruleReader) read() ([]Recurrence, error) {
	for _, step := range []func() error{
		r.checkParts, r.readInterval, r.readUntil, r.readWeekStart, r.readLists, r.limitInterval, r.checkZone,
		r.dropSixthWeekdays, r.setDays, r.setTimes, r.setPositions,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return r.list, nil
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
			advice = `it is not in RFC 5545: write frequency day with only: [{"dates": ["easter"]}]`
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
	r.frequency = Frequency(frequency)
	r.rule.Frequency = r.frequency
	if r.rule.Interval, err = r.positiveInteger("INTERVAL"); err != nil {
		return err
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

// readWeekStart reads WKST. It leaves it out where it changes nothing.
func (r *rruleReader) readWeekStart() error {
	week, given := r.parts["WKST"]
	day, known := rruleWeekday(week)
	if given && !known {
		return refuseSyntax(r.part("WKST"), "WKST must be SU to SA")
	}
	if given && (r.has("BYWEEKNO") || r.frequency == Week && (r.rule.Interval > 1 || r.has("BYSETPOS"))) {
		r.rule.WeekStart = WeekStart(daysSinceMonday(day))
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
		{"BYMONTH", 1, 12, &r.months}, {"BYMONTHDAY", -31, 31, &r.monthDays}, {"BYYEARDAY", -366, 366, &r.yearDays}, {"BYWEEKNO", -53, 53, &r.weeks},
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
	case frequency != Year && r.weeks != nil:
		return refuseSyntax(r.part("BYWEEKNO"), "BYWEEKNO goes with YEARLY only")
	case r.weeks != nil && r.numbered():
		return refuseSyntax(r.part("BYDAY"), "BYDAY has no numbers next to BYWEEKNO")
	case (frequency == Day || frequency == Week || frequency == Month) && r.yearDays != nil:
		return refuseSyntax(r.part("BYYEARDAY"), "BYYEARDAY does not go with DAILY, WEEKLY and MONTHLY: write it with YEARLY")
	case r.kept != nil && len(r.months)+len(r.monthDays)+len(r.weeks)+len(r.yearDays)+len(r.weekDays)+len(r.hours)+len(r.minutes)+len(r.seconds) == 0:
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
	switch frequency := r.frequency; { // that of the text: elapsed hours and days of a larger unit may have a zone
	case !r.inZone:
	case frequency == Hour && r.rule.Interval <= 1 && r.hours == nil: // a day with all hours follows elapsed time too
		r.rule.Frequency, r.rule.Interval, r.hours = Day, 0, upToHour23()
	case frequency == Hour:
		return refusePart("FREQ=HOURLY in a zone, with INTERVAL or BYHOUR,", r.part("FREQ"), advice)
	case frequency < Hour && len(r.months)+len(r.monthDays)+len(r.yearDays)+len(r.weekDays)+len(r.hours)+len(r.minutes)+len(r.seconds) > 0:
		return refusePart(r.part("FREQ")+" in a zone, limited by the clock,", r.part("FREQ"), advice)
	}
	return nil
}

// upToHour23 returns all hours.
func upToHour23() []int { return maskValues[int](uint64(allHours)) }

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
