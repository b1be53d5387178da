package recurrence

import (
	"math"
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
	noon := on("2012-08-04 12:25:00")
	late := on("2018-11-14 12:25:40") // a Wednesday
	nth := func(day time.Weekday, n ...int) (days []NthWeekday) {
		for _, n := range n {
			days = append(days, NthWeekday{day, n})
		}
		return days
	}
	everyHour, everyMinute := upTo(0, 23, 1), upTo(0, 59, 1)
	everyWeekDay := []time.Weekday{0, 1, 2, 3, 4, 5, 6}
	everyMonth := maskValues[time.Month](1<<13 - 2)
	tests := []struct {
		rule Recurrence
		want string
	}{
		{Recurrence{}, "Once, when created"},
		{Recurrence{TimeZone: berlin}, "Once, when created, Europe/Berlin time"},
		{Recurrence{StartTime: start}, "Once, on 4 August 2012 at 00:00 UTC"},
		{Recurrence{StartTime: late, TimeZone: berlin}, "Once, on 14 November 2018 at 13:25:40 Europe/Berlin time"},

		// Elapsed time.
		{Recurrence{Frequency: Minute, Interval: 15}, "Every 15 minutes"},
		{Recurrence{Frequency: Minute, Interval: 15, TimeZone: "UTC"}, "Every 15 minutes, UTC time"},
		{Recurrence{Frequency: Second, Interval: 90, StartTime: late}, "Every 90 seconds, from 14 November 2018 at 12:25:40 UTC"},
		{Recurrence{Frequency: Hour, Minutes: []int{0}}, "Every hour on the hour"},
		{Recurrence{Frequency: Hour, Minutes: []int{40, 0}}, "Every hour at 0 and 40 minutes past the hour, UTC"},
		{Recurrence{Frequency: Hour, Minutes: []int{1}, StartTime: start}, "Every hour at 1 minute past the hour, UTC, from 4 August 2012"},
		{Recurrence{Frequency: Hour, Minutes: upTo(0, 58, 2)}, "Every hour, every 2 minutes of the hour"},
		{Recurrence{Frequency: Hour, Interval: 3, Minutes: upTo(1, 59, 2)}, "Every 3 hours, every 2 minutes from 1 to 59 past the hour, UTC"},
		{Recurrence{Frequency: Hour, Interval: 2, Hours: []int{9, 10, 11, 12}}, "Every 2 hours, only from 09:00 to 12:59 UTC"},
		{Recurrence{Frequency: Minute, Interval: 5, Hours: everyHour}, "Every 5 minutes, around the clock"},
		{Recurrence{Frequency: Minute, Interval: 5, Hours: everyHour, TimeZone: berlin}, "Every 5 minutes, around the clock, Europe/Berlin time"},
		{Recurrence{Frequency: Second, Minutes: everyMinute}, "Every second, in any minute of the hour"},
		{Recurrence{Frequency: Minute, Interval: 7, Hours: upTo(0, 22, 2)}, "Every 7 minutes, only in every 2nd hour from 00:00 to 22:59 UTC"},
		{Recurrence{Frequency: Minute, Interval: 5, Hours: []int{9, 17}, Minutes: []int{0, 1, 2, 3, 30}},
			"Every 5 minutes, only in minutes 0 to 3 and 30 of the hour, only from 09:00 to 09:59 and from 17:00 to 17:59 UTC"},

		// Days and times of day.
		{Recurrence{Frequency: Day}, "Every day"},
		{Recurrence{Frequency: Day, Interval: 1}, "Each day"},
		{Recurrence{Frequency: Month, Count: 1}, "Every month, only once"},
		{Recurrence{Frequency: Day, TimeZone: berlin}, "Every day, Europe/Berlin time"},
		{Recurrence{Frequency: Week, StartTime: start, Hours: []int{22, 10}, Count: 10,
			WeekDays: []time.Weekday{time.Friday, time.Monday, time.Wednesday}},
			"Every week on Monday, Wednesday and Friday at 10:00 and 22:00 UTC, 10 times, from 4 August 2012"},
		{Recurrence{Frequency: Week, StartTime: start, Hours: []int{22, 10}, Minutes: []int{0}, WeekDays: []time.Weekday{time.Friday}},
			"Every week on Friday at 10:00 and 22:00 UTC, from 4 August 2012 at 00:00"},
		{Recurrence{Frequency: Week, StartTime: start, Hours: []int{22, 10}, Minutes: []int{30}, WeekDays: []time.Weekday{time.Friday}},
			"Every week on Friday at 10:30 and 22:30 UTC, from 4 August 2012"},
		{Recurrence{Frequency: Week, StartTime: start, EndTime: on("2012-11-04 00:00:00")},
			"Every week on Saturdays at 00:00 UTC, starting on 4 August 2012, until 4 November 2012 at 00:00"},
		{Recurrence{Frequency: Day, StartTime: noon}, "Every day at 12:25 UTC, starting on 4 August 2012"},
		{Recurrence{Frequency: Day, StartTime: noon, Hours: []int{12}}, "Every day at 12:25 UTC, from 12:25 on 4 August 2012"},
		{Recurrence{Frequency: Day, StartTime: noon, Hours: []int{12}, Minutes: []int{25}}, "Every day at 12:25 UTC, from 4 August 2012 at 12:25"},
		{Recurrence{Frequency: Day, StartTime: late, Hours: []int{5}}, "Every day at 05:25:40 UTC, from 12:25:40 on 14 November 2018"},
		{Recurrence{Frequency: Day, StartTime: on("2019-11-03 06:30:00"), TimeZone: "America/New_York"},
			"Every day at 01:30 America/New_York time, starting on 3 November 2019 at 01:30 (-05:00)"},
		{Recurrence{Frequency: Week, WeekDays: []time.Weekday{0, 1, 2, 3, 4, 5}, Hours: []int{9}, Minutes: []int{0}, TimeZone: "America/New_York"},
			"Every week on Monday to Friday and Sunday at 09:00 America/New_York time"},
		{Recurrence{Frequency: Week, WeekDays: everyWeekDay, Hours: []int{9}, Minutes: []int{0}}, "Every day of the week at 09:00 UTC"},
		{Recurrence{Frequency: Week, Interval: 2, WeekDays: everyWeekDay, Hours: []int{9}, Minutes: []int{0}}, "Every 2 weeks on every day at 09:00 UTC"},

		// Times that repeat.
		{Recurrence{Frequency: Day, Minutes: []int{0, 15, 30, 45}, Hours: []int{9, 10, 11}}, "Every day, every 15 minutes from 09:00 to 11:45 UTC"},
		{Recurrence{Frequency: Day, Minutes: []int{10, 40}, Hours: []int{9, 10, 11, 14}}, "Every day, every 30 minutes from 09:10 to 11:40 and from 14:10 to 14:40 UTC"},
		{Recurrence{Frequency: Day, Minutes: []int{30}, Hours: []int{7, 9, 10, 11, 12}}, "Every day, every hour from 09:30 to 12:30 and at 07:30 UTC"},
		{Recurrence{Frequency: Day, Minutes: []int{30}, Hours: upTo(1, 22, 3)}, "Every day, every 3 hours from 01:30 to 22:30 UTC"},
		{Recurrence{Frequency: Day, Minutes: upTo(0, 56, 7), Hours: []int{21}}, "Every day, every 7 minutes from 21:00 to 21:56 UTC"},
		{Recurrence{Frequency: Day, Minutes: upTo(0, 56, 7), Hours: []int{9, 10}}, "Every day, every 7 minutes from 0 to 56 past 09:00 and 10:00 UTC"},
		{Recurrence{Frequency: Day, Minutes: []int{5, 17}, Hours: upTo(0, 22, 2)}, "Every day at 5 and 17 minutes past every 2nd hour from 00:00 to 22:00 UTC"},
		{Recurrence{Frequency: Day, Minutes: everyMinute, Hours: upTo(0, 22, 2)}, "Every day, every minute of every 2nd hour from 00:00 to 22:00 UTC"},
		{Recurrence{Frequency: Day, Minutes: []int{1, 2, 4, 8, 16, 32, 59}, Hours: []int{21}},
			"Every day at 21:01, 21:02, 21:04, 21:08, 21:16, 21:32 and 21:59 UTC"},
		{Recurrence{Frequency: Day, Minutes: []int{15}}, "Every day, every hour at 15 minutes past, UTC"},
		{Recurrence{Frequency: Day, Minutes: []int{15}, Hours: everyHour}, "Every day, every hour from 00:15 to 23:15 UTC"},
		{Recurrence{Frequency: Day, Minutes: []int{0, 20, 40}}, "Every day, every 20 minutes"},
		{Recurrence{Frequency: Day, Minutes: []int{0, 20, 40}, StartTime: start}, "Every day, every 20 minutes, from 4 August 2012 at 00:00 UTC"},

		// Elements that come from the creation.
		{Recurrence{Frequency: Day, Hours: []int{5}}, "Every day at the minute of creation past 05:00 UTC"},
		{Recurrence{Frequency: Day, Hours: everyHour}, "Every day at the minute of creation past every hour from 00:00 to 23:00 UTC"},
		{Recurrence{Frequency: Week, WeekDays: []time.Weekday{time.Sunday}}, "Every week on Sunday at the time of creation, UTC"},
		{Recurrence{Frequency: Week, Minutes: []int{0}}, "Every week on the weekday of creation, every hour on the hour, UTC"},
		{Recurrence{Frequency: Year, Months: []time.Month{3}, Hours: []int{9}, Minutes: []int{0}},
			"Every year in March on the day of the month of creation at 09:00 UTC"},

		// Months and their days.
		{Recurrence{Frequency: Month, MonthDays: []int{-2, 15}, Hours: []int{6}, Minutes: []int{0}},
			"Every month on the 15th and the second to last day at 06:00 UTC"},
		{Recurrence{Frequency: Month, MonthDays: []int{-3, -2, -1, -10, 1, 2, 3}, Hours: []int{6}, Minutes: []int{0}},
			"Every month on the 1st to the 3rd, the 10th to last day and the last 3 days at 06:00 UTC"},
		{Recurrence{Frequency: Month, MonthDays: upTo(1, 31, 2), Hours: []int{6}, Minutes: []int{0}},
			"Every month on every 2nd day from the 1st to the 31st at 06:00 UTC"},
		{Recurrence{Frequency: Month, MonthDays: upTo(1, 31, 1), Hours: []int{6}, Minutes: []int{0}}, "Every day of the month at 06:00 UTC"},
		{Recurrence{Frequency: Month, Interval: 2, MonthDays: []int{-1}, Months: []time.Month{2}, Hours: []int{6}, Minutes: []int{0}},
			"Every 2 months on the last day at 06:00 UTC, only in February"},
		{Recurrence{Frequency: Month, MonthDays: []int{1}, Months: []time.Month{1, 2, 3, 5}, Hours: []int{6}, Minutes: []int{0}},
			"Every month on the 1st at 06:00 UTC, only in January to March and May"},
		{Recurrence{Frequency: Month, MonthDays: []int{1}, Months: everyMonth, Hours: []int{6}, Minutes: []int{0}}, "Every month on the 1st at 06:00 UTC, in any month"},
		{Recurrence{Frequency: Month, MonthlyOccurrences: nth(time.Friday, -1, 1), Hours: []int{6}, Minutes: []int{0}},
			"Every month on the first and the last Friday at 06:00 UTC"},
		{Recurrence{Frequency: Month, MonthlyOccurrences: nth(time.Friday, -2, 4), Hours: []int{6}, Minutes: []int{0}},
			"Every month on the fourth and the second to last Friday at 06:00 UTC"},
		{Recurrence{Frequency: Month, MonthlyOccurrences: nth(time.Friday, 0), Hours: []int{6}, Minutes: []int{0}}, "Every month on every Friday at 06:00 UTC"},
		{Recurrence{Frequency: Month, MonthlyOccurrences: nth(time.Friday, 0, 1), Hours: []int{6}, Minutes: []int{0}},
			"Every month on every Friday and the first Friday at 06:00 UTC"},
		{Recurrence{Frequency: Month, MonthlyOccurrences: nth(time.Friday, 0), MonthDays: []int{13}, Hours: []int{6}, Minutes: []int{0}},
			"Every month on the 13th, if that is a Friday, at 06:00 UTC"},
		{Recurrence{Frequency: Month, MonthlyOccurrences: nth(time.Friday, 1, -1), MonthDays: upTo(1, 31, 1), Hours: []int{6}, Minutes: []int{0}},
			"Every day of the month, if that is the first or the last Friday, at 06:00 UTC"},
		{Recurrence{Frequency: Month, StartTime: late}, "Every month on day 14 at 12:25:40 UTC, starting on 14 November 2018"},
		{Recurrence{Frequency: Month, StartTime: late, MonthDays: []int{14}}, "Every month on the 14th at 12:25:40 UTC, starting on 14 November 2018"},
		{Recurrence{Frequency: Year, StartTime: start}, "Every year on 4 August at 00:00 UTC, starting on 4 August 2012"},
		{Recurrence{Frequency: Year, StartTime: start, Months: []time.Month{6, 3}},
			"Every year on the 4th of March and June at 00:00 UTC, starting on 4 August 2012"},
		{Recurrence{Frequency: Year, StartTime: start, Months: everyMonth, Hours: []int{9}, Minutes: []int{30}},
			"Every year on the 4th of every month at 09:30 UTC, from 4 August 2012"},

		// Cron.
		{Recurrence{Cron: "*/2 * * * *"}, `Every 2 minutes (cron "*/2 * * * *")`},
		{Recurrence{Cron: "* * * * *", TimeZone: berlin}, `Every minute, Europe/Berlin time (cron "* * * * *")`},
		{Recurrence{Cron: "@hourly"}, `Every hour on the hour (cron "@hourly")`},
		{Recurrence{Cron: "0 */2 * * *"}, `Every 2 hours from 00:00 to 22:00 UTC (cron "0 */2 * * *")`},
		{Recurrence{Cron: "*/15 9-16 * * 1-5"}, `Every 15 minutes from 09:00 to 16:45 UTC on Monday to Friday (cron "*/15 9-16 * * 1-5")`},
		{Recurrence{Cron: "*/10 * * * 1-5"}, `Every 10 minutes on Monday to Friday, UTC (cron "*/10 * * * 1-5")`},
		{Recurrence{Cron: "*/40 * * * *"}, `Every hour at 0 and 40 minutes past, UTC (cron "*/40 * * * *")`},
		{Recurrence{Cron: "0 9 1-31 1-12 0-7"}, `Every day at 09:00 UTC (cron "0 9 1-31 1-12 0-7")`},
		{Recurrence{Cron: "30 9 * * mon-fri"}, `Every week on Monday to Friday at 09:30 UTC (cron "30 9 * * mon-fri")`},
		{Recurrence{Cron: "0 0 13 * 5"}, `Every month on the 13th and on every Friday, at 00:00 UTC (cron "0 0 13 * 5")`},
		{Recurrence{Cron: "*/5 * 13 3 5"}, `Every 5 minutes on the 13th of the month and on every Friday, only in March, UTC (cron "*/5 * 13 3 5")`},
		{Recurrence{Cron: "* * 1,15 */6 *"}, `Every minute on the 1st and the 15th of January and July, UTC (cron "* * 1,15 */6 *")`},
		{Recurrence{Cron: "@yearly", StartTime: start}, `Every year on the 1st of January at 00:00 UTC (cron "@yearly"), from 4 August 2012`},
		{Recurrence{Cron: "TZ=Europe/Berlin @daily", Count: 3}, `Every day at 00:00 Europe/Berlin time (cron "TZ=Europe/Berlin @daily"), 3 times`},
		{Recurrence{Cron: "@every 90m"}, `Every 90 minutes (cron "@every 90m")`},
		{Recurrence{Cron: "@every 1h"}, `Every hour (cron "@every 1h")`},
		{Recurrence{Cron: "@every 1080h", StartTime: noon}, `Every 45 days at 12:25 UTC (cron "@every 1080h"), starting on 4 August 2012`},
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
