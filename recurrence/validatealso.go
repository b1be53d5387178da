package recurrence

import (
	"slices"
	"time"
)

// The largest numbers of instants and of rules in also.
const (
	maxAlsoInstants = 1000
	maxAlsoRules    = 16
)

// checkAlso checks the entries of also in a Go value.
func (r Recurrence) checkAlso(list *errorList, given source) {
	for _, bad := range alsoTooLong(r.Also, given.value) {
		list.add(given.at, bad)
	}
	for i, entry := range r.Also {
		part := entry.entryErrors(r.StartTime)
		for k := range part.list {
			part.list[k].at = given.at
		}
		list.addPart(indexPath("also", i), part)
	}
}

// entryErrors returns the errors of one entry, in the order of its text. start is the StartTime of the whole.
func (r Recurrence) entryErrors(start time.Time) (list errorList) {
	w := jsonWriter{given: map[string]source{}, inAlso: true}
	w.rule(r)
	for _, name := range wholeOnly {
		if value, ok := w.given[name]; ok {
			list.add(value.at, notInAlso(name, value.value))
			delete(w.given, name)
		}
	}
	r.Count = 0
	r.checkFields(&list, w.given)
	r.checkEntry(&list, w.given, start)
	slices.SortStableFunc(list.list, byPosition)
	return list
}

// checkEntry refuses fields of an entry that do not go together. An entry without a start has the start of the whole.
func (r Recurrence) checkEntry(list *errorList, given map[string]source, start time.Time) {
	if prefix, _, _ := cutCronZone(r.Cron); prefix != "" {
		list.add(given["cron"].at, newError(CodeCronConflict, "cron", given["cron"].value, "has the zone of the whole rule: remove the prefix %s", prefix))
	}
	if r.StartTime.IsZero() {
		r.StartTime = start
	}
	r.TimeZone = ""
	r.checkCombinations(list, given, true)
}

// notInAlso refuses a field that only the whole rule may have.
func notInAlso(name, value string) *Error {
	return newError(CodeUnknownField, name, value, "holds for the whole rule: it must be next to also, not inside")
}

// alsoTooLong refuses too many instants, too many rules, or both.
func alsoTooLong(list []Recurrence, value string) (bad []*Error) {
	instants := 0
	for _, entry := range list {
		if entry.runsOnce() {
			instants++
		}
	}
	if instants > maxAlsoInstants {
		bad = append(bad, newError(CodeAlsoSize, "also", value, "must have at most %d instants, has %d", maxAlsoInstants, instants))
	}
	if rules := len(list) - instants; rules > maxAlsoRules {
		bad = append(bad, newError(CodeAlsoSize, "also", value, "must have at most %d rules, has %d", maxAlsoRules, rules))
	}
	return bad
}
