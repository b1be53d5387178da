package recurrence

import (
	"fmt"
	"strings"
)

// timesWant is the reason why an entry of times is refused.
const timesWant = "must be written as 09:00, 09:00:30 or a range such as 09:00/17:30, from 00:00 to 23:59"

// parseTimes reads an entry of [Filter.Times]: 09:00, 09:00:30, 02:00/03:59 or 22:00/05:59. It returns the first and the last second of the day
// that fit, both included and both 0 to 86,399. A minute without seconds is the whole minute: 09:00 is 09:00:00 to 09:00:59, and 09:00/17:30 ends
// at 17:30:59. If first is greater than last, the range contains midnight: a second of the same day fits at or after first, or at or before last.
// If it refuses the text, reason is the cause, without the text itself; otherwise reason is "".
func parseTimes(text string) (first, last int, reason string) {
	from, to, isRange := strings.Cut(text, "/")
	first, last, reason = parseTimeOfDay(from)
	if reason != "" || !isRange {
		return first, last, reason
	}
	_, last, reason = parseTimeOfDay(to)
	if reason != "" {
		return 0, 0, reason
	}
	return first, last, ""
}

// parseTimeOfDay reads 09:00 as a whole minute and 09:00:30 as one second.
func parseTimeOfDay(text string) (first, last int, reason string) {
	scan := timeScan{rest: text, ok: true}
	hour := scan.digits(2)
	scan.need(':')
	minute := scan.digits(2)
	length, second := 60, 0
	if scan.take(':') {
		length, second = 1, scan.digits(2)
	}
	switch {
	case !scan.ok || scan.rest != "":
		return 0, 0, timesWant
	case hour == 24:
		return 0, 0, "must be at most 23:59, which lasts until midnight: there is no 24:00"
	case hour > 23 || minute > 59 || second > 59:
		return 0, 0, "names a time that does not exist"
	}
	first = hour*3600 + minute*60 + second
	return first, first + length - 1, ""
}

// formatTimes returns the canonical form of the result of [parseTimes]: without seconds if an end is the end of a minute. A range of one minute
// or second is written as that minute or second.
func formatTimes(first, last int) string {
	from, to := formatSecond(int64(first)), formatSecond(int64(last))
	if first%60 == 0 {
		from = from[:len("09:00")]
	}
	if last%60 == 59 {
		to = to[:len("09:00")]
	}
	switch {
	case first == last:
		return formatSecond(int64(first))
	case first/60 == last/60 && from == to:
		return from
	}
	return from + "/" + to
}

// formatSecond formats a second of the day.
func formatSecond(second int64) string {
	return fmt.Sprintf("%02d:%02d:%02d", second/3600, second/60%60, second%60)
}
