package recurrence

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// timeRanges returns filters whose times are n ranges of the same number of seconds, one every step seconds, beginning with the first.
func timeRanges(n, first, length, step int) (filters []Filter) {
	clock := func(second int) string { return fmt.Sprintf("%02d:%02d:%02d", second/3600, second/60%60, second%60) }
	for i := range n {
		if i%100 == 0 {
			filters = append(filters, Filter{})
		}
		begin := first + i*step
		f := &filters[len(filters)-1]
		f.Times = append(f.Times, clock(begin)+"/"+clock(begin+length-1))
	}
	return filters
}

// The search for a match skips any number of days and open times without one. A search that visits every open time or every point of the interval
// needs seconds or minutes for each of these rules.
func TestRulesWithoutARunAreRefusedHoweverManyTimesAreOpen(t *testing.T) {
	leapSunday := Filter{MonthDays: []int{29}, Months: []time.Month{time.February}, WeekDays: []time.Weekday{time.Sunday}}
	for name, r := range map[string]Recurrence{
		"every point is closed":            {Frequency: Second, Interval: 30, Except: timeRanges(2880, 0, 1, 30)},
		"every time of each day is closed": {Frequency: Day, Seconds: []int{0, 30}, Except: timeRanges(2880, 0, 1, 30)},
		"every second minute":              {Frequency: Minute, Interval: 2, Only: timeRanges(720, 60, 60, 120)},
		"seconds of minutes":               {Frequency: Minute, Seconds: []int{10}, Except: timeRanges(1440, 10, 1, 60)},
		"minutes of hours":                 {Frequency: Hour, Minutes: []int{10}, Except: timeRanges(24, 600, 60, 3600)},
		"one second, never reached":        {Frequency: Second, Interval: 1000, Only: []Filter{{Times: []string{"03:30:07"}}}},
		"one hour in years to come":        {Frequency: Hour, Interval: 24, Only: []Filter{{Times: []string{"03:30"}, Dates: []string{"2190-01-01/2199-12-31"}}}},
		"no such day":                      {Frequency: Year, Interval: 1000, Positions: []int{-366}, Only: []Filter{leapSunday}},
		"no day with times that are open": {Frequency: Day, Shift: ShiftNearest, Only: []Filter{{WeekDays: []time.Weekday{time.Monday}, Times: []string{"01:00"}}},
			Also: slices.Repeat([]Recurrence{{Cron: "22 14 * * *"}}, 16)},
		"all times closed, some by each filter": {Frequency: Day, Hours: []int{9, 14}, Shift: ShiftNearest, Only: []Filter{{WeekDays: []time.Weekday{time.Monday}}},
			Except: []Filter{{Times: []string{"09:00/09:59"}}, {Times: []string{"14:00/14:59"}}}, Also: slices.Repeat([]Recurrence{{Cron: "22 9,14 * * *"}}, 16)},
		"Easter in the month after its last day": {Frequency: Day, Only: []Filter{{Dates: []string{"easter"}, MonthDays: []int{26, 27, 28, 29, 30}, Months: []time.Month{time.April}}}},
		"counted too far":                        {Frequency: Month, MonthDays: []int{1}, ShiftBy: 1, Only: []Filter{{MonthDays: []int{31}, Months: []time.Month{time.July}}}, Months: []time.Month{time.March}},
		"moved too far":                          {Frequency: Month, MonthDays: []int{1}, Shift: ShiftNext, Only: []Filter{{MonthDays: []int{31}, Months: []time.Month{time.December}, Dates: []string{"2026-01-01/2026-06-30"}}}},
	} {
		r.StartTime = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
		if _, err := r.Series(r.StartTime); codesOf(err) != string(CodeNeverFires) {
			t.Errorf("%s: %v, want %s", name, err, CodeNeverFires)
		}
	}
}

