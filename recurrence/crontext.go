package recurrence

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// cron describes a cron rule and quotes its text.
func (d *description) cron() string {
	quoted := fmt.Sprintf("cron %q", d.Cron)
	f, err := compileCron(d.Cron)
	if err != nil {
		d.setZone()
		return "Unreadable " + quoted
	}
	d.zone = cmp.Or(f.zone, d.zone)
	d.setZone()
	if f.every.Frequency != 0 {
		if d.Frequency = f.every.Frequency; f.every.Interval > 1 {
			d.Interval = f.every.Interval
		}
		return d.rule() + " (" + quoted + ")"
	}
	return d.nameZone(d.cronRule(f), false) + " (" + quoted + ")"
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
		days.on += " of " + monthNames(inMonths, "and")
	} else if len(inMonths) < 12 {
		months = ", only in " + monthNames(inMonths, "and")
	}
	moved := d.shiftedBy()
	days.also += d.shifted(days.on) + moved
	if !strings.HasPrefix(times, "every") {
		if days.either || moved != "" {
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

// cronDay describes on which days cron fields match.
type cronDay struct {
	unit, on, also string
	either         bool // dates or weekdays: one of them is enough
}

func cronDays(f cronFields) cronDay {
	days, weekDays := maskValues[int](uint64(f.daysOfMonth)), mondayFirst(maskValues[time.Weekday](uint64(f.weekDays)))
	byDate, byWeekday := f.domRestricted && len(days) < 31, f.dowRestricted && len(weekDays) < 7
	everyDay := !byDate && !byWeekday || f.domRestricted && f.dowRestricted && !(byDate && byWeekday) // either field is enough
	onDates := " on " + joinList(dayNames(days), "and")
	switch {
	case everyDay:
		return cronDay{unit: "day"}
	case byDate && byWeekday:
		return cronDay{"month", onDates, " and on every " + joinList(format(weekDays, time.Weekday.String), "and"), true}
	case byWeekday:
		return cronDay{unit: "week", on: " on " + weekDayNames(weekDays, "and")}
	case f.months != 1<<13-2:
		return cronDay{unit: "year", on: onDates}
	}
	return cronDay{unit: "month", on: onDates}
}
