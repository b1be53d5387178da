package recurrence

import "time"

// DatesEnd returns the last date with a year in the Dates of Only, Except and Days, at 00:00 UTC. The rule treats every later day as a day that is not in
// the lists, for example as a day without a holiday. So a program should store a list with later dates before that day. DatesEnd returns the zero
// time for a rule without such dates, and for a rule that ends on that day or earlier.
func (r Recurrence) DatesEnd() time.Time {
	last := none
	lists := [][]Filter{r.Only, r.Except, r.Days}
	for _, entry := range r.Also {
		lists = append(lists, entry.Days)
	}
	for _, filters := range lists {
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
