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
// The text is complete, and no two rules have the same text unless they are [Recurrence.Equal]. So small words tell apart what
// runs at the same times:
//
//   - "Each week" has an Interval of 1, "Every week" none.
//   - A start at which the rule runs is "starting on" its date; its time is that of the runs. One whose time says only at which
//     minute the rule runs has its time before its date ("from 12:25 on 4 August 2012"), any other start after it. A time of
//     00:00 is left out where nothing is lost.
//   - "on Mondays", "on day 4" and "on 4 August" come from the start; "on Monday" and "on the 4th" are elements of the rule. A rule
//     without StartTime has words such as "the minute of creation".
//
// Times are in the rule's time zone, which the text names once; "UTC time" is a TimeZone of UTC, and a text without a zone means
// UTC. A cron rule ends with its cron text. String never fails; the text of an invalid rule may be wrong.
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
	zone      string         // "" is UTC
	location  *time.Location // of the zone; nil if the zone is unknown
	start     time.Time      // StartTime in the zone; zero if either is not known
	zoneNamed bool           // the text has named the zone
}

// setZone finds the zone and converts the start to it.
func (d *description) setZone() {
	location, bad := findZone(cmp.Or(d.zone, "UTC"))
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
	switch {
	case d.Frequency == 0:
		return d.once()
	case d.Frequency < Day:
		return d.elapsed()
	}
	text, local := d.days()
	times, clock := d.times()
	switch {
	case strings.HasPrefix(times, "every"):
		text = strings.TrimSuffix(text, ",") + ", " + times
	case times != "":
		text += " " + times
	}
	text = d.nameZone(text, local || clock)
	months := sortedSet(d.Months)
	switch {
	case d.Frequency == Year || len(months) == 0:
		return text
	case len(months) == 12:
		return text + ", in any month"
	}
	return text + ", only in " + monthNames(months)
}

// once describes a rule without a frequency.
func (d *description) once() string {
	if d.StartTime.IsZero() {
		return d.nameZone("Once, when created", false)
	}
	when := "Once, on " + d.instant(d.StartTime, true)
	d.StartTime = time.Time{}
	return when
}

// every names the interval. An interval of 1 that is set has a word of its own.
func (d *description) every(unit string) string {
	switch d.Interval {
	case 0:
		return "Every " + unit
	case 1:
		return "Each " + unit
	}
	return fmt.Sprintf("Every %d %ss", d.Interval, unit)
}

// limits describes count, start and end.
func (d *description) limits() string {
	text := ""
	switch {
	case d.Count == 1:
		text += ", only once"
	case d.Count != 0:
		text += ", " + strconv.Itoa(d.Count) + " times"
	}
	if !d.StartTime.IsZero() {
		text += ", " + d.since()
	}
	if !d.EndTime.IsZero() {
		text += ", until " + d.instant(d.EndTime, true)
	}
	return text
}

// since describes the start, as the comment of [Recurrence.String] says.
func (d *description) since() string {
	if d.start.IsZero() {
		return "from " + d.instant(d.StartTime, false)
	}
	date, clock := dateText(d.start), d.clock(d.start)
	midnight := clock == "00:00"
	if d.Cron != "" && d.Frequency == 0 || d.Frequency < Day || len(d.Minutes) > 0 {
		// At midnight the minute alone, if it is 0, would also be that of a rule without minutes.
		sameMinute := d.Cron == "" && d.Frequency >= Day && len(d.Hours) > 0 && len(d.Minutes) == 1 && d.Minutes[0] == 0
		if midnight && d.zoneNamed && !sameMinute {
			return "from " + date
		}
		return d.nameZone("from "+date+" at "+clock, true)
	}
	switch {
	case len(d.Hours) == 0 && d.onSecondPass(d.start):
		return "starting on " + date + " at " + clock
	case len(d.Hours) == 0:
		return "starting on " + date
	case midnight:
		return "from " + date
	}
	return "from " + clock + " on " + date
}

