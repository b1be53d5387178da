package recurrence

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// The days of Easter from 1990 to 2050, month-day, from the tests of python-dateutil (dateutil/test/test_easter.py).
const (
	publishedEasters = `
	4-15 3-31 4-19 4-11 4-03 4-16 4-07 3-30 4-12 4-04
	4-23 4-15 3-31 4-20 4-11 3-27 4-16 4-08 3-23 4-12
	4-04 4-24 4-08 3-31 4-20 4-05 3-27 4-16 4-01 4-21
	4-12 4-04 4-17 4-09 3-31 4-20 4-05 3-28 4-16 4-01
	4-21 4-13 3-28 4-17 4-09 3-25 4-13 4-05 4-25 4-10
	4-01 4-21 4-06 3-29 4-17 4-09 3-25 4-14 4-05 4-18
	4-10`
	publishedOrthodoxEasters = `
	4-15 4-07 4-26 4-18 5-01 4-23 4-14 4-27 4-19 4-11
	4-30 4-15 5-05 4-27 4-11 5-01 4-23 4-08 4-27 4-19
	4-04 4-24 4-15 5-05 4-20 4-12 5-01 4-16 4-08 4-28
	4-19 5-02 4-24 4-16 5-05 4-20 4-12 5-02 4-16 4-08
	4-28 4-13 5-02 4-24 4-09 4-29 4-20 4-05 4-25 4-17
	5-06 4-21 4-13 5-03 4-24 4-09 4-29 4-21 4-05 4-25
	4-17`
)

// published returns the days of Easter by year, for each feast.
func published() (days [3]map[int]time.Time) {
	for f, text := range map[feast]string{easter: publishedEasters, orthodoxEaster: publishedOrthodoxEasters} {
		days[f] = map[int]time.Time{}
		for i, day := range strings.Fields(text) {
			month, inMonth := 0, 0
			if _, err := fmt.Sscanf(day, "%d-%d", &month, &inMonth); err != nil {
				panic(err)
			}
			days[f][1990+i] = time.Date(1990+i, time.Month(month), inMonth, 0, 0, 0, 0, time.UTC)
		}
	}
	return days
}

func TestEasterIsOnThePublishedDays(t *testing.T) {
	days := published()
	want := map[feast]map[int]time.Time{easter: days[easter], orthodoxEaster: days[orthodoxEaster]}
	// Meeus, Astronomical Algorithms, chapter 8; and the earliest and the latest days, which all tables of Easter list.
	for _, day := range strings.Fields("1818-03-22 1954-04-18 1598-03-22 1693-03-22 1761-03-22 2285-03-22 1666-04-25 1734-04-25 1886-04-25 1943-04-25 2190-04-25 2258-04-25") {
		at, _ := time.Parse(time.DateOnly, day)
		want[easter][at.Year()] = at
	}
	if n := len(want[easter]) + len(want[orthodoxEaster]); n != 61+12+61 {
		t.Fatalf("%d days", n)
	}
	for f, days := range want {
		for year, day := range days {
			march := time.Date(year, 3, 1, 0, 0, 0, 0, time.UTC)
			if got := march.AddDate(0, 0, int(easterOf(int64(year))[f-easter])); !got.Equal(day) {
				t.Errorf("%s of %d: got %s, want %s", feastWords[f], year, got.Format(time.DateOnly), day.Format(time.DateOnly))
			}
		}
	}
	// Julian dates from the same tests of python-dateutil, and from Meeus. The Gregorian calendar had 7 to 9 more days then.
	for _, day := range strings.Fields("1049-03-26 1058-04-19 1113-04-06 1119-03-30 1242-04-20 1243-04-12 1255-03-28 1257-04-08 1258-03-24 1261-04-24 1278-04-17 1333-04-04 " +
		"1351-04-17 1371-04-06 1391-03-26 1402-03-26 1412-04-03 1439-04-05 1445-03-28 1531-04-09 1555-04-14") {
		at, _ := time.Parse(time.DateOnly, day)
		year := int64(at.Year())
		if got := at.YearDay() - time.Date(at.Year(), 3, 1, 0, 0, 0, 0, time.UTC).YearDay() + int(year/100-year/400-2); got != int(julianEaster(year)) {
			t.Errorf("Julian Easter of %d: got %d days from 1 March, want %d", year, julianEaster(year), got)
		}
	}
}

