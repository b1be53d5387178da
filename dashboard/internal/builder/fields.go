// Package builder converts rules into the fields of a form and back, and into cron text and back. If a form cannot express a rule, it returns the
// reason.
package builder

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/recurrence"
)

// The names of the fields. Each is the name of its value in the JSON of a rule, so that an error in the rule is shown at its field.
const (
	Frequency          = "frequency"
	Interval           = "interval"
	Count              = "count"
	Start              = "startTime"
	End                = "endTime"
	Zone               = "timeZone"
	Minutes            = "minutes"
	Hours              = "hours"
	Seconds            = "seconds"
	WeekDays           = "weekDays"
	MonthDays          = "monthDays"
	MonthlyOccurrences = "monthlyOccurrences"
	Months             = "months"
	Cron               = "cron"
)

// A Mistake is an error in a field. Field is empty if the error is about the whole rule.
type Mistake struct{ Field, Text string }

// Of returns the fields of a rule. why is the reason if fields cannot express it, and "" if they can.
func Of(rule recurrence.Recurrence) (fields url.Values, why string) {
	if why := unsaid(rule); why != "" {
		return nil, why
	}
	fields = About(rule)
	set := func(name, value string) {
		if value != "" {
			fields.Set(name, value)
		}
	}
	if rule.Frequency != 0 {
		fields.Set(Frequency, rule.Frequency.String())
	}
	set(Interval, number(rule.Interval))
	set(Minutes, writeNumbers(rule.Minutes))
	set(Hours, writeNumbers(rule.Hours))
	set(Seconds, writeNumbers(rule.Seconds))
	set(MonthDays, writeNumbers(rule.MonthDays))
	var nth []string
	for _, o := range rule.MonthlyOccurrences {
		nth = append(nth, writeNth(o))
	}
	set(MonthlyOccurrences, strings.Join(nth, ", "))
	for _, day := range rule.WeekDays {
		fields.Add(WeekDays, strings.ToLower(day.String()))
	}
	for _, month := range rule.Months {
		fields.Add(Months, strconv.Itoa(int(month)))
	}
	return fields, ""
}

// About returns the fields of a form apart from a rule's frequency or cron text: zone, start, end and count.
func About(rule recurrence.Recurrence) url.Values {
	fields := url.Values{}
	zone := time.UTC
	if rule.TimeZone != "" {
		fields.Set(Zone, rule.TimeZone)
		if location, err := time.LoadLocation(rule.TimeZone); err == nil {
			zone = location
		}
	}
	for name, t := range map[string]time.Time{Start: rule.StartTime, End: rule.EndTime} {
		if !t.IsZero() {
			fields.Set(name, t.In(zone).Format(time.RFC3339))
		}
	}
	if rule.Count != 0 {
		fields.Set(Count, strconv.Itoa(rule.Count))
	}
	return fields
}

