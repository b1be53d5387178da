package times

import (
	"fmt"
	"time"
)

// ParseOnce is Parse for input that changes something. A time of day that the zone's clocks skip or show twice on that day is an error, because
// it is not clear which instant was meant.
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
		return t, fmt.Errorf("the clocks of %v skip %s; want a time that they show, as %s", zone, shown.Format(form), t.In(zone).Format(time.RFC3339))
	}
	if again := secondTime(t, zone); !again.IsZero() {
		return t, fmt.Errorf("the clocks of %v show %s twice; want one of them, %s or %s", zone, shown.Format(form), t.In(zone).Format(time.RFC3339), again.Format(time.RFC3339))
	}
	return t, nil
}

// onAClock returns the date and time in a text, in UTC; false: the text is not of that form. A date alone does not count: its day begins once.
func onAClock(text string) (time.Time, bool) {
	for _, form := range clockForms {
		if shown, err := time.Parse(form, text); err == nil {
			return shown, true
		}
	}
	return time.Time{}, false
}

// secondTime returns when the clocks of a zone show again what they show at an instant; zero: they do not.
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
