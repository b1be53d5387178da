package recurrence

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// MarshalJSON gives the canonical JSON: one text for all rules that say the same in the same fields. Its keys have a
// fixed order, words are lower case, arrays sorted without duplicates, times in UTC and whole seconds; what is not
// set is left out. [Parse] gives the rule back, if [Recurrence.Validate] accepts it; if not, it is written as it
// stands for Parse to refuse.
func (r Recurrence) MarshalJSON() ([]byte, error) {
	var w writer
	w.rule(r)
	return w.text, nil
}

// given lists the fields that are set, with their place in the canonical JSON and what they look like there.
func (r Recurrence) given() map[string]source {
	w := writer{given: map[string]source{}}
	w.rule(r)
	return w.given
}

// Equal tells whether two rules have the same canonical JSON: the order and duplicates of elements, the Location of
// times and parts of a second make no difference, an Interval of 1 and one not set do.
func (r Recurrence) Equal(other Recurrence) bool {
	a, errA := r.MarshalJSON()
	b, errB := other.MarshalJSON()
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// timeText is an instant in UTC as canonical JSON has it, in whole seconds.
func timeText(t time.Time) string { return whole(t).UTC().Format(time.RFC3339) }

// A writer puts a rule into canonical JSON and notes where, if it has something to note it in.
type writer struct {
	text  []byte
	given map[string]source
}

func (w *writer) rule(r Recurrence) {
	w.text = append(w.text, '{')
	if !r.StartTime.IsZero() {
		w.words("startTime", timeText(r.StartTime))
	}
	if r.Frequency != 0 {
		w.words("frequency", r.Frequency.String())
	}
	if r.Interval != 0 {
		w.number("interval", r.Interval)
	}
	if r.Count != 0 {
		w.number("count", r.Count)
	}
	if !r.EndTime.IsZero() {
		w.words("endTime", timeText(r.EndTime))
	}
	w.schedule(r)
	if r.TimeZone != "" {
		w.words("timeZone", r.TimeZone)
	}
	if r.Cron != "" {
		w.words("cron", r.Cron)
	}
	w.text = append(w.text, '}')
}

// schedule writes the elements, if there are any.
func (w *writer) schedule(r Recurrence) {
	before := len(w.text)
	w.key("schedule")
	w.text = append(w.text, '{')
	empty := len(w.text)
	writeNumbers(w, minutes, r.Minutes)
	writeNumbers(w, hours, r.Hours)
	writeList(w, "weekDays", r.WeekDays, byWeekday, w.weekday)
	writeNumbers(w, monthDays, r.MonthDays)
	writeList(w, "monthlyOccurrences", r.MonthlyOccurrences, byOccurrence, w.occurrence)
	writeNumbers(w, months, r.Months)
	if len(w.text) == empty {
		w.text = w.text[:before]
		return
	}
	w.text = append(w.text, '}')
}

func (w *writer) key(name string) {
	if last := w.text[len(w.text)-1]; last != '{' {
		w.text = append(w.text, ',')
	}
	w.text = append(w.text, '"')
	w.text = append(w.text, name...)
	w.text = append(w.text, '"', ':')
}

// note remembers that field has just been written, from at on.
func (w *writer) note(field string, at int, shown string) {
	if w.given != nil {
		w.given[field] = source{at, shown}
	}
}

func (w *writer) words(key, text string) {
	w.key(key)
	at := len(w.text)
	quoted, _ := json.Marshal(text) // a string always has its JSON
	w.text = append(w.text, quoted...)
	w.note(key, at, text)
}

func (w *writer) number(key string, n int) {
	w.key(key)
	at := len(w.text)
	w.text = strconv.AppendInt(w.text, int64(n), 10)
	w.note(key, at, strconv.Itoa(n))
}

func (w *writer) weekday(day time.Weekday) {
	if !isWeekday(day) {
		w.text = strconv.AppendInt(w.text, int64(day), 10)
		return
	}
	w.text = strconv.AppendQuote(w.text, weekdayNames[day])
}

func (w *writer) occurrence(nth NthWeekday) {
	w.text = append(w.text, '{')
	w.key("day")
	w.weekday(nth.Day)
	if nth.N != 0 {
		w.key("occurrence")
		w.text = strconv.AppendInt(w.text, int64(nth.N), 10)
	}
	w.text = append(w.text, '}')
}

func writeNumbers[T ~int](w *writer, e element, list []T) {
	writeList(w, e.name, list, cmp.Compare[T], func(n T) { w.text = strconv.AppendInt(w.text, int64(n), 10) })
}

// writeList writes an array, sorted and without duplicates, if there is anything in it.
func writeList[T comparable](w *writer, key string, list []T, compare func(a, b T) int, write func(T)) {
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
	w.note("schedule."+key, at, string(w.text[at:]))
}

// byWeekday orders weekdays, Monday first, as weeks begin here.
func byWeekday(a, b time.Weekday) int {
	return cmp.Or(cmp.Compare(fromMonday(a), fromMonday(b)), cmp.Compare(a, b))
}

// byOccurrence orders the weekdays of a month by day and then by number.
func byOccurrence(a, b NthWeekday) int {
	return cmp.Or(byWeekday(a.Day, b.Day), cmp.Compare(a.N, b.N))
}
