package recurrence

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// String describes the rule in English, for people:
//
//	Every week on Monday, Wednesday and Friday at 10:00 and 22:00 UTC, 10 times, from 4 August 2012
//
// The text is complete, and equal rules have the same text. It is for reading, not for comparing: use [Recurrence.Equal] to compare rules. Small
// words distinguish rules that run at the same times:
//
//   - "Each week" has an Interval of 1; in "Every week" the Interval is not set.
//
//   - If the rule runs at its start, the text has "starting on" and the start's date; the start has the same time as the runs. If the start only
//     determines the minute of the runs, its time comes before its date ("from 12:25 on 4 August 2012"); for any other start the time comes after it.
//     A time of 00:00 is left out if the text remains clear.
//
//   - "on Mondays", "on day 4" and "on 4 August" come from the start; "on Monday" and "on the 4th" are elements of the rule. A rule
//     without StartTime has words such as "the minute of creation".
//
//   - "on the last open day" counts the days that Only and Except leave open. Their description follows the rule, after a semicolon.
//
//   - A time of Only or Except is the whole minute, unless it has seconds: "from 09:00 to 17:30" ends at 17:30:59.
//
//   - The description of Also comes last. After it, "in all" describes Count and "all until" describes EndTime, because both apply to all runs.
//
// Times are in the rule's time zone, which the text names once; "UTC time" means that TimeZone is "UTC". If TimeZone is not set, the text has "UTC"
// or no zone. A cron rule has its cron text after its description. String never fails; the text of an invalid rule may be wrong.
func (r Recurrence) String() string {
	d := description{Recurrence: r, zone: r.TimeZone, origin: "creation", more: r.hasFilters() || len(r.Also) > 0}
	text := d.clause() + d.limits()
	if r.hasFilters() {
		text = d.zoneAfter(text + d.filters())
	}
	if len(r.Also) > 0 {
		text += d.also(r)
	}
	return text
}

