package schedule

import (
	"strings"
	"time"
)

// Text describes when the schedule runs, in English. It is the text of its rule, and says so where the schedule also runs when it
// is created: "Every day at 09:00 UTC, and once when created, 10 times". The run at creation is one of the 10.
func (s *Spec) Text() string {
	text := s.Recurrence.String()
	if !s.runsWhenCreated() {
		return text
	}
	rule := s.Recurrence // without what follows in the text
	rule.Count, rule.EndTime = 0, time.Time{}
	limits := strings.TrimPrefix(text, rule.String())
	return strings.TrimSuffix(text, limits) + ", and once when created" + limits
}

// runsWhenCreated reports whether a rule that also runs later has a run at creation: one with a frequency, or a duration in its cron
// text, and without a start.
func (s *Spec) runsWhenCreated() bool {
	r := &s.Recurrence
	every := r.Frequency != 0 || strings.Contains(strings.ToLower(r.Cron), "@every")
	return every && r.StartTime.IsZero() && !s.NoImmediateRun
}
