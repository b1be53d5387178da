package recurrence

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Of 10,000 rules with calendars and a neighbor of each, no two that differ have one text.
func TestNoTwoRulesWithCalendarsHaveOneText(t *testing.T) {
	t.Parallel()
	g := generator{rand.New(rand.NewPCG(5, 6))}
	seen := textSeen{}
	for i := range 10_000 {
		r := g.withCalendar()
		seen.compare(t, r)
		seen.compare(t, g.changedCalendar(r))
		if i%8 == 0 {
			seen.add(t, r)
			checkCalendarText(t, r)
		}
	}
	if len(seen) < 15_000 {
		t.Errorf("only %d different rules were described", len(seen))
	}
}

// Rules of few values, so that many run at the same times.
func TestNoTwoCalendarsThatRunAlikeHaveOneText(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(9, 10))
	seen := textSeen{}
	for i := range 10_000 {
		r := alikeCalendar(rng)
		seen.compare(t, r)
		if i%8 == 0 {
			seen.add(t, r)
			checkCalendarText(t, r)
		}
	}
	if len(seen) < 5_000 {
		t.Errorf("only %d different rules were described", len(seen))
	}
}

// alikeCalendar returns a random rule with a calendar of few values: elements that the start would give too, the same days as
// weekdays, dates and days of the month, one filter or two.
func alikeCalendar(rng *rand.Rand) Recurrence {
	r := alikeRule(rng)
	r.Count, r.EndTime = 0, pick(rng, time.Time{}, time.Time{}, time.Time{}, on("2030-01-01 00:00:00"))
	r.Hours = pick(rng, r.Hours, nil, []int{13})
	r.Minutes = pick(rng, nil, nil, []int{30}, []int{0}, upTo(0, 59, 1))
	if r.Cron != "" {
		r.Hours, r.Minutes = nil, nil
	}
	if r.Cron == "" && rng.IntN(3) == 0 {
		r.Seconds = pick(rng, []int{0}, []int{7}, []int{0, 30}, upTo(0, 50, 10), upTo(1, 59, 2), upTo(0, 59, 1))
	}
	if r.Frequency >= Week && rng.IntN(3) == 0 {
		r.Positions = pick(rng, []int{1}, []int{-1}, []int{-1, 1}, []int{1, 2, 3}, []int{-3, -2, -1}, []int{-4, -3, -2})
	}
	filters := func() (list []Filter) {
		for range rng.IntN(3) * rng.IntN(2) {
			f := Filter{
				WeekDays:  pick(rng, nil, nil, []time.Weekday{4}, []time.Weekday{0, 1, 2, 3, 4, 5, 6}),
				MonthDays: pick(rng, nil, nil, nil, []int{29}, []int{-1, 29}, upTo(1, 31, 1)),
				Months:    pick(rng, nil, nil, nil, []time.Month{2}, maskValues[time.Month](1<<13-2)),
				Dates: pick(rng, nil, nil, []string{"02-29"}, []string{"2024-02-29"}, []string{"02-29", "2024-02-29"}, []string{"02-29/02-29"},
					[]string{"2024-02-28/2024-02-29"}, []string{"2024-02-28", "2024-02-29"}, []string{"02-29/02-28"}),
				Times: pick(rng, nil, nil, []string{"13:30"}, []string{"13:30:00"}, []string{"13:30/13:29"}, []string{"13:30/14:00:00"}),
			}
			if filterPhrase(f) != "" { // one that sets nothing is refused
				list = append(list, f)
			}
		}
		return list
	}
	r.Only, r.Except = filters(), filters()
	if hasDays(r) {
		r.ClockChanges = pick(rng, ClockOnce, ClockOnce, ClockOnce, ClockSkip, ClockShown)
		r.Shift = pick(rng, ShiftDrop, ShiftNext, ShiftNextInMonth, ShiftNearest)
	}
	for range rng.IntN(3) * rng.IntN(2) {
		entry := Recurrence{StartTime: on("2024-02-29 13:30:00")}
		if rng.IntN(2) == 0 {
			entry = alikeRule(rng)
			entry.TimeZone, entry.Count = "", 0
		}
		r.Also = append(r.Also, entry)
	}
	return r
}

// withCalendar returns a random rule, mostly with a calendar.
func (g generator) withCalendar() Recurrence {
	zone := engineZones[g.IntN(len(engineZones))]
	r, near := g.rule(zone), []time.Time{on("2026-12-25 00:00:00")}
	if g.chance(2) {
		r.StartTime = g.instant(zone)
		near = append(near, r.StartTime)
	}
	return g.calendar(r, near...)
}

