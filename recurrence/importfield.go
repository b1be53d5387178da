package recurrence

import (
	"fmt"
	"strings"
)

// An importField is one field of a cron text of one other program. No field is shared by two programs: each program has its own table, which
// describes what that program does with every value.
type importField struct {
	name     string
	lo, hi   int      // the values of *. A value with a step continues to hi
	min, max int      // the numbers that may be written
	names    []string // from the value 1 on, or from firstName on
	first    int      // the value of the first name

	question   bool // ? means *
	bareStep   bool // /5 means */5
	wraps      int  // the number of values, if a range that ends before it begins continues at the beginning. 0: it is refused
	sunday     bool // 7 at the beginning of a range means 0
	maxStep    int  // the largest step after * or one value. 0: any
	noStep     bool // there are no steps
	plainNames bool // a name has no step, and is not in a range with a number
}

// Names of months and days, as all programs abbreviate them.
var (
	monthAbbreviations = strings.Fields("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC")
	dayAbbreviations   = strings.Fields("SUN MON TUE WED THU FRI SAT")
)

// values returns the values of a field as a mask. If it refuses the field, reason is the cause.
func (f *importField) values(word string) (mask uint64, reason string) {
	reason = f.each(word, func(v int) { mask |= 1 << v })
	return mask, reason
}

// each calls add with every value of a field: a list of values, ranges and steps.
func (f *importField) each(word string, add func(int)) (reason string) {
	for part := range strings.SplitSeq(word, ",") {
		if reason = f.part(part, add); reason != "" {
			return reason
		}
	}
	return ""
}

// part calls add with every value of one part of a list.
func (f *importField) part(part string, add func(int)) (reason string) {
	base, stepText, stepped := strings.Cut(part, "/")
	lo, hi, named, reason := f.span(base, stepped)
	if reason != "" {
		return reason
	}
	step := 1
	if stepped {
		ranged := strings.Contains(base, "-")
		if step, reason = f.step(stepText, ranged, named); reason != "" {
			return reason
		}
	}
	wraps := 0
	if lo > hi {
		if wraps = f.wraps; wraps == 0 {
			return fmt.Sprintf("%s %q is reversed: %s", f.name, base, f.unwrapped(base, stepped, lo, hi))
		}
		hi += wraps
	}
	for v := lo; v <= hi; v += step {
		if v > f.hi && wraps > 0 {
			add(v - wraps)
		} else {
			add(v)
		}
	}
	return ""
}

// unwrapped returns what to write instead of a range that ends before it begins.
func (f *importField) unwrapped(base string, stepped bool, lo, hi int) string {
	if stepped || f.hi > 99 {
		return "write its values as a list"
	}
	return fmt.Sprintf("write two ranges, %d-%d,%d-%d", lo, f.hi, f.lo, hi)
}

// span reads a part without its step: *, ?, a value or a range. named reports whether it has a name.
func (f *importField) span(base string, stepped bool) (lo, hi int, named bool, reason string) {
	if base == "*" || base == "?" && f.question || base == "" && stepped && f.bareStep {
		return f.lo, f.hi, false, ""
	}
	from, to, ranged := strings.Cut(base, "-")
	lo, named, reason = f.value(from)
	switch {
	case reason != "" || !ranged && !stepped:
		return lo, lo, named, reason
	case !ranged:
		return lo, max(lo, f.hi), named, ""
	}
	hi, hiNamed, reason := f.value(to)
	if reason == "" && f.plainNames && named != hiNamed {
		reason = fmt.Sprintf("%s %q: a range has two names or two numbers", f.name, base)
	}
	if f.sunday && lo == 7 {
		lo = 0
	}
	return lo, hi, named || hiNamed, reason
}

// value reads a number or a name.
func (f *importField) value(text string) (n int, named bool, reason string) {
	if n, ok := cronNumber(text); ok {
		if n < f.min || n > f.max {
			return 0, false, fmt.Sprintf("%s %d is out of range: write %d to %d", f.name, n, f.min, f.max)
		}
		return n, false, ""
	}
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.first + i, true, ""
		}
	}
	reason = fmt.Sprintf("%s %.20q is not a value: write %d to %d", f.name, text, f.min, f.max)
	if len(f.names) > 0 {
		reason += ", or the first three letters of its English name"
	}
	return 0, false, reason
}

// step reads the text after a slash.
func (f *importField) step(text string, ranged, named bool) (n int, reason string) {
	n, ok := cronNumber(text)
	switch {
	case f.noStep:
		return 0, f.name + ": there are no steps here: write the days"
	case named && f.plainNames:
		return 0, f.name + ": a step after a name has no effect there: write numbers, or the values as a list"
	case !ok:
		return 0, f.name + ": a step is a number, such as */2"
	case n == 0:
		return 0, f.name + ": a step of 0 is not allowed: write one value without a step, or * for all values"
	case f.maxStep > 0 && n > f.maxStep && !ranged:
		return 0, fmt.Sprintf("%s: a step of %d is too large: write at most %d", f.name, n, f.maxStep)
	}
	return n, ""
}
