package schedule

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
)

// A schedule with a spread has an offset: each of its occurrences is due that long after its planned instant. The offset is a number of
// milliseconds that depends only on the schedule's name: FNV-1a of 64 bits modulo the spread. So schedules of one rule are due at different
// times, and each is always due at the same time. It is stored with the definition, where scripts and people can read it.
//
// The offset never changes the order of a schedule's occurrences, nor their planned instants: a cursor uses planned instants. Comparisons with
// the time of taking or with now use the instants at which occurrences are due.

const (
	minSpread = time.Millisecond
	maxSpread = MaxTimeout

	periodGaps = 100 // the shortest period is searched between this many first instants of a rule
)

// offsetOf returns the offset of a schedule of this name.
func offsetOf(name string, spread time.Duration) time.Duration {
	if spread < minSpread {
		return 0
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name))
	return time.Duration(hash.Sum64()%uint64(spread.Milliseconds())) * time.Millisecond
}

// checkSpread returns an error for a spread that is longer than the rule's period: then an occurrence would be due only after the next one is
// planned. The rule must be valid.
func (s *Spec) checkSpread() error {
	if s.Spread == 0 {
		return nil
	}
	limit, reason := s.period(), "the shortest time between two of its occurrences"
	if limit == 0 || limit > maxSpread {
		limit, reason = maxSpread, "a year"
	}
	if s.Spread >= minSpread && s.Spread <= limit {
		return nil
	}
	return protocol.Invalid("spread", s.Spread.String(), fmt.Sprintf("0, or %v to %v, %s", minSpread, limit, reason))
}

// period returns the shortest time between two of the first instants of the rule, without the run at creation. It uses UTC, so that a day has 24
// hours. It ignores a start at the creation, because the creation is not known yet. 0: there is only one instant.
func (s *Spec) period() (shortest time.Duration) {
	rule := s.Recurrence
	if cron, err := recurrence.Cron(rule.Cron); err == nil && cron.Cron != "" {
		rule.Cron = cron.Cron // without the zone prefix
	}
	rule.TimeZone, rule.Count = "", 0
	series, err := rule.Series(time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		return 0 // the rule ends before that
	}
	first, _ := series.First()
	last, ok := series.Next(first)
	for n := 0; ok && n < periodGaps; n++ {
		var next time.Time
		if next, ok = series.Next(last); ok && (shortest == 0 || next.Sub(last) < shortest) {
			shortest = next.Sub(last)
		}
		last = next
	}
	return shortest
}
