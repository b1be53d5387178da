package recurrence

import (
	"errors"
	"iter"
	"slices"
	"strconv"
	"time"
)

// Parse reads a rule from JSON: an Azure Scheduler job, or a recurrence by itself. The package page describes the form. The text is one JSON value of
// at most 64 KiB; {} and null are the rule that runs once, at creation. Its error is one [*Error], or several joined; [Errors] lists them.
func Parse(data []byte) (Recurrence, error) {
	v, e := readJSON(data)
	if e != nil {
		return Recurrence{}, e
	}
	d := decoder{given: map[string]source{}}
	d.job(v)
	if err := d.join(); err != nil {
		return Recurrence{}, err
	}
	if canonical, _ := d.rule.MarshalJSON(); len(canonical) > maxJSONBytes { // an instant of also is longer than the date that it was
		return Recurrence{}, canonicalTooLong(len(canonical))
	}
	if err := d.rule.neverFires(); err != nil {
		return Recurrence{}, err
	}
	return d.rule, nil
}

// MustParse is [Parse] for rules that are part of a program's text. It panics with Parse's error if the rule is refused.
func MustParse(s string) Recurrence {
	r, err := Parse([]byte(s))
	if err != nil {
		panic(err)
	}
	return r
}

// UnmarshalJSON replaces the whole Recurrence by what [Parse] reads. It remains unchanged if the text is null or has an error.
func (r *Recurrence) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	read, err := Parse(data)
	if err != nil {
		return err
	}
	*r = read
	return nil
}

// A decoder turns JSON values into the fields of a rule and collects the errors.
type decoder struct {
	errorList
	rule   Recurrence
	given  map[string]source // by the path of the field
	inAlso bool              // the rule is an entry of also
}

// A source is the value that was given for a field, and its position in the text.
type source struct {
	at    int
	value string
}

// The known keys of each object: from the key in lower case to the name of its field.
var (
	occurrenceKeys = keySet("day", "occurrence")
	scheduleKeys   = keySet("minutes", "hours", "weekDays", "monthDays", "monthlyOccurrences", "months", "seconds", "positions", "days", "weekStart")
	filterKeys     = keySet("weekDays", "monthDays", "monthlyOccurrences", "months", "weeks", "yearDays", "yearlyOccurrences", "dates", "times")
	dayKeys        = keySet("weekDays", "monthDays", "monthlyOccurrences", "months", "weeks", "yearDays", "yearlyOccurrences", "dates") // of days
	alsoKeys       = keySet("startTime", "frequency", "interval", "endTime", "schedule", "cron")
	wholeOnly      = []string{"count", "timeZone", "only", "except", "shift", "shiftBy", "also", "clockChanges", "immediateRun"} // not in an entry of also
	recurrenceOnly = slices.Concat([]string{"frequency", "interval", "endTime", "schedule", "cron"}, wholeOnly)
	recurrenceKeys = keySet(append([]string{"startTime"}, recurrenceOnly...)...)
	azureKeys      = []string{"id", "name", "type", "action", "state", "status"} // read and skipped
	jobKeys        = keySet(slices.Concat([]string{"startTime", "recurrence"}, recurrenceOnly, azureKeys)...)
	topKeys        = keySet(slices.Concat([]string{"properties", "startTime", "recurrence"}, recurrenceOnly, azureKeys)...)
)

func init() {
	scheduleKeys["minute"] = "minutes"
	scheduleKeys["hour"] = "hours"
	const misspelled = "monthlyoccurences" // in the published article
	scheduleKeys[misspelled] = "monthlyOccurrences"
	filterKeys[misspelled] = "monthlyOccurrences"
	dayKeys[misspelled] = "monthlyOccurrences"
}

func keySet(names ...string) map[string]string {
	known := make(map[string]string, len(names))
	for _, name := range names {
		known[lower(name)] = name
	}
	return known
}