// unsaid names the parts of a rule that the fields do not have.
func unsaid(rule recurrence.Recurrence) string {
	var parts []string
	for name, there := range map[string]bool{
		"cron": rule.Cron != "", "positions": len(rule.Positions) > 0, "days": len(rule.Days) > 0, "weekStart": rule.WeekStart != 0, "only": len(rule.Only) > 0, "except": len(rule.Except) > 0,
		"shift": rule.Shift != 0, "shiftBy": rule.ShiftBy != 0, "also": len(rule.Also) > 0, "clockChanges": rule.ClockChanges != 0,
	} {
		if there {
			parts = append(parts, name)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	slices.Sort(parts)
	return "the rule has " + strings.Join(parts, ", ")
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// Rule returns the rule of the fields as JSON, and the errors of the fields. The reader of the rule reports errors of the rule.
func Rule(fields url.Values) (json.RawMessage, []Mistake) {
	rule, mistakes := about(fields)
	elements := map[string]any{}
	if frequency := fields.Get(Frequency); frequency != "" {
		rule[Frequency] = frequency
	}
	whole(fields, Interval, rule, &mistakes)
	for _, name := range []string{Minutes, Hours, Seconds, MonthDays, MonthlyOccurrences} {
		text := fields.Get(name)
		value, err := any(nil), error(nil)
		if name == MonthlyOccurrences {
			value, err = readNths(text)
		} else {
			value, err = readNumbers(text)
		}
		if err != nil {
			mistakes = append(mistakes, Mistake{name, err.Error()})
		} else if strings.TrimSpace(text) != "" {
			elements[name] = value
		}
	}
	if days := fields[WeekDays]; len(days) > 0 {
		elements[WeekDays] = days
	}
	if months, err := readNumbers(strings.Join(fields[Months], ",")); err != nil {
		mistakes = append(mistakes, Mistake{Months, err.Error()})
	} else if len(months) > 0 {
		elements[Months] = months
	}
	if len(elements) > 0 {
		rule["schedule"] = elements
	}
	return text(rule), mistakes
}

// CronRule returns the rule of a cron text and the other fields as JSON.
func CronRule(fields url.Values) (json.RawMessage, []Mistake) {
	beside, mistakes := about(fields)
	rule, err := recurrence.Cron(strings.TrimSpace(fields.Get(Cron)))
	if err != nil {
		return nil, append(mistakes, Wrong(err, Cron)...)
	}
	if rule.TimeZone != "" && beside[Zone] != nil && beside[Zone] != rule.TimeZone {
		mistakes = append(mistakes, Mistake{Zone, fmt.Sprintf("%.60q: the cron text already has %q; use only one of them", beside[Zone], rule.TimeZone)})
	}
	var all map[string]any
	written, err := json.Marshal(rule)
	if err == nil {
		err = json.Unmarshal(written, &all)
	}
	if err != nil {
		return nil, append(mistakes, Mistake{Cron, err.Error()})
	}
	for name, value := range beside {
		all[name] = value
	}
	return text(all), mistakes
}

// about returns the JSON of the fields that About writes.
func about(fields url.Values) (rule map[string]any, mistakes []Mistake) {
	rule = map[string]any{}
	for _, name := range []string{Zone, Start, End} {
		if value := strings.TrimSpace(fields.Get(name)); value != "" {
			rule[name] = value
		}
	}
	whole(fields, Count, rule, &mistakes)
	return rule, mistakes
}

// whole puts a whole number into a rule.
func whole(fields url.Values, name string, rule map[string]any, mistakes *[]Mistake) {
	text := strings.TrimSpace(fields.Get(name))
	if text == "" {
		return
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		*mistakes = append(*mistakes, Mistake{name, fmt.Sprintf("%.20q is not a whole number", text)})
		return
	}
	rule[name] = n
}

func text(rule map[string]any) json.RawMessage {
	written, err := json.Marshal(rule)
	if err != nil {
		panic(err) // numbers and texts
	}
	return written
}

// Wrong returns the errors of a rule with their fields. field is used for an error that is about no field.
func Wrong(err error, field string) []Mistake {
	var all []Mistake
	for _, mistake := range recurrence.Errors(err) {
		text := mistake.Reason
		if mistake.Value != "" {
			text = fmt.Sprintf("%q: %s", mistake.Value, mistake.Reason)
		}
		at := strings.TrimPrefix(mistake.Field, "schedule.")
		at, _, _ = strings.Cut(at, "[")
		if at == "" {
			at = field
		}
		all = append(all, Mistake{at, text})
	}
	if len(all) == 0 && err != nil {
		all = append(all, Mistake{field, err.Error()})
	}
	return all
}

var ordinals = []string{"1st", "2nd", "3rd", "4th", "5th"}

// writeNth writes a weekday of a month: "last friday", "2nd monday", "2nd last sunday", "every monday".
func writeNth(o recurrence.NthWeekday) string {
	day := strings.ToLower(o.Day.String())
	switch {
	case o.N == 0:
		return "every " + day
	case o.N == -1:
		return "last " + day
	case o.N < 0 && -o.N <= len(ordinals):
		return ordinals[-o.N-1] + " last " + day
	case o.N > 0 && o.N <= len(ordinals):
		return ordinals[o.N-1] + " " + day
	}
	return fmt.Sprintf("%d %s", o.N, day)
}

var errNth = errors.New("want weekdays separated by commas, such as last friday, 2nd monday, 2nd last sunday, every monday")

// readNths reads weekdays of a month in the form of writeNth. It returns them in the form of a rule's JSON.
func readNths(text string) ([]map[string]any, error) {
	var all []map[string]any
	for part := range strings.SplitSeq(text, ",") {
		words := strings.Fields(strings.ToLower(part))
		if len(words) == 0 {
			continue
		}
		nth := map[string]any{"day": words[len(words)-1]}
		n, ok := readOrdinal(words[:len(words)-1])
		if !ok || len(all) == maxNumbers {
			return nil, fmt.Errorf("%.40q: %w", strings.TrimSpace(part), errNth)
		}
		if n != 0 {
			nth["occurrence"] = n
		}
		all = append(all, nth)
	}
	return all, nil
}

func readOrdinal(words []string) (n int, ok bool) {
	sign := 1
	if len(words) > 0 && words[len(words)-1] == "last" {
		sign, words = -1, words[:len(words)-1]
		if len(words) == 0 {
			return -1, true
		}
	}
	if len(words) != 1 {
		return 0, false
	}
	if i := slices.Index(ordinals, words[0]); i >= 0 {
		return sign * (i + 1), true
	}
	return 0, words[0] == "every" && sign == 1
}
