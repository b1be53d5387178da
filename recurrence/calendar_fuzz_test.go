package recurrence

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
)

// A modelComparison compares the engine with brute force for one rule.
type modelComparison struct {
	*testing.T
	generator
	rule    Recurrence
	created time.Time
	series  *Series
	oracle  *bruteForce
}

// compareWithModel compares the matches from an instant on, single searches in both directions, distant matches, and the runs of a job made at
// creation. It reports whether anything was compared.
func compareWithModel(t *testing.T, g generator, r Recurrence, created, from time.Time) bool {
	c := modelComparison{T: t, generator: g, rule: r, created: created, oracle: newBruteForce(r, created)}
	var err error
	if c.series, err = r.Series(created); err != nil {
		c.checkRefusal(err)
		return false
	}
	to := from.Add(c.oracle.window())
	want := c.oracle.between(from, to)
	if got := slices.Collect(c.series.Between(from, to)); !slices.EqualFunc(got, want, time.Time.Equal) {
		i := 0
		for i < len(got) && i < len(want) && got[i].Equal(want[i]) {
			i++
		}
		c.fail("from %s to %s, match %d:\ngot  %v\nwant %v", from, to, i, got[i:min(i+3, len(got))], want[i:min(i+3, len(want))])
		return true
	}
	c.compareSearches(want, from, to)
	c.follow(to)
	c.followBack(from)
	c.compareRuns()
	return true
}

// fail reports a difference.
func (c modelComparison) fail(format string, args ...any) {
	c.Helper()
	c.Errorf("%#v\nstart %s: "+format, append([]any{c.rule, c.oracle.start}, args...)...)
}

// checkRefusal checks that one of the rules has no match, if the engine refuses it for that reason.
func (c modelComparison) checkRefusal(err error) {
	if codesOf(err) == string(CodeTimeRange) {
		return
	}
	if codesOf(err) != string(CodeNeverFires) {
		c.fail("%v", err)
		return
	}
	for _, rule := range append([]*bruteRule{c.oracle.bruteRule}, c.oracle.also...) {
		if len(rule.matches(rule.start, rule.start.Add(c.oracle.window()))) == 0 {
			return
		}
	}
	c.fail("%v, but each of its rules has a match", err)
}

// compareSearches searches from random instants, and from instants at and next to matches. want has all matches between from and to.
func (c modelComparison) compareSearches(want []time.Time, from, to time.Time) {
	origins := []time.Time{from, to}
	for range 3 {
		origins = append(origins, from.Add(time.Duration(c.Int64N(int64(to.Sub(from))))))
		if len(want) > 0 {
			at := want[c.IntN(len(want))]
			origins = append(origins, at.Add(-time.Second), at, at.Add(time.Second/2), at.Add(time.Second))
		}
	}
	for _, origin := range origins {
		after := slices.IndexFunc(want, func(at time.Time) bool { return at.After(origin) })
		got, ok := c.series.Next(origin)
		if after < 0 && ok && got.Before(to) || after >= 0 && !(ok && got.Equal(want[after])) {
			c.fail("after %s got %s, %v", origin, got, ok)
		}
		before := len(want) - 1
		for before >= 0 && !want[before].Before(origin) {
			before--
		}
		got, ok = c.series.Prev(origin)
		if before < 0 && ok && !got.Before(from) || before >= 0 && !(ok && got.Equal(want[before])) {
			c.fail("before %s got %s, %v", origin, got, ok)
		}
	}
}

// follow goes from one match to the next. Brute force checks each match, and the time next to it that it can search quickly.
func (c modelComparison) follow(after time.Time) {
	reach := c.oracle.window()
	for range 3 {
		next, ok := c.series.Next(after)
		first := after.Truncate(time.Second).Add(time.Second)
		if !ok {
			c.wantNone(first, first.Add(reach))
			return
		}
		c.wantMatch(next)
		c.wantNone(first, earlier(next, first.Add(reach)))
		c.wantNone(later(first, next.Add(-reach)), next)
		after = next
	}
}

// followBack goes from one match to the one before, like follow in the other direction.
func (c modelComparison) followBack(before time.Time) {
	reach := c.oracle.window()
	for range 3 {
		prev, ok := c.series.Prev(before)
		if !ok {
			c.wantNone(before.Add(-reach), before)
			return
		}
		c.wantMatch(prev)
		c.wantNone(later(prev.Add(time.Second), before.Add(-reach)), before)
		c.wantNone(prev.Add(time.Second), earlier(before, prev.Add(reach)))
		before = prev
	}
}

func (c modelComparison) wantMatch(at time.Time) {
	if len(c.oracle.between(at, at.Add(time.Second))) == 0 {
		c.fail("%s is no match", at)
	}
}

