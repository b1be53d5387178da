package recurrence

import (
	"fmt"
	"strings"
)

// A cronColumn is one of the five fields of a cron text: what it is called and what it may hold.
type cronColumn struct {
	name   string
	lo, hi int    // what * means
	top    int    // the largest number that may be written: 7 for Sunday, otherwise hi
	names  string // three letters each, the first for lo; "" where only numbers are taken
}

var cronColumns = [5]cronColumn{
	{"minute", 0, 59, 59, ""},
	{"hour", 0, 23, 23, ""},
	{"day of the month", 1, 31, 31, ""},
	{"month", 1, 12, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
	{"day of the week", 0, 6, 7, "sunmontuewedthufrisat"},
}

// parse returns the values of a field as a mask, in which 7 may stand for Sunday, or the reason why the field is refused.
func (c cronColumn) parse(word string) (mask uint64, reason string) {
	for part := range strings.SplitSeq(word, ",") {
		m, reason := c.parsePart(part)
		if reason != "" {
			return 0, reason
		}
		mask |= m
	}
	return mask, ""
}

// parsePart reads one part of a list: a range with or without a step.
func (c cronColumn) parsePart(part string) (uint64, string) {
	if reason := c.foreign(part); reason != "" {
		return 0, reason
	}
	span, stepText, stepped := strings.Cut(part, "/")
	lo, hi, reason := c.parseSpan(span, stepped)
	if reason != "" {
		return 0, reason
	}
	step := 1
	if stepped {
		if step, reason = c.parseStep(stepText); reason != "" {
			return 0, reason
		}
	}
	var mask uint64
	for v := lo; v <= hi; v += step {
		mask |= 1 << v
	}
	return mask, ""
}

// parseSpan reads *, ?, a value or a range. A value before a step runs to the end.
func (c cronColumn) parseSpan(span string, stepped bool) (lo, hi int, reason string) {
	if span == "*" || span == "?" {
		return c.lo, c.hi, ""
	}
	from, to, ranged := strings.Cut(span, "-")
	if lo, reason = c.parseValue(from); reason != "" {
		return 0, 0, reason
	}
	switch {
	case ranged:
		if hi, reason = c.parseValue(to); reason != "" {
			return 0, 0, reason
		}
	case stepped:
		hi = max(lo, c.hi)
	default:
		hi = lo
	}
	if lo > hi {
		return 0, 0, c.reversed(span, lo, hi)
	}
	return lo, hi, ""
}

// reversed says how to write a range that runs backwards.
func (c cronColumn) reversed(span string, lo, hi int) string {
	if c.top == 7 && hi == 0 {
		return fmt.Sprintf("%s %q runs backwards: Sunday at the end of a range is 7, so write %d-7", c.name, span, lo)
	}
	return fmt.Sprintf("%s %q runs backwards: write two ranges, %d-%d,%d-%d", c.name, span, lo, c.hi, c.lo, hi)
}

// parseStep reads what follows a slash. A step beyond the field's length would never be taken, so it is refused.
func (c cronColumn) parseStep(text string) (int, string) {
	n, ok := cronNumber(text)
	size := c.hi - c.lo + 1
	switch {
	case !ok:
		return 0, fmt.Sprintf("%s: a step is a number from 1 to %d, such as */2", c.name, size)
	case n == 0:
		return 0, fmt.Sprintf("%s: a step of 0 never advances; write a step from 1 to %d, or one value without a step", c.name, size)
	case n > size:
		return 0, fmt.Sprintf("%s: a step of %d is longer than the field; steps begin anew at %d. "+
			"Write @every with a duration, or frequency and interval", c.name, n, c.lo)
	}
	return n, ""
}

// parseValue reads a number or a name.
func (c cronColumn) parseValue(text string) (int, string) {
	if n, ok := cronNumber(text); ok {
		if n < c.lo || n > c.top {
			return 0, fmt.Sprintf("%s %d is out of range: write %d to %d", c.name, n, c.lo, c.top)
		}
		return n, ""
	}
	if n, ok := c.named(text); ok {
		return n, ""
	}
	if c.names != "" {
		return 0, fmt.Sprintf("%s %.20q is no value: write %d to %d, or the first three letters of its English name", c.name, text, c.lo, c.top)
	}
	return 0, fmt.Sprintf("%s %.20q is no value: write %d to %d", c.name, text, c.lo, c.top)
}

// named looks a three-letter name up, in any case.
func (c cronColumn) named(text string) (int, bool) {
	if len(text) != 3 {
		return 0, false
	}
	at := strings.Index(c.names, strings.ToLower(text))
	return c.lo + at/3, at >= 0 && at%3 == 0
}

// foreign says what to write for the signs L, W and # of other schedulers, which only the day fields of those take.
func (c cronColumn) foreign(part string) string {
	upper := strings.ToUpper(part)
	switch {
	case strings.Contains(part, "#"):
		return fmt.Sprintf("%s: # is not cron: write frequency month with monthlyOccurrences, such as "+
			`[{"day": "friday", "occurrence": 2}]`, c.name)
	case c.top == 31 && strings.Contains(upper, "W"):
		return fmt.Sprintf("%s: W (the nearest weekday) is not cron: write frequency month with monthlyOccurrences, such as "+
			`[{"day": "monday", "occurrence": 1}]`, c.name)
	case c.top == 31 && strings.Contains(upper, "L"):
		return c.name + ": L is not cron: write frequency month with monthDays: [-1]"
	case c.top == 7 && strings.HasSuffix(upper, "L"):
		return fmt.Sprintf("%s: L is not cron: write frequency month with monthlyOccurrences, such as "+
			`[{"day": "friday", "occurrence": -1}]; its last day is monthDays: [-1]`, c.name)
	}
	return ""
}

// cronNumber reads a number of at most four digits. Signs are not taken.
func cronNumber(text string) (n int, ok bool) {
	if len(text) == 0 || len(text) > 4 {
		return 0, false
	}
	for _, digit := range []byte(text) {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		n = 10*n + int(digit-'0')
	}
	return n, true
}
