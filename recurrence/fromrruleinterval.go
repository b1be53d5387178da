package recurrence

import (
	"slices"
	"strconv"
	"time"
)

// limitInterval replaces an INTERVAL above the limit of its FREQ by one of a larger unit, if that is the same: MONTHLY with INTERVAL=24 is every 2 years,
// in the month of DTSTART. It refuses one that no unit has.
func (r *rruleReader) limitInterval() error {
	for r.rule.Interval > maxInterval(r.rule.Frequency) {
		n, larger := r.largerUnit()
		if larger == 0 || r.rule.Interval%n != 0 {
			return refusePart(r.part("INTERVAL"), r.part("INTERVAL"), "at most "+strconv.Itoa(maxInterval(r.frequency))+" with "+r.part("FREQ"))
		}
		r.rule.Frequency, r.rule.Interval = larger, r.rule.Interval/n
	}
	if r.frequency == Month && r.rule.Frequency == Year {
		month := int(r.start.Month())
		if r.months != nil && !slices.Contains(r.months, month) {
			return newError(CodeNeverFires, "", r.part("BYMONTH"), "the interval reaches the month of DTSTART only, which is %v", time.Month(month))
		}
		r.months = []int{month}
	}
	return nil
}

// largerUnit returns the next larger unit that divides time in the same way, and how many of the present unit it has. It is 0 if the text limits the values
// of the present unit, because these parts mean something else with the larger one.
func (r *rruleReader) largerUnit() (n int, unit Frequency) {
	switch f := r.rule.Frequency; {
	case f == Month:
		return 12, Year
	case r.kept != nil:
		return 0, 0
	case f == Second && r.seconds == nil:
		return 60, Minute
	case f == Minute && r.minutes == nil:
		return 60, Hour
	case f == Hour && r.hours == nil && !r.inZone:
		return 24, Day
	}
	return 0, 0
}
