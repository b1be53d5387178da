package recurrence

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// String describes the rule in English, for people:
//
//	Every week on Monday, Wednesday and Friday at 10:00 and 22:00 UTC, 10 times, from 4 August 2012
//
// The text is complete: two rules have the same text only if they have the same runs. What the rule takes from its start is
// part of the text; a rule without StartTime has words such as "the minute of creation" instead. Times are in the rule's time
// zone, which the text names once. A start at 00:00 appears as its date alone. String never fails; the text of an invalid
// rule may be wrong.
func (r Recurrence) String() string {
	d := description{Recurrence: r, zone: r.TimeZone}
	if r.Cron != "" {
		return d.cron()
	}
	d.setZone()
	return d.rule() + d.limits()
}

// A description builds the text of a rule. The text names the zone once, so its parts are built in order.
type description struct {
	Recurrence
	zone      string
	location  *time.Location // of the zone; nil if the zone is unknown
	start     time.Time      // StartTime in the zone; zero if either is not known
	zoneNamed bool           // the text has named the zone
}

// setZone finds the zone and converts the start to it.
func (d *description) setZone() {
	if d.zone == "" {
		d.zone = "UTC"
	}
	location, bad := findZone(d.zone)
	if bad != nil {
		return
	}
	d.location = location
	if !d.StartTime.IsZero() {
		d.start = d.StartTime.In(location)
	}
}

// rule describes everything except count, start and end.
func (d *description) rule() string {
	if d.Frequency == 0 {
		return d.once()
	}
	text := "Every " + d.Frequency.String()
	if d.Interval != 0 && d.Interval != 1 {
		text = fmt.Sprintf("Every %d %ss", d.Interval, d.Frequency)
	}
	if d.Frequency < Day {
		text += d.hourLimits()
	} else {
		text += d.months() + d.days() + d.times()
	}
	elements := len(d.Minutes) + len(d.Hours) + len(d.WeekDays) + len(d.MonthDays) + len(d.MonthlyOccurrences) + len(d.Months)
	if !d.zoneNamed && (elements > 0 || d.zone != "UTC") {
		text += ", " + d.nameZone()
	}
	return text
}

// once describes a rule without a frequency.
func (d *description) once() string {
	if d.StartTime.IsZero() {
		if d.zone == "UTC" {
			return "Once, when created"
		}
		return "Once, when created, " + d.nameZone()
	}
	when := "Once, on " + d.instant(d.StartTime, true)
	d.StartTime = time.Time{}
	return when
}

// limits describes count, start and end.
func (d *description) limits() string {
	text := ""
	switch {
	case d.Count == 1:
		text += ", 1 time"
	case d.Count != 0:
		text += ", " + strconv.Itoa(d.Count) + " times"
	}
	if !d.StartTime.IsZero() {
		text += ", from " + d.instant(d.StartTime, false)
	}
	if !d.EndTime.IsZero() {
		text += ", until " + d.instant(d.EndTime, true)
	}
	return text
}

// instant describes a date and its time. It leaves out a time of 00:00 unless midnight is set or the zone, which follows the
// time, has not been named yet.
func (d *description) instant(t time.Time, midnight bool) string {
	if d.location == nil {
		return t.UTC().Format("2 January 2006 at ") + formatClock(t.UTC().Clock()) + " UTC"
	}
	t = t.In(d.location)
	text := t.Format("2 January 2006")
	hour, minute, second := t.Clock()
	if midnight || !d.zoneNamed || hour+minute+second > 0 {
		text += " at " + formatClock(hour, minute, second)
	}
	// On the second pass of a repeated hour the offset makes the text unambiguous.
	if !resolveLocal(d.location, onUTC(t)).Equal(t.Truncate(time.Second)) {
		text += t.Format(" (-07:00)")
	}
	if !d.zoneNamed {
		text += " " + d.nameZone()
	}
	return text
}

// nameZone returns the name of the zone and records that the text has named it.
func (d *description) nameZone() string {
	d.zoneNamed = true
	if d.zone == "UTC" {
		return "UTC"
	}
	return d.zone + " time"
}

// hourLimits describes the hours and minutes of a frequency below day.
func (d *description) hourLimits() string {
	minutes, hours := sortedSet(d.Minutes), sortedSet(d.Hours)
	text := ""
	if d.Frequency == Hour && len(minutes) > 0 {
		text = " at " + minutesPast(minutes, 0) + " the hour"
		minutes = nil
	}
	inHours := ""
	if len(hours) > 0 {
		inHours = pluralize("hour", hours) + " " + joinList(ranges(hours, strconv.Itoa), "and")
	}
	switch {
	case len(minutes) > 0 && inHours != "":
		return text + ", only in " + minuteNumbers(minutes) + " of " + inHours + " " + d.nameZone()
	case len(minutes) > 0:
		return text + ", only in " + minuteNumbers(minutes) + " of the hour"
	case inHours != "":
		return text + ", only in " + inHours + " " + d.nameZone()
	}
	return text
}

// months describes the months that limit a rule. A yearly rule with a known start names them with its day: see startDay.
func (d *description) months() string {
	months := sortedSet(d.Months)
	if len(months) == 0 || d.Frequency == Year && !d.start.IsZero() {
		return ""
	}
	return ", only in " + joinList(ranges(months, time.Month.String), "and") + ","
}

