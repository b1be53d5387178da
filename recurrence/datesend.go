package recurrence

import "time"

// DatesEnd returns the last day that the lists of dates in Only and Except name with a year, at 00:00 UTC. After it the rule takes every
// day for one that they do not name, such as a day without a holiday: a program that knows later dates should store a longer list before.
// It returns the zero time for a rule without such dates, and for one that has ended by then.
func (r Recurrence) DatesEnd() time.Time {
	last := none
	for _, filters := range [][]Filter{r.Only, r.Except} {
		for _, f := range filters {
			for _, text := range f.Dates {
				if entry, reason := parseDates(text); reason == "" && !entry.yearly {
					last = max(last, entry.last)
				}
			}
		}
	}
	if last == none {
		return time.Time{}
	}
	end := time.Unix(last*secondsPerDay, 0).UTC()
	if !r.EndTime.IsZero() && !r.EndTime.After(end.AddDate(0, 0, 1)) {
		return time.Time{}
	}
	return end
}
