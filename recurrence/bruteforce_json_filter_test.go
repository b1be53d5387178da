package recurrence_test

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A modelFilter is a filter with its texts read. begin is the weekday on which its weeks begin.
type modelFilter struct {
	jsonFilter
	begin string
	dates []func(n int, day *modelDay) bool
	times [][2]int // seconds of the day, both included
	known map[int]bool
}

func modelFilters(filters []jsonFilter, begin string) (list []*modelFilter) {
	for _, f := range filters {
		m := &modelFilter{jsonFilter: f, begin: begin, known: map[int]bool{}}
		for _, entry := range f.Dates {
			m.dates = append(m.dates, readDates(entry))
		}
		for _, entry := range f.Times {
			from, to := endsOf(entry)
			m.times = append(m.times, [2]int{secondOfDay(from, ":00"), secondOfDay(to, ":59")})
		}
		list = append(list, m)
	}
	return list
}

func endsOf(entry string) (from, to string) {
	from, to, ranged := strings.Cut(entry, "/")
	if !ranged {
		to = from
	}
	return from, to
}

func secondOfDay(text, missing string) int {
	if len(text) == len("09:00") {
		text += missing
	}
	t, err := time.Parse(time.TimeOnly, text)
	if err != nil {
		panic(err)
	}
	return t.Hour()*3600 + t.Minute()*60 + t.Second()
}

// readDates returns the test of an entry of dates.
func readDates(entry string) func(n int, day *modelDay) bool {
	from, to := endsOf(entry)
	for _, name := range []string{"orthodoxEaster", "easter"} {
		if !strings.HasPrefix(from, name) {
			continue
		}
		first, last := offsetAfter(name, from), offsetAfter(name, to)
		return func(_ int, day *modelDay) bool {
			since := day.sinceEaster
			if name == "orthodoxEaster" {
				since = day.sinceOrthodox
			}
			return first <= since && since <= last
		}
	}
	read := func(text string) int {
		t, err := time.Parse(time.DateOnly, text)
		if err != nil {
			panic(err)
		}
		return int(t.Unix() / 86400)
	}
	if len(from) == len(time.DateOnly) {
		first, last := read(from), read(to)
		return func(n int, _ *modelDay) bool { return first <= n && n <= last }
	}
	inYear := func(month, day int) int { return month*100 + day }
	ofText := func(text string) int {
		month, day, _ := strings.Cut(text, "-")
		m, _ := strconv.Atoi(month)
		d, _ := strconv.Atoi(day)
		return inYear(m, d)
	}
	first, last := ofText(from), ofText(to)
	return func(_ int, day *modelDay) bool {
		at := inYear(day.month, day.day)
		if first > last { // over New Year
			return at >= first || at <= last
		}
		return first <= at && at <= last
	}
}

func offsetAfter(name, text string) int {
	text = strings.TrimPrefix(text, name)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

// fitsDay reports whether a day fits all fields of the filter except its times.
func (f *modelFilter) fitsDay(n int) bool {
	if fits, ok := f.known[n]; ok {
		return fits
	}
	fits := f.test(n)
	f.known[n] = fits
	return fits
}

func (f *modelFilter) test(n int) bool {
	day := dayAt(n)
	if len(f.WeekDays) > 0 && !slices.Contains(f.WeekDays, day.weekday) || len(f.Months) > 0 && !slices.Contains(f.Months, day.month) {
		return false
	}
	if len(f.Weeks) > 0 {
		if week, weeks := weekOf(n, f.begin); !counted(f.Weeks, week, weeks) {
			return false
		}
	}
	if len(f.dates) > 0 && !slices.ContainsFunc(f.dates, func(holds func(int, *modelDay) bool) bool { return holds(n, day) }) {
		return false
	}
	return (len(f.MonthDays) == 0 || counted(f.MonthDays, day.day, day.monthLength)) && (len(f.YearDays) == 0 || counted(f.YearDays, day.yearDay, day.yearLength)) &&
		(len(f.MonthlyOccurrences) == 0 || nth(f.MonthlyOccurrences, day.weekday, day.day, day.monthLength)) &&
		(len(f.YearlyOccurrences) == 0 || nth(f.YearlyOccurrences, day.weekday, day.yearDay, day.yearLength))
}

// counted reports whether a list contains the number n of length, counted from the begin or, negative, from the end.
func counted(list []int, n, length int) bool {
	return slices.Contains(list, n) || slices.Contains(list, n-length-1)
}

// nth reports whether a list names a weekday that is day n of a month or a year of a length.
func nth(list []jsonNth, weekday string, n, length int) bool {
	before, after := 1, 1
	for other := n - 7; other >= 1; other -= 7 {
		before++
	}
	for other := n + 7; other <= length; other += 7 {
		after++
	}
	return slices.ContainsFunc(list, func(o jsonNth) bool {
		return o.Day == weekday && (o.Occurrence == 0 || o.Occurrence == before || o.Occurrence == -after)
	})
}

// fitsTime reports whether a second of the day fits the times of the filter. Every second does if it has none.
func (f *modelFilter) fitsTime(second int) bool {
	return len(f.times) == 0 || slices.ContainsFunc(f.times, func(t [2]int) bool {
		if t[0] > t[1] { // over midnight
			return second >= t[0] || second <= t[1]
		}
		return t[0] <= second && second <= t[1]
	})
}
