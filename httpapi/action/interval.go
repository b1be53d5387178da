package action

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// An Interval is a length of time, in JSON in the form of ISO 8601: "PT30S", "P1DT12H".
type Interval time.Duration

const day = 24 * time.Hour

// maxInterval is far above every limit of an interval, and far below an overflow.
const maxInterval = 36_500 * day

var (
	isoInterval = regexp.MustCompile(`^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,3}))?S)?)?$`)
	netInterval = regexp.MustCompile(`^(?:(\d+)\.)?(\d{1,2}):(\d{2}):(\d{2})(?:\.(\d{1,7}))?$`)
	daysAsTime  = regexp.MustCompile(`^PT(\d+)D$`)
)

// ParseInterval reads ISO 8601 ("PT30S", "P1DT12H", "P2W", with seconds to the millisecond) and .NET's form ("[d.]hh:mm:ss[.fff]"). A month has
// 30 days and a year 365, as in .NET. "PT1D" is not ISO 8601, but it is in Azure's documents; it is one day. More than 100 years is
// an error.
func ParseInterval(text string) (Interval, error) {
	bad := fmt.Errorf("want an interval in ISO 8601, such as PT30S or P1DT12H, or in the form [d.]hh:mm:ss")
	if len(text) > 64 {
		return 0, bad
	}
	if m := daysAsTime.FindStringSubmatch(text); m != nil {
		text = "P" + m[1] + "D"
	}
	var fields []string
	var units []time.Duration
	fraction := ""
	if m := isoInterval.FindStringSubmatch(text); m != nil && strings.TrimRight(text, "T") != "P" && !strings.HasSuffix(text, "T") {
		fields, units, fraction = m[1:8], []time.Duration{365 * day, 30 * day, 7 * day, day, time.Hour, time.Minute, time.Second}, m[8]
	} else if m := netInterval.FindStringSubmatch(text); m != nil {
		if m[2] > "23" && len(m[2]) == 2 || m[3] > "59" || m[4] > "59" {
			return 0, bad
		}
		fields, units, fraction = m[1:5], []time.Duration{day, time.Hour, time.Minute, time.Second}, m[5]
	} else {
		return 0, bad
	}
	var sum time.Duration
	for i, digits := range fields {
		if digits == "" {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n > int64((maxInterval-sum)/units[i]) {
			return 0, fmt.Errorf("want an interval of at most 100 years")
		}
		sum += time.Duration(n) * units[i]
	}
	for i, digit := range fraction {
		tenth := time.Second
		for range i + 1 {
			tenth /= 10
		}
		sum += time.Duration(digit-'0') * tenth
	}
	if sum%time.Millisecond != 0 {
		return 0, fmt.Errorf("want whole milliseconds")
	}
	return Interval(sum), nil
}

// String is the interval in ISO 8601, in days, hours, minutes and seconds. ParseInterval reads it.
func (i Interval) String() string {
	d := time.Duration(i)
	if d <= 0 {
		return "PT0S"
	}
	var text strings.Builder
	text.WriteByte('P')
	unit := func(size time.Duration, letter string) {
		if n := d / size; n > 0 {
			fmt.Fprintf(&text, "%d%s", n, letter)
			d %= size
		}
	}
	unit(day, "D")
	if d == 0 {
		return text.String()
	}
	text.WriteByte('T')
	unit(time.Hour, "H")
	unit(time.Minute, "M")
	if d > 0 {
		text.WriteString(strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "S")
	}
	return text.String()
}

// MarshalText is String.
func (i Interval) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText is ParseInterval.
func (i *Interval) UnmarshalText(text []byte) error {
	parsed, err := ParseInterval(string(text))
	*i = parsed
	return err
}
