package svg

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/format"
)

// A Unit is the unit of a chart's values.
type Unit uint8

// The units.
const (
	Count      Unit = iota // things: 1,204
	PerSecond              // things a second: 0.4/s
	Seconds                // a duration, in seconds: 2 ms
	PerMinute              // things a minute: 24/min
	PerHour                // things an hour: 1,440/h
	PerQuarter             // things in a quarter of a minute: 6/15 s
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
		return format.Span(seconds(v))
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
	case PerQuarter:
		return "/15 s"
	}
	return ""
}

// rate reports whether the unit is a rate.
func (u Unit) rate() bool { return u.per() != "" }

// exact formats a value for a table. A count has all its digits.
func (u Unit) exact(v float64) string {
	if u == Count && v == math.Trunc(v) {
		return format.Count(int64(v))
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

// seconds returns a number of seconds as a duration.
func seconds(v float64) time.Duration { return time.Duration(math.Round(min(v, maxSeconds) * 1e9)) }

const maxSeconds = 9e9 // 285 years, which a time.Duration can hold

// short formats a number with three digits, or with four up to 9,999.
func short(v float64) string {
	switch {
	case v < 1000:
		return strconv.FormatFloat(round3(v), 'f', -1, 64)
	case v < 9999.5:
		return format.Count(int64(math.Round(v)))
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

// instant formats a time with its zone for sentences and tables: to the minute, or to the second if it is not a full minute.
func instant(at time.Time) string {
	if at.Second() != 0 {
		return at.Format("Mon 2 Jan 15:04:05 MST")
	}
	return at.Format("Mon 2 Jan 15:04 MST")
}

// cut shortens a text to the given number of letters.
func cut(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return strings.TrimSpace(string(runes[:max(most-1, 0)])) + "…"
}