// Easter is a Sunday from 22 March to 25 April in every year. In the 5,700,000 years of its cycle each day has the known number of years.
func TestEasterHasTheKnownCycle(t *testing.T) {
	count := map[int64]int{}
	for year := range int64(5_700_000) {
		day := gregorianEaster(1_900_000 + year)
		if count[day]++; year < 1000 && weekdayOfDay(firstDayOf((1600+year)*12+2)+gregorianEaster(1600+year)) != 6 {
			t.Fatalf("%d: %d is no Sunday", 1600+year, gregorianEaster(1600+year))
		}
	}
	// 22 March is the rarest day, and 19 April the most frequent one.
	if len(count) != 35 || count[21] != 27_550 || count[55] != 42_000 || count[49] != 220_400 {
		t.Errorf("%d days: 22 March %d, 25 April %d, 19 April %d", len(count), count[21], count[55], count[49])
	}
	for year := int64(1890); year <= 2610; year++ {
		if weekdayOfDay(firstDayOf(year*12+2)+julianEaster(year)) != 6 {
			t.Errorf("Orthodox Easter of %d is no Sunday", year)
		}
	}
}

// Easter is searched in the 400 years from the start, like every date. It is on 22 March in 2285 and not again until 2353.
func TestEasterOfTheYearsAfter2199Counts(t *testing.T) {
	r := Recurrence{StartTime: time.Date(2199, 6, 1, 0, 0, 0, 0, time.UTC), Frequency: Day, Only: []Filter{{Dates: []string{"easter"}, MonthDays: []int{22}, Months: []time.Month{time.March}}}}
	if err := r.Validate(); err != nil {
		t.Errorf("22 March 2285: %v", err)
	}
	if s, err := r.Series(r.StartTime); err != nil {
		t.Errorf("22 March 2285: %v", err)
	} else if at, ok := s.First(); ok {
		t.Errorf("the first run is at %s", at)
	}
	r.Only[0].MonthDays = []int{21}
	if err := r.Validate(); codesOf(err) != string(CodeNeverFires) {
		t.Errorf("21 March: %v", err)
	}
}

// A rule whose filters count from Easter runs on the same days as one whose filters have the published dates.
func TestDatesFromEasterAreThePublishedOnes(t *testing.T) {
	days := published()
	begin, end := time.Date(1991, 1, 1, 12, 0, 0, 0, time.UTC), time.Date(2050, 12, 31, 0, 0, 0, 0, time.UTC)
	compared := 0
	for seed := range uint64(60) {
		g := generator{rand.New(rand.NewPCG(seed, 19))}
		rule, plain := Recurrence{StartTime: begin, Frequency: Day}, Recurrence{StartTime: begin, Frequency: Day}
		if g.chance(3) {
			rule.Frequency, rule.Interval, rule.Minutes = Hour, 7, []int{0}
			plain.Frequency, plain.Interval, plain.Minutes = Hour, 7, []int{0}
		}
		for i := range 2 + g.IntN(4) {
			f := g.filter("", []time.Time{begin.AddDate(30, 0, 0)})
			if g.chance(4) {
				f.WeekDays, f.MonthDays, f.MonthlyOccurrences, f.Months = nil, nil, nil, nil
			}
			listed := f
			listed.Dates = slices.Clone(f.Dates)
			for range 1 + g.IntN(2) {
				feast := easter + feast(g.IntN(2))
				first := g.IntN(2*maxFromEaster+1) - maxFromEaster
				last := min(first+pick(g.Rand, 0, 0, 1, 7, 40, 140), maxFromEaster)
				entry := dateEntry{feast: feast, yearly: true, first: int64(first), last: int64(last)}
				f.Dates = append(f.Dates, entry.String())
				for _, day := range days[feast] {
					listed.Dates = append(listed.Dates, day.AddDate(0, 0, first).Format(time.DateOnly)+"/"+day.AddDate(0, 0, last).Format(time.DateOnly))
				}
			}
			if i > 0 && g.chance(2) {
				rule.Only, plain.Only = append(rule.Only, f), append(plain.Only, listed)
			} else {
				rule.Except, plain.Except = append(rule.Except, f), append(plain.Except, listed)
			}
		}
		got, err := rule.Series(begin)
		want, errPlain := plain.Series(begin)
		if err != nil || errPlain != nil {
			if (err == nil) != (errPlain == nil) && codesOf(errPlain) != string(CodeNeverFires) {
				t.Errorf("%s: %v, %v", marshal(t, rule), err, errPlain)
			}
			continue
		}
		from := begin.AddDate(g.IntN(55), 0, 0)
		to := from.AddDate(5, 0, 0)
		if to.After(end) {
			to = end
		}
		a, b := slices.Collect(got.Between(from, to)), slices.Collect(want.Between(from, to))
		if !slices.EqualFunc(a, b, time.Time.Equal) {
			t.Fatalf("seed %d: %s\n%d runs, want %d", seed, marshal(t, rule), len(a), len(b))
		}
		if len(a) > 0 {
			compared++
		}
	}
	if compared < 30 {
		t.Errorf("%d rules have runs", compared)
	}
}
