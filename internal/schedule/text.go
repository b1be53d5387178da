package schedule

import (
	"strings"
	"time"
)

// Text describes in English when the schedule runs. It is the text of its rule. If the schedule also runs when it is created, the text contains
// that: "Every day at 09:00 UTC, and once when created, 10 times". The run at creation is one of the 10. With filters it is "(and once when
// created, unless closed)".
func (s *Spec) Text() string {
	text := s.Recurrence.String()
	if s.Recurrence.NoImmediateRun || !s.beginsAtCreation() {
		return text
	}
	created := ", and once when created"
	if len(s.Recurrence.Only)+len(s.Recurrence.Except) > 0 {
		created = " (and once when created, unless closed)"
	}
	rule := s.Recurrence // without what follows in the text
	rule.Count, rule.EndTime = 0, time.Time{}
	clause, rest := cutClause(text)
	alone, _ := cutClause(rule.String())
	limits := strings.TrimPrefix(clause, alone)
	return strings.TrimSuffix(clause, limits) + created + limits + rest
}

// cutClause splits a text after the rule itself, before its calendar and its additions.
func cutClause(text string) (clause, rest string) {
	if at := strings.Index(text, "; "); at >= 0 {
		return text[:at], text[at:]
	}
	return text, ""
}

// beginsAtCreation reports whether a rule counts its periods from creation: it has a frequency, or a duration in its cron text, and has no start.
// Such a rule has a run at creation, unless NoImmediateRun is set.
func (s *Spec) beginsAtCreation() bool {
	counts := s.Recurrence.Frequency != 0 || strings.Contains(strings.ToLower(s.Recurrence.Cron), "@every")
	return counts && s.Recurrence.StartTime.IsZero()
}