// Each field of a rule, of its filters and of its additions is in the text: changed alone, it changes the text.
func TestEveryChangeOfACalendarChangesItsText(t *testing.T) {
	t.Parallel()
	start := on("2026-08-03 12:25:00") // a Monday
	full := Filter{WeekDays: []time.Weekday{1}, MonthDays: []int{3}, MonthlyOccurrences: []NthWeekday{{1, 1}}, Months: []time.Month{8},
		Dates: []string{"2026-08-03", "08-10"}, Times: []string{"12:00/13:00"}}
	days := Filter{WeekDays: []time.Weekday{0, 6}}
	weekly := Recurrence{Frequency: Week, Hours: []int{12}, Minutes: []int{25}}
	g := generator{rand.New(rand.NewPCG(7, 8))}
	for _, r := range []Recurrence{
		{Frequency: Second, Seconds: []int{0}}, {Frequency: Minute, Minutes: []int{5}}, {Frequency: Hour}, {Frequency: Day}, {Frequency: Week},
		{Frequency: Month}, {Frequency: Year}, {Cron: "25 12 * * *"}, {Frequency: Week, WeekDays: []time.Weekday{1, 3}, Positions: []int{1}},
		{Frequency: Month, Positions: []int{1, -1}}, {Frequency: Year, Positions: []int{100}, Months: []time.Month{8}},
		{Frequency: Day, Hours: []int{12}, Seconds: []int{0}}, {Frequency: Month, MonthDays: []int{3}, Hours: []int{12}, Minutes: []int{25}},
	} {
		for variant := range 16 {
			if variant&1 > 0 {
				r.StartTime = start
			}
			r.TimeZone, r.Only, r.Except, r.Also = "", nil, nil, nil
			if variant&2 > 0 {
				r.TimeZone = "America/New_York"
			}
			if variant&4 > 0 {
				r.Only, r.Except = []Filter{full}, []Filter{days}
			}
			if variant&8 > 0 {
				r.Also = []Recurrence{weekly, {StartTime: start.Add(time.Hour)}}
			}
			seen := textSeen{}
			seen.add(t, r)
			for range 40 {
				seen.compare(t, g.changedCalendar(r))
			}
			checkCalendarText(t, r)
		}
	}
}

// changedCalendar returns a rule with one thing changed that a calendar may have.
func (g generator) changedCalendar(r Recurrence) Recurrence {
	switch g.IntN(10) {
	case 0:
		r.Seconds = g.changedList(r.Seconds, 0, 59)
	case 1:
		if r.Positions = g.changedList(r.Positions, -7, 7); slices.Contains(r.Positions, 0) {
			r.Positions = []int{1, 2, 3}
		}
	case 2:
		r.Only = g.changedFilters(r.Only)
	case 3:
		r.Except = g.changedFilters(r.Except)
	case 4:
		r.Only, r.Except = r.Except, r.Only
	case 5:
		r.Shift = Shift(g.IntN(7))
	case 6:
		r.ClockChanges = ClockChanges(g.IntN(3))
	case 7, 8:
		r.Also = g.changedAlso(r)
	default:
		r = g.changed(r)
	}
	return r
}

func (g generator) changedFilters(list []Filter) []Filter {
	list = slices.Clone(list)
	near := []time.Time{on("2026-12-25 00:00:00")}
	if len(list) == 0 || g.chance(5) {
		return append(list, g.filter("", near))
	}
	at := g.IntN(len(list))
	f := &list[at]
	other := g.filter("", near)
	switch g.IntN(9) {
	case 0:
		return slices.Delete(list, at, at+1)
	case 1:
		f.WeekDays = append(other.WeekDays, time.Weekday(g.IntN(7)))
	case 2:
		f.MonthDays = g.changedList(f.MonthDays, 1, 31)
	case 3:
		f.MonthlyOccurrences = other.MonthlyOccurrences
	case 4:
		f.Months = other.Months
	case 5:
		f.Dates = append(slices.Clone(f.Dates), g.dates(near))
	case 6:
		f.Dates = other.Dates
	case 7:
		f.Times = other.Times
	case 8: // two filters for one
		list = append(list, Filter{Dates: f.Dates, Times: f.Times})
		list[at].Dates, list[at].Times = nil, nil
	}
	return list
}

