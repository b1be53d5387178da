package recurrence

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// String says the rule in English, for people:
//
//	Every week on Monday, Wednesday and Friday at 10:00 and 22:00 UTC, 10 times, from 4 August 2012
//
// Nothing of the rule is left out. What comes from the start is said in full where the rule has a StartTime, so two texts are
// equal only where the runs are; without one it reads "the minute of creation". Times are on the clock of the rule's zone,
// which is named once. A start at 00:00 is given as its date alone. Invalid rules have a text too; it promises nothing.
func (r Recurrence) String() string {
	p := phrase{Recurrence: r, zone: r.TimeZone}
	if r.Cron != "" {
		return p.cron()
	}
	p.setZone()
	return p.rule() + p.limits()
}

// A phrase is a rule on its way to a text.
type phrase struct {
	Recurrence
	zone     string
	location *time.Location // of the zone; nil where it is unknown
	start    time.Time      // on the zone's clock; zero where it is not known
	zoneSaid bool
}

// setZone looks the zone up and puts the start on its clock.
func (p *phrase) setZone() {
	if p.zone == "" {
		p.zone = "UTC"
	}
	location, bad := findZone(p.zone)
	if bad != nil {
		return
	}
	p.location = location
	if !p.StartTime.IsZero() {
		p.start = p.StartTime.In(location)
	}
}

// rule says everything but count, start and end.
func (p *phrase) rule() string {
	if p.Frequency == 0 {
		return p.once()
	}
	text := "Every " + p.Frequency.String()
	if p.Interval != 0 && p.Interval != 1 {
		text = fmt.Sprintf("Every %d %ss", p.Interval, p.Frequency)
	}
	if p.Frequency < Day {
		text += p.hourLimits()
	} else {
		text += p.months() + p.days() + p.times()
	}
	elements := len(p.Minutes) + len(p.Hours) + len(p.WeekDays) + len(p.MonthDays) + len(p.MonthlyOccurrences) + len(p.Months)
	if !p.zoneSaid && (elements > 0 || p.zone != "UTC") {
		text += ", " + p.sayZone()
	}
	return text
}

// once says when a rule without frequency runs.
func (p *phrase) once() string {
	if p.StartTime.IsZero() {
		if p.zone == "UTC" {
			return "Once, when created"
		}
		return "Once, when created, " + p.sayZone()
	}
	when := "Once, on " + p.instant(p.StartTime, true)
	p.StartTime = time.Time{}
	return when
}

// limits says count, start and end.
func (p *phrase) limits() string {
	text := ""
	switch {
	case p.Count == 1:
		text += ", 1 time"
	case p.Count != 0:
		text += ", " + strconv.Itoa(p.Count) + " times"
	}
	if !p.StartTime.IsZero() {
		text += ", from " + p.instant(p.StartTime, false)
	}
	if !p.EndTime.IsZero() {
		text += ", until " + p.instant(p.EndTime, true)
	}
	return text
}

// instant says a date and its time. A midnight is left out unless asked for, or needed to hang the zone on.
func (p *phrase) instant(t time.Time, midnight bool) string {
	if p.location == nil {
		return t.UTC().Format("2 January 2006 at ") + clock(t.UTC().Clock()) + " UTC"
	}
	t = t.In(p.location)
	text := t.Format("2 January 2006")
	hour, minute, second := t.Clock()
	if midnight || !p.zoneSaid || hour+minute+second > 0 {
		text += " at " + clock(hour, minute, second)
	}
	// A time that the clocks show twice is told apart by its offset.
	if !resolveLocal(p.location, onUTC(t)).Equal(t.Truncate(time.Second)) {
		text += t.Format(" (-07:00)")
	}
	if !p.zoneSaid {
		text += " " + p.sayZone()
	}
	return text
}

// sayZone names the zone, which is done once a text.
func (p *phrase) sayZone() string {
	p.zoneSaid = true
	if p.zone == "UTC" {
		return "UTC"
	}
	return p.zone + " time"
}

// hourLimits says the hours and minutes of a frequency below day.
func (p *phrase) hourLimits() string {
	minutes, hours := sortedSet(p.Minutes), sortedSet(p.Hours)
	text := ""
	if p.Frequency == Hour && len(minutes) > 0 {
		text = " at " + minutesPast(minutes, 0) + " the hour"
		minutes = nil
	}
	inHours := ""
	if len(hours) > 0 {
		inHours = plural("hour", hours) + " " + list(spans(hours, strconv.Itoa), "and")
	}
	switch {
	case len(minutes) > 0 && inHours != "":
		return text + ", only in " + minuteNumbers(minutes) + " of " + inHours + " " + p.sayZone()
	case len(minutes) > 0:
		return text + ", only in " + minuteNumbers(minutes) + " of the hour"
	case inHours != "":
		return text + ", only in " + inHours + " " + p.sayZone()
	}
	return text
}

// months says the months that limit a rule. A yearly one with a known start says them with its day.
func (p *phrase) months() string {
	months := sortedSet(p.Months)
	if len(months) == 0 || p.Frequency == Year && !p.start.IsZero() {
		return ""
	}
	return ", only in " + list(spans(months, time.Month.String), "and") + ","
}

