package recurrence

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
)

// ofYear sets at least one of the fields of a filter that count in the year.
func (g generator) ofYear(f Filter) Filter {
	for len(f.Weeks)+len(f.YearDays)+len(f.YearlyOccurrences) == 0 {
		if g.chance(3) {
			for _, n := range g.some(1, 53, 20) {
				f.Weeks = append(f.Weeks, pick(g.Rand, n, n, -n))
			}
			if g.chance(3) {
				f.Weeks = []int{pick(g.Rand, 1, 52, 53, -1, -52, -53)}
			}
		}
		if g.chance(3) {
			for _, n := range g.some(1, 366, 100) {
				f.YearDays = append(f.YearDays, pick(g.Rand, n, n, -n))
			}
			if g.chance(3) {
				f.YearDays = []int{pick(g.Rand, 1, 59, 60, 61, 365, 366, -1, -365, -366)}
			}
		}
		if g.chance(3) {
			for range 1 + g.IntN(12) {
				f.YearlyOccurrences = append(f.YearlyOccurrences, NthWeekday{time.Weekday(g.IntN(7)), g.IntN(107) - 53})
			}
		}
	}
	return f
}

// isOfYear reports whether a day fits the fields of a filter that count in the year, by counting the days of the year and the Thursdays of the ISO year.
// weekStart is the first day of a week, counted from Monday.
func isOfYear(f Filter, day time.Time, weekStart int) bool {
	length := time.Date(day.Year(), 12, 31, 0, 0, 0, 0, time.UTC).YearDay()
	n := day.YearDay()
	if len(f.YearDays) > 0 && !slices.Contains(f.YearDays, n) && !slices.Contains(f.YearDays, n-length-1) {
		return false
	}
	if nth, back := (n-1)/7+1, -(length-n)/7-1; len(f.YearlyOccurrences) > 0 &&
		!slices.ContainsFunc(f.YearlyOccurrences, func(o NthWeekday) bool { return o.Day == day.Weekday() && (o.N == 0 || o.N == nth || o.N == back) }) {
		return false
	}
	if len(f.Weeks) == 0 {
		return true
	}
	week, weeks := weekOf(day, weekStart)
	return slices.Contains(f.Weeks, week) || slices.Contains(f.Weeks, week-weeks-1)
}

// weeksOf has what weekOf has found: tests ask for the same days again and again.
var weeksOf = map[[2]int64][2]int{}

// weekOf returns the number of a day's week, and the number of weeks in the year of that week.
func weekOf(day time.Time, weekStart int) (week, weeks int) {
	key := [2]int64{day.Unix(), int64(weekStart)}
	if known, ok := weeksOf[key]; ok {
		return known[0], known[1]
	}
	// The fourth day of a week is in the year of the week.
	fourth := day.AddDate(0, 0, 3-mondayBased(day, weekStart))
	week = (fourth.YearDay()-1)/7 + 1
	for at := time.Date(fourth.Year(), 12, 31, 0, 0, 0, 0, time.UTC); weeks == 0; at = at.AddDate(0, 0, -1) {
		if at.Weekday() == fourth.Weekday() {
			weeks = (at.YearDay()-1)/7 + 1
		}
	}
	weeksOf[key] = [2]int{week, weeks}
	return week, weeks
}

// mondayBased returns how many days after the first day of its week a day is.
func mondayBased(day time.Time, weekStart int) int {
	return (int(day.Weekday()) + 6 + 7 - weekStart) % 7
}

func TestWeeksAndDaysOfTheYearAreThoseOfTheCalendar(t *testing.T) {
	if _, week := on("2024-12-30 00:00:00").ISOWeek(); week != 1 || !isOfYear(Filter{Weeks: []int{1}}, on("2024-12-30 00:00:00"), 0) {
		t.Fatal("2024-12-30 is in week 1")
	}
	for _, seed := range long.Draw(60, 200) {
		g := generator{rand.New(rand.NewPCG(seed, 53))}
		f := g.ofYear(Filter{})
		if g.chance(2) {
			f = g.ofYear(g.filter("", []time.Time{on("2026-01-01 00:00:00")}))
			f.Times = nil
		}
		checkOpenDays(t, fmt.Sprintf("seed %d: %+v", seed, f), f, 2200)
		if t.Failed() {
			return
		}
	}
	for n := -53; n <= 53; n++ {
		if n != 0 {
			checkOpenDays(t, fmt.Sprintf("week %d", n), Filter{Weeks: []int{n}}, long.Seeds(2050, 2200)) // weeks begin on each day of the week in 28 years
		}
	}
}

// checkOpenDays compares the open days from 1900 to the beginning of a year with those that fit a filter.
func checkOpenDays(t *testing.T, name string, f Filter, end int) {
	t.Helper()
	left := maxSteps
	c := newCalendar(calendarFilters{only: []Filter{f}}, &left)
	plain := bruteFilters([]Filter{f})[0]
	for day := on("1900-01-01 00:00:00"); day.Year() < end; day = day.AddDate(0, 0, 1) {
		if got, want := c.typeOf(day.Unix()/secondsPerDay) >= 0, plain.fitsDay(day) && isOfYear(f, day, 0); got != want {
			t.Errorf("%s: %s is open: %v, want %v", name, day.Format(time.DateOnly), got, want)
			return
		}
	}
}

// All fields are read, written, and described: another rule has another text.
func TestFieldsOfTheYearAreKept(t *testing.T) {
	texts := map[string]string{}
	for _, seed := range long.Draw(300, 3000) {
		g := generator{rand.New(rand.NewPCG(seed, 366))}
		r := Recurrence{Frequency: Day, Hours: []int{9}, Minutes: []int{0}, Only: []Filter{g.ofYear(Filter{})}}
		if g.chance(2) {
			r.Except = []Filter{g.ofYear(g.filter("", []time.Time{on("2026-01-01 00:00:00")}))}
		}
		if r.Validate() != nil {
			continue // it never fires
		}
		checkRoundTrip(t, r)
		checkWording(t, r)
		checkTextForm(t, r)
		body := marshal(t, r)
		if other, known := texts[r.String()]; known && other != string(body) {
			t.Errorf("one text for two rules: %s\n%s\n%s", r, other, body)
		}
		texts[r.String()] = string(body)
	}
}
