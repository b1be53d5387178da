package recurrence

import (
	"bytes"
	"cmp"
	"encoding/json"
	"testing"
	"time"
)

// readCalendar reads a rule that may have a calendar. Parse takes its place as soon as it knows calendars.
func readCalendar(t *testing.T, job json.RawMessage) Recurrence {
	t.Helper()
	var text struct {
		calendarText
		Recurrence *calendarText
	}
	if err := json.Unmarshal(job, &text); err != nil {
		t.Fatalf("%v: %s", err, job)
	}
	rule := text.calendarText
	if text.Recurrence != nil {
		rule = *text.Recurrence
		rule.StartTime = cmp.Or(rule.StartTime, text.StartTime)
	}
	return rule.recurrence(t, rule.TimeZone)
}

// A calendarText is a rule as JSON has it. encoding/json takes its keys in any case.
type calendarText struct {
	StartTime, EndTime, Cron, TimeZone, Shift, ClockChanges string
	Frequency                                               Frequency
	Interval, Count                                         int
	Only, Except                                            oneOrMany[filterText]
	Also                                                    oneOrMany[alsoText]
	Schedule                                                struct {
		Minutes, Hours, Seconds, Positions oneOrMany[int]
		filterText
	}
}

type filterText struct {
	WeekDays           oneOrMany[string]
	MonthDays          oneOrMany[int]
	MonthlyOccurrences oneOrMany[struct {
		Day        string
		Occurrence int
	}]
	Months       oneOrMany[time.Month]
	Dates, Times oneOrMany[string]
}

// oneOrMany reads one value in place of an array.
type oneOrMany[T any] []T

func (m *oneOrMany[T]) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("[")) {
		return json.Unmarshal(data, (*[]T)(m))
	}
	var one T
	err := json.Unmarshal(data, &one)
	*m = []T{one}
	return err
}

// An alsoText is an instant or a rule.
type alsoText struct{ calendarText }

func (a *alsoText) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte(`"`)) {
		return json.Unmarshal(data, &a.StartTime)
	}
	return json.Unmarshal(data, &a.calendarText)
}

func (c calendarText) recurrence(t *testing.T, zone string) Recurrence {
	shifts := map[string]Shift{
		"": ShiftDrop, "drop": ShiftDrop, "next": ShiftNext, "following": ShiftNext, "previous": ShiftPrevious, "preceding": ShiftPrevious,
		"nearest": ShiftNearest, "nextInMonth": ShiftNextInMonth, "modifiedFollowing": ShiftNextInMonth,
		"previousInMonth": ShiftPreviousInMonth, "modifiedPreceding": ShiftPreviousInMonth, "nearestInMonth": ShiftNearestInMonth,
	}
	clocks := map[string]ClockChanges{"": ClockOnce, "once": ClockOnce, "skip": ClockSkip, "shown": ClockShown}
	shift, knownShift := shifts[c.Shift]
	clock, knownClock := clocks[c.ClockChanges]
	if !knownShift || !knownClock {
		t.Fatalf("unknown word %q or %q", c.Shift, c.ClockChanges)
	}
	schedule := c.Schedule.filter(t)
	r := Recurrence{
		StartTime: readTime(t, c.StartTime, zone), EndTime: readTime(t, c.EndTime, zone), Frequency: c.Frequency, Interval: c.Interval,
		Count: c.Count, TimeZone: c.TimeZone, Cron: c.Cron, Shift: shift, ClockChanges: clock,
		Minutes: c.Schedule.Minutes, Hours: c.Schedule.Hours, Seconds: c.Schedule.Seconds, Positions: c.Schedule.Positions,
		WeekDays: schedule.WeekDays, MonthDays: schedule.MonthDays, MonthlyOccurrences: schedule.MonthlyOccurrences, Months: schedule.Months,
	}
	for _, f := range c.Only {
		r.Only = append(r.Only, f.filter(t))
	}
	for _, f := range c.Except {
		r.Except = append(r.Except, f.filter(t))
	}
	for _, entry := range c.Also {
		r.Also = append(r.Also, entry.recurrence(t, zone))
	}
	return r
}

func (f filterText) filter(t *testing.T) Filter {
	filter := Filter{MonthDays: f.MonthDays, Months: f.Months, Dates: f.Dates, Times: f.Times}
	weekday := func(word string) time.Weekday {
		day, ok := weekdayOf(word)
		if !ok {
			t.Fatalf("no weekday %q", word)
		}
		return day
	}
	for _, word := range f.WeekDays {
		filter.WeekDays = append(filter.WeekDays, weekday(word))
	}
	for _, nth := range f.MonthlyOccurrences {
		filter.MonthlyOccurrences = append(filter.MonthlyOccurrences, NthWeekday{weekday(nth.Day), nth.Occurrence})
	}
	return filter
}

func readTime(t *testing.T, text, zone string) time.Time {
	if text == "" {
		return time.Time{}
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	at, bad := parseTime("startTime", text, loc)
	if bad != nil {
		t.Fatal(bad)
	}
	return at
}
