package recurrence

import (
	"math/bits"
	"strings"
	"time"
)

// A cronDialect is a cron text with a field for seconds: that of Quartz or of Spring.
type cronDialect struct {
	weekDay   cronField
	sunday    int  // the number of Sunday in weekDay.lo to weekDay.hi
	years     bool // a seventh field may name years
	fieldText string
}

var cronSecond = cronField{"second", 0, 59, 59, ""}

// weekend is the days that W skips.
var weekend = []time.Weekday{time.Saturday, time.Sunday}

// read returns the rule of a text of at most maxCronText bytes.
func (d cronDialect) read(expr string) (Recurrence, error) {
	if bad := cronTextTooLong(expr); bad != nil {
		return Recurrence{}, bad
	}
	r, reason := d.readWords(strings.Fields(expr))
	if reason != "" {
		return Recurrence{}, newError(CodeCronSyntax, "cron", expr, "%s", reason)
	}
	if err := r.Validate(); err != nil {
		return Recurrence{}, err
	}
	return r, nil
}

// readWords reads the fields. If it refuses them, reason is the cause.
func (d cronDialect) readWords(words []string) (r Recurrence, reason string) {
	switch {
	case len(words) > 0 && strings.HasPrefix(words[0], "@"):
		return r, "a name such as @daily is not one of these fields: use Cron"
	case len(words) > 0 && strings.Contains(words[0], "="):
		return r, "a prefix is not a field: remove it and set TimeZone"
	case len(words) == 5:
		return r, "five fields: use Cron"
	case len(words) == 7 && !d.years:
		return r, "seven fields: there is no field for years, so write six, or use FromQuartz"
	case len(words) != 6 && len(words) != 7:
		return r, "write " + d.fieldText
	}
	if reason = d.readTimes(words, &r); reason != "" {
		return r, reason
	}
	months, reason := cronFieldTable[3].parse(words[4])
	if reason != "" {
		return r, reason
	}
	if reason = d.readDays(words[3], words[5], &r); reason != "" {
		return r, reason
	}
	var only Filter
	if bits.OnesCount64(months) < 12 {
		if listed := maskValues[time.Month](months); r.Frequency == Month {
			r.Months = listed
		} else {
			only.Months = listed
		}
	}
	if len(words) == 7 {
		if only.Dates, reason = readYears(words[6]); reason != "" {
			return r, reason
		}
	}
	if len(only.Months)+len(only.Dates) > 0 {
		r.Only = []Filter{only}
	}
	return r, ""
}

// readTimes reads second, minute and hour. It does not set values that the rule has without them: second 0 together with minutes, and all hours.
func (d cronDialect) readTimes(words []string, r *Recurrence) (reason string) {
	seconds, reason := cronSecond.parse(words[0])
	if reason != "" {
		return reason
	}
	minutes, reason := cronFieldTable[0].parse(words[1])
	if reason != "" {
		return reason
	}
	hours, reason := cronFieldTable[1].parse(words[2])
	if reason != "" {
		return reason
	}
	everyHour := hours == uint64(allHours)
	if !everyHour {
		r.Hours = maskValues[int](hours)
	}
	if minutes != allMinutes || !everyHour {
		r.Minutes = maskValues[int](minutes)
	}
	if seconds != 1 || len(r.Minutes) == 0 {
		r.Seconds = maskValues[int](seconds)
	}
	return ""
}

// readDays reads both day fields. At most one of them may be restricted.
func (d cronDialect) readDays(dom, dow string, r *Recurrence) (reason string) {
	byDate, byWeekDay := cronRestricted(dom), cronRestricted(dow)
	switch {
	case byDate && byWeekDay:
		return "both day fields are restricted: write two rules, or ? for one of them"
	case byDate:
		return d.readMonthDays(strings.ToUpper(dom), r)
	case byWeekDay:
		return d.readWeekDays(strings.ToUpper(dow), r)
	}
	r.Frequency = Day
	return ""
}

// readMonthDays reads a day of the month in upper case.
func (d cronDialect) readMonthDays(word string, r *Recurrence) (reason string) {
	r.Frequency = Month
	const name = "day of the month"
	switch {
	case strings.Contains(word, "C"):
		return name + ": C (a calendar) is not supported: write the calendar as except"
	case !strings.ContainsAny(word, "LW"):
		mask, reason := cronFieldTable[2].parse(word)
		r.MonthDays = maskValues[int](mask)
		return reason
	case strings.Contains(word, ","):
		return name + ": L and W must be alone: write a rule for each part of the list"
	case word == "LW" || word == "WL":
		r.Positions, r.Except = []int{-1}, []Filter{{WeekDays: weekend}}
		return ""
	}
	day, nearest := strings.CutSuffix(word, "W")
	n := 0
	if back, last := strings.CutPrefix(day, "L"); last {
		ok := true
		if back != "" {
			var number string
			number, ok = strings.CutPrefix(back, "-")
			if n, _ = cronNumber(number); n < 1 || n > 30 {
				ok = false
			}
		}
		switch {
		case strings.HasPrefix(back, "W"):
			return name + ": the last weekday of the month is LW, the one nearest to a day L-2W"
		case !ok:
			return name + ": the days before the last are L-1 to L-30"
		}
		n = -1 - n
	} else {
		var ok bool
		if n, ok = cronNumber(day); !ok || n < 1 || n > 31 {
			return name + ": W follows one day, such as 15W, L-3W or LW"
		}
	}
	r.MonthDays = []int{n}
	if nearest {
		r.Except, r.Shift = []Filter{{WeekDays: weekend}}, ShiftNearestInMonth
	}
	return ""
}

// readWeekDays reads a day of the week in upper case.
func (d cronDialect) readWeekDays(word string, r *Recurrence) (reason string) {
	const name = "day of the week"
	before, after, numbered := strings.Cut(word, "#")
	last := strings.Contains(word, "L") // no name of a day contains an L
	switch {
	case strings.Contains(word, "C"):
		return name + ": C (a calendar) is not supported: write the calendar as except"
	case word == "L":
		return name + ": L without a day is not the same everywhere: write SAT for Saturday, or 6L and the like for the last of a month"
	case (numbered || last) && strings.Contains(word, ","):
		return name + ": L and # must be alone: write a rule for each part of the list"
	case !numbered && !last:
		mask, reason := d.weekDay.parse(word)
		var days uint64
		for ; mask != 0; mask &= mask - 1 {
			days |= 1 << d.weekdayOf(bits.TrailingZeros64(mask))
		}
		r.Frequency, r.WeekDays = Week, maskValues[time.Weekday](days)
		return reason
	}
	nth := -1
	if numbered {
		n, ok := cronNumber(after)
		if !ok || n < 1 || n > 5 {
			return name + ": # is followed by 1 to 5, such as FRI#3"
		}
		nth = n
	} else {
		before = strings.TrimSuffix(word, "L")
	}
	day, reason := d.weekDay.parseValue(before)
	if reason != "" {
		return reason
	}
	r.Frequency, r.MonthlyOccurrences = Month, []NthWeekday{{d.weekdayOf(day), nth}}
	return ""
}

// weekdayOf returns the weekday of a number.
func (d cronDialect) weekdayOf(n int) time.Weekday { return time.Weekday((n - d.sunday + 7) % 7) }
