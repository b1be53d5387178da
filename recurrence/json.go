package recurrence

import (
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parse reads a rule from JSON: Azure Scheduler's job or the recurrence by itself, strict where a mistake
// could hide. The package page describes the form. Its error is an [*Error], or several joined.
func Parse(data []byte) (Recurrence, error) {
	v, e := readJSON(data)
	if e != nil {
		return Recurrence{}, e
	}
	f := fields{given: map[string]source{}}
	f.job(v)
	if err := f.join(); err != nil {
		return Recurrence{}, err
	}
	if err := f.rule.neverFires(); err != nil {
		return Recurrence{}, err
	}
	return f.rule, nil
}

// MustParse is [Parse] for rules written in a program. It panics if the rule is refused.
func MustParse(s string) Recurrence {
	r, err := Parse([]byte(s))
	if err != nil {
		panic(err)
	}
	return r
}

// UnmarshalJSON is [Parse], but null leaves the Recurrence as it was.
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

// fields turns JSON values into the fields of a rule and notes what is wrong on the way.
type fields struct {
	problems
	rule  Recurrence
	given map[string]source
}

// A source is what was given for a field: where it stands in the text, and what it looks like.
type source struct {
	at    int
	shown string
}

// The keys of each object in lower case, with the names of their fields.
var (
	occurrenceKeys = keys("day", "occurrence")
	scheduleKeys   = keys("minutes", "hours", "weekDays", "monthDays", "monthlyOccurrences", "months")
	recurrenceOnly = []string{"frequency", "interval", "count", "endTime", "schedule", "timeZone", "cron"}
	recurrenceKeys = keys(append([]string{"startTime"}, recurrenceOnly...)...)
	azureKeys      = []string{"id", "name", "type", "action", "state", "status"} // read and skipped
	jobKeys        = keys(slices.Concat([]string{"startTime", "recurrence"}, recurrenceOnly, azureKeys)...)
	topKeys        = keys(slices.Concat([]string{"properties", "startTime", "recurrence"}, recurrenceOnly, azureKeys)...)
)

func init() {
	scheduleKeys["minute"] = "minutes"
	scheduleKeys["hour"] = "hours"
	scheduleKeys["monthlyoccurences"] = "monthlyOccurrences" // as the article misspells it
}

func keys(names ...string) map[string]string {
	known := make(map[string]string, len(names))
	for _, name := range names {
		known[lower(name)] = name
	}
	return known
}

// job reads a whole text, in any of its forms.
func (f *fields) job(v jsonValue) {
	if v.unset() {
		return
	}
	top := f.keys(v, "", topKeys)
	if wrapper, ok := top["properties"]; ok {
		f.conflict(top, "properties", append([]string{"startTime", "recurrence"}, recurrenceOnly...))
		if !f.object(wrapper, "properties") {
			return
		}
		top = f.keys(wrapper.jsonValue, "", jobKeys)
	}
	nested, ok := top["recurrence"]
	if !ok {
		f.recurrence(top)
		return
	}
	f.conflict(top, "recurrence", recurrenceOnly)
	if !f.object(nested, "recurrence") {
		return
	}
	f.given["recurrence"] = source{nested.at, nested.shown()}
	set := f.keys(nested.jsonValue, "", recurrenceKeys)
	if start, ok := top["startTime"]; ok {
		if inner, twice := set["startTime"]; twice {
			later := inner
			if start.at > inner.at {
				later = start
			}
			f.add(later.at, refuse(CodeDuplicateField, "startTime", later.shown(), "is given twice, in the recurrence and beside it"))
		}
		set["startTime"] = start
	}
	f.recurrence(set)
}

// conflict refuses keys that stand beside an object in which they belong.
func (f *fields) conflict(set map[string]jsonMember, inner string, names []string) {
	for _, name := range names {
		if m, ok := set[name]; ok {
			f.add(m.at, refuse(CodeConflict, name, m.shown(), "stands beside %s and must stand in it", inner))
		}
	}
}

// recurrence reads the fields of a recurrence, and what is wrong between them.
func (f *fields) recurrence(set map[string]jsonMember) {
	for name, m := range set {
		f.given[name] = source{m.at, m.shown()}
	}
	r := &f.rule
	if m, ok := set["frequency"]; ok {
		r.Frequency, ok = frequencyOf(m.text)
		if !ok {
			f.add(m.at, unknownFrequency(m.shown()))
		}
	}
	if m, ok := set["interval"]; ok {
		r.Interval = f.positive(m, CodeIntervalType, "interval")
	}
	if m, ok := set["count"]; ok {
		r.Count = f.positive(m, CodeCountType, "count")
	}
	if m, ok := set["schedule"]; ok && f.object(m, "schedule") {
		f.schedule(m.jsonValue)
	}
	if m, ok := set["cron"]; ok {
		f.cron(m)
	}
	loc := time.UTC
	if m, ok := set["timeZone"]; ok {
		loc = f.zone(m)
	} else if prefix, _ := cutCronZone(r.Cron); prefix != "" {
		_, name, _ := strings.Cut(prefix, "=")
		if found, bad := findZone(name); bad == nil { // checkCron refuses the others
			loc = found
		}
	}
	if m, ok := set["startTime"]; ok {
		r.StartTime = f.time(m, "startTime", loc)
	}
	if m, ok := set["endTime"]; ok {
		r.EndTime = f.time(m, "endTime", loc)
	}
	r.between(&f.problems, f.given)
}

func (f *fields) cron(m jsonMember) {
	if m.kind != jsonWord || m.text == "" {
		f.add(m.at, refuse(CodeCronSyntax, "cron", m.shown(), "must be cron text such as \"0 5 * * 1-5\""))
		return
	}
	f.rule.Cron = m.text
}

// zone finds the clock that times without an offset are on.
func (f *fields) zone(m jsonMember) *time.Location {
	if m.kind != jsonWord {
		f.add(m.at, refuse(CodeTimeZoneUnknown, "timeZone", m.shown(), "must be an IANA name such as America/Los_Angeles"))
		return time.UTC
	}
	loc, e := findZone(m.text)
	if e != nil {
		f.add(m.at, e)
		return time.UTC
	}
	f.rule.TimeZone = m.text
	return loc
}

func (f *fields) time(m jsonMember, field string, loc *time.Location) time.Time {
	if m.kind != jsonWord {
		f.add(m.at, refuse(CodeTimeSyntax, field, m.shown(), "must be a string such as \"2026-03-08T09:30:00Z\""))
		return time.Time{}
	}
	t, e := parseTime(field, m.text, loc)
	if e != nil {
		f.add(m.at, e)
		return time.Time{}
	}
	return t
}

// schedule reads the elements.
func (f *fields) schedule(v jsonValue) {
	set := f.keys(v, "schedule", scheduleKeys)
	for name, m := range set {
		f.given["schedule."+name] = source{m.at, m.shown()}
	}
	r := &f.rule
	r.Minutes = numbers[int](f, set, minutes)
	r.Hours = numbers[int](f, set, hours)
	r.WeekDays = f.weekDays(set)
	r.MonthDays = numbers[int](f, set, monthDays)
	r.MonthlyOccurrences = f.occurrences(set)
	r.Months = numbers[time.Month](f, set, months)
}

// numbers reads one number or an array of them.
func numbers[T ~int](f *fields, set map[string]jsonMember, e element) (list []T) {
	m, ok := set[e.name]
	if !ok {
		return nil
	}
	for field, v := range each("schedule."+e.name, m.jsonValue) {
		n, ok := f.whole(v, e.badType, field)
		if !ok {
			continue
		}
		if bad := e.outside(field, v.shown(), n); bad != nil {
			f.add(v.at, bad)
			continue
		}
		list = append(list, T(n))
	}
	return list
}

func (f *fields) weekDays(set map[string]jsonMember) (days []time.Weekday) {
	m, ok := set["weekDays"]
	if !ok {
		return nil
	}
	if len(m.items) > 7 {
		f.add(m.at, tooManyWeekDays(m.shown(), len(m.items)))
	}
	for field, v := range each("schedule.weekDays", m.jsonValue) {
		if v.kind != jsonWord {
			f.add(v.at, refuse(CodeWeekDaysType, field, v.shown(), "must be a word, monday to sunday"))
			continue
		}
		day, ok := weekdayOf(v.text)
		if !ok {
			f.add(v.at, refuse(CodeWeekDaysValue, field, v.shown(), "must be monday to sunday"))
			continue
		}
		days = append(days, day)
	}
	return days
}

func (f *fields) occurrences(set map[string]jsonMember) (list []NthWeekday) {
	m, ok := set["monthlyOccurrences"]
	if !ok {
		return nil
	}
	for field, v := range each("schedule.monthlyOccurrences", m.jsonValue) {
		if v.kind != jsonObject {
			f.add(v.at, refuse(CodeOccurrencesType, field, v.shown(), `must be an object such as {"day": "friday", "occurrence": -1}`))
			continue
		}
		list = append(list, f.occurrence(v, field))
	}
	return list
}

// occurrence reads one weekday of the month. What it cannot read it notes and leaves zero.
func (f *fields) occurrence(v jsonValue, field string) (nth NthWeekday) {
	set := f.keys(v, field, occurrenceKeys)
	day, ok := set["day"]
	if !ok {
		f.add(v.at, refuse(CodeOccurrenceDay, field+".day", "", "is missing, must be monday to sunday"))
	} else if nth.Day, ok = weekdayOf(day.text); !ok {
		f.add(day.at, refuse(CodeOccurrenceDay, field+".day", day.shown(), "must be monday to sunday"))
	}
	m, ok := set["occurrence"]
	if !ok {
		return nth
	}
	n, ok := f.whole(m.jsonValue, CodeOccurrencesType, field+".occurrence")
	if !ok {
		return nth
	}
	if bad := occurrence.outside(field+".occurrence", m.shown(), n); bad != nil {
		f.add(m.at, bad)
		return nth
	}
	nth.N = int(n)
	return nth
}

// positive reads interval or count. Zero, which in Go means not set, becomes a value that [Recurrence.Validate] refuses.
func (f *fields) positive(m jsonMember, badType Code, field string) int {
	n, ok := f.whole(m.jsonValue, badType, field)
	if !ok {
		return 0
	}
	if n == 0 {
		return -1
	}
	return int(min(max(n, -1), longestCount+1))
}

// whole reads a number without fraction and exponent. One too large for an int64 becomes the nearest that is one.
func (f *fields) whole(v jsonValue, badType Code, field string) (int64, bool) {
	if v.kind == jsonNumber {
		n, err := strconv.ParseInt(v.raw, 10, 64)
		if err == nil || errors.Is(err, strconv.ErrRange) {
			return n, true
		}
	}
	f.add(v.at, refuse(badType, field, v.shown(), "must be a whole number"))
	return 0, false
}

// object tells whether a member is one, and refuses it if not.
func (f *fields) object(m jsonMember, field string) bool {
	if m.kind != jsonObject {
		f.add(m.at, refuse(CodeSyntax, field, m.shown(), "must be an object"))
		return false
	}
	return true
}

// keys finds the values that an object sets, by the real names of their keys.
func (f *fields) keys(v jsonValue, path string, known map[string]string) map[string]jsonMember {
	set := map[string]jsonMember{}
	if v.kind != jsonObject {
		f.add(v.at, refuse(CodeSyntax, path, v.shown(), "must be an object"))
		return set
	}
	if path != "" {
		path += "."
	}
	seen := map[string]bool{}
	for _, m := range v.members {
		name, ok := known[lower(m.key)]
		switch {
		case !ok:
			f.add(m.at, refuse(CodeUnknownField, path+cut(m.key), m.shown(), "means nothing here"))
		case seen[name]:
			f.add(m.at, refuse(CodeDuplicateField, path+name, m.shown(), "is given twice"))
		case !m.unset():
			set[name] = m
		}
		seen[name] = true
	}
	return set
}

// each goes over the items of an array and their paths, or over the one value that stands in its place.
func each(field string, v jsonValue) iter.Seq2[string, jsonValue] {
	return func(yield func(string, jsonValue) bool) {
		if v.kind != jsonArray {
			yield(field, v)
			return
		}
		for i, item := range v.items {
			if !yield(indexed(field, i), item) {
				return
			}
		}
	}
}
