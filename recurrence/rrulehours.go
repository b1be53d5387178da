package recurrence

import "time"

// allHours returns the hours in order. Minutes or seconds without hours mean every hour, from frequency day on.
func (r rruleRule) allHours() []int {
	if r.Frequency >= Day && len(r.Hours) == 0 && len(r.Minutes)+len(r.Seconds) > 0 {
		return maskValues[int](1<<24 - 1)
	}
	return sortedSet(r.Hours)
}

// hourlyInZone reports whether the rule runs in every hour of its days, in a zone. These hours follow elapsed time, as FREQ=HOURLY does; BYHOUR follows the clock.
func (r rruleRule) hourlyInZone() bool {
	return r.Frequency >= Day && !isUTC(r.zone) && len(r.allHours()) == 24
}

// makeHourly turns a rule that runs in every hour of its days into one with frequency hour. The start is in the rule's zone. The days become limits.
func (r *rruleRule) makeHourly(start time.Time) {
	r.nameDays(start)
	_, r.Minutes, r.Seconds = r.clock(start)
	r.Frequency, r.Hours = Hour, nil
}