func (c modelComparison) wantNone(from, to time.Time) {
	if missed := c.oracle.between(from, to); len(missed) > 0 {
		c.fail("found nothing between %s and %s, want %s", from, to, missed[0])
	}
}

// compareRuns compares First and All. A rule also gets an end and a count, a list of dates does not.
func (c modelComparison) compareRuns() {
	r, runs := c.rule, 1+c.IntN(6)
	from := later(c.created, c.oracle.earliest())
	if r.Frequency != 0 || r.Cron != "" {
		r.EndTime = from.Add(time.Duration(c.Int64N(int64(c.oracle.window()))))
		r.Count = runs
		runs++
	}
	series, err := r.Series(c.created)
	if err != nil {
		if codesOf(err) != string(CodeTimeRange) && codesOf(err) != string(CodeEndBeforeStart) {
			c.fail("until %s: %v", r.EndTime, err)
		}
		return
	}
	var got []time.Time
	for at := range series.All() {
		if got = append(got, at); len(got) == runs {
			break
		}
	}
	want := newBruteForce(r, c.created).runs(runs)
	first, ok := series.First()
	if !slices.EqualFunc(got, want, time.Time.Equal) || ok != (len(want) > 0) || ok && !first.Equal(want[0]) {
		c.fail("created %s, count %d, until %s:\nfirst %s\ngot   %v\nwant  %v", c.created, r.Count, r.EndTime, first, got, want)
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// window returns a time span that brute force searches in some milliseconds.
func (b *bruteForce) window() time.Duration {
	shortest := b.bruteRule.window()
	for _, rule := range b.also {
		shortest = min(shortest, rule.window())
	}
	return shortest
}

func (b *bruteRule) window() time.Duration {
	const day = 24 * time.Hour
	count := func(set [60]bool) (n int) {
		for _, has := range set {
			if has {
				n++
			}
		}
		return n
	}
	switch {
	case b.cron == nil && b.Frequency == 0:
		return 400 * day
	case b.cron == nil && b.Frequency == Second:
		return min(30*day, time.Duration(b.Interval)*6*time.Hour)
	case b.cron == nil && b.Frequency == Minute && len(b.Seconds) == 0:
		return min(60*day, time.Duration(b.Interval)*3*day)
	case b.cron == nil && b.Frequency <= Hour:
		return max(day, 20*day/time.Duration(count(b.minute)*count(b.second)))
	case b.everyHour:
		return max(2*day, 30*day/time.Duration(count(b.minute)*count(b.second)))
	case b.cron == nil && b.Frequency == Year:
		return 12 * 366 * day
	case b.cron == nil && b.Frequency == Month:
		return 3 * 366 * day
	}
	return 300 * day
}

// compareCalendar compares one random rule, also after it was written and read.
func compareCalendar(t *testing.T, seed uint64) bool {
	failed := t.Failed()
	g := generator{rand.New(rand.NewPCG(seed, 11))}
	r, created, from := g.drawCalendar()
	if !compareWithModel(t, g, r, created, from) {
		return false
	}
	checkRoundTrip(t, r)
	if t.Failed() && !failed {
		t.Errorf("seed %d, created %s", seed, created)
	}
	return true
}

// compareManyFilters compares one random rule with many filters.
func compareManyFilters(t *testing.T, seed uint64) bool {
	failed := t.Failed()
	g := generator{rand.New(rand.NewPCG(seed, 13))}
	r, created, from := g.drawManyFilters()
	compared := compareWithModel(t, g, r, created, from)
	if t.Failed() && !failed {
		t.Errorf("seed %d, created %s", seed, created)
	}
	return compared
}

// TestEngineAgreesWithBruteForceOnCalendars compares random rules. ENGINE_RULES sets their number, ENGINE_SEED the first seed.
func TestEngineAgreesWithBruteForceOnCalendars(t *testing.T) {
	compareSeeds(t, compareCalendar, 2)
}

// TestEngineAgreesWithBruteForceOnManyFilters compares random rules with many filters, of which more never fire.
func TestEngineAgreesWithBruteForceOnManyFilters(t *testing.T) {
	compareSeeds(t, compareManyFilters, 4)
}

// compareSeeds calls compare with the seeds. At least one of this number must compare something.
func compareSeeds(t *testing.T, compare func(*testing.T, uint64) bool, oneOf int) {
	seeds := long.Chosen("ENGINE_RULES", "ENGINE_SEED", 120, 500)
	rules, compared := len(seeds), 0
	for _, seed := range seeds {
		if compare(t, seed) {
			compared++
		}
		if t.Failed() && rules < 10_000 {
			return
		}
	}
	if compared < rules/oneOf {
		t.Errorf("only %d of %d rules were compared", compared, rules)
	}
}

func FuzzCalendar(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { compareCalendar(t, seed) })
}