// instant describes a date and its time. It leaves out a time of 00:00 unless midnight is set or the zone, which follows the
// time, has not been named yet.
func (d *description) instant(t time.Time, midnight bool) string {
	if d.location == nil {
		return dateText(t.UTC()) + " at " + formatClock(t.UTC().Clock()) + " UTC"
	}
	t = t.In(d.location)
	text, clock := dateText(t), d.clock(t)
	if midnight || !d.zoneNamed || clock != "00:00" {
		text += " at " + clock
	}
	return d.nameZone(text, true)
}

// clock describes the time of an instant in the zone. On the second pass of a repeated hour the offset makes it unambiguous.
func (d *description) clock(t time.Time) string {
	if d.onSecondPass(t) {
		return formatClock(t.Clock()) + t.Format(" (-07:00)")
	}
	return formatClock(t.Clock())
}

// onSecondPass reports whether the clocks of the zone had shown the time of an instant before.
func (d *description) onSecondPass(t time.Time) bool {
	return !resolveLocal(d.location, onUTC(t)).Equal(wholeSeconds(t))
}

// nameZone adds the zone to a text that is local time, or that is the last of its rule, unless the text has named it already. UTC
// is named for local times only, unless it is the TimeZone of the rule.
func (d *description) nameZone(text string, local bool) string {
	if d.zoneNamed || !local && d.zone == "" {
		return text
	}
	d.zoneNamed = true
	if !endsWithClock(text) {
		text += ","
	}
	if d.zone == "" {
		return text + " UTC"
	}
	return text + " " + d.zone + " time"
}

// elapsed describes a rule with a frequency below day.
func (d *description) elapsed() string {
	text, local := d.every(d.Frequency.String()), false
	minutes, hours := sortedSet(d.Minutes), sortedSet(d.Hours)
	if len(minutes) > 0 {
		part := ""
		if d.Frequency == Hour {
			part, local = minutesOfEachHour(minutes)
		} else {
			part, local = minuteLimit(minutes)
		}
		text += part
	}
	if len(hours) > 0 {
		text += hourLimit(hours)
		local = local || len(hours) < 24
	}
	return d.nameZone(text, local)
}

// days describes on which days a rule runs; local is false if the text depends on no calendar. If no day is given, it is the day of
// the start.
func (d *description) days() (text string, local bool) {
	weekDays, monthDays, occurrences := mondayFirst(d.WeekDays), sortedSet(d.MonthDays), d.MonthlyOccurrences
	unit := d.Frequency.String()
	switch {
	case len(weekDays)+len(monthDays)+len(occurrences) == 0:
		day := d.startDay()
		return d.every(unit) + day, day != ""
	case len(weekDays) == 7 || len(monthDays) == 31 && monthDays[0] == 1:
		if text = d.every(unit) + " on every day"; d.Interval < 2 {
			text = d.every("day of the " + unit)
		}
	case len(weekDays) > 0:
		text = d.every(unit) + " on " + weekDayNames(weekDays)
	case len(monthDays) > 0:
		text = d.every(unit) + " on " + joinList(dayNames(monthDays), "and")
	}
	if len(occurrences) > 0 && len(monthDays) > 0 {
		return text + ", if that is " + joinList(occurrenceNames(occurrences, "a", "or"), "or") + ",", true
	}
	if len(occurrences) > 0 {
		text = d.every(unit) + " on " + joinList(occurrenceNames(occurrences, "every", "and"), "and")
	}
	return text, true
}

// startDay describes the day that comes from the start. A rule without a start and without elements needs no day.
func (d *description) startDay() string {
	months := sortedSet(d.Months)
	bare := len(d.Minutes)+len(d.Hours)+len(months) == 0
	switch {
	case d.Frequency < Week || d.start.IsZero() && bare:
		return ""
	case d.start.IsZero() && d.Frequency == Week:
		return " on the weekday of creation"
	case d.start.IsZero() && d.Frequency == Year && len(months) > 0:
		return " in " + monthNames(months) + " on the day of the month of creation"
	case d.start.IsZero() && d.Frequency == Month:
		return " on the day of the month of creation"
	case d.start.IsZero():
		return " on the day of the year of creation"
	case d.Frequency == Week:
		return " on " + d.start.Weekday().String() + "s"
	case d.Frequency == Month:
		return " on day " + strconv.Itoa(d.start.Day())
	case len(months) == 0:
		return " on " + d.start.Format("2 January")
	}
	return " on " + dayName(d.start.Day()) + " of " + monthNames(months)
}