// job reads a whole text, in any of its forms.
func (d *decoder) job(v jsonValue) {
	if v.isUnset() {
		return
	}
	top := d.members(v, "", topKeys)
	if wrapper, ok := top["properties"]; ok {
		d.conflict(top, "properties", append([]string{"startTime", "recurrence"}, recurrenceOnly...))
		if !d.wantObject(wrapper, "properties") {
			return
		}
		top = d.members(wrapper.jsonValue, "", jobKeys)
	}
	nested, ok := top["recurrence"]
	if !ok {
		d.recurrence(top)
		return
	}
	d.conflict(top, "recurrence", recurrenceOnly)
	if !d.wantObject(nested, "recurrence") {
		return
	}
	d.given["recurrence"] = source{nested.at, nested.errorValue()}
	set := d.members(nested.jsonValue, "", recurrenceKeys)
	if start, ok := top["startTime"]; ok {
		if inner, twice := set["startTime"]; twice {
			later := inner
			if start.at > inner.at {
				later = start
			}
			d.add(later.at, newError(CodeDuplicateField, "startTime", later.errorValue(), "is given twice, inside the recurrence and outside it"))
		}
		set["startTime"] = start
	}
	d.recurrence(set)
}

// conflict refuses keys outside an object to which they belong.
func (d *decoder) conflict(set map[string]jsonMember, inner string, names []string) {
	for _, name := range names {
		if m, ok := set[name]; ok {
			d.add(m.at, newError(CodeConflict, name, m.errorValue(), "must be inside %s, not next to it", inner))
		}
	}
}

// recurrence reads the fields of a recurrence and checks their combinations.
func (d *decoder) recurrence(set map[string]jsonMember) {
	d.repetition(set)
	r := &d.rule
	if m, ok := set["count"]; ok {
		r.Count = d.positiveInteger(m, CodeCountType, "count")
	}
	loc := time.UTC
	if m, ok := set["timeZone"]; ok {
		loc = d.zone(m)
	} else if _, name, _ := cutCronZone(r.Cron); name != "" {
		if found, bad := findZone(name); bad == nil { // checkCron refuses a zone that is not known
			loc = found
		}
	}
	d.span(set, loc)
	d.calendar(set)
	if m, ok := set["immediateRun"]; ok {
		d.immediateRun(m)
	}
	if m, ok := set["also"]; ok {
		r.Also = d.also(m, loc)
	}
	r.checkCombinations(&d.errorList, d.given, false)
	r.checkCalendar(&d.errorList, d.given)
}

// repetition reads how often a rule runs. It also records which fields are given.
func (d *decoder) repetition(set map[string]jsonMember) {
	for name, m := range set {
		d.given[name] = source{m.at, m.errorValue()}
	}
	r := &d.rule
	if m, ok := set["frequency"]; ok {
		r.Frequency, ok = frequencyOf(m.text)
		if !ok {
			d.add(m.at, unknownFrequency(m.errorValue()))
		}
	}
	if m, ok := set["interval"]; ok {
		r.Interval = d.positiveInteger(m, CodeIntervalType, "interval")
	}
	if m, ok := set["schedule"]; ok && d.wantObject(m, "schedule") {
		d.schedule(m.jsonValue)
	}
	if m, ok := set["cron"]; ok {
		d.cron(m)
	}
}

// span reads when a rule starts and ends. Times without an offset are in loc.
func (d *decoder) span(set map[string]jsonMember, loc *time.Location) {
	if m, ok := set["startTime"]; ok {
		d.rule.StartTime = d.time(m, "startTime", loc)
	}
	if m, ok := set["endTime"]; ok {
		d.rule.EndTime = d.time(m, "endTime", loc)
	}
}

// immediateRun reads whether there is a run at creation. true means the same as no value.
func (d *decoder) immediateRun(m jsonMember) {
	if m.kind != jsonBoolean {
		d.add(m.at, newError(CodeImmediateRunType, "immediateRun", m.errorValue(), "must be true or false"))
		return
	}
	if d.rule.NoImmediateRun = m.raw == "false"; !d.rule.NoImmediateRun {
		delete(d.given, "immediateRun")
	}
}

