package format

import (
	"strconv"
	"time"
)

const day = 24 * time.Hour

// units are those of a span of a minute or more, each with the next smaller one.
var units = []struct {
	size    time.Duration
	name    string
	smaller time.Duration
	then    string
}{{day, "d", time.Hour, "h"}, {time.Hour, "h", time.Minute, "m"}, {time.Minute, "m", time.Second, "s"}}

// Span writes a span of time by its two largest units: 850ms, 4s, 3m 12s, 2h 5m, 126d 12h. It cuts off and does not round. A second unit of
// zero is left out. Below ten seconds there are tenths: 1.3s. A span of zero is "<1ms", because times are stored in whole milliseconds.
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Span(d.Abs())
	case d == 0:
		return "<1ms"
	case d < time.Millisecond:
		return strconv.FormatInt(max(1, d.Microseconds()), 10) + "µs"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < 10*time.Second:
		return d.Truncate(100 * time.Millisecond).String() // 4s, 1.3s
	}
	for _, u := range units {
		if d < u.size {
			continue
		}
		text := Count(int64(d/u.size)) + u.name
		if rest := d % u.size / u.smaller; rest > 0 {
			text += " " + strconv.FormatInt(int64(rest), 10) + u.then
		}
		return text
	}
	return strconv.FormatInt(int64(d/time.Second), 10) + "s"
}

// Age is Span in whole seconds, for how long something has lasted until now: <1s, 4s, 3m 12s. Nobody can read the tenths of a running clock.
func Age(d time.Duration) string {
	if d < time.Second {
		return "<1s"
	}
	return Span(d.Truncate(time.Second))
}

// Away says how far away something is, in whole seconds: in 3m 12s, now, 2d 1h ago.
func Away(d time.Duration) string {
	switch {
	case d.Abs() < time.Second:
		return "now"
	case d < 0:
		return Age(d.Abs()) + " ago"
	}
	return "in " + Age(d)
}

// Rough writes a span that is an estimate, or that need not change every second, by its largest unit alone and rounded: 1m, 5m, 2h, 3d. It is
// at least a minute.
func Rough(d time.Duration) string {
	for _, u := range units[:2] {
		if n := d.Round(u.smaller).Round(u.size) / u.size; d.Round(u.smaller) >= u.size {
			return Count(int64(n)) + u.name
		}
	}
	return Count(max(1, int64(d.Round(time.Minute)/time.Minute))) + "m"
}

// Exact writes a span with all its units, as somebody has configured it: 1m, 1h 30m, 2d 12h 0.5s.
func Exact(d time.Duration) string {
	if d < 0 {
		return "-" + Exact(d.Abs())
	}
	text, rest := "", d
	for _, u := range units {
		if n := rest / u.size; n > 0 {
			text += Count(int64(n)) + u.name + " "
		}
		rest %= u.size
	}
	if rest > 0 || d == 0 {
		return text + rest.String()
	}
	return text[:len(text)-1]
}

// Field writes a span as [time.ParseDuration] reads it, for a form or a flag: 1h30m and not 1h30m0s.
func Field(d time.Duration) string {
	text := d.String()
	if d%time.Minute == 0 && d != 0 {
		text = text[:len(text)-len("0s")]
	}
	if d%time.Hour == 0 && d != 0 {
		text = text[:len(text)-len("0m")]
	}
	return text
}
