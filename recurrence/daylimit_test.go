package recurrence

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
)

// days returns filters for Days.
func (g generator) days(near ...time.Time) (list []Filter) {
	for range 1 + g.IntN(3) {
		f := g.filter("", near)
		if f.Times = nil; g.chance(2) {
			f = g.ofYear(Filter{})
		}
		if len(f.WeekDays)+len(f.MonthDays)+len(f.MonthlyOccurrences)+len(f.Months)+len(f.Dates) == 0 {
			f = g.ofYear(f)
		}
		list = append(list, f)
	}
	return list
}

// limited returns a rule with Days, in one of the zones.
func (g generator) limited() Recurrence {
	start := time.Date(2020+g.IntN(10), time.Month(1+g.IntN(12)), 1+g.IntN(28), 12, 0, 0, 0, time.UTC)
	r := Recurrence{Frequency: Day + Frequency(g.IntN(4)), StartTime: start, Hours: []int{9}, Minutes: []int{0}, TimeZone: engineZones[g.IntN(len(engineZones))]}
	r.Days = g.days(start.AddDate(g.IntN(5), 0, 0))
	if g.chance(2) {
		r.Interval = 1 + g.IntN(3)
	}
	switch {
	case r.Frequency == Week && g.chance(2):
		r.WeekDays = []time.Weekday{time.Weekday(g.IntN(7)), time.Weekday(g.IntN(7))}
	case r.Frequency == Month && g.chance(2):
		r.MonthDays = append(g.some(1, 31, 10), -1)
	case r.Frequency == Month && g.chance(3):
		r.MonthlyOccurrences = []NthWeekday{{time.Weekday(g.IntN(7)), g.IntN(11) - 5}}
	}
	if g.chance(3) {
		r.WeekStart = WeekStart(g.IntN(7))
	}
	if r.Frequency == Week && g.chance(3) {
		r.Days = nil
	}
	if r.Frequency >= Month && g.chance(3) {
		r.Months = []time.Month{time.Month(1 + g.IntN(12)), time.Month(1 + g.IntN(12))}
	}
	if r.Frequency >= Week && g.chance(3) {
		r.Positions = []int{pick(g.Rand, 1, 2, 3, -1, -2)}
	}
	if g.chance(3) {
		r.Except = []Filter{{WeekDays: weekend}, g.filter("", []time.Time{start.AddDate(2, 0, 0)})}
		r.Except[1].Times = nil
		if len(r.Except[1].Dates)+len(r.Except[1].Months)+len(r.Except[1].MonthDays)+len(r.Except[1].WeekDays)+len(r.Except[1].MonthlyOccurrences) == 0 {
			r.Except = r.Except[:1]
		}
		if len(r.Positions) == 0 && g.chance(2) {
			r.Shift = ShiftNext + Shift(g.IntN(6))
		}
	}
	return r
}

