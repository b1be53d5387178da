package times

import (
	"time"
)

// Full formats an instant on the clock of a zone, with its weekday: "Sun 28 Mar 2027 03:30:00 CEST".
func Full(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("Mon _2 Jan 2006 15:04:05 MST")
}

// Short formats an instant on the clock of a zone, with only the parts that differ from now: "14:30:00" for today, "30 Nov" for this year, "30
// Nov 2027" otherwise.
func Short(t, now time.Time, zone *time.Location) string {
	t, now = t.In(zone), now.In(zone)
	switch {
	case t.Year() != now.Year():
		return t.Format("2 Jan 2006")
	case t.YearDay() != now.YearDay():
		return t.Format("2 Jan")
	}
	return t.Format(time.TimeOnly)
}

// Header names the zone in which times are shown: "times are Europe/Berlin (CET)".
func Header(zone *time.Location, now time.Time) string {
	name := zone.String()
	if name == "Local" {
		name = "this machine's"
	}
	short := now.In(zone).Format("MST")
	if short == name {
		return "times are " + name
	}
	return "times are " + name + " (" + short + ")"
}