func (g generator) changedAlso(r Recurrence) []Recurrence {
	list := slices.Clone(r.Also)
	if len(list) == 0 || g.chance(4) {
		return append(list, g.also(r, []time.Time{on("2026-12-25 00:00:00")})...)
	}
	at := g.IntN(len(list))
	switch entry := &list[at]; g.IntN(6) {
	case 0:
		return slices.Delete(list, at, at+1)
	case 1:
		entry.StartTime = r.StartTime
	case 2:
		entry.StartTime = entry.StartTime.Add(pick(g.Rand, time.Second, time.Hour, 24*time.Hour))
	case 3:
		entry.Seconds = g.changedList(entry.Seconds, 0, 59)
	default:
		*entry = g.changed(*entry)
		entry.Count, entry.TimeZone = 0, ""
	}
	return list
}

var quotedCron = regexp.MustCompile(`\(cron "[^"]*"\)`)

// checkCalendarText checks the form of a text: single spaces and commas, parentheses in pairs, the zone named once, and the same text
// for the same rule written in another way.
func checkCalendarText(t *testing.T, r Recurrence) {
	t.Helper()
	if checkRule(r) != nil {
		return
	}
	text := r.String()
	bare := quotedCron.ReplaceAllString(text, "(cron)")
	if strings.Contains(bare, "  ") || strings.Contains(bare, ", ,") || strings.Contains(text, ",,") || strings.Contains(text, " ,") ||
		strings.Count(bare, "(") != strings.Count(bare, ")") || strings.HasSuffix(text, ",") || strings.HasSuffix(text, " ") {
		t.Errorf("malformed: %s", text)
	}
	zone, least := r.TimeZone, 1
	if zone == "" && !strings.Contains(r.Cron, "TZ=") {
		zone, least = "UTC", 0
	}
	if n := strings.Count(bare, zone); r.TimeZone+zone != "" && zone != "" && (n < least || n > 1) {
		t.Errorf("the zone is named %d times: %s", n, text)
	}
	if again := rewritten(r).String(); again != text {
		t.Errorf("two texts for one rule:\n%s\n%s", text, again)
	}
}

// rewritten returns an equal rule with its lists reversed and doubled, and with ranges of one day and of one minute.
func rewritten(r Recurrence) Recurrence {
	r.Seconds, r.Positions, r.Hours, r.Minutes = doubled(r.Seconds), doubled(r.Positions), doubled(r.Hours), doubled(r.Minutes)
	r.Only, r.Except, r.Also = doubled(r.Only), doubled(r.Except), doubled(r.Also)
	for _, filters := range [][]Filter{r.Only, r.Except} {
		for i := range filters {
			f := &filters[i]
			f.WeekDays, f.MonthDays, f.Months = doubled(f.WeekDays), doubled(f.MonthDays), doubled(f.Months)
			f.MonthlyOccurrences = doubled(f.MonthlyOccurrences)
			f.Dates, f.Times = asRanges(f.Dates), asRanges(f.Times)
		}
	}
	for i := range r.Also {
		r.Also[i].Hours = doubled(r.Also[i].Hours)
		r.Also[i].StartTime = r.Also[i].StartTime.In(time.FixedZone("", 3600))
		if r.Also[i].StartTime.IsZero() {
			r.Also[i].StartTime = time.Time{}
		}
	}
	return r
}

func doubled[T any](list []T) []T {
	list = slices.Concat(list, list)
	slices.Reverse(list)
	return list
}

// asRanges returns entries of dates or times twice: as they are, and as ranges of one.
func asRanges(list []string) []string {
	var both []string
	for _, text := range list {
		if !strings.Contains(text, "/") {
			both = append(both, text+"/"+text)
		}
		both = append(both, text)
	}
	return doubled(both)
}

// The entries of dates and times that mean the same have one text, and those that are close do not.
func TestDatesAndTimesHaveOneTextEach(t *testing.T) {
	daily := func(f Filter) string { return Recurrence{Frequency: Day, Except: []Filter{f}}.String() }
	for _, same := range [][]string{{"09:00", "09:00/09:00", "09:00:00/09:00:59", "09:00:00/09:00"}, {"09:00:00", "09:00:00/09:00:00"},
		{"09:00/17:00", "09:00:00/17:00:59", "09:00/17:00:59"}, {"09:00:30", "09:00:30/09:00:30"}, {"09:00:30/09:00:59", "09:00:30/09:00"}, {"09:00:30/09:00:00"}, {"09:01/09:00"}} {
		for _, text := range same[1:] {
			if got, want := daily(Filter{Times: []string{text}}), daily(Filter{Times: same[:1]}); got != want {
				t.Errorf("%s: %s, but %s: %s", text, got, same[0], want)
			}
		}
	}
	seen := map[string][]string{}
	for _, list := range [][]string{{"09:00"}, {"09:00:00"}, {"09:00:59"}, {"09:00/17:00"}, {"09:00/17:00:00"}, {"09:00:30/17:00"}, {"09:00:30/09:00:00"},
		{"09:00", "09:01"}, {"09:00/09:01"}, {"00:00/05:59", "22:00/23:59"}, {"22:00/05:59"}, {"09:00:30/09:00:59"}} {
		for _, day := range [][]time.Weekday{nil, {time.Friday}} {
			text := daily(Filter{WeekDays: day, Times: list})
			if other := seen[text]; other != nil {
				t.Errorf("%s is %v and %v", text, list, other)
			}
			seen[text] = list
		}
	}
}