func (d *decoder) cron(m jsonMember) {
	if m.kind != jsonString || m.text == "" {
		d.add(m.at, newError(CodeCronSyntax, "cron", m.errorValue(), "must be cron text such as \"0 5 * * 1-5\""))
		return
	}
	d.rule.Cron = m.text
}

// zone reads the time zone of times without an offset. It returns UTC for a zone that it refuses.
func (d *decoder) zone(m jsonMember) *time.Location {
	if m.kind != jsonString {
		d.add(m.at, newError(CodeTimeZoneUnknown, "timeZone", m.errorValue(), "must be an IANA name such as America/Los_Angeles"))
		return time.UTC
	}
	loc, e := findZone(m.text)
	if e != nil {
		d.add(m.at, e)
		return time.UTC
	}
	d.rule.TimeZone = m.text
	return loc
}

func (d *decoder) time(m jsonMember, field string, loc *time.Location) time.Time {
	if m.kind != jsonString {
		d.add(m.at, newError(CodeTimeSyntax, field, m.errorValue(), "must be a string such as \"2026-03-08T09:30:00Z\""))
		return time.Time{}
	}
	t, e := parseTime(field, m.text, loc)
	if e != nil {
		d.add(m.at, e)
		return time.Time{}
	}
	return t
}

// positiveInteger reads interval or count. A value out of range becomes another value out of range: 0, which in Go means not
// set, and negative numbers become -1; numbers beyond maxCount become maxCount+1. checkCombinations refuses them.
func (d *decoder) positiveInteger(m jsonMember, badType Code, field string) int {
	n, ok := d.integer(m.jsonValue, badType, field)
	if !ok {
		return 0
	}
	if n == 0 {
		return -1
	}
	return int(min(max(n, -1), maxCount+1))
}

// integer reads a number without fraction and exponent. One that does not fit an int64 becomes the nearest int64.
func (d *decoder) integer(v jsonValue, badType Code, field string) (int64, bool) {
	if v.kind == jsonNumber {
		n, err := strconv.ParseInt(v.raw, 10, 64)
		if err == nil || errors.Is(err, strconv.ErrRange) {
			return n, true
		}
	}
	d.add(v.at, newError(badType, field, v.errorValue(), "must be a whole number"))
	return 0, false
}

// wantObject reports whether a member is an object, and refuses it if it is not.
func (d *decoder) wantObject(m jsonMember, field string) bool {
	if m.kind != jsonObject {
		d.add(m.at, newError(CodeSyntax, field, m.errorValue(), "must be an object"))
		return false
	}
	return true
}

// members returns the values that an object sets, by the names of their fields. It refuses unknown and repeated keys.
func (d *decoder) members(v jsonValue, path string, known map[string]string) map[string]jsonMember {
	set := map[string]jsonMember{}
	if v.kind != jsonObject {
		d.add(v.at, newError(CodeSyntax, path, v.errorValue(), "must be an object"))
		return set
	}
	if path != "" {
		path += "."
	}
	seen := map[string]bool{}
	for _, m := range v.members {
		name, ok := known[lower(m.key)]
		switch {
		case !ok && d.inAlso && path == "" && slices.Contains(wholeOnly, recurrenceKeys[lower(m.key)]):
			d.add(m.at, notInAlso(recurrenceKeys[lower(m.key)], m.errorValue()))
		case !ok:
			d.add(m.at, newError(CodeUnknownField, path+cutValue(m.key), m.errorValue(), "is not a known key here"))
		case seen[name]:
			d.add(m.at, newError(CodeDuplicateField, path+name, m.errorValue(), "is given twice"))
		case !m.isUnset():
			set[name] = m
		}
		seen[name] = true
	}
	return set
}

// items yields the items of an array with their paths, or a single value that replaces an array.
func items(field string, v jsonValue) iter.Seq2[string, jsonValue] {
	return func(yield func(string, jsonValue) bool) {
		if v.kind != jsonArray {
			yield(field, v)
			return
		}
		for i, item := range v.items {
			if !yield(indexPath(field, i), item) {
				return
			}
		}
	}
}
