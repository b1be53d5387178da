package recurrence

import (
	"slices"
	"time"
)

// A bruteForce computes the matches of a rule and of everything in its Also directly from their definition. It steps over days and instants and
// tries each one. It uses dates and zones of package time and shares only the cron reader with the engine.
type bruteForce struct {
	*bruteRule              // the outer rule
	also       []*bruteRule // the rules among Also
	instants   []time.Time  // the instants among Also
	created    time.Time
}

func newBruteForce(r Recurrence, created time.Time) *bruteForce {
	b := &bruteForce{bruteRule: newBruteRule(r, created), created: created}
	for _, entry := range r.Also {
		if entry.Frequency == 0 && entry.Cron == "" {
			b.instants = append(b.instants, secondOf(entry.StartTime))
			continue
		}
		entry.TimeZone = b.loc.String()
		entry.Only, entry.Except, entry.Shift, entry.ClockChanges = r.Only, r.Except, r.Shift, r.ClockChanges
		if entry.StartTime.IsZero() {
			entry.StartTime = r.StartTime
		}
		b.also = append(b.also, newBruteRule(entry, created))
	}
	return b
}

// secondOf drops the fraction of a second.
func secondOf(t time.Time) time.Time { return time.Unix(t.Unix(), 0).UTC() }

// between returns the matches from one instant on and before another, up to the end of the outer rule.
func (b *bruteForce) between(from, to time.Time) []time.Time {
	found := b.matches(from, to)
	for _, rule := range b.also {
		found = append(found, rule.matches(from, to)...)
	}
	for _, at := range b.instants {
		found = append(found, at.In(b.loc))
	}
	found = slices.DeleteFunc(found, func(t time.Time) bool { return t.Before(from) || !t.Before(to) || !t.Before(b.end) })
	slices.SortFunc(found, time.Time.Compare)
	return slices.CompactFunc(found, time.Time.Equal)
}

// earliest returns an instant before which nothing matches.
func (b *bruteForce) earliest() time.Time {
	first := b.start
	for _, rule := range b.also {
		first = earlier(first, rule.start)
	}
	for _, at := range b.instants {
		first = earlier(first, at)
	}
	return first
}

// maxStep bounds the windows in which next and prev search.
const maxStep = 20 * 365 * 24 * time.Hour

// next returns the first match strictly after an instant.
func (b *bruteForce) next(after time.Time) (time.Time, bool) {
	return b.nextFrom(secondOf(after).Add(time.Second))
}

// nextFrom returns the first match at or after an instant.
func (b *bruteForce) nextFrom(from time.Time) (time.Time, bool) {
	from = later(from, b.earliest())
	for step := 6 * time.Hour; from.Before(b.end); step = min(2*step, maxStep) {
		if found := b.between(from, from.Add(step)); len(found) > 0 {
			return found[0], true
		}
		from = from.Add(step)
	}
	return time.Time{}, false
}

// prev returns the last match strictly before an instant.
func (b *bruteForce) prev(before time.Time) (time.Time, bool) {
	before = earlier(before, b.end)
	for step := 6 * time.Hour; before.After(b.earliest()); step = min(2*step, maxStep) {
		if found := b.between(before.Add(-step), before); len(found) > 0 {
			return found[len(found)-1], true
		}
		before = before.Add(-step)
	}
	return time.Time{}, false
}

// runs returns the runs of a job made at creation: all of them, or the first n.
func (b *bruteForce) runs(n int) (list []time.Time) {
	if b.Count > 0 {
		n = min(n, b.Count)
	}
	now := secondOf(b.created).In(b.loc)
	once := b.cron == nil && b.Frequency == 0 && !b.start.After(now)
	atCreation := b.cron == nil && b.Frequency != 0 && b.StartTime.IsZero() && b.open(shown(now))
	at, ok := now, now.Before(b.end)
	if !once && !atCreation {
		at, ok = b.nextFrom(b.created.Add(time.Second - 1).Truncate(time.Second)) // creation with its fraction
	}
	for ok && len(list) < n {
		list = append(list, at)
		at, ok = b.next(at)
	}
	return list
}
