package recurrence

import (
	"bytes"
	"slices"
	"strings"
)

// filters writes only, except or days, sorted by the text of the filters and without duplicates.
func (w *jsonWriter) filters(key string, list []Filter) {
	texts := make([][]byte, len(list))
	for i, f := range list {
		var part jsonWriter
		part.filter(f)
		texts[i] = part.text
	}
	w.objects(key, texts)
}

func (w *jsonWriter) filter(f Filter) {
	w.text = append(w.text, '{')
	writeList(w, "weekDays", f.WeekDays, byWeekday, w.weekday)
	writeNumbers(w, monthDays, f.MonthDays)
	writeList(w, "monthlyOccurrences", f.MonthlyOccurrences, byOccurrence, w.occurrence)
	writeNumbers(w, months, f.Months)
	writeNumbers(w, weeks, f.Weeks)
	writeNumbers(w, yearDays, f.YearDays)
	writeList(w, yearlyOccurrences.name, f.YearlyOccurrences, byOccurrence, w.occurrence)
	w.texts(dateTexts, f.Dates)
	w.texts(timeTexts, f.Times)
	w.text = append(w.text, '}')
}

// texts writes dates or times in their canonical form. It writes a refused text unchanged.
func (w *jsonWriter) texts(e textElement, list []string) {
	canonical := make([]string, len(list))
	for i, text := range list {
		canonical[i], _ = e.canonical(text)
	}
	writeList(w, e.name, canonical, strings.Compare, w.quoted)
}

// also writes the entries, sorted by their text and without duplicates. An entry has no entries of its own, so those are refused and written as
// an empty array; so a Go value that contains itself can be written.
func (w *jsonWriter) also(list []Recurrence) {
	if w.inAlso {
		list = list[:0]
	}
	texts := make([][]byte, len(list))
	for i, entry := range list {
		part := jsonWriter{inAlso: true}
		part.rule(entry)
		texts[i] = part.text
	}
	w.objects("also", texts)
}

// objects writes an array of JSON objects, sorted by their text and without duplicates.
func (w *jsonWriter) objects(key string, texts [][]byte) {
	slices.SortFunc(texts, bytes.Compare)
	texts = slices.CompactFunc(texts, bytes.Equal)
	w.key(key)
	at := len(w.text)
	w.text = append(w.text, '[')
	w.text = append(w.text, bytes.Join(texts, []byte{','})...)
	w.text = append(w.text, ']')
	w.record(w.object+key, at, string(w.text[at:]))
}
