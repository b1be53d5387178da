package recurrence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// on parses an instant in UTC, for tables.
func on(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestStringDescribesTheWholeRule(t *testing.T) {
	const berlin = "Europe/Berlin"
	start := on("2012-08-04 00:00:00") // a Saturday
	late := on("2018-11-14 12:25:40")
	friday := func(n ...int) (days []NthWeekday) {
		for _, n := range n {
			days = append(days, NthWeekday{time.Friday, n})
		}
		return days
	}
	tests := []struct {
		rule Recurrence
		want string
	}{
		{Recurrence{}, "Once, when created"},
		{Recurrence{StartTime: start}, "Once, on 4 August 2012 at 00:00 UTC"},
		{Recurrence{StartTime: late, TimeZone: berlin}, "Once, on 14 November 2018 at 13:25:40 Europe/Berlin time"},

		{Recurrence{Frequency: Minute, Interval: 15}, "Every 15 minutes"},
		{Recurrence{Frequency: Day}, "Every day"},
		{Recurrence{Frequency: Month, Count: 1}, "Every month, 1 time"},
		{Recurrence{Frequency: Day, TimeZone: berlin}, "Every day, Europe/Berlin time"},
		{Recurrence{Frequency: Second, Interval: 90, StartTime: late}, "Every 90 seconds, from 14 November 2018 at 12:25:40 UTC"},
		{Recurrence{Frequency: Hour, Minutes: []int{40, 0}}, "Every hour at 0 and 40 minutes past the hour, UTC"},
		{Recurrence{Frequency: Hour, Interval: 2, Hours: []int{9, 10, 11, 12}}, "Every 2 hours, only in hours 9 to 12 UTC"},
		{Recurrence{Frequency: Minute, Interval: 5, Hours: []int{9, 17}, Minutes: []int{0, 1, 2, 3, 30}},
			"Every 5 minutes, only in minutes 0 to 3 and 30 of hours 9 and 17 UTC"},

		{Recurrence{Frequency: Week, StartTime: start, Hours: []int{22, 10}, Count: 10,
			WeekDays: []time.Weekday{time.Friday, time.Monday, time.Wednesday}},
			"Every week on Monday, Wednesday and Friday at 10:00 and 22:00 UTC, 10 times, from 4 August 2012"},
		{Recurrence{Frequency: Week, StartTime: start, EndTime: on("2012-11-04 00:00:00")},
			"Every week on Saturday at 00:00 UTC, from 4 August 2012, until 4 November 2012 at 00:00"},
		{Recurrence{Frequency: Day, StartTime: late, Hours: []int{5}}, "Every day at 05:25:40 UTC, from 14 November 2018 at 12:25:40"},
		{Recurrence{Frequency: Day, Hours: []int{5}}, "Every day in hour 5 at the minute of creation, UTC"},
		{Recurrence{Frequency: Day, Minutes: []int{15}}, "Every day at 15 minutes past every hour UTC"},
		{Recurrence{Frequency: Day, Minutes: []int{15}, Hours: maskValues[int](1<<24 - 1)}, "Every day at 15 minutes past every hour UTC"},
		{Recurrence{Frequency: Day, Minutes: []int{0, 15, 30, 45}, Hours: []int{9, 10, 11}},
			"Every day at 0, 15, 30 and 45 minutes past the hours 9 to 11 UTC"},
		{Recurrence{Frequency: Week, WeekDays: []time.Weekday{0, 1, 2, 3, 4, 5}, Hours: []int{9}, Minutes: []int{0}, TimeZone: "America/New_York"},
			"Every week on Monday to Friday and Sunday at 09:00 America/New_York time"},
		{Recurrence{Frequency: Week, WeekDays: []time.Weekday{time.Sunday}}, "Every week on Sunday at the time of creation, UTC"},
		{Recurrence{Frequency: Week, Minutes: []int{0}}, "Every week on the weekday of creation at 0 minutes past every hour UTC"},

		{Recurrence{Frequency: Month, MonthDays: []int{-2, 15}, Hours: []int{6}, Minutes: []int{0}},
			"Every month on the 15th and the 2nd last day at 06:00 UTC"},
		{Recurrence{Frequency: Month, Interval: 2, MonthDays: []int{-1}, Months: []time.Month{2}, Hours: []int{6}, Minutes: []int{0}},
			"Every 2 months, only in February, on the last day at 06:00 UTC"},
		{Recurrence{Frequency: Month, MonthlyOccurrences: friday(-1, 1), Hours: []int{6}, Minutes: []int{0}},
			"Every month on the first and last Friday at 06:00 UTC"},
		{Recurrence{Frequency: Month, MonthlyOccurrences: friday(0), Hours: []int{6}, Minutes: []int{0}}, "Every month on every Friday at 06:00 UTC"},
		{Recurrence{Frequency: Month, MonthlyOccurrences: friday(0), MonthDays: []int{13}, Hours: []int{6}, Minutes: []int{0}},
			"Every month on the 13th, if that is a Friday, at 06:00 UTC"},
		{Recurrence{Frequency: Month, StartTime: late}, "Every month on the 14th at 12:25:40 UTC, from 14 November 2018 at 12:25:40"},
		{Recurrence{Frequency: Year, StartTime: start}, "Every year on the 4th of August at 00:00 UTC, from 4 August 2012"},
		{Recurrence{Frequency: Year, StartTime: start, Months: []time.Month{6, 3}},
			"Every year on the 4th of March and June at 00:00 UTC, from 4 August 2012"},
		{Recurrence{Frequency: Year, Months: []time.Month{3}, Hours: []int{9}, Minutes: []int{0}},
			"Every year, only in March, on the day of the month of creation at 09:00 UTC"},

		{Recurrence{Frequency: Day, StartTime: on("2019-11-03 06:30:00"), TimeZone: "America/New_York"},
			"Every day at 01:30 America/New_York time, from 3 November 2019 at 01:30 (-05:00)"},

		{Recurrence{Cron: "30 9 * * mon-fri"}, `Every week on Monday to Friday at 09:30 UTC (cron "30 9 * * mon-fri")`},
		{Recurrence{Cron: "0 0 13 * 5"}, `Every day that is the 13th of the month or a Friday at 00:00 UTC (cron "0 0 13 * 5")`},
		{Recurrence{Cron: "* * 1,15 */6 *"}, `Every month on the 1st and the 15th, only in January and July, at every minute of every hour UTC (cron "* * 1,15 */6 *")`},
		{Recurrence{Cron: "TZ=Europe/Berlin @daily", Count: 3}, `Every day at 00:00 Europe/Berlin time (cron "TZ=Europe/Berlin @daily"), 3 times`},
		{Recurrence{Cron: "@every 90m"}, `Every 90 minutes (cron "@every 90m")`},
		{Recurrence{Cron: "@reboot"}, `Unreadable cron "@reboot"`},
	}
	for _, test := range tests {
		if got := test.rule.String(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

func TestStringOfAnInvalidRuleDoesNotPanic(t *testing.T) {
	far := []int{math.MinInt, -1, 0, 9, math.MaxInt}
	rule := Recurrence{Frequency: 99, Interval: -3, Count: -1, TimeZone: "No/Where", StartTime: time.Unix(1<<40, 5), EndTime: time.Unix(-1<<40, 0),
		Minutes: far, Hours: far, MonthDays: far}
	for _, n := range far {
		rule.WeekDays = append(rule.WeekDays, time.Weekday(n))
		rule.Months = append(rule.Months, time.Month(n))
		rule.MonthlyOccurrences = append(rule.MonthlyOccurrences, NthWeekday{time.Weekday(n), n})
	}
	for f := range Frequency(10) {
		for _, zone := range []string{"", "Local", "No/Where", "Asia/Tokyo", "\x00"} {
			for _, cron := range []string{"", "nonsense", "0 0 1 1 1"} {
				rule.Frequency, rule.TimeZone, rule.Cron = f, zone, cron
				if rule.String() == "" {
					t.Errorf("%#v has no text", rule)
				}
			}
		}
	}
}

// randomRule returns a random rule. It uses few values, so that many rules are alike.
func randomRule(rng *rand.Rand) Recurrence {
	some := func(n int, values ...int) (picked []int) {
		for range rng.IntN(n + 1) {
			picked = append(picked, values[rng.IntN(len(values))])
		}
		return picked
	}
	r := Recurrence{Frequency: Frequency(1 + rng.IntN(7)), Interval: 1 + rng.IntN(2), Minutes: some(2, 0, 1, 2, 30), Hours: some(2, 0, 1, 2, 13)}
	if rng.IntN(8) == 0 {
		r.Hours = maskValues[int](1<<24 - 1)
	}
	if rng.IntN(2) == 0 {
		r.StartTime = on("2024-02-29 13:30:00").Add(time.Duration(rng.IntN(2)*rng.IntN(5000)) * time.Second * 1800)
	}
	switch r.Frequency {
	case Week:
		for _, day := range some(3, 0, 1, 2, 5) {
			r.WeekDays = append(r.WeekDays, time.Weekday(day))
		}
	case Month:
		r.MonthDays = some(2, -2, -1, 1, 2, 3, 29)
		for _, n := range some(2, -2, -1, 0, 1, 5) {
			r.MonthlyOccurrences = append(r.MonthlyOccurrences, NthWeekday{time.Weekday(rng.IntN(2)), n})
		}
	}
	if r.Frequency >= Month {
		for _, month := range some(2, 1, 2, 3) {
			r.Months = append(r.Months, time.Month(month))
		}
	}
	switch rng.IntN(8) {
	case 0:
		r.Count = 1 + rng.IntN(2)
	case 1:
		r.EndTime = on("2030-01-01 00:00:00").Add(time.Duration(rng.IntN(3)) * 12 * time.Hour)
	}
	return r
}

// TestRulesThatDifferHaveDifferentTexts compares rules by their RFC 5545 form, with and without a start.
func TestRulesThatDifferHaveDifferentTexts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	meaning := func(r Recurrence) string {
		key := ""
		if r.StartTime.IsZero() {
			// Each element that is not set depends on creation, except hours beside minutes.
			minutes := len(r.Minutes) > 0
			hours := len(r.Hours) > 0 || minutes && r.Frequency >= Day
			days := len(r.WeekDays)+len(r.MonthDays)+len(r.MonthlyOccurrences) > 0
			key = fmt.Sprintln("no start", minutes, hours, days, len(r.Months) > 0)
			r.StartTime = on("2000-01-01 00:00:17")
		}
		rule, err := r.RRule()
		if codesOf(err) == string(CodeNeverFires) {
			return key + "never" // from this start
		}
		if err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		return key + rule
	}
	seen := map[string]Recurrence{}
	alike := 0
	for range 50_000 {
		r := randomRule(rng)
		if r.Validate() != nil {
			continue
		}
		text := r.String()
		other, known := seen[text]
		if !known {
			seen[text] = r
			continue
		}
		alike++
		a, b := meaning(r), meaning(other)
		if withoutRedundantDays(a) != withoutRedundantDays(b) {
			t.Errorf("one text for two rules: %s\n%s\n%s", text, a, b)
		}
	}
	if alike < 1000 {
		t.Errorf("only %d pairs of rules shared a text: the test compares too little", alike)
	}
}

// withoutRedundantDays removes numbered weekdays from an RRULE that already has all five of the same weekday.
func withoutRedundantDays(rule string) string {
	for _, day := range []string{"MO", "SU"} {
		every := "1" + day + ",2" + day + ",3" + day + ",4" + day + ",5" + day
		if strings.Contains(rule, every) {
			rule = strings.NewReplacer("-2"+day+",", "", "-1"+day+",", "").Replace(rule)
		}
	}
	return rule
}
