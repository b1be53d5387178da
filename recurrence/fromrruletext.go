package recurrence

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of the texts that FromRRule reads.
const (
	maxRRuleText  = 64 << 10
	maxRRuleLines = 2000
)

// An rruleText holds the lines of a text, with written times converted to instants.
type rruleText struct {
	start   time.Time // DTSTART
	zone    string    // its TZID, or ""
	loc     *time.Location
	local   *time.Location // the zone of times without Z and TZID; nil: they are refused
	named   string         // its name
	float   bool           // DTSTART has neither Z nor TZID, or comes from the caller
	allDay  bool           // DTSTART is a date
	counted int            // the runs that were counted for COUNT
	picks   bool           // a rule has positions that leave days out
	rules   []rruleParts
	added   []time.Time     // RDATE
	removed []time.Time     // EXDATE with a time
	days    map[string]bool // EXDATE;VALUE=DATE, as 2006-01-02
}

// rruleParts are the parts of one RRULE line, by name.
type rruleParts map[string]string

// refuseSyntax returns the error for a text that RFC 5545 does not allow or that does not determine the instant.
func refuseSyntax(value, format string, args ...any) *Error {
	return newError(CodeRRuleSyntax, "", value, format, args...)
}

// refusePart returns the error for a part that no rule can express.
func refusePart(part, value, advice string) *Error {
	return newError(CodeNoRecurrence, "", value, "%s has no counterpart here: %s", part, advice)
}

// read reads the lines. It unfolds them and takes them in any order.
func (r *rruleText) read(text string) error {
	text = strings.TrimPrefix(text, byteOrderMark)
	if len(text) > maxRRuleText {
		return refuseSyntax(text, "the text has %d bytes, at most %d are allowed", len(text), maxRRuleText)
	}
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	text = strings.NewReplacer("\n ", "", "\n\t", "").Replace(text)
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	if len(lines) > maxRRuleLines {
		return refuseSyntax("", "the text has %d lines, at most %d are allowed", len(lines), maxRRuleLines)
	}
	isStart := func(line string) bool { name, _, _ := cutProperty(line); return name == "DTSTART" }
	i := slices.IndexFunc(lines, isStart)
	if i > 0 { // it comes first, because it contains the zone of the others
		lines = slices.Concat(lines[i:i+1], lines[:i], lines[i+1:])
	}
	if i >= 0 {
		r.start = time.Time{} // that of the text
	}
	for _, line := range lines {
		if err := r.line(strings.TrimSpace(line)); err != nil {
			return err
		}
	}
	if r.start.IsZero() {
		return startMissing()
	}
	return nil
}

// startMissing is the error for a text without DTSTART.
func startMissing() *Error {
	return refuseSyntax("", "DTSTART is missing: write a line such as DTSTART:20260105T090000Z, or use FromRRuleAt")
}

// cutProperty splits a line into its name in upper case, its parameters and its value.
func cutProperty(line string) (name string, parameters []string, value string) {
	head, value, _ := strings.Cut(strings.TrimSpace(line), ":")
	words := strings.Split(head, ";")
	return strings.ToUpper(strings.TrimSpace(words[0])), words[1:], strings.TrimSpace(value)
}

// line reads one line.
func (r *rruleText) line(line string) error {
	if len(line) >= len("FREQ=") && strings.EqualFold(line[:len("FREQ=")], "FREQ=") {
		return r.rule(line)
	}
	name, parameters, value := cutProperty(line)
	switch name {
	case "DTSTART", "RDATE", "EXDATE":
	case "RRULE":
		if len(parameters) > 0 {
			return refuseSyntax(line, "RRULE takes no parameters")
		}
		return r.rule(value)
	case "EXRULE":
		return refusePart("EXRULE, which is not in RFC 5545,", line, "write its dates as EXDATE, or a filter in except")
	default:
		return refuseSyntax(line, "unknown line: write DTSTART, RRULE, RDATE and EXDATE lines only")
	}
	form, err := readTimeForm(line, parameters)
	if err != nil {
		return err
	}
	form.local = r.local
	if name == "DTSTART" {
		return r.setStart(line, value, form)
	}
	if r.start.IsZero() {
		return startMissing()
	}
	for text := range strings.SplitSeq(value, ",") {
		if err := r.date(name, strings.TrimSpace(text), form); err != nil {
			return err
		}
	}
	return nil
}

// A timeForm is the form of the times of a line, from its parameters.
type timeForm struct {
	date  bool // VALUE=DATE
	zone  string
	loc   *time.Location // nil without TZID
	local *time.Location // of times without Z and TZID; nil: they are refused
}

func readTimeForm(line string, parameters []string) (form timeForm, err error) {
	seen := map[string]bool{}
	for _, parameter := range parameters {
		name, value, _ := strings.Cut(parameter, "=")
		name, value = strings.ToUpper(strings.TrimSpace(name)), strings.Trim(strings.TrimSpace(value), `"`)
		if seen[name] {
			return form, refuseSyntax(line, "%s is given twice", name)
		}
		seen[name] = true
		switch {
		case name == "TZID":
			loc, bad := findZone(value)
			if bad != nil {
				return form, bad
			}
			form.zone, form.loc = value, loc
		case name == "VALUE" && strings.EqualFold(value, "DATE"):
			form.date = true
		case name == "VALUE" && strings.EqualFold(value, "DATE-TIME"):
		case name == "VALUE" && strings.EqualFold(value, "PERIOD"):
			return form, refusePart("VALUE=PERIOD", line, "write the beginnings as date-times")
		default:
			return form, refuseSyntax(line, "unknown parameter %.20s: TZID and VALUE are known", name)
		}
	}
	return form, nil
}

