package recurrence

import (
	"fmt"
	"strings"
)

// A cronField is one of the five fields of a cron text.
type cronField struct {
	name     string
	lo, hi   int    // the range of *
	maxValue int    // the largest number allowed: 7 for the day of the week, otherwise hi
	names    string // three letters each, the first for lo; "" if only numbers are allowed
}

var cronFieldTable = [5]cronField{
	{"minute", 0, 59, 59, ""},
	{"hour", 0, 23, 23, ""},
	{"day of the month", 1, 31, 31, ""},
	{"month", 1, 12, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
	{"day of the week", 0, 6, 7, "sunmontuewedthufrisat"},
}

// parse returns the values of a field as a mask, in which bit 7 may mean Sunday. If it refuses the field, reason is the cause.
func (c cronField) parse(word string) (mask uint64, reason string) {
	for part := range strings.SplitSeq(word, ",") {
		m, reason := c.parsePart(part)
		if reason != "" {
			return 0, reason
		}
		mask |= m
	}
	return mask, ""
}

// parsePart reads one part of a list: a value or a range, with or without a step.
func (c cronField) parsePart(part string) (uint64, string) {
	if reason := c.checkUnsupported(part); reason != "" {
		return 0, reason + "; FromQuartz and FromSpring read it"
	}
	if reason := c.checkSpread(part); reason != "" {
		return 0, reason
	}
	span, step, reason := c.readPart(part)
	if reason != "" {
		return 0, reason
	}
	var mask uint64
	for v := span[0]; v <= span[1]; v += step {
		mask |= 1 << v
	}
	return mask, ""
}

// readPart reads a part of a list as a range and a step.
func (c cronField) readPart(part string) (span [2]int, step int, reason string) {
	rangeText, stepText, stepped := strings.Cut(part, "/")
	if span[0], span[1], reason = c.parseRange(rangeText, stepped); reason != "" || !stepped {
		return span, 1, reason
	}
	step, reason = c.parseStep(stepText)
	return span, step, reason
}

// parseRange reads *, ?, a value or a range. A value with a step means the range from it to the field's end.
func (c cronField) parseRange(text string, stepped bool) (lo, hi int, reason string) {
	if text == "*" || text == "?" {
		return c.lo, c.hi, ""
	}
	from, to, ranged := strings.Cut(text, "-")
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
		return 0, 0, c.reversed(text, stepped, lo, hi)
	}
	return lo, hi, ""
}

// reversed returns the reason for refusing a reversed range, with the right form.
func (c cronField) reversed(text string, stepped bool, lo, hi int) string {
	switch {
	case c.maxValue == 7 && lo == 7 && hi == 0:
		return fmt.Sprintf("%s %q is Sunday twice: write 0", c.name, text)
	case c.maxValue == 7 && lo == 7:
		return fmt.Sprintf("%s %q is reversed: Sunday at the beginning of a range is 0, so write 0-%d", c.name, text, hi)
	case c.maxValue == 7 && hi == 0:
		return fmt.Sprintf("%s %q is reversed: Sunday at the end of a range is 7, so write %d-7", c.name, text, lo)
	case stepped:
		return fmt.Sprintf("%s %q is reversed: write its values as a list", c.name, text)
	}
	return fmt.Sprintf("%s %q is reversed: write two ranges, %d-%d,%d-%d", c.name, text, lo, c.hi, c.lo, hi)
}

// parseStep reads the text after a slash. It refuses a step longer than the field, because it would have no effect.
func (c cronField) parseStep(text string) (int, string) {
	n, ok := cronNumber(text)
	size := c.hi - c.lo + 1
	switch {
	case !ok:
		return 0, fmt.Sprintf("%s: a step is a number from 1 to %d, such as */2", c.name, size)
	case n == 0:
		return 0, fmt.Sprintf("%s: a step of 0 is not allowed: write a step from 1 to %d, or one value without a step", c.name, size)
	case n > size:
		return 0, fmt.Sprintf("%s: a step of %d is longer than the field, and steps start again at %d: "+
			"write @every with a duration, or frequency and interval", c.name, n, c.lo)
	}
	return n, ""
}

// parseValue reads a number or a name.
func (c cronField) parseValue(text string) (int, string) {
	if n, ok := cronNumber(text); ok {
		if n < c.lo || n > c.maxValue {
			return 0, fmt.Sprintf("%s %d is out of range: write %d to %d", c.name, n, c.lo, c.maxValue)
		}
		return n, ""
	}
	if n, ok := c.valueOfName(text); ok {
		return n, ""
	}
	if c.names != "" {
		return 0, fmt.Sprintf("%s %.20q is not a value: write %d to %d, or the first three letters of its English name", c.name, text, c.lo, c.maxValue)
	}
	return 0, fmt.Sprintf("%s %.20q is not a value: write %d to %d", c.name, text, c.lo, c.maxValue)
}

// valueOfName returns the value of a three-letter name, in any case.
func (c cronField) valueOfName(text string) (int, bool) {
	if len(text) != 3 {
		return 0, false
	}
	at := strings.Index(c.names, strings.ToLower(text))
	return c.lo + at/3, at >= 0 && at%3 == 0
}

// checkUnsupported returns "" unless a day field has one of the signs L, W and # of other schedulers; for these it returns what to write instead.
func (c cronField) checkUnsupported(part string) string {
	upper := strings.ToUpper(part)
	switch {
	case c.maxValue == 7 && strings.Contains(part, "#"):
		return fmt.Sprintf("%s: # is not supported: write frequency month with monthlyOccurrences, such as "+
			`[{"day": "friday", "occurrence": 2}]`, c.name)
	case c.maxValue == 31 && strings.Contains(upper, "W"):
		return c.name + ": W (the nearest weekday) is not supported: write frequency month with monthDays: [15], shift: nearestInMonth " +
			`and except: [{"weekDays": ["saturday", "sunday"]}]; for LW write positions: [-1] and the same except`
	case c.maxValue == 31 && strings.Contains(upper, "L"):
		return c.name + ": L is not supported: write frequency month with monthDays: [-1], or [-4] for L-3"
	case c.maxValue == 7 && strings.HasSuffix(upper, "L"):
		return fmt.Sprintf("%s: L is not supported: write frequency month with monthlyOccurrences, such as "+
			`[{"day": "friday", "occurrence": -1}]; its last day is monthDays: [-1]`, c.name)
	}
	return ""
}

// checkSpread returns "" unless a part stands for a value that another scheduler chooses: H of Jenkins, and ~ of some versions of cron. Then it
// returns what to write instead.
func (c cronField) checkSpread(part string) string {
	upper := strings.ToUpper(part)
	if upper != "H" && !strings.HasPrefix(upper, "H/") && !strings.HasPrefix(upper, "H(") && !strings.Contains(part, "~") {
		return ""
	}
	return fmt.Sprintf("%s: H and ~ let the scheduler choose a value: write one from %d to %d; to spread schedules over a period, use chime's option Spread", c.name, c.lo, c.hi)
}

// cronNumber reads a number of one to four digits, without a sign.
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