// days says on which days, with those of the start filled in.
func (p *phrase) days() string {
	weekDays, monthDays, occurrences := mondayFirst(p.WeekDays), sortedSet(p.MonthDays), p.MonthlyOccurrences
	given := len(weekDays) + len(monthDays) + len(occurrences)
	if given == 0 {
		return p.startDay()
	}
	var on []string
	if len(weekDays) > 0 {
		on = append(on, weekDayNames(weekDays))
	}
	if len(monthDays) > 0 {
		on = append(on, list(dayNames(monthDays), "and"))
	}
	if len(occurrences) > 0 && len(monthDays) == 0 {
		on = append(on, list(occurrenceNames(occurrences, "every"), "and"))
	}
	text := " on " + list(on, "and")
	if len(occurrences) > 0 && len(monthDays) > 0 {
		text += ", if that is " + list(occurrenceNames(occurrences, "a"), "or") + ","
	}
	return text
}

// startDay says the day that comes from the start. Without elements a rule that has no start needs none.
func (p *phrase) startDay() string {
	bare := len(p.Minutes)+len(p.Hours)+len(p.Months) == 0
	switch {
	case p.Frequency < Week || p.start.IsZero() && bare:
		return ""
	case p.start.IsZero() && p.Frequency == Week:
		return " on the weekday of creation"
	case p.start.IsZero() && (p.Frequency == Month || len(p.Months) > 0):
		return " on the day of the month of creation"
	case p.start.IsZero():
		return " on the day of the year of creation"
	case p.Frequency == Week:
		return " on " + p.start.Weekday().String()
	case p.Frequency == Month:
		return " on " + dayName(p.start.Day())
	}
	months := sortedSet(p.Months)
	if len(months) == 0 {
		months = []time.Month{p.start.Month()}
	}
	return " on " + dayName(p.start.Day()) + " of " + list(words(months, time.Month.String), "and")
}

// times says at which times of those days, with those of the start filled in.
func (p *phrase) times() string {
	hours, minutes, second := sortedSet(p.Hours), sortedSet(p.Minutes), 0
	if len(hours) == 0 && len(minutes) > 0 {
		hours = maskValues[int](1<<24 - 1)
	}
	if p.start.IsZero() && len(minutes) == 0 {
		return p.timesOfCreation(hours)
	}
	if len(minutes) == 0 {
		minutes, second = []int{p.start.Minute()}, p.start.Second()
	}
	if len(hours) == 0 {
		hours = []int{p.start.Hour()}
	}
	const most = 6 // times that are listed one by one
	switch {
	case len(hours) == 24:
		return " at " + minutesPast(minutes, second) + " every hour " + p.sayZone()
	case len(hours)*len(minutes) > most:
		return " at " + minutesPast(minutes, second) + " the " + plural("hour", hours) + " " + list(spans(hours, strconv.Itoa), "and") + " " + p.sayZone()
	}
	var at []string
	for _, hour := range hours {
		for _, minute := range minutes {
			at = append(at, clock(hour, minute, second))
		}
	}
	return " at " + list(at, "and") + " " + p.sayZone()
}

// timesOfCreation says the times of a rule that has neither start nor minutes.
func (p *phrase) timesOfCreation(hours []int) string {
	switch len(hours) {
	case 0:
		if len(p.WeekDays)+len(p.MonthDays)+len(p.MonthlyOccurrences)+len(p.Months) == 0 {
			return ""
		}
		return " at the time of creation"
	case 24:
		return " every hour at the minute of creation"
	}
	return " in " + plural("hour", hours) + " " + list(spans(hours, strconv.Itoa), "and") + " at the minute of creation"
}

// cron says a cron rule in words and quotes its text.
func (p *phrase) cron() string {
	quoted := fmt.Sprintf("cron %q", strings.Join(strings.Fields(p.Cron), " "))
	f, err := compileCron(p.Cron)
	if err != nil {
		p.setZone()
		return "Unreadable " + quoted + p.limits()
	}
	p.zone = cmp.Or(f.zone, p.zone)
	p.setZone()
	if f.every.Frequency != 0 {
		p.Frequency, p.Interval = f.every.Frequency, f.every.Interval
		return p.rule() + " (" + quoted + ")" + p.limits()
	}
	p.Hours, p.Minutes = maskValues[int](uint64(f.hours)), maskValues[int](f.minutes)
	return cronDays(f) + p.times() + " (" + quoted + ")" + p.limits()
}

// cronDays says on which days a cron rule runs.
func cronDays(f cronFields) string {
	days, weekDays := maskValues[int](uint64(f.daysOfMonth)), mondayFirst(maskValues[time.Weekday](uint64(f.weekDays)))
	text := "Every day"
	switch {
	case f.domRestricted && f.dowRestricted:
		text = "Every day that is " + list(dayNames(days), "or") + " of the month or a " + list(words(weekDays, time.Weekday.String), "or")
	case f.domRestricted:
		text = "Every month on " + list(dayNames(days), "and")
	case f.dowRestricted:
		text = "Every week on " + weekDayNames(weekDays)
	}
	if months := maskValues[time.Month](uint64(f.months)); len(months) < 12 {
		text += ", only in " + list(spans(months, time.Month.String), "and") + ","
	}
	return text
}