// daysOfLimited returns the days of some years on which a rule with Days runs, by a look at each day: the elements name it, or the rule has no elements,
// and it fits one of Days; then positions are counted, and closed days are moved.
func daysOfLimited(r Recurrence, first, last time.Time) (list []time.Time) {
	plain := r
	plain.Positions, plain.Days = []int{1}, nil // brute force names all days of the period then
	b := newBruteRule(plain, r.StartTime)
	weekStart := int(r.WeekStart)
	weeksApart := func(day time.Time) int {
		begin := r.StartTime.In(b.loc)
		begin = time.Date(begin.Year(), begin.Month(), begin.Day(), 0, 0, 0, 0, time.UTC)
		return int(day.AddDate(0, 0, -mondayBased(day, weekStart)).Sub(begin.AddDate(0, 0, -mondayBased(begin, weekStart))).Hours()) / (7 * 24)
	}
	weekday := r.WeekDays
	if len(weekday)+len(r.Days)+len(r.Positions) == 0 {
		weekday = []time.Weekday{b.start.Weekday()}
	}
	filters := bruteFilters(r.Days)
	named := func(day time.Time) bool {
		matches := b.matchesDay(day)
		if r.Frequency == Week {
			matches = weeksApart(day)%max(r.Interval, 1) == 0 && (len(weekday) == 0 || slices.Contains(weekday, day.Weekday()))
		}
		return matches && (len(filters) == 0 || slices.ContainsFunc(filters, func(f bruteFilter) bool { return f.fitsDay(day) && isOfYear(f.Filter, day, weekStart) }))
	}
	period := func(day time.Time) (begin time.Time) {
		switch r.Frequency {
		case Week:
			return day.AddDate(0, 0, -mondayBased(day, weekStart))
		case Month:
			return day.AddDate(0, 0, 1-day.Day())
		}
		return day.AddDate(0, 0, 1-day.YearDay())
	}
	periods := map[time.Time][]time.Time{}
	for day := first.AddDate(-1, 0, 0); day.Before(last.AddDate(1, 0, 0)); day = day.AddDate(0, 0, 1) {
		switch {
		case !named(day):
		case len(r.Positions) > 0 && b.isOpen(day):
			periods[period(day)] = append(periods[period(day)], day)
		case len(r.Positions) > 0:
		case b.isOpen(day):
			list = append(list, day)
		default:
			if open, ok := b.shifted(day); ok {
				list = append(list, open)
			}
		}
	}
	for _, days := range periods {
		for i, day := range days {
			if slices.Contains(r.Positions, i+1) || slices.Contains(r.Positions, i-len(days)) {
				list = append(list, day)
			}
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	list = slices.CompactFunc(list, time.Time.Equal)
	return slices.DeleteFunc(list, func(day time.Time) bool { return day.Before(first) || !day.Before(last) })
}

func TestDaysLimitARuleBeforePositionsAndCalendar(t *testing.T) {
	seeds, ran := long.Draw(150, 2000), 0
	for _, seed := range seeds {
		g := generator{rand.New(rand.NewPCG(seed, 77))}
		r := g.limited()
		first, last := r.StartTime.Truncate(24*time.Hour).AddDate(0, 0, 2), r.StartTime.Truncate(24*time.Hour).AddDate(7, 0, 0)
		s, err := r.Series(r.StartTime)
		want := daysOfLimited(r, first, last)
		if codesOf(err) == string(CodeNeverFires) && len(want) == 0 {
			continue
		}
		if err != nil {
			t.Errorf("seed %d: %s\n%v", seed, marshal(t, r), err)
			continue
		}
		checkRoundTrip(t, r)
		checkWording(t, r)
		checkTextForm(t, r)
		var got, back []time.Time
		first, last = first.AddDate(0, 0, -1), last.AddDate(0, 0, 1) // in every zone
		for at := range s.Between(first, last) {
			got = append(got, dayOf(shown(at)))
		}
		for at, ok := s.Prev(last); ok && !at.Before(first); at, ok = s.Prev(at) {
			back = append(back, dayOf(shown(at)))
		}
		slices.Reverse(back)
		outside := func(day time.Time) bool {
			return day.Before(first.AddDate(0, 0, 1)) || !day.Before(last.AddDate(0, 0, -1))
		}
		got, back = slices.DeleteFunc(got, outside), slices.DeleteFunc(back, outside)
		if len(want) > 0 {
			ran++
		}
		if !slices.EqualFunc(got, want, time.Time.Equal) || !slices.EqualFunc(back, want, time.Time.Equal) {
			t.Errorf("seed %d: %s\ngot  %v\nback %v\nwant %v", seed, marshal(t, r), got[:min(8, len(got))], back[:min(8, len(back))], want[:min(8, len(want))])
		}
	}
	if ran < len(seeds)/3 {
		t.Errorf("%d of %d rules ran", ran, len(seeds))
	}
}

// A rule of elapsed time runs at its points whose local day fits, with its calendar.
func TestDaysLimitElapsedTime(t *testing.T) {
	seeds, ran := long.Draw(60, 600), 0
	for _, seed := range seeds {
		g := generator{rand.New(rand.NewPCG(seed, 78))}
		start := time.Date(2026, time.Month(1+g.IntN(12)), 1+g.IntN(28), g.IntN(24), g.IntN(60), 0, 0, time.UTC)
		r := Recurrence{Frequency: pick(g.Rand, Second, Minute, Hour), Interval: 1 + g.IntN(900), StartTime: start, TimeZone: engineZones[g.IntN(len(engineZones))]}
		if r.Days = g.days(start); g.chance(2) {
			r.Except = g.filters(r.TimeZone, []time.Time{start})
		}
		if g.chance(3) {
			r.Hours = g.some(0, 23, 8)
		}
		plain := r
		if plain.Days = nil; r.Frequency == Hour && r.Hours == nil {
			plain.Hours = upTo(0, 23, 1) // as with every schedule, the minute of the clock is that of the start
		}
		oracle := newBruteForce(plain, start)
		from, to := start, start.Add(min(oracle.window(), 40*24*time.Hour))
		filters := bruteFilters(r.Days)
		want := slices.DeleteFunc(oracle.between(from, to), func(at time.Time) bool {
			day := dayOf(shown(at.In(oracle.loc)))
			return !slices.ContainsFunc(filters, func(f bruteFilter) bool { return f.fitsDay(day) && isOfYear(f.Filter, day, 0) })
		})
		s, err := r.Series(start)
		if codesOf(err) == string(CodeNeverFires) && len(want) == 0 {
			continue
		}
		if err != nil {
			t.Errorf("seed %d: %s\n%v", seed, marshal(t, r), err)
			continue
		}
		checkRoundTrip(t, r)
		checkTextForm(t, r)
		if len(want) > 0 {
			ran++
		}
		if got := slices.Collect(s.Between(from, to)); !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Errorf("seed %d: %s\ngot  %v\nwant %v", seed, marshal(t, r), got[:min(5, len(got))], want[:min(5, len(want))])
		}
	}
	if ran < len(seeds)/4 {
		t.Errorf("%d of %d rules ran", ran, len(seeds))
	}
}

// Each rule has its own Days.
func TestARuleOfAlsoHasItsOwnDays(t *testing.T) {
	r := MustParse(`{"startTime":"2026-01-01T09:00:00Z","frequency":"year","schedule":{"days":{"months":1,"monthlyOccurrences":{"day":"monday","occurrence":1}}},
		"also":[{"frequency":"day","schedule":{"days":[{"weeks":10,"weekDays":"tuesday"}]}},{"frequency":"hour","interval":12,"schedule":{"days":{"dates":"02-02"}}}]}`)
	s, err := r.Series(r.StartTime)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, at := range firstRuns(s, 6) {
		got = append(got, at.Format("2006-01-02 15"))
	}
	if want := []string{"2026-01-05 09", "2026-02-02 09", "2026-02-02 21", "2026-03-03 09", "2027-01-04 09", "2027-02-02 09"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := r.String(), "Every year, on the first Monday of January, at 09:00 UTC, starting on 1 January 2026; also every 12 hours, if that is on 2 February; "+
		"also every day, if that is on Tuesday in week 10, at the time of the start"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