// A description builds the text of a rule. The text names the zone once, so its parts are built in order.
type description struct {
	Recurrence
	zone      string         // "" is UTC
	location  *time.Location // of the zone; nil if the zone is unknown
	start     time.Time      // StartTime in the zone; zero if either is not known
	zoneNamed bool           // the text has named the zone
	local     bool           // the text depends on the zone
	more      bool           // a filter or an addition follows, which may name the zone
	origin    string         // the origin of the times of a rule without StartTime: "creation", or "the start" of the rule to which it is added
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

// clause describes the rule with its cron text, but not count, start, end, calendar and additions.
func (d *description) clause() string {
	if d.Cron != "" {
		return d.cron() + d.clockChanges()
	}
	d.setZone()
	return d.rule() + d.weeks() + d.clockChanges()
}

// rule describes the frequency and the elements.
func (d *description) rule() string {
	switch {
	case d.Frequency == 0:
		return d.once()
	case d.Frequency < Day:
		return d.elapsed()
	}
	text, local := d.days()
	text += d.shifted(text)
	moved := d.shiftedBy()
	if moved != "" {
		text = strings.TrimSuffix(text, ",") + moved
	}
	times, clock := d.times()
	switch {
	case strings.HasPrefix(times, "every") || times != "" && moved != "":
		text = strings.TrimSuffix(text, ",") + ", " + times
	case times != "":
		text += " " + times
	}
	if endsWithClock(text) {
		text = d.nameZone(text, true)
	}
	text = d.nameZone(text+d.secondsAfterTimes(), local || clock)
	months := sortedSet(d.Months)
	switch {
	case d.Frequency == Year && len(d.Days) == 0 || len(months) == 0:
		return text
	case len(months) == 12:
		return text + ", in any month"
	}
	return text + ", only in " + monthNames(months, "and")
}

// once describes a rule without a frequency.
func (d *description) once() string {
	if d.StartTime.IsZero() {
		return d.nameZone("Once, when created", false)
	}
	when := "Once, on "
	if len(d.Also) > 0 {
		when = "On "
	}
	when += d.instant(d.StartTime, true)
	d.StartTime = time.Time{}
	return when + d.shifted(when)
}

// every describes the interval. An interval of 1 that is set has a word of its own.
func (d *description) every(unit string) string {
	switch d.Interval {
	case 0:
		return "Every " + unit
	case 1:
		return "Each " + unit
	}
	return fmt.Sprintf("Every %d %ss", d.Interval, unit)
}

// limits describes count, start and end. With additions, count and end are described after these.
func (d *description) limits() string {
	text := ""
	switch {
	case len(d.Also) > 0:
		d.Count, d.EndTime = 0, time.Time{}
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

// since describes the start, in the form of the comment of [Recurrence.String].
func (d *description) since() string {
	if d.start.IsZero() {
		return "from " + d.instant(d.StartTime, false)
	}
	date, clock := dateText(d.start), d.clock(d.start)
	midnight := clock == "00:00"
	if d.Cron != "" && d.Frequency == 0 || d.Frequency < Day || len(d.Minutes) > 0 || len(d.Seconds) > 0 && len(d.Hours) == 0 {
		// At midnight the minute alone would not be clear if it is 0: a rule without minutes has the same.
		sameMinute := d.Cron == "" && d.Frequency >= Day && len(d.Hours) > 0 && slices.Equal(sortedSet(d.Minutes), []int{0})
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

// instant describes a date and its time. It leaves out a time of 00:00, except in two cases: midnight is set, or the zone has not been named yet,
// which follows the time.
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

// nameZone adds the zone to a text that is local time, or that is the last one of its rule, unless the zone has been named already. UTC is named
// for local times only, unless it is the TimeZone of the rule.
func (d *description) nameZone(text string, local bool) string {
	d.local = d.local || local
	if d.zoneNamed || !local && (d.zone == "" || d.more) {
		return text
	}
	if endsWithClock(text) {
		d.zoneNamed = true
		return text + " " + d.zoneName()
	}
	return d.zoneAfter(text)
}

// zoneAfter adds the zone to a text of several local times, unless it has been named already.
func (d *description) zoneAfter(text string) string {
	if d.zoneNamed {
		return text
	}
	d.zoneNamed = true
	return text + ", " + d.zoneName()
}

func (d *description) zoneName() string {
	if d.zone == "" {
		return "UTC"
	}
	return d.zone + " time"
}

// elapsed describes a rule with a frequency below day.
func (d *description) elapsed() string {
	text, local := d.every(d.Frequency.String()), false
	minutes, hours := sortedSet(d.Minutes), sortedSet(d.Hours)
	if d.Frequency < Hour || len(minutes) == 0 {
		text += d.secondsOfElapsed()
	}
	if len(minutes) > 0 {
		part := ""
		if d.Frequency == Hour {
			part, local = minutesOfEachHour(minutes)
			part += d.secondsAfterTimes()
		} else {
			part, local = elementLimit("minute of the hour", minutes)
		}
		text += part
	}
	if len(hours) > 0 {
		text += hourLimit(hours)
		local = local || len(hours) < 24
	}
	if len(d.Days) > 0 {
		text, local = text+", if that is "+d.dayList("or"), true
	}
	return d.nameZone(text, local)
}

// elementDays is days without Days. If no day is given, it is the day of the start.
func (d *description) elementDays() (text string, local bool) {
	weekDays, monthDays, occurrences := mondayFirst(d.WeekDays), sortedSet(d.MonthDays), d.MonthlyOccurrences
	unit := d.Frequency.String()
	switch {
	case len(d.Positions) > 0:
		return d.every(unit) + " on " + d.positions(), true
	case len(weekDays)+len(monthDays)+len(occurrences) == 0:
		day := d.startDay()
		return d.every(unit) + day, day != ""
	case len(weekDays) == 7 || len(monthDays) == 31 && monthDays[0] == 1:
		if text = d.every(unit) + " on every day"; d.Interval < 2 {
			text = d.every("day of the " + unit)
		}
	case len(weekDays) > 0:
		text = d.every(unit) + " on " + weekDayNames(weekDays, "and")
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
	bare := len(d.Seconds)+len(d.Minutes)+len(d.Hours)+len(months) == 0
	switch {
	case d.Frequency < Week || d.start.IsZero() && bare:
		return ""
	case d.start.IsZero() && d.Frequency == Week:
		return " on the weekday of " + d.origin
	case d.start.IsZero() && d.Frequency == Year && len(months) > 0:
		return " in " + monthNames(months, "and") + " on the day of the month of " + d.origin
	case d.start.IsZero() && d.Frequency == Month:
		return " on the day of the month of " + d.origin
	case d.start.IsZero():
		return " on the day of the year of " + d.origin
	case d.Frequency == Week:
		return " on " + d.start.Weekday().String() + "s"
	case d.Frequency == Month:
		return " on day " + strconv.Itoa(d.start.Day())
	case len(months) == 0:
		return " on " + d.start.Format("2 January")
	}
	return " on " + dayName(d.start.Day()) + " of " + monthNames(months, "and")
}

// times describes at which times of day a rule runs. Elements that are not given come from the start. local is false if the text depends on no
// clock.
func (d *description) times() (text string, local bool) {
	if text, local = d.timesWithSeconds(); text != "" {
		return text, local
	}
	set := clockSet{hours: sortedSet(d.Hours), minutes: sortedSet(d.Minutes)}
	if len(set.minutes) == 0 {
		if d.start.IsZero() {
			return d.timesOfCreation(set.hours)
		}
		if len(set.hours) == 0 {
			set.hours = []int{d.start.Hour()}
		}
		set.minutes = []int{d.start.Minute()}
		if len(d.Seconds) == 0 {
			set.second = d.start.Second()
		}
	}
	text, local = set.phrase()
	return text, local
}

// timesOfCreation describes the times of a rule with neither a start nor minutes.
func (d *description) timesOfCreation(hours []int) (text string, local bool) {
	switch {
	case len(hours) > 0:
		return "at the minute of " + d.origin + " past " + clockSet{hours: hours}.hourNames(), true
	case len(d.WeekDays)+len(d.MonthDays)+len(d.MonthlyOccurrences)+len(d.Months)+len(d.Positions)+len(d.Days) == 0:
		return "", false
	}
	return "at the time of " + d.origin, true
}