// setStart reads DTSTART.
func (r *rruleText) setStart(line, value string, form timeForm) error {
	if !r.start.IsZero() {
		return refuseSyntax(line, "DTSTART is given twice")
	}
	if r.allDay = form.date || !strings.ContainsAny(value, "Tt"); r.allDay {
		if r.local == nil {
			return refuseSyntax(line, "a DTSTART without time belongs to no zone: write a date-time with Z or TZID, or use FromRRuleAt")
		}
		value += "T000000"
	}
	at, err := form.instant(value)
	if err != nil {
		return err
	}
	r.start, r.zone, r.loc = at, form.zone, time.UTC
	switch r.float = form.loc == nil && !strings.HasSuffix(strings.ToUpper(value), "Z"); {
	case form.loc != nil:
		r.loc = form.loc
	case r.float:
		r.zone, r.loc = r.named, r.local
	}
	if (r.float || form.loc != nil) && onUTC(at.In(r.loc)).Format(rruleLocal) != strings.ToUpper(value) {
		return refusePart("a DTSTART that the clocks skip", line, "write a time that the clocks show")
	}
	return nil
}

const rruleLocal = "20060102T150405"

// instant reads a date-time.
func (f timeForm) instant(text string) (time.Time, error) {
	local, utc := strings.CutSuffix(strings.ToUpper(text), "Z")
	wall, err := time.Parse(rruleLocal, local)
	switch {
	case err != nil || len(local) != len(rruleLocal):
		return time.Time{}, refuseSyntax(text, "must be a date-time such as 20260105T090000Z")
	case utc && f.loc != nil:
		return time.Time{}, refuseSyntax(text, "has both Z and TZID: remove one")
	case !utc && f.loc == nil && f.local == nil:
		return time.Time{}, refuseSyntax(text, "belongs to no zone: write Z or TZID, or use FromRRuleAt")
	case utc:
		return wall, checkedTime(wall)
	}
	loc := f.loc
	if loc == nil {
		loc = f.local
	}
	at := resolveLocal(loc, wall)
	return at, checkedTime(at)
}

// checkedTime refuses an instant outside the years of a StartTime.
func checkedTime(at time.Time) error {
	if bad := checkTime("", at.UTC().Format(time.RFC3339), at); bad != nil {
		return bad
	}
	return nil
}

// date reads one value of RDATE or EXDATE.
func (r *rruleText) date(name, text string, form timeForm) error {
	if form.date {
		day, err := time.Parse("20060102", text)
		switch {
		case err != nil:
			return refuseSyntax(text, "%s;VALUE=DATE must hold dates such as 20260105", name)
		case name == "RDATE" && !r.allDay:
			return refuseSyntax(text, "RDATE;VALUE=DATE has no time: write date-times with Z or TZID")
		case checkedTime(day) != nil:
			return checkedTime(day)
		case name == "RDATE":
			r.added = append(r.added, resolveLocal(r.loc, day))
			return nil
		}
		r.days[day.Format(time.DateOnly)] = true
		return nil
	}
	at, err := form.instant(text)
	if err != nil {
		return err
	}
	if name == "RDATE" {
		r.added = append(r.added, at)
	} else {
		r.removed = append(r.removed, at)
	}
	return nil
}

// rule reads an RRULE line into its parts.
func (r *rruleText) rule(value string) error {
	parts := rruleParts{}
	for part := range strings.SplitSeq(strings.TrimSuffix(value, ";"), ";") {
		name, text, _ := strings.Cut(part, "=")
		name, text = strings.ToUpper(strings.TrimSpace(name)), strings.ToUpper(strings.TrimSpace(text))
		if _, twice := parts[name]; twice {
			return refuseSyntax(value, "%.20s is given twice in an RRULE", name)
		}
		if text == "" {
			return refuseSyntax(part, "a part is a name, = and a value, such as FREQ=DAILY")
		}
		parts[name] = text
	}
	r.rules = append(r.rules, parts)
	return nil
}

// numbers reads a list of numbers from low to high; if low is negative, without 0. A missing part has no numbers.
func (p rruleParts) numbers(name string, low, high int) ([]int, error) {
	text, given := p[name]
	if !given {
		return nil, nil
	}
	var list []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || len(word) > 5 || n < low || n > high || n == 0 && low < 0 {
			without := ""
			if low < 0 {
				without = " without 0"
			}
			return nil, refuseSyntax(name+"="+text, "%s must hold numbers from %d to %d%s", name, low, high, without)
		}
		list = append(list, n)
	}
	return sortedSet(list), nil
}

// weekDays reads BYDAY. N is 0 for a weekday without number.
func (p rruleParts) weekDays() (list []NthWeekday, err error) {
	text, given := p["BYDAY"]
	if !given {
		return nil, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		number, name := word[:max(0, len(word)-2)], word[max(0, len(word)-2):]
		day, known := rruleWeekday(name)
		n := 0
		if number != "" {
			n, err = strconv.Atoi(number)
		}
		if !known || err != nil || len(number) > 3 || n < -53 || n > 53 || number != "" && n == 0 {
			return nil, refuseSyntax("BYDAY="+text, "BYDAY must hold SU to SA, in MONTHLY and YEARLY also with a number such as -1FR")
		}
		if nth := (NthWeekday{day, n}); !slices.Contains(list, nth) {
			list = append(list, nth)
		}
	}
	return list, nil
}