// A search ends with the right match even if nearly everything is closed for centuries.
func TestASearchPassesOverCenturiesThatAreClosed(t *testing.T) {
	date := func(text string) time.Time {
		at, err := time.Parse(time.DateTime, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, c := range []struct {
		rule       Recurrence
		zone       string
		next, prev string
	}{
		{Recurrence{Frequency: Day, Only: []Filter{{Dates: []string{"2026-01-02", "2199-12-31"}}}}, "", "2199-12-31 00:00:00", "2026-01-02 00:00:00"},
		{Recurrence{Frequency: Second, Interval: 7, Only: []Filter{{Dates: []string{"2026-01-01", "2199-12-31"}, Times: []string{"12:00:00/12:00:06"}}}}, "America/New_York", "2199-12-31 17:00:06", "2026-01-01 17:00:01"},
		{Recurrence{Frequency: Month, MonthDays: []int{15}, Shift: ShiftPreviousInMonth, Only: []Filter{{Dates: []string{"2026-01-10", "2199-12-14"}}}}, "", "2199-12-14 00:00:00", "2026-01-10 00:00:00"},
		{Recurrence{Frequency: Day, Hours: []int{14}, Minutes: []int{22}, Shift: ShiftNearest, Also: slices.Repeat([]Recurrence{{Cron: "22 14 * * *"}}, 16), Only: []Filter{
			{WeekDays: []time.Weekday{time.Monday, time.Tuesday}, Times: []string{"00:00/00:30"}}, {Dates: []string{"2026-01-05", "2199-12-05"}}}}, "", "2199-12-05 14:22:00", "2026-01-05 14:22:00"},
		{Recurrence{Frequency: Day, Only: []Filter{{Dates: []string{"easter"}, MonthDays: []int{25}, Months: []time.Month{time.April}}}}, "", "2190-04-25 00:00:00", "2038-04-25 00:00:00"},
		{Recurrence{Frequency: Week, ShiftBy: 1, Only: []Filter{{Dates: []string{"easter"}, MonthDays: []int{25}, Months: []time.Month{time.April}}, {Dates: []string{"2026-03-30", "2199-12-01"}}}},
			"", "2190-04-25 00:00:00", "2038-04-25 00:00:00"},
		{Recurrence{Frequency: Minute, Interval: 7, Seconds: []int{59}, Except: []Filter{{Dates: []string{"2026-01-02/2199-12-30"}}}}, "", "2199-12-31 00:03:59", "2026-01-01 23:55:59"},
	} {
		c.rule.StartTime, c.rule.TimeZone = date("2026-01-01 00:00:00"), c.zone
		s, err := c.rule.Series(c.rule.StartTime)
		if err != nil {
			t.Errorf("%+v: %v", c.rule, err)
			continue
		}
		middle := date("2100-07-01 00:00:00")
		if next, ok := s.Next(middle); !ok || !next.Equal(date(c.next)) {
			t.Errorf("%+v: next %v, %v, want %s", c.rule, next.UTC(), ok, c.next)
		}
		if prev, ok := s.Prev(middle); !ok || !prev.Equal(date(c.prev)) {
			t.Errorf("%+v: prev %v, %v, want %s", c.rule, prev.UTC(), ok, c.prev)
		}
	}
}

// The very first match may lie in the first pass of an hour that the clocks repeat, and the clocks show no earlier match in the second.
func TestPrevFindsTheFirstPassOfARepeatedHour(t *testing.T) {
	for _, c := range []struct{ body, before, want string }{
		{`{"startTime": "2026-10-01", "frequency": "day", "schedule": {"hours": 2, "minutes": 30}, "timeZone": "Europe/Berlin",
			"only": {"dates": "2026-10-25"}, "clockChanges": "shown"}`, "2026-10-25T02:30:00+01:00", "2026-10-25T02:30:00+02:00"},
		{`{"startTime": "2026-10-01", "frequency": "day", "schedule": {"hours": 2, "minutes": 30}, "timeZone": "Europe/Berlin",
			"only": {"dates": "2026-10-25"}, "clockChanges": "shown"}`, "2026-10-25T02:10:00+01:00", "2026-10-25T02:30:00+02:00"},
		{`{"startTime": "2020-10-25T00:00", "frequency": "year", "schedule": {"minutes": [30]}, "timeZone": "Atlantic/Azores"}`,
			"2020-10-25T00:30:00-01:00", "2020-10-25T00:30:00Z"},
	} {
		before, err := time.Parse(time.RFC3339, c.before)
		if err != nil {
			t.Fatal(err)
		}
		s, err := MustParse(c.body).Series(before)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := s.Prev(before); !ok || got.Format(time.RFC3339) != c.want {
			t.Errorf("%s: before %s got %v, %v, want %s", c.body, c.before, got, ok, c.want)
		}
	}
}

// Filters that leave other times open on every kind of day are limited: no person writes that many.
func TestFiltersThatCombineInTooManyWaysAreRefused(t *testing.T) {
	var many []Filter
	for i := range 20 {
		f := timeRanges(100, i, 1, 800)[0]
		for day := 1; day <= 28; day++ {
			f.Dates = append(f.Dates, time.Date(2026, 1, 1+day*(i+1)%365, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
		}
		many = append(many, f)
	}
	r := Recurrence{StartTime: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Frequency: Day, Except: many}
	if _, err := r.Series(r.StartTime); err != nil {
		t.Errorf("some hundred kinds of days: %v", err)
	}
	for i := range r.Except {
		r.Except[i].Dates = nil
		for n := range 1000 {
			if n>>(i%10)&1 == i/10 {
				r.Except[i].Dates = append(r.Except[i].Dates, time.Date(2026, 1, 1+n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
			}
		}
	}
	small := Recurrence{StartTime: r.StartTime, Frequency: Day, Except: yearlyKinds()}
	if _, err := small.Series(r.StartTime); describeErrors(err) != "filter_size|except|" {
		t.Errorf("a kind for each of some thousand days of every year: %v, want %s", err, CodeFilterSize)
	}
	if err := small.Validate(); describeErrors(err) != "filter_size|except|" {
		t.Errorf("Validate: %v, want %s", err, CodeFilterSize)
	}
	for field, filters := range map[string][2][]Filter{"except": {r.Only, r.Except}, "only": {r.Except, r.Only}} {
		_, err := Recurrence{Only: filters[0], Except: filters[1]}.compileCalendars()
		var refusal *Error
		if !errors.As(err, &refusal) || refusal.Code != CodeFilterSize || refusal.Field != field {
			t.Errorf("a kind for each of a thousand days in %s: %v, want %s there", field, err, CodeFilterSize)
		}
	}
}

// yearlyKinds returns filters of which every day of the month, of the week and of the year fits another combination.
func yearlyKinds() (filters []Filter) {
	for i := range maxFilters {
		f := timeRanges(50, i, 1, 800)[0]
		switch {
		case i < 7:
			f.WeekDays = []time.Weekday{time.Weekday(i)}
		case i < 12:
			for day := 1; day <= 31; day++ {
				if day>>(i-7)&1 == 1 {
					f.MonthDays = append(f.MonthDays, day)
				}
			}
		case i < 24:
			f.Months = []time.Month{time.Month(i - 11)}
		default:
			f.MonthDays = []int{23 - i}
		}
		filters = append(filters, f)
	}
	return filters
}

// A run that a gap moves to a closed time is dropped, even if no open time follows.
func TestAMovedRunThatLandsOnTheLastClosedTimeIsDropped(t *testing.T) {
	for _, c := range []struct {
		times string
		want  []string
	}{
		{"00:00/02:59", []string{"2026-03-28 01:30:00"}},
		{"00:00/03:29", []string{"2026-03-28 01:30:00"}},
		{"00:00/03:30", []string{"2026-03-28 01:30:00", "2026-03-29 01:30:00"}},
	} {
		r := Recurrence{StartTime: on("2026-03-27 12:00:00"), Frequency: Day, Hours: []int{2}, Minutes: []int{30}, TimeZone: "Europe/Berlin",
			Only: []Filter{{Dates: []string{"2026-03-28/2026-03-29"}, Times: []string{c.times}}}}
		s, err := r.Series(r.StartTime)
		if err != nil {
			t.Fatal(err)
		}
		var want []time.Time
		for _, text := range c.want {
			want = append(want, on(text))
		}
		if got := firstRuns(s, 3); !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Errorf("%s: got %v, want %v", c.times, got, want)
		}
		last, ok := s.Prev(on("2030-01-01 00:00:00"))
		if !ok || !last.Equal(want[len(want)-1]) {
			t.Errorf("%s: the last is %v, %v, want %v", c.times, last, ok, want[len(want)-1])
		}
		r.StartTime = on("2026-03-28 12:00:00") // the moved run is the only one
		if _, err := r.Series(r.StartTime); (codesOf(err) == string(CodeNeverFires)) != (len(want) == 1) || len(want) == 2 && err != nil {
			t.Errorf("%s: from the day before: %v, want a run only if it may land", c.times, err)
		}
	}
}

// A rule that opens again in the year 2200 is not a mistake, and has no runs.
func TestARuleWhoseOpenDaysBeginBeyondTheHorizonHasNoRuns(t *testing.T) {
	for _, frequency := range []Frequency{Second, Minute, Hour, Day} {
		r := Recurrence{StartTime: on("2199-12-01 00:00:00"), Frequency: frequency, TimeZone: "Europe/Berlin", Only: []Filter{{Dates: []string{"01-15"}}}}
		s, err := r.Series(r.StartTime)
		if err != nil {
			t.Errorf("%v: %v", frequency, err)
			continue
		}
		if next, ok := s.Next(r.StartTime); ok {
			t.Errorf("%v: next is %v", frequency, next)
		}
		if prev, ok := s.Prev(on("2300-01-01 00:00:00")); ok {
			t.Errorf("%v: prev is %v", frequency, prev)
		}
	}
}

// Neither search allocates, with any calendar.
func TestSearchesUnderACalendarAllocateNothing(t *testing.T) {
	for seed := range uint64(300) {
		r, created, from := drawnCalendar(seed)
		s, err := r.Series(created)
		if err != nil {
			continue
		}
		if n := testing.AllocsPerRun(5, func() { s.Next(from) }); n != 0 {
			t.Errorf("%+v: Next allocates %v times", r, n)
		}
		if n := testing.AllocsPerRun(5, func() { s.Prev(from) }); n != 0 {
			t.Errorf("%+v: Prev allocates %v times", r, n)
		}
	}
}

func drawnCalendar(seed uint64) (r Recurrence, created, from time.Time) {
	g := generator{rand.New(rand.NewPCG(seed, 11))}
	return g.drawCalendar()
}

// Days on which the same times are open are of one type, whichever filters fit them: otherwise every rule would compute the same for each of them.
func TestDaysWithTheSameOpenTimesAreOfOneType(t *testing.T) {
	except := []Filter{{Times: []string{"08:00/18:00"}}}
	only := []Filter{{Times: []string{"00:00/23:59"}}}
	for i := range 8 {
		f := Filter{Times: []string{fmt.Sprintf("09:%02d", i)}}
		for day := 1; day <= 31; day++ {
			if (day+i*7)>>(i%5)&1 == 1 {
				f.MonthDays = append(f.MonthDays, day)
			}
		}
		except = append(except, f)
		only = append(only, f)
	}
	for _, filters := range [][2][]Filter{{nil, except}, {only, nil}, {append(only, Filter{Months: []time.Month{2}}), nil}} {
		left := maxSteps
		c := newCalendar(calendarFilters{only: filters[0], except: filters[1]}, &left)
		if len(c.windows) != 1 {
			t.Errorf("%d filters of only, %d of except: %d types of days, want 1", len(filters[0]), len(filters[1]), len(c.windows))
		}
	}
}

// A run next to New Year does not end a search in the year after it, which has no day of the rule, though other years have days near clock changes.
func TestAYearWithoutDaysAfterARunNextToNewYearIsPassed(t *testing.T) {
	r := Recurrence{StartTime: on("2019-02-01 00:00:00"), Frequency: Day, Hours: []int{9}, Minutes: []int{0}, TimeZone: "America/New_York", Only: []Filter{{}}}
	var want []string
	for year := 2020; year < 2060; year += 2 {
		change := time.Date(year, 3, 8, 0, 0, 0, 0, time.UTC)
		for change.Weekday() != time.Sunday {
			change = change.AddDate(0, 0, 1)
		}
		want = append(want, change.Format(time.DateOnly), fmt.Sprintf("%d-12-31", year))
	}
	r.Only[0].Dates = want
	s, err := r.Series(r.StartTime)
	if err != nil {
		t.Fatal(err)
	}
	var got, back []string
	for _, at := range firstRuns(s, len(want)) {
		got = append(got, at.Format(time.DateOnly))
	}
	for at, ok := s.Prev(on("2190-01-01 00:00:00")); ok; at, ok = s.Prev(at) {
		back = append(back, at.Format(time.DateOnly))
	}
	slices.Reverse(back)
	if !slices.Equal(got, want) || !slices.Equal(back, want) {
		t.Errorf("got  %v\nback %v\nwant %v", got, back, want)
	}
}

// A year whose only run is next to New Year is found, though many other years have days whose runs a clock change drops.
func TestARunNextToNewYearIsFoundAmongDroppedRuns(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Sydney"} {
		for _, day := range []string{"2099-12-30", "2099-12-31", "2100-01-01", "2100-01-02"} {
			loc, err := time.LoadLocation(zone)
			if err != nil {
				t.Fatal(err)
			}
			r := Recurrence{StartTime: on("1990-02-01 00:00:00"), Frequency: Day, Hours: []int{2}, Minutes: []int{30}, TimeZone: zone, ClockChanges: ClockSkip,
				Only: []Filter{{Dates: []string{day}}}}
			for at := r.StartTime; at.Year() < 2200; at = at.AddDate(0, 0, 1) {
				begin := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, loc)
				if _, offset := begin.Zone(); begin.AddDate(0, 0, 1).Sub(begin) < 24*time.Hour && offset != 0 && len(r.Only[0].Dates) < 200 {
					r.Only[0].Dates = append(r.Only[0].Dates, at.Format(time.DateOnly))
				}
			}
			if len(r.Only[0].Dates) < 100 {
				t.Fatalf("%s: found only %d clock changes", zone, len(r.Only[0].Dates))
			}
			s, err := r.Series(r.StartTime)
			if err != nil {
				t.Errorf("%s, %s: %v", zone, day, err)
				continue
			}
			want := day + " 02:30:00"
			if next, ok := s.Next(on("2050-01-01 00:00:00")); !ok || next.Format(time.DateTime) != want {
				t.Errorf("%s: next %v, %v, want %s", zone, next, ok, want)
			}
			if prev, ok := s.Prev(on("2150-01-01 00:00:00")); !ok || prev.Format(time.DateTime) != want {
				t.Errorf("%s: prev %v, %v, want %s", zone, prev, ok, want)
			}
		}
	}
}
