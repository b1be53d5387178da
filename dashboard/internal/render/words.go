package render

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A look is the colour and the icon of a state. A page always shows the word too, so neither is needed to read it.
type look struct{ tone, icon string }

// looks has the looks of the states of schedules, queues, jobs, runs and workers.
var looks = map[string]look{
	"live":       {"ok", "play"},
	"running":    {"run", "play"},
	"taken":      {"run", "play"},
	"done":       {"ok", "check"},
	"completed":  {"off", "check"},
	"waiting":    {"off", "hourglass"},
	"delayed":    {"off", "hourglass"},
	"snoozed":    {"off", "hourglass"},
	"retrying":   {"late", "rotate-ccw"},
	"returned":   {"off", "rotate-ccw"},
	"paused":     {"paused", "pause"},
	"parked":     {"paused", "pause"},
	"late":       {"late", "triangle-alert"},
	"stuck":      {"late", "triangle-alert"},
	"full":       {"late", "triangle-alert"},
	"missed":     {"late", "circle-dashed"},
	"skipped":    {"off", "circle-dashed"},
	"superseded": {"off", "circle-dashed"},
	"cancelled":  {"off", "x"},
	"failing":    {"fail", "x"},
	"failed":     {"fail", "x"},
	"dead":       {"fail", "x"},
	"crashed":    {"late", "triangle-alert"},
	"lost":       {"fail", "x"},
	"gone":       {"off", "circle-dashed"},
	"idle":       {"off", "circle-dashed"},
	"draining":   {"late", "hourglass"},
	"not kept":   {"off", "circle-dashed"},
	"no record":  {"late", "circle-dashed"},
	"unread":     {"late", "triangle-alert"},
}

// unknown is the look of a state that a newer version has stored.
var unknown = look{"late", "triangle-alert"}

func toneOf(word string) string { return cmp.Or(looks[word], unknown).tone }
func iconOf(word string) string { return cmp.Or(looks[word], unknown).icon }

// Count formats a number with separated thousands: 10,204.
func Count(n int64) string {
	digits, sign := strconv.FormatInt(n, 10), ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Plural returns a number and a noun: "1 job", "1,204 jobs".
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Rate formats a number per unit of time: <0.1, 0.4, 12, 1,204.
func Rate(r float64) string {
	switch {
	case r > 0 && r < 0.1:
		return "<0.1"
	case r > 0 && r < 9.95:
		return strconv.FormatFloat(r, 'f', 1, 64)
	}
	return Count(int64(math.Round(r)))
}

// count and plural take any kind of integer.
func count(number any) (string, error) {
	n, err := strconv.ParseInt(fmt.Sprint(number), 10, 64)
	if err != nil {
		return "", fmt.Errorf("cannot count %v: it is not a whole number", number)
	}
	return Count(n), nil
}

func plural(number any, one, many string) (string, error) {
	n, err := strconv.ParseInt(fmt.Sprint(number), 10, 64)
	if err != nil {
		return "", fmt.Errorf("cannot count %v: it is not a whole number", number)
	}
	return Plural(n, one, many), nil
}

// Took formats a duration: "< 1 ms", "850 µs", "2 ms", "1.3 s", "4 m 2 s".
func Took(d time.Duration) string {
	switch {
	case d <= 0: // times are stored in whole milliseconds
		return "< 1 ms"
	case d < time.Millisecond:
		return strconv.FormatInt(max(1, d.Microseconds()), 10) + " µs"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strings.TrimSuffix(strconv.FormatFloat(d.Truncate(100*time.Millisecond).Seconds(), 'f', 1, 64), ".0") + " s"
	}
	return span(d, 2)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
