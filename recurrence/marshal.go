package recurrence

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// MarshalJSON returns the canonical JSON of a rule: keys in a fixed order, words in lower case, arrays sorted and without duplicates, times in UTC
// and whole seconds, and fields that are not set are left out. [Parse] reads it back as an equal rule if [Recurrence.Validate] accepts the rule. An
// invalid rule is written as it is, and Parse refuses it. The error is always nil.
func (r Recurrence) MarshalJSON() ([]byte, error) {
	var w jsonWriter
	w.rule(r)
	return w.text, nil
}

// Equal reports whether two rules have the same canonical JSON. The order of elements, duplicates, the Location of times and fractions of a second
// make no difference. An Interval of 1 and an Interval that is not set are different.
func (r Recurrence) Equal(other Recurrence) bool {
	a, errA := r.MarshalJSON()
	b, errB := other.MarshalJSON()
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// formatTime formats an instant for canonical JSON: in UTC and whole seconds.
func formatTime(t time.Time) string { return wholeSeconds(t).UTC().Format(time.RFC3339) }

// A jsonWriter writes a rule as canonical JSON. If given is not nil, it also records where it wrote each field.
type jsonWriter struct {
	text   []byte
	given  map[string]source
	object string // the path of the object in which it writes an element, with a dot at its end; "" at the top
	inAlso bool   // the rule is an entry of also
}

func (w *jsonWriter) rule(r Recurrence) {
	w.text = append(w.text, '{')
	if !r.StartTime.IsZero() {
		w.stringField("startTime", formatTime(r.StartTime))
	}
	if r.Frequency != 0 {
		w.stringField("frequency", r.Frequency.String())
	}
	if r.Interval != 0 {
		w.numberField("interval", r.Interval)
	}
	if r.Count != 0 {
		w.numberField("count", r.Count)
	}
	if !r.EndTime.IsZero() {
		w.stringField("endTime", formatTime(r.EndTime))
	}
	w.schedule(r)
	if r.TimeZone != "" {
		w.stringField("timeZone", r.TimeZone)
	}
	if r.Cron != "" {
		w.stringField("cron", r.Cron)
	}
	if len(r.Only) > 0 {
		w.filters("only", r.Only)
	}
	if len(r.Except) > 0 {
		w.filters("except", r.Except)
	}
	if r.Shift != 0 {
		w.stringField("shift", r.Shift.String())
	}
	if r.ShiftBy != 0 {
		w.numberField("shiftBy", r.ShiftBy)
	}
	if len(r.Also) > 0 {
		w.also(r.Also)
	}
	if r.ClockChanges != 0 {
		w.stringField("clockChanges", r.ClockChanges.String())
	}
	if r.NoImmediateRun && (w.inAlso || r.mayRunAtCreation()) {
		w.key("immediateRun")
		w.record("immediateRun", len(w.text), "false")
		w.text = append(w.text, "false"...)
	}
	w.text = append(w.text, '}')
}

// schedule writes the elements, if there are any.
func (w *jsonWriter) schedule(r Recurrence) {
	before := len(w.text)
	w.key("schedule")
	w.object = "schedule."
	w.text = append(w.text, '{')
	empty := len(w.text)
	writeNumbers(w, minutes, r.Minutes)
	writeNumbers(w, hours, r.Hours)
	writeList(w, "weekDays", r.WeekDays, byWeekday, w.weekday)
	writeNumbers(w, monthDays, r.MonthDays)
	writeList(w, "monthlyOccurrences", r.MonthlyOccurrences, byOccurrence, w.occurrence)
	writeNumbers(w, months, r.Months)
	writeNumbers(w, seconds, r.Seconds)
	writeNumbers(w, positionsOf(r.Frequency), r.Positions)
	if len(r.Days) > 0 {
		w.filters("days", r.Days)
	}
	if r.WeekStart != WeekStartMonday {
		w.stringField("weekStart", r.WeekStart.String())
	}
	w.object = ""
	if len(w.text) == empty {
		w.text = w.text[:before]
		return
	}
	w.text = append(w.text, '}')
}

func (w *jsonWriter) key(name string) {
	if last := w.text[len(w.text)-1]; last != '{' {
		w.text = append(w.text, ',')
	}
	w.text = append(w.text, '"')
	w.text = append(w.text, name...)
	w.text = append(w.text, '"', ':')
}

// record records that field was written at position at.
func (w *jsonWriter) record(field string, at int, value string) {
	if w.given != nil {
		w.given[field] = source{at, value}
	}
}

func (w *jsonWriter) stringField(key, text string) {
	w.key(key)
	at := len(w.text)
	w.quoted(text)
	w.record(w.object+key, at, text)
}

func (w *jsonWriter) quoted(text string) {
	quoted, _ := json.Marshal(text) // marshaling a string does not fail
	w.text = append(w.text, quoted...)
}

func (w *jsonWriter) numberField(key string, n int) {
	w.key(key)
	at := len(w.text)
	w.text = strconv.AppendInt(w.text, int64(n), 10)
	w.record(key, at, strconv.Itoa(n))
}

func (w *jsonWriter) weekday(day time.Weekday) {
	if !isWeekday(day) {
		w.text = strconv.AppendInt(w.text, int64(day), 10)
		return
	}
	w.text = strconv.AppendQuote(w.text, weekdayNames[day])
}

func (w *jsonWriter) occurrence(nth NthWeekday) {
	w.text = append(w.text, '{')
	w.key("day")
	w.weekday(nth.Day)
	if nth.N != 0 {
		w.key("occurrence")
		w.text = strconv.AppendInt(w.text, int64(nth.N), 10)
	}
	w.text = append(w.text, '}')
}

func writeNumbers[T ~int](w *jsonWriter, e element, list []T) {
	writeList(w, e.name, list, cmp.Compare[T], func(n T) { w.text = strconv.AppendInt(w.text, int64(n), 10) })
}

// writeList writes an array, sorted and without duplicates. It writes nothing for an empty list.
func writeList[T comparable](w *jsonWriter, key string, list []T, compare func(a, b T) int, write func(T)) {
	if len(list) == 0 {
		return
	}
	w.key(key)
	at := len(w.text)
	w.text = append(w.text, '[')
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, compare)
	for i, v := range slices.Compact(sorted) {
		if i > 0 {
			w.text = append(w.text, ',')
		}
		write(v)
	}
	w.text = append(w.text, ']')
	w.record(w.object+key, at, string(w.text[at:]))
}

// byWeekday compares weekdays. Weeks begin on Monday.
func byWeekday(a, b time.Weekday) int {
	return cmp.Or(cmp.Compare(daysSinceMonday(a), daysSinceMonday(b)), cmp.Compare(a, b))
}

// byOccurrence compares the weekdays of a month by day and then by number.
func byOccurrence(a, b NthWeekday) int {
	return cmp.Or(byWeekday(a.Day, b.Day), cmp.Compare(a.N, b.N))
}
