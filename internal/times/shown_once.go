package times

import (
	"fmt"
	"time"
)

// ParseOnce is Parse for what is typed to change something: a time of day that the zone's clocks leave out on that day, or show twice, is an
// error that says so, for which of two instants was meant is not to be guessed.
func ParseOnce(text string, now time.Time, zone *time.Location) (time.Time, error) {
	t, err := Parse(text, now, zone)
	if err != nil {
		return t, err
	}
	shown, ok := onAClock(text)
	if !ok {
		return t, nil
	}
	const form = "15:04 on 2 January 2006"
	if t.In(zone).Format(time.DateTime) != shown.Format(time.DateTime) {
		return t, fmt.Errorf("the clocks of %v leave %s out; want a time that they show, as %s", zone, shown.Format(form), t.In(zone).Format(time.RFC3339))
	}
	if again := secondTime(t, zone); !again.IsZero() {
		return t, fmt.Errorf("the clocks of %v show %s twice; want one of them, %s or %s", zone, shown.Format(form), t.In(zone).Format(time.RFC3339), again.Format(time.RFC3339))
	}
	return t, nil
}

// onAClock is what clocks show at an instant that is written so, in UTC. A day alone is not: it begins when it begins.
func onAClock(text string) (time.Time, bool) {
	for _, form := range clockForms {
		if shown, err := time.Parse(form, text); err == nil {
			return shown, true
		}
	}
	return time.Time{}, false
}

// secondTime is when the clocks of a zone show again what they show at an instant; zero: they do not.
func secondTime(t time.Time, zone *time.Location) time.Time {
	_, end := t.In(zone).ZoneBounds()
	if end.IsZero() {
		return time.Time{}
	}
	_, before := t.In(zone).Zone()
	_, after := end.In(zone).Zone()
	again := t.Add(time.Duration(before-after) * time.Second).In(zone)
	if before <= after || again.Before(end) {
		return time.Time{}
	}
	return again
}
