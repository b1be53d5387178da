// Package format writes numbers and spans of time for people. The command, chime top, the pages, the charts and the sentences use it and nothing
// else, so that they all write the same value in the same form. JSON, metrics, logs and errors have forms of their own.
package format

import (
	"fmt"
	"math"
	"strconv"
)

// An Integer is any type of whole numbers.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Count writes a whole number with a comma between the thousands: 12,345.
func Count[N Integer](n N) string { return Grouped(fmt.Sprintf("%d", n)) }

// Grouped sets a comma between the thousands of a whole number in decimal digits.
func Grouped(digits string) string {
	first := 0
	if digits != "" && digits[0] == '-' {
		first = 1
	}
	for i := len(digits) - 3; i > first; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Plural writes a number and its noun: 1 job, 1,204 jobs.
func Plural[N Integer](n N, one, many string) string { return Count(n) + " " + Agree(n, one, many) }

// Agree returns the word that agrees with a number: one for 1, else many.
func Agree[N Integer](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Rate writes how many there are in a unit of time: 0, <0.1, 0.4, 12, 1,204.
func Rate(r float64) string {
	switch {
	case r > 0 && r < 0.1:
		return "<0.1"
	case r > 0 && r < 9.95:
		return strconv.FormatFloat(r, 'f', 1, 64)
	}
	return Count(int64(math.Round(r)))
}

// Ordinal writes a position: 1st, 2nd, 3rd, 4th, 11th, 21st.
func Ordinal(n int) string {
	suffix := "th"
	if tens := n / 10 % 10; tens != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return Count(n) + suffix
}
