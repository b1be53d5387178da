package recurrence

import "iter"

// runsOnce reports whether the rule has neither a frequency nor a cron text. An entry of also is then an instant.
func (r Recurrence) runsOnce() bool { return r.Frequency == 0 && r.Cron == "" }

// rules yields the rule itself and the rules of also, with their paths: "" or also[2].
func (r Recurrence) rules() iter.Seq2[string, Recurrence] {
	return func(yield func(string, Recurrence) bool) {
		if !yield("", r) {
			return
		}
		for i, entry := range r.Also {
			if !entry.runsOnce() && !yield(indexPath("also", i), entry) {
				return
			}
		}
	}
}

// within returns a rule of also as a rule of its own, with the fields of the whole that hold for it.
func (r Recurrence) within(whole Recurrence) Recurrence {
	r.TimeZone, r.Only, r.Except, r.ClockChanges = whole.TimeZone, whole.Only, whole.Except, whole.ClockChanges
	r.Shift, r.ShiftBy = whole.Shift, whole.ShiftBy
	_, own, _ := cutCronZone(r.Cron)
	if _, zone, _ := cutCronZone(whole.Cron); zone != "" && own == "" {
		r.TimeZone = zone
	}
	r.Also = nil
	return r
}
