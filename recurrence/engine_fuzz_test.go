package recurrence

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
)

// engineZones include clock changes of a whole day, of half an hour, at midnight, into negative daylight saving time and around
// Ramadan, and offsets with odd seconds.
var engineZones = []string{
	"", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia", "Africa/Casablanca",
	"Asia/Kolkata", "Europe/London", "Asia/Kathmandu", "America/St_Johns", "Europe/Dublin", "Europe/Amsterdam", "Antarctica/Troll",
	"Asia/Gaza", "Pacific/Kwajalein", "Africa/Monrovia", "Antarctica/Casey", "America/Caracas", "Asia/Manila",
}

var engineCrons = []string{
	"*/15 9-16 * * 1-5", "0 5 29 2 *", "30 2 * * *", "15,45 * * * *", "0 */2 13 * 5", "5 0-23 */9 3,10 *", "* * * * 0", "0,30 0,1,2,3 25-31 3,4,9,10,11 0", "59 23 31 * *",
}

// A generator makes random rules and instants.
type generator struct{ *rand.Rand }

func (g generator) some(low, high, maxLen int) (list []int) {
	for range 1 + g.IntN(maxLen) {
		list = append(list, low+g.IntN(high-low+1))
	}
	return list
}

func (g generator) chance(n int) bool { return g.IntN(n) == 0 }

// instant returns an instant, in most cases one near a clock change.
func (g generator) instant(zone string) time.Time {
	at := time.Unix(-2_000_000_000+g.Int64N(9_000_000_000), 0)
	if g.IntN(3) > 0 {
		at = time.Unix(g.Int64N(2_300_000_000), 0)
	}
	if z, err := loadZone(zone); err == nil && len(z.periods) > 1 && g.IntN(4) > 0 {
		at = time.Unix(z.periods[1+g.IntN(len(z.periods)-1)].begin, 0).Add(time.Duration(g.IntN(4*86400)-2*86400) * time.Second)
	}
	if g.chance(2) {
		at = at.Truncate(15 * time.Minute)
	}
	if zone == "Pacific/Apia" && g.chance(3) {
		at = time.Date(2011, 12, 27+g.IntN(6), g.IntN(24), g.IntN(60), 0, 0, time.UTC)
	}
	return at.UTC()
}

func (g generator) rule(zone string) Recurrence {
	r := Recurrence{TimeZone: zone}
	if g.chance(6) {
		r.Cron = engineCrons[g.IntN(len(engineCrons))]
		if g.chance(2) {
			r.Cron = fmt.Sprintf("%d,*/%d %d-23/%d %d,*/%d * %d", g.IntN(60), 1+g.IntN(40), g.IntN(24), 1+g.IntN(4), 1+g.IntN(31), 1+g.IntN(12), g.IntN(8))
		}
		return r
	}
	r.Frequency = Second + Frequency(g.IntN(7))
	limit := frequencies[r.Frequency].maxInterval
	if g.chance(3) {
		r.Interval = 1 + g.IntN(min(limit, []int{3, 30, 1000}[g.IntN(3)]))
	}
	if g.chance(2) {
		r.Minutes = g.some(0, 59, 4)
	}
	if g.chance(2) {
		r.Hours = g.some(0, 23, 5)
		if g.chance(2) {
			r.Hours = append(r.Hours, 0, 1, 2, 3)
		}
		if g.chance(8) {
			r.Hours = upTo(0, 23, 1)
		}
	}
	switch r.Frequency {
	case Week:
		for _, day := range g.some(0, 6, 3)[g.IntN(2):] {
			r.WeekDays = append(r.WeekDays, time.Weekday(day))
		}
	case Month:
		if g.chance(2) {
			for _, day := range g.some(-31, 31, 4) {
				r.MonthDays = append(r.MonthDays, day+map[bool]int{true: 1}[day == 0])
			}
		}
		if g.chance(2) {
			for range 1 + g.IntN(3) {
				r.MonthlyOccurrences = append(r.MonthlyOccurrences, NthWeekday{time.Weekday(g.IntN(7)), g.IntN(11) - 5})
			}
		}
	}
	if r.Frequency >= Month && g.chance(3) {
		for _, m := range g.some(1, 12, 4) {
			r.Months = append(r.Months, time.Month(m))
		}
	}
	return r
}