// times describes at which times of day a rule runs. What is not given comes from the start. local is false if the text depends on
// no clock.
func (d *description) times() (text string, local bool) {
	set := clockSet{hours: sortedSet(d.Hours), minutes: sortedSet(d.Minutes)}
	if len(set.minutes) == 0 {
		if d.start.IsZero() {
			return d.timesOfCreation(set.hours)
		}
		if len(set.hours) == 0 {
			set.hours = []int{d.start.Hour()}
		}
		set.minutes, set.second = []int{d.start.Minute()}, d.start.Second()
	}
	text, local = set.phrase()
	return text, local
}

// timesOfCreation describes the times of a rule with neither a start nor minutes.
func (d *description) timesOfCreation(hours []int) (text string, local bool) {
	switch {
	case len(hours) > 0:
		return "at the minute of creation past " + clockSet{hours: hours}.hourNames(), true
	case len(d.WeekDays)+len(d.MonthDays)+len(d.MonthlyOccurrences)+len(d.Months) == 0:
		return "", false
	}
	return "at the time of creation", true
}

// cron describes a cron rule and quotes its text.
func (d *description) cron() string {
	quoted := fmt.Sprintf("cron %q", d.Cron)
	f, err := compileCron(d.Cron)
	if err != nil {
		d.setZone()
		return "Unreadable " + quoted + d.limits()
	}
	d.zone = cmp.Or(f.zone, d.zone)
	d.setZone()
	if f.every.Frequency != 0 {
		if d.Frequency = f.every.Frequency; f.every.Interval > 1 {
			d.Interval = f.every.Interval
		}
		return d.rule() + " (" + quoted + ")" + d.limits()
	}
	return d.nameZone(d.cronRule(f), false) + " (" + quoted + ")" + d.limits()
}

// cronRule describes when five cron fields match.
func (d *description) cronRule(f cronFields) string {
	set := clockSet{hours: maskValues[int](uint64(f.hours)), minutes: maskValues[int](f.minutes)}
	if len(set.hours) == 24 {
		set.hours = nil
	}
	times, local := set.phrase()
	days, months := cronDays(f), ""
	if inMonths := maskValues[time.Month](uint64(f.months)); len(inMonths) < 12 && days.unit == "year" {
		days.on += " of " + monthNames(inMonths)
	} else if len(inMonths) < 12 {
		months = ", only in " + monthNames(inMonths)
	}
	if !strings.HasPrefix(times, "every") {
		if days.also != "" {
			days.also += ","
		}
		return d.nameZone("Every "+days.unit+days.on+days.also+" "+times, true) + months
	}
	text := "E" + times[1:]
	if endsWithClock(text) {
		text = d.nameZone(text, true)
	}
	if days.unit == "month" {
		days.on += " of the month"
	}
	text += days.on + days.also + months
	return d.nameZone(text, local || days.unit != "day" || months != "")
}

// cronDay says on which days cron fields match.
type cronDay struct{ unit, on, also string }

func cronDays(f cronFields) cronDay {
	days, weekDays := maskValues[int](uint64(f.daysOfMonth)), mondayFirst(maskValues[time.Weekday](uint64(f.weekDays)))
	byDate, byWeekday := f.domRestricted && len(days) < 31, f.dowRestricted && len(weekDays) < 7
	everyDay := !byDate && !byWeekday || f.domRestricted && f.dowRestricted && !(byDate && byWeekday) // either field is enough
	onDates := " on " + joinList(dayNames(days), "and")
	switch {
	case everyDay:
		return cronDay{unit: "day"}
	case byDate && byWeekday:
		return cronDay{"month", onDates, " and on every " + joinList(format(weekDays, time.Weekday.String), "and")}
	case byWeekday:
		return cronDay{unit: "week", on: " on " + weekDayNames(weekDays)}
	case f.months != 1<<13-2:
		return cronDay{unit: "year", on: onDates}
	}
	return cronDay{unit: "month", on: onDates}
}