// days describes on which days a rule runs. If no day is given, it is the day of the start.
func (d *description) days() string {
	weekDays, monthDays, occurrences := mondayFirst(d.WeekDays), sortedSet(d.MonthDays), d.MonthlyOccurrences
	given := len(weekDays) + len(monthDays) + len(occurrences)
	if given == 0 {
		return d.startDay()
	}
	var on []string
	if len(weekDays) > 0 {
		on = append(on, weekDayNames(weekDays))
	}
	if len(monthDays) > 0 {
		on = append(on, joinList(dayNames(monthDays), "and"))
	}
	if len(occurrences) > 0 && len(monthDays) == 0 {
		on = append(on, joinList(occurrenceNames(occurrences, "every"), "and"))
	}
	text := " on " + joinList(on, "and")
	if len(occurrences) > 0 && len(monthDays) > 0 {
		text += ", if that is " + joinList(occurrenceNames(occurrences, "a"), "or") + ","
	}
	return text
}

// startDay describes the day that comes from the start. A rule without a start and without elements needs none.
func (d *description) startDay() string {
	bare := len(d.Minutes)+len(d.Hours)+len(d.Months) == 0
	switch {
	case d.Frequency < Week || d.start.IsZero() && bare:
		return ""
	case d.start.IsZero() && d.Frequency == Week:
		return " on the weekday of creation"
	case d.start.IsZero() && (d.Frequency == Month || len(d.Months) > 0):
		return " on the day of the month of creation"
	case d.start.IsZero():
		return " on the day of the year of creation"
	case d.Frequency == Week:
		return " on " + d.start.Weekday().String()
	case d.Frequency == Month:
		return " on " + dayName(d.start.Day())
	}
	months := sortedSet(d.Months)
	if len(months) == 0 {
		months = []time.Month{d.start.Month()}
	}
	return " on " + dayName(d.start.Day()) + " of " + joinList(format(months, time.Month.String), "and")
}

// times describes at which times of day a rule runs. What is not given comes from the start.
func (d *description) times() string {
	hours, minutes, second := sortedSet(d.Hours), sortedSet(d.Minutes), 0
	if len(hours) == 0 && len(minutes) > 0 {
		hours = maskValues[int](1<<24 - 1)
	}
	if d.start.IsZero() && len(minutes) == 0 {
		return d.timesOfCreation(hours)
	}
	if len(minutes) == 0 {
		minutes, second = []int{d.start.Minute()}, d.start.Second()
	}
	if len(hours) == 0 {
		hours = []int{d.start.Hour()}
	}
	const maxListed = 6 // beyond it, hours and minutes are listed separately
	switch {
	case len(hours) == 24:
		return " at " + minutesPast(minutes, second) + " every hour " + d.nameZone()
	case len(hours)*len(minutes) > maxListed:
		return " at " + minutesPast(minutes, second) + " the " + pluralize("hour", hours) + " " + joinList(ranges(hours, strconv.Itoa), "and") + " " + d.nameZone()
	}
	var at []string
	for _, hour := range hours {
		for _, minute := range minutes {
			at = append(at, formatClock(hour, minute, second))
		}
	}
	return " at " + joinList(at, "and") + " " + d.nameZone()
}

// timesOfCreation describes the times of a rule with neither a start nor minutes.
func (d *description) timesOfCreation(hours []int) string {
	switch len(hours) {
	case 0:
		if len(d.WeekDays)+len(d.MonthDays)+len(d.MonthlyOccurrences)+len(d.Months) == 0 {
			return ""
		}
		return " at the time of creation"
	case 24:
		return " every hour at the minute of creation"
	}
	return " in " + pluralize("hour", hours) + " " + joinList(ranges(hours, strconv.Itoa), "and") + " at the minute of creation"
}

// cron describes a cron rule and quotes its text.
func (d *description) cron() string {
	quoted := fmt.Sprintf("cron %q", strings.Join(strings.Fields(d.Cron), " "))
	f, err := compileCron(d.Cron)
	if err != nil {
		d.setZone()
		return "Unreadable " + quoted + d.limits()
	}
	d.zone = cmp.Or(f.zone, d.zone)
	d.setZone()
	if f.every.Frequency != 0 {
		d.Frequency, d.Interval = f.every.Frequency, f.every.Interval
		return d.rule() + " (" + quoted + ")" + d.limits()
	}
	d.Hours, d.Minutes = maskValues[int](uint64(f.hours)), maskValues[int](f.minutes)
	return cronDays(f) + d.times() + " (" + quoted + ")" + d.limits()
}

// cronDays describes on which days a cron rule runs.
func cronDays(f cronFields) string {
	days, weekDays := maskValues[int](uint64(f.daysOfMonth)), mondayFirst(maskValues[time.Weekday](uint64(f.weekDays)))
	text := "Every day"
	switch {
	case f.domRestricted && f.dowRestricted:
		text = "Every day that is " + joinList(dayNames(days), "or") + " of the month or a " + joinList(format(weekDays, time.Weekday.String), "or")
	case f.domRestricted:
		text = "Every month on " + joinList(dayNames(days), "and")
	case f.dowRestricted:
		text = "Every week on " + weekDayNames(weekDays)
	}
	if months := maskValues[time.Month](uint64(f.months)); len(months) < 12 {
		text += ", only in " + joinList(ranges(months, time.Month.String), "and") + ","
	}
	return text
}