// compareOne makes a rule and compares the engine with brute force. It reports whether anything was compared.
func compareOne(t *testing.T, seed uint64) bool {
	g := generator{rand.New(rand.NewPCG(seed, 7))}
	zone := engineZones[g.IntN(len(engineZones))]
	r := g.rule(zone)
	created := g.instant(zone).Add(time.Duration(g.IntN(2)) * 500 * time.Millisecond)
	if g.IntN(3) > 0 {
		r.StartTime = g.instant(zone)
	}
	if g.chance(2) {
		r.StartTime = created.Add(time.Duration(g.IntN(8*86400)-4*86400) * time.Second)
	}
	from := g.instant(zone)
	if g.chance(2) {
		from = created.Add(-time.Duration(g.IntN(3*86400)) * time.Second)
	}
	oracle := newBruteForce(r, created)
	if from.Before(oracle.start) && g.chance(2) {
		from = oracle.start.Add(time.Duration(g.IntN(3*86400)-3600) * time.Second)
	}
	series, err := r.Series(created)
	if err != nil {
		if codesOf(err) != string(CodeNeverFires) && codesOf(err) != string(CodeTimeRange) {
			t.Errorf("seed %d: %+v: %v", seed, r, err)
		}
		if codesOf(err) == string(CodeNeverFires) {
			if found := oracle.between(oracle.start, oracle.start.AddDate(0, 0, 1+g.IntN(9)/8*700)); len(found) > 0 {
				t.Errorf("seed %d: %+v from %s is refused but runs at %s", seed, r, oracle.start, found[0])
			}
		}
		return false
	}

	span := 3 * 24 * time.Hour
	switch {
	case r.Frequency == Second && r.Interval < 60:
		span = 6 * time.Hour
	case r.Frequency >= Day || r.Frequency == 0:
		span = time.Duration(10+g.IntN(300)) * 24 * time.Hour
		if oracle.everyHour {
			span = min(span, 4*24*time.Hour)
		}
	}
	to := from.Add(span)
	want := oracle.between(from, to)
	got := slices.Collect(series.Between(from, to))
	if !slices.EqualFunc(got, want, time.Time.Equal) {
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || !got[i].Equal(want[i]) {
				got, want = got[i:min(i+3, len(got))], want[i:min(i+3, len(want))]
				break
			}
		}
		t.Errorf("seed %d: %+v start %s: from %s to %s\ngot  %v\nwant %v", seed, r, oracle.start, from, to, got, want)
		return true
	}
	for range 3 {
		after := from.Add(time.Duration(g.Int64N(int64(span))))
		i := slices.IndexFunc(want, func(at time.Time) bool { return at.After(after) })
		got, ok := series.Next(after)
		if i < 0 && ok && got.Before(to) || i >= 0 && !(ok && got.Equal(want[i])) {
			t.Errorf("seed %d: %+v start %s: after %s got %s, %v", seed, r, oracle.start, after, got, ok)
		}
	}
	compareFar(t, seed, r, series, oracle, to)
	compareRuns(t, seed, g, r, created, oracle)
	return true
}

// compareFar follows a rule from one match to the next, over the longest time that brute force can search quickly.
func compareFar(t *testing.T, seed uint64, r Recurrence, series *Series, oracle *bruteForce, after time.Time) {
	after = after.Truncate(time.Second)
	far := 30 * 365 * 24 * time.Hour
	switch {
	case r.Cron == "" && r.Frequency == Hour:
		far = 40 * 24 * time.Hour
	case r.Cron == "" && r.Frequency < Hour:
		far = time.Duration(max(r.Interval, 1)) * time.Hour
	}
	for range 3 {
		next, ok := series.Next(after)
		end := next.Add(time.Second)
		if !ok || next.Sub(after) > far {
			end = after.Add(far / 10)
		}
		want := oracle.between(after.Add(time.Second), end)
		if len(want) == 0 && end.Equal(next.Add(time.Second)) || len(want) > 0 && !want[0].Equal(next) {
			t.Errorf("seed %d: %+v start %s: after %s got %s, %v, want %v", seed, r, oracle.start, after, next, ok, want)
		}
		after = end.Add(-time.Second)
	}
}

// compareRuns compares First and All with brute force, with an end and a count.
func compareRuns(t *testing.T, seed uint64, g generator, r Recurrence, created time.Time, oracle *bruteForce) {
	from := oracle.start
	if from.Before(created) {
		from = created // with its fraction
	}
	to := from.Add(3 * time.Hour)
	if r.Frequency >= Day || r.Cron != "" {
		to = from.Add(4 * 24 * time.Hour)
	}
	want := oracle.between(from, to)
	atCreation := created.Truncate(time.Second)
	if r.StartTime.IsZero() && r.Cron == "" && (len(want) == 0 || !want[0].Equal(atCreation)) && created.Before(horizonTime) {
		want = slices.Insert(want, 0, atCreation)
	}
	r.EndTime = from.Add(time.Duration(g.Int64N(int64(to.Sub(from)))))
	if g.chance(4) && r.StartTime.Before(from) {
		r.EndTime = from.Add(-time.Second)
	}
	r.Count = 1 + g.IntN(6)
	want = slices.DeleteFunc(want, func(at time.Time) bool { return at.After(r.EndTime) })
	want = want[:min(len(want), r.Count)]
	series, err := r.Series(created)
	if err != nil {
		if codesOf(err) != string(CodeTimeRange) && codesOf(err) != string(CodeEndBeforeStart) {
			t.Errorf("seed %d: %+v: %v", seed, r, err)
		}
		return
	}
	got := slices.Collect(series.All())
	first, ok := series.First()
	if !slices.EqualFunc(got, want, time.Time.Equal) || ok != (len(want) > 0) || ok && !first.Equal(want[0]) {
		t.Errorf("seed %d: %+v created %s:\nfirst %s\ngot   %v\nwant  %v", seed, r, created, first, got, want)
	}
}

// TestEngineAgreesWithBruteForce compares random rules. ENGINE_RULES sets their number, ENGINE_SEED the first seed.
func TestEngineAgreesWithBruteForce(t *testing.T) {
	seeds := long.Chosen("ENGINE_RULES", "ENGINE_SEED", 250, 700)
	rules, compared := len(seeds), 0
	for _, seed := range seeds {
		if compareOne(t, seed) {
			compared++
		}
		if t.Failed() && rules < 10_000 {
			return
		}
	}
	if compared < rules/2 {
		t.Errorf("only %d of %d rules were compared", compared, rules)
	}
}

func FuzzNext(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { compareOne(t, seed) })
}
