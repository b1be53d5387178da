package recurrence

import (
	"fmt"
	"strings"
)

// FromQuartz returns the rule of a Quartz text of at most 1000 bytes: second, minute, hour, day of the month, month, day of the week and, if there
// are seven fields, year. The result has ordinary fields, so you can read and change it like any other rule:
//
//   - "0 15 10 ? * MON-FRI" becomes Frequency Week with WeekDays, and "0 0/5 14 * * ?" becomes Frequency Day. Days of the week are 1 (Sunday) to 7.
//     The months of such rules become a filter in Only.
//   - A day of the month becomes Frequency Month: L becomes MonthDays -1, and L-3 becomes -4. LW becomes Positions -1 with the weekend
//     in Except. 15W becomes MonthDays 15 with the weekend in Except and [ShiftNearestInMonth].
//   - 6L and 6#3 become MonthlyOccurrences: the last and the third Friday.
//   - Years become Dates in Only.
//   - Seconds become Seconds. If they are 0 and the rule has Minutes, Seconds is not set.
//
// A rule has no StartTime and no TimeZone: set them afterwards. Without a StartTime it also runs at creation, like every rule with a Frequency.
//
// If the clocks skip a named time, its run is moved; if they repeat one, it runs on the first pass: ClockChanges remains [ClockOnce]. Quartz drops
// the runs at such times on some days only; [ClockSkip] drops them on all days.
//
// FromQuartz refuses everything that it cannot represent exactly, with an [*Error] with [CodeCronSyntax] whose Reason contains what to write
// instead: five fields, two restricted day fields, C, lists with L, W or #, reversed ranges, and the field values that [Cron] refuses. A date
// that no year has is refused with [CodeNeverFires].
func FromQuartz(expr string) (Recurrence, error) { return quartzFields.read(expr) }

var (
	quartzFields = cronDialect{cronField{"day of the week", 1, 7, 7, cronFieldTable[4].names}, 1, true,
		"second, minute, hour, day of the month, month, day of the week and, if needed, year"}
	cronYear = cronField{"year", 1970, 2199, 2199, ""}
)

// readYears reads a field of years as ranges of dates; none for every year.
func readYears(word string) (dates []string, reason string) {
	if !cronRestricted(word) {
		return nil, ""
	}
	years := map[int]bool{}
	for part := range strings.SplitSeq(word, ",") {
		span, step, reason := cronYear.readPart(part)
		if reason != "" {
			return nil, reason
		}
		for year := span[0]; year <= span[1]; year += step {
			years[year] = true
		}
	}
	for year := cronYear.lo; year <= cronYear.hi; year++ {
		if !years[year] {
			continue
		}
		first := year
		for years[year+1] {
			year++
		}
		dates = append(dates, fmt.Sprintf("%d-01-01/%d-12-31", first, year))
	}
	return dates, ""
}
