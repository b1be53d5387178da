package times

import (
	"fmt"
	"strconv"
	"time"
)

// Relative describes an instant relative to now: "in 3m 12s", "now", "2d ago". For a past instant it uses only the largest unit.
func Relative(t, now time.Time) string {
	switch d := t.Sub(now); {
	case d >= time.Second:
		return "in " + Span(d)
	case d > -time.Second:
		return "now"
	default:
		largest, _ := parts(-d)
		return largest + " ago"
	}
}

// Span formats a duration with its two largest units, cut to whole seconds: 12s, 3m 12s, 4h, 126d 12h.
func Span(d time.Duration) string {
	first, second := parts(d)
	if second == "" {
		return first
	}
	return first + " " + second
}

// parts returns the two largest units of a duration; the second one is empty if its number is zero.
func parts(d time.Duration) (first, second string) {
	of := []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}}
	for i, u := range of {
		n := d / u.unit
		if n == 0 {
			continue
		}
		if i+1 < len(of) {
			if rest := (d - n*u.unit) / of[i+1].unit; rest > 0 {
				second = fmt.Sprintf("%d%s", rest, of[i+1].name)
			}
		}
		return fmt.Sprintf("%d%s", n, u.name), second
	}
	return "0s", ""
}

// Took formats how long something took or how late it was: "0 ms", "2 ms", "1.2 s", "4m 2s".
func Took(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Took(-d)
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(float64(d.Milliseconds()/100)/10, 'f', 1, 64) + " s"
	}
	return Span(d)
}
