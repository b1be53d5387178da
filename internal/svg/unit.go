package svg

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Unit is the unit of a chart's values.
type Unit uint8

// The units.
const (
	Count     Unit = iota // things: 1,204
	PerSecond             // things a second: 0.4/s
	Seconds               // a duration, in seconds: 2 ms
	PerMinute             // things a minute: 24/min
	PerHour               // things an hour: 1,440/h
)

// maxValue is the largest drawn value. Larger ones are drawn as this value.
const maxValue = 1e12

// drawn returns the drawn value, from 0 to maxValue. ok is false for NaN and the infinities.
func drawn(v float64) (value float64, ok bool) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, false
	}
	return min(max(v, 0), maxValue), true
}

// word returns the unit's name for scripts. For a rate it is the suffix.
func (u Unit) word() string {
	if u == Seconds {
		return "seconds"
	}
	return cmp.Or(u.per(), "count")
}

// format formats a value for a chart, with at most three digits and its unit.
func (u Unit) format(v float64) string {
	if u == Seconds {
		return duration(v)
	}
	return short(v) + u.per()
}

// per returns the suffix of a rate, or "" if the unit is not a rate.
func (u Unit) per() string {
	switch u {
	case PerSecond:
		return "/s"
	case PerMinute:
		return "/min"
	case PerHour:
		return "/h"
	}
	return ""
}

// rate reports whether the unit is a rate.
func (u Unit) rate() bool { return u.per() != "" }

// exact formats a value for a table. A count has all its digits.
func (u Unit) exact(v float64) string {
	if u == Count && v == math.Trunc(v) {
		return grouped(int64(v))
	}
	return u.format(v)
}

// fold merges values that fall on the same pixels: into the mean for rates, because that is the rate of the whole, otherwise into the greatest.
func (u Unit) fold(values []float64) float64 {
	var sum, most float64
	for _, v := range values {
		sum, most = sum+v, max(most, v)
	}
	if u.rate() {
		return sum / float64(len(values))
	}
	return most
}

// short formats a number with three digits, or with four up to 9,999.
func short(v float64) string {
	switch {
	case v < 1000:
		return strconv.FormatFloat(round3(v), 'f', -1, 64)
	case v < 9999.5:
		return grouped(int64(math.Round(v)))
	}
	v = round3(v)
	for _, suffix := range []string{"k", "M", "G"} {
		if v /= 1000; v < 1000 {
			return strconv.FormatFloat(round3(v), 'f', -1, 64) + " " + suffix
		}
	}
	return strconv.FormatFloat(round3(v/1000), 'f', -1, 64) + " T"
}

// round3 rounds to three significant digits.
func round3(v float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if err != nil {
		return 0
	}
	return rounded
}

// grouped formats an integer with a comma before every three digits.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	from := 0
	if n < 0 {
		from = 1
	}
	for i := len(digits) - 3; i > from; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// duration formats a number of seconds in its two largest units.
func duration(seconds float64) string {
	switch v := round3(seconds); {
	case v == 0:
		return "0 s"
	case v < 0.001:
		return strconv.FormatFloat(round3(v*1e6), 'f', -1, 64) + " µs"
	case v < 1:
		return strconv.FormatFloat(round3(v*1e3), 'f', -1, 64) + " ms"
	case v < 60:
		return strconv.FormatFloat(v, 'f', -1, 64) + " s"
	}
	n := int64(math.Round(seconds))
	switch {
	case n < 3600:
		return pair(n/60, "m", n%60, "s")
	case n < 86400:
		return pair(n/3600, "h", n%3600/60, "m")
	}
	return pair(n/86400, "d", n%86400/3600, "h")
}

func pair(large int64, unit string, small int64, smallUnit string) string {
	text := grouped(large) + " " + unit
	if small > 0 {
		text += fmt.Sprintf(" %d %s", small, smallUnit)
	}
	return text
}

// instant formats a time with its zone for sentences and tables: to the minute, or to the second if it is not a full minute.
func instant(at time.Time) string {
	if at.Second() != 0 {
		return at.Format("Mon 2 Jan 15:04:05 MST")
	}
	return at.Format("Mon 2 Jan 15:04 MST")
}

// plural returns a number and a noun: 1 run, 2 runs.
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

// cut shortens a text to the given number of letters.
func cut(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return strings.TrimSpace(string(runes[:max(most-1, 0)])) + "…"
}