// Rules that run at the same times, or nearly so, have texts of their own.
func TestRulesThatLookAlikeHaveOneTextEach(t *testing.T) {
	start := on("2026-08-31 12:25:05") // a Monday
	day := []time.Weekday{time.Monday}
	every := upTo(0, 59, 1)
	seen := textSeen{}
	for _, r := range []Recurrence{
		{Frequency: Month, StartTime: start, MonthDays: []int{-1}},
		{Frequency: Month, StartTime: start, Positions: []int{-1}},
		{Frequency: Month, StartTime: start, Positions: []int{-1}, MonthDays: upTo(1, 31, 1)},
		{Frequency: Month, StartTime: start, Positions: []int{-1}, MonthDays: upTo(-31, -1, 1)},
		{Frequency: Month, StartTime: start},
		{Frequency: Week, StartTime: start, Positions: []int{1}},
		{Frequency: Week, StartTime: start, Positions: []int{1}, WeekDays: []time.Weekday{0, 1, 2, 3, 4, 5, 6}},
		{Frequency: Week, StartTime: start, Positions: []int{1}, WeekDays: day},
		{Frequency: Week, StartTime: start, WeekDays: day},
		{Frequency: Day, StartTime: start, Hours: []int{12}},
		{Frequency: Day, StartTime: start, Hours: []int{12}, Seconds: []int{5}},
		{Frequency: Day, StartTime: start, Hours: []int{12}, Minutes: []int{25}},
		{Frequency: Day, StartTime: start, Hours: []int{12}, Minutes: []int{25}, Seconds: []int{5}},
		{Frequency: Day, StartTime: start, Hours: []int{12}, Minutes: []int{25}, Seconds: []int{0}},
		{Frequency: Day, StartTime: start, Seconds: []int{0}},
		{Frequency: Day, StartTime: start, Seconds: []int{0}, Minutes: every},
		{Frequency: Day, StartTime: start, Seconds: []int{0}, Minutes: every, Hours: upTo(0, 23, 1)},
		{Frequency: Day, StartTime: start, Minutes: every},
		{Frequency: Day, StartTime: start, Also: []Recurrence{{StartTime: start}}},
		{Frequency: Day, StartTime: start, Also: []Recurrence{{Frequency: Day}}},
		{Frequency: Day, StartTime: start, Also: []Recurrence{{Frequency: Day, StartTime: start}}},
		{Frequency: Day, StartTime: start, Also: []Recurrence{{Frequency: Day, Hours: []int{12}}}},
		{Frequency: Day, StartTime: start, Also: []Recurrence{{Frequency: Day, Hours: []int{12}, Minutes: []int{25}}}},
		{Frequency: Day, StartTime: start, Also: []Recurrence{{Frequency: Day}}, EndTime: start},
		{Frequency: Day, StartTime: start, Also: []Recurrence{{Frequency: Day, EndTime: start}}},
		{StartTime: start}, {StartTime: start, Also: []Recurrence{{StartTime: start.Add(time.Hour)}}},
		{Frequency: Hour, Only: []Filter{{WeekDays: day}, {Months: []time.Month{8}}}},
		{Frequency: Hour, Only: []Filter{{WeekDays: day, Months: []time.Month{8}}}},
		{Frequency: Hour, Only: []Filter{{WeekDays: day}}, Except: []Filter{{Months: []time.Month{8}}}},
		{Frequency: Hour, Except: []Filter{{Months: []time.Month{8}}, {Dates: []string{"08-01/08-31"}}}},
		{Frequency: Hour, Except: []Filter{{Months: []time.Month{8}, Dates: []string{"08-01/08-31"}}}},
		{Frequency: Hour, Except: []Filter{{Dates: []string{"12-25", "2026-12-25"}}}},
		{Frequency: Hour, Except: []Filter{{Dates: []string{"12-25"}}, {Dates: []string{"2026-12-25"}}}},
	} {
		before := len(seen)
		if seen.add(t, r); len(seen) == before {
			t.Errorf("not a text of its own: %s", r)
		}
		checkCalendarText(t, r)
	}
}
