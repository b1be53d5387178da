package recurrence

import (
	"testing"
	"time"
)

func TestStringDescribesTheCalendar(t *testing.T) {
	const (
		london  = "Europe/London"
		newYork = "America/New_York"
		mon     = time.Monday
		tue     = time.Tuesday
		wed     = time.Wednesday
		fri     = time.Friday
		sat     = time.Saturday
		sun     = time.Sunday
	)
	type (
		weekDays = []time.Weekday
		months   = []time.Month
		rules    = []Recurrence
		dates    = []string
	)
	start := on("2012-08-04 12:25:40") // a Saturday
	midnight := on("2012-08-04 00:00:00")
	workdays := weekDays{1, 2, 3, 4, 5}
	weekend := Filter{WeekDays: weekDays{sun, sat}}
	onDates := func(list ...string) Filter { return Filter{Dates: list} }
	at := func(list ...string) Filter { return Filter{Times: list} }
	not := func(filters ...Filter) Recurrence {
		return Recurrence{Frequency: Day, Hours: []int{9}, Minutes: []int{0}, Except: filters}
	}
	only := func(filters ...Filter) Recurrence { return Recurrence{Frequency: Hour, Only: filters} }
	monthly := func(r Recurrence) Recurrence {
		r.Frequency, r.Hours, r.Minutes = Month, []int{9}, []int{0}
		return r
	}
	shift := func(s Shift, days ...int) Recurrence {
		return monthly(Recurrence{MonthDays: days, Shift: s, Except: []Filter{weekend}})
	}
	tests := []struct {
		rule Recurrence
		want string
	}{
		// Positions.
		{Recurrence{Frequency: Month, Hours: []int{18}, Minutes: []int{0}, TimeZone: london, Positions: []int{-1}, Except: []Filter{onDates("12-25"), weekend}}, "Every month on the last open day at 18:00 Europe/London time; not on Saturday and Sunday, not on 25 December"},
		{Recurrence{Frequency: Week, WeekDays: weekDays{wed, mon}, Positions: []int{2}}, "Every week on the second of Monday and Wednesday at the time of creation, UTC"},
		{Recurrence{Frequency: Week, WeekDays: weekDays{wed, mon}, Positions: []int{2}, Hours: []int{9}, Minutes: []int{0}, Except: []Filter{onDates("12-25")}}, "Every week on the second open one of Monday and Wednesday at 09:00 UTC; not on 25 December"},
		{monthly(Recurrence{Positions: []int{-1}}), "Every month on the last of all days at 09:00 UTC"},
		{monthly(Recurrence{Positions: []int{3, 1, -1}, Except: []Filter{weekend}}), "Every month on the first, the third and the last open day at 09:00 UTC; not on Saturday and Sunday"},
		{monthly(Recurrence{Positions: []int{1, 2, 3, -2, -1, -3}, Except: []Filter{weekend}}), "Every month on the first to the third and the last 3 open days at 09:00 UTC; not on Saturday and Sunday"},
		{monthly(Recurrence{Positions: []int{-7, -6, -5}, Except: []Filter{weekend}, Months: months{3}}), "Every month on the 7th to 5th to last open days at 09:00 UTC, only in March; not on Saturday and Sunday"},
		{monthly(Recurrence{Positions: []int{1}, MonthDays: upTo(1, 31, 1), MonthlyOccurrences: []NthWeekday{{mon, 0}, {fri, -1}}}), "Every month on the first of the days 1 to 31 that is a Monday or the last Friday at 09:00 UTC"},
		{monthly(Recurrence{Positions: []int{-1}, MonthDays: upTo(1, 15, 1), Except: []Filter{weekend}}), "Every month on the last open one of the 1st to the 15th at 09:00 UTC; not on Saturday and Sunday"},
		{monthly(Recurrence{Positions: []int{2}, MonthlyOccurrences: []NthWeekday{{mon, 0}, {fri, 0}}, Only: []Filter{onDates("2026-01-01/2026-06-30")}}), "Every month on the second open one of every Monday and every Friday at 09:00 UTC; only from 1 January to 30 June 2026"},
		{Recurrence{Frequency: Year, Hours: []int{9}, Minutes: []int{0}, Positions: []int{100}}, "Every year on the 100th day at 09:00 UTC"},
		{Recurrence{Frequency: Year, Hours: []int{9}, Minutes: []int{0}, Positions: []int{100, -1}, Months: months{3, 4, 5}, Except: []Filter{weekend}}, "Every year on the 100th and the last open day of March to May together at 09:00 UTC; not on Saturday and Sunday"},
		{Recurrence{Frequency: Year, StartTime: start, Positions: []int{-1}, Months: maskValues[time.Month](1<<13 - 2)}, "Every year on the last day of all twelve months at 12:25:40 UTC, starting on 4 August 2012"},
		{Recurrence{Frequency: Week, WeekDays: weekDays{0, 1, 2, 3, 4, 5, 6}, Positions: []int{-1}, Minutes: []int{0, 30}, Hours: []int{8}, Only: []Filter{{WeekDays: workdays}}}, "Every week on the last open one of all seven days at 08:00 and 08:30 UTC; only on Monday to Friday"},

		// Shift.
		{shift(ShiftPrevious, 15), "Every month on the 15th or else the previous open day at 09:00 UTC; not on Saturday and Sunday"},
		{shift(ShiftNextInMonth, 15), "Every month on the 15th or else the next open day of the month at 09:00 UTC; not on Saturday and Sunday"},
		{shift(ShiftNearestInMonth, 15, -1), "Every month on the 15th and the last day or else the nearest open day of the month at 09:00 UTC; not on Saturday and Sunday"},
		{monthly(Recurrence{MonthDays: []int{13}, MonthlyOccurrences: []NthWeekday{{fri, 0}}, Shift: ShiftNext, Except: []Filter{onDates("12-25")}}), "Every month on the 13th, if that is a Friday, or else the next open day at 09:00 UTC; not on 25 December"},
		{Recurrence{Frequency: Day, Interval: 3, StartTime: start, Shift: ShiftNearest, Except: []Filter{weekend}}, "Every 3 days or else on the nearest open day at 12:25:40 UTC, starting on 4 August 2012; not on Saturday and Sunday"},
		{Recurrence{Frequency: Year, StartTime: start, Shift: ShiftNext, Except: []Filter{weekend}, TimeZone: newYork}, "Every year on 4 August or else the next open day at 08:25:40 America/New_York time, starting on 4 August 2012; not on Saturday and Sunday"},
		{Recurrence{Frequency: Week, Shift: ShiftNext, Except: []Filter{weekend}, TimeZone: newYork}, "Every week or else on the next open day; not on Saturday and Sunday, America/New_York time"},
		{Recurrence{Cron: "0 9 1 * *", Shift: ShiftPreviousInMonth, Except: []Filter{weekend}}, `Every month on the 1st or else the previous open day of the month at 09:00 UTC (cron "0 9 1 * *"); not on Saturday and Sunday`},
		{Recurrence{Cron: "0 0 13 * 5", Shift: ShiftNext, Except: []Filter{weekend}}, `Every month on the 13th and on every Friday or else the next open day, at 00:00 UTC (cron "0 0 13 * 5"); not on Saturday and Sunday`},
		{Recurrence{Cron: "*/15 9-16 * * 1-5", Shift: ShiftNext, Except: []Filter{onDates("12-25")}, Count: 3}, `Every 15 minutes from 09:00 to 16:45 UTC on Monday to Friday or else the next open day (cron "*/15 9-16 * * 1-5"), 3 times; not on 25 December`},
		{Recurrence{Cron: "0 9 * * *", Shift: ShiftNext, Except: []Filter{onDates("12-25")}, TimeZone: newYork}, `Every day or else on the next open day at 09:00 America/New_York time (cron "0 9 * * *"); not on 25 December`},

		// A shift by days.
		{monthly(Recurrence{MonthDays: []int{25}, ShiftBy: -2, Except: []Filter{weekend}}), "Every month on the 25th, moved 2 open days earlier, at 09:00 UTC; not on Saturday and Sunday"},
		{monthly(Recurrence{MonthDays: []int{25}, Shift: ShiftPrevious, ShiftBy: 1, Except: []Filter{weekend}}), "Every month on the 25th or else the previous open day, moved 1 open day later, at 09:00 UTC; not on Saturday and Sunday"},
		{monthly(Recurrence{MonthlyOccurrences: []NthWeekday{{tue, 2}}, ShiftBy: 1}), "Every month on the second Tuesday, moved 1 day later, at 09:00 UTC"},
		{monthly(Recurrence{MonthDays: []int{13}, MonthlyOccurrences: []NthWeekday{{fri, 0}}, ShiftBy: 3}), "Every month on the 13th, if that is a Friday, moved 3 days later, at 09:00 UTC"},
		{monthly(Recurrence{Positions: []int{-1}, ShiftBy: -1, Except: []Filter{weekend}, Months: months{3}}), "Every month on the last open day, moved 1 open day earlier, at 09:00 UTC, only in March; not on Saturday and Sunday"},
		{Recurrence{Frequency: Week, ShiftBy: 2, TimeZone: newYork}, "Every week, moved 2 days later, America/New_York time"},
		{Recurrence{Frequency: Year, StartTime: start, ShiftBy: 1}, "Every year on 4 August, moved 1 day later, at 12:25:40 UTC, starting on 4 August 2012"},
		{Recurrence{Frequency: Day, Hours: []int{9}, Minutes: upTo(0, 45, 15), ShiftBy: 1}, "Every day, moved 1 day later, every 15 minutes from 09:00 to 09:45 UTC"},
		{Recurrence{Cron: "0 9 1 * *", ShiftBy: -5, Except: []Filter{weekend}}, `Every month on the 1st, moved 5 open days earlier, at 09:00 UTC (cron "0 9 1 * *"); not on Saturday and Sunday`},
		{Recurrence{Cron: "0 0 13 * 5", ShiftBy: 1}, `Every month on the 13th and on every Friday, moved 1 day later, at 00:00 UTC (cron "0 0 13 * 5")`},
		{Recurrence{Cron: "*/15 9-16 * 3 1-5", Shift: ShiftNext, ShiftBy: 1, Except: []Filter{onDates("12-25")}}, `Every 15 minutes from 09:00 to 16:45 UTC on Monday to Friday or else the next open day, moved 1 open day later, only in March (cron "*/15 9-16 * 3 1-5"); not on 25 December`},
		{Recurrence{Frequency: Month, MonthDays: []int{15}, Hours: []int{9}, Minutes: []int{0}, ShiftBy: 1, Also: rules{{Frequency: Month, MonthDays: []int{-1}, Hours: []int{9}, Minutes: []int{0}}}},
			"Every month on the 15th, moved 1 day later, at 09:00 UTC; also every month on the last day, moved 1 day later, at 09:00"},

		// Filters.
		{Recurrence{Frequency: Hour, TimeZone: "America/Chicago", Only: []Filter{{WeekDays: weekDays{sat}, Times: dates{"10:00/12:00"}}, {WeekDays: workdays, Times: dates{"09:00/17:00"}}}}, "Every hour; only on Monday to Friday from 09:00 to 17:00 or on Saturday from 10:00 to 12:00, America/Chicago time"},
		{not(Filter{WeekDays: weekDays{sun}, Times: dates{"02:00/03:59"}}), "Every day at 09:00 UTC; not on Sunday from 02:00 to 03:59"},
		{only(Filter{WeekDays: weekDays{tue}, MonthDays: upTo(2, 8, 1), Months: months{11}}), "Every hour; only on Tuesday, if that is the 2nd to 8th, in November, UTC"},
		{not(onDates("12-24/01-06")), "Every day at 09:00 UTC; not from 24 December to 6 January"},
		{not(onDates("2026-12-25")), "Every day at 09:00 UTC; not on 25 December 2026"},
		{not(onDates("2026-12-28", "2026-12-25", "2027-01-01")), "Every day at 09:00 UTC; not on 25 and 28 December 2026 and 1 January 2027"},
		{not(onDates("2026-01-01", "2026-04-03", "2026-04-06", "2026-12-25", "2026-12-28", "2027-01-01", "2027-03-26")),
			"Every day at 09:00 UTC; not on 1 January, 3 and 6 April, 25 and 28 December 2026, 1 January and 26 March 2027"},
		{not(onDates("2026-11-26", "2026-12-25", "2027-12-24")), "Every day at 09:00 UTC; not on 26 November and 25 December 2026 and 24 December 2027"},
		{not(onDates("2026-12-25", "2026-12-26", "2026-12-27")), "Every day at 09:00 UTC; not on 25, 26 and 27 December 2026"},
		{not(onDates("2026-12-25/2026-12-27")), "Every day at 09:00 UTC; not from 25 to 27 December 2026"},
		{not(onDates("2026-03-24/2026-04-06", "2026-12-20/2027-01-03")), "Every day at 09:00 UTC; not from 24 March to 6 April 2026 and from 20 December 2026 to 3 January 2027"},
		{not(onDates("12-25", "12-26", "05-01", "12-30/12-31")), "Every day at 09:00 UTC; not on 1 May, 25 and 26 December and from 30 to 31 December"},
		{not(onDates("12-25", "2026-05-25", "12-27/01-05", "2027-05-17/2027-05-18")), "Every day at 09:00 UTC; not on 25 December of every year, from 27 December to 5 January of every year, on 25 May 2026 and from 17 to 18 May 2027"},
		{not(onDates("easter-2")), "Every day at 09:00 UTC; not on Good Friday"},
		{not(onDates("easter+1", "easter-2", "easter+39", "easter+12", "easter-12")), "Every day at 09:00 UTC; not on the 12th day before Easter, Good Friday, Easter Monday, the 12th day after Easter and Ascension Day"},
		{not(onDates("easter-2/easter+1", "12-25", "easter+50")), "Every day at 09:00 UTC; not on 25 December, on Whit Monday and from Good Friday to Easter Monday"},
		{not(onDates("easter", "2026-12-25")), "Every day at 09:00 UTC; not on Easter Sunday of every year and on 25 December 2026"},
		{not(onDates("orthodoxEaster-48", "orthodoxEaster", "orthodoxEaster+60", "easter+60")), "Every day at 09:00 UTC; not on Corpus Christi, Orthodox Clean Monday, Orthodox Easter Sunday and the 60th day after Orthodox Easter"},
		{only(Filter{Months: months{4}, Dates: dates{"easter", "easter+1"}}), "Every hour; only in April, if that is Easter Sunday or Easter Monday, UTC"},
		{not(onDates("12-25"), onDates("12-26")), "Every day at 09:00 UTC; not on 25 December, not on 26 December"},
		{not(Filter{MonthDays: []int{1, -1}}), "Every day at 09:00 UTC; not on the 1st and the last day"},
		{not(Filter{MonthDays: upTo(1, 31, 1)}, Filter{Months: months{8}}), "Every day at 09:00 UTC; not on any day of the month, not in August"},
		{not(Filter{MonthlyOccurrences: []NthWeekday{{mon, 1}, {mon, -1}, {fri, 0}}}), "Every day at 09:00 UTC; not on the first and the last Monday and every Friday"},
		{not(Filter{WeekDays: weekDays{fri}, MonthDays: []int{13}, MonthlyOccurrences: []NthWeekday{{fri, 2}, {fri, -1}}, Months: months{6, 7}, Dates: dates{"2026-01-01/2028-12-31"}, Times: dates{"09:00", "12:00/13:00"}}), "Every day at 09:00 UTC; not on Friday, if that is the 13th and also the second or the last Friday, in June and July, from 1 January 2026 to 31 December 2028, at 09:00 and from 12:00 to 13:00"},
		{only(Filter{Months: months{1, 2, 3}, Dates: dates{"2026-01-01/2028-12-31"}}), "Every hour; only in January to March, from 1 January 2026 to 31 December 2028, UTC"},
		{only(Filter{WeekDays: workdays}, Filter{Dates: dates{"2026-01-10"}}), "Every hour; only on Monday to Friday or on 10 January 2026, UTC"},
		{only(Filter{WeekDays: workdays, Dates: dates{"2026-01-10", "2026-01-12"}}), "Every hour; only on Monday to Friday, if that is 10 or 12 January 2026, UTC"},
		{only(Filter{WeekDays: weekDays{tue}, MonthDays: []int{1, 2}}, weekend), "Every hour; only on Tuesday, if that is the 1st or the 2nd, or on Saturday and Sunday, UTC"},
		{not(Filter{Dates: dates{"2026-12-25", "2026-12-28"}, Times: dates{"09:00"}}), "Every day at 09:00 UTC; not on 25 and 28 December 2026, at 09:00"},
		{not(Filter{Months: months{1}, Dates: dates{"2026-01-10"}}), "Every day at 09:00 UTC; not in January, if that is 10 January 2026"},
		{only(Filter{WeekDays: weekDays{0, 1, 2, 3, 4, 5, 6}, Months: maskValues[time.Month](1<<13 - 2)}), "Every hour; only on any day of the week in any month, UTC"},
		{only(Filter{Weeks: []int{20, 21, 22, 1, -1}}), "Every hour; only in week 1, week 20 to week 22 and the last week of the year, UTC"},
		{not(Filter{WeekDays: weekDays{mon}, Weeks: []int{52, 53}}, Filter{Weeks: []int{-2}, Months: months{12}}), "Every day at 09:00 UTC; not on Monday in week 52 or week 53, not in the second to last week of the year in December"},
		{not(Filter{YearDays: []int{100, 200, 201, 202, -1}}), "Every day at 09:00 UTC; not on the 100th, the 200th to the 202nd and the last day of the year"},
		{not(Filter{YearlyOccurrences: []NthWeekday{{mon, 20}, {mon, -1}}}), "Every day at 09:00 UTC; not on the 20th and the last Monday of the year"},
		{not(Filter{MonthDays: []int{1}, YearDays: []int{60, 61}, YearlyOccurrences: []NthWeekday{{mon, 0}, {fri, 9}}}), "Every day at 09:00 UTC; not on the 1st, if that is the 60th or the 61st day of the year and also a Monday or the 9th Friday of the year"},
		{only(at("22:00/05:59")), "Every hour; only from 22:00 to 05:59, UTC"},
		{only(Filter{WeekDays: weekDays{fri}, Times: dates{"22:00/05:59"}}), "Every hour; only on Friday up to 05:59 and from 22:00 on, UTC"},
		{only(at("09:00")), "Every hour; only at 09:00, UTC"},
		{only(at("09:00:00", "09:00:30")), "Every hour; only at 09:00:00 and 09:00:30, UTC"},
		{only(at("09:00/17:00:00")), "Every hour; only from 09:00:00 to 17:00:00, UTC"},
		{only(at("09:00", "10:00", "12:00/13:30", "16:00/17:00")), "Every hour; only at 09:00 and 10:00 and from 12:00 to 13:30 and from 16:00 to 17:00, UTC"},
		{Recurrence{Frequency: Minute, Interval: 5, StartTime: start, Only: []Filter{{WeekDays: workdays}}, Except: []Filter{onDates("12-25"), at("12:00/12:59")}, TimeZone: newYork, Count: 9}, "Every 5 minutes, 9 times, from 4 August 2012 at 08:25:40 America/New_York time; only on Monday to Friday; not on 25 December, not from 12:00 to 12:59"},
		{Recurrence{Frequency: Second, Interval: 30, Only: []Filter{at("09:00/17:00")}}, "Every 30 seconds; only from 09:00 to 17:00, UTC"},
		{Recurrence{Frequency: Day, Except: []Filter{weekend}, TimeZone: newYork}, "Every day; not on Saturday and Sunday, America/New_York time"},
		{Recurrence{Frequency: Day, Except: []Filter{weekend}, EndTime: start}, "Every day, until 4 August 2012 at 12:25:40 UTC; not on Saturday and Sunday"},
		{Recurrence{Frequency: Hour, Except: []Filter{weekend}, EndTime: start}, "Every hour, until 4 August 2012 at 12:25:40 UTC; not on Saturday and Sunday"},
		{not(Filter{Dates: dates{"2026-11-27"}, Times: dates{"09:00"}}), "Every day at 09:00 UTC; not on 27 November 2026 at 09:00"},
		{Recurrence{Cron: "@hourly", Only: []Filter{{WeekDays: workdays, Times: dates{"09:00/17:00"}}}, TimeZone: newYork}, `Every hour on the hour (cron "@hourly"); only on Monday to Friday from 09:00 to 17:00, America/New_York time`},
		{Recurrence{Cron: "0 9 * * 1-5", Except: []Filter{onDates("12-25", "12-26")}, StartTime: midnight}, `Every week on Monday to Friday at 09:00 UTC (cron "0 9 * * 1-5"), from 4 August 2012; not on 25 and 26 December`},
		{Recurrence{Cron: "@every 90m", Except: []Filter{weekend}}, `Every 90 minutes (cron "@every 90m"); not on Saturday and Sunday, UTC`},

		// Additions.
		{Recurrence{StartTime: start, Also: rules{{StartTime: on("2012-08-06 12:00:00")}}}, "On 4 August 2012 at 12:25:40 UTC; also on 6 August 2012 at 12:00"},
		{Recurrence{Frequency: Week, WeekDays: weekDays{mon}, Hours: []int{9}, Minutes: []int{0}, TimeZone: newYork,
			Also: rules{{Frequency: Week, WeekDays: weekDays{sat}, Hours: []int{11}, Minutes: []int{0}}, {StartTime: on("2026-12-24 18:00:00")}}}, "Every week on Monday at 09:00 America/New_York time; also on 24 December 2026 at 13:00; also every week on Saturday at 11:00"},
		{Recurrence{Frequency: Hour, Interval: 6, Also: rules{{StartTime: on("2026-12-28 13:00:00")}, {StartTime: on("2026-12-24 13:00:00")}, {StartTime: on("2027-01-02 09:00:00")}}}, "Every 6 hours; also on 24 and 28 December 2026 at 13:00 and on 2 January 2027 at 09:00 UTC"},
		{Recurrence{Frequency: Minute, Interval: 90, TimeZone: newYork, Also: rules{{Frequency: Hour, Interval: 7}}}, "Every 90 minutes; also every 7 hours, America/New_York time"},
		{Recurrence{Frequency: Day, StartTime: start, Count: 10, EndTime: on("2026-12-24 00:00:00"), Also: rules{{Frequency: Week, Interval: 2}, {Frequency: Week, StartTime: start}}}, "Every day at 12:25:40 UTC, starting on 4 August 2012; also every 2 weeks; also every week on Saturdays at 12:25:40, starting on 4 August 2012; 10 times in all, until 24 December 2026 at 00:00"},
		{Recurrence{Frequency: Day, StartTime: start, Also: rules{{Frequency: Week, Hours: []int{12}, EndTime: on("2026-12-24 00:00:00")}}, Count: 1}, "Every day at 12:25:40 UTC, starting on 4 August 2012; also every week on the weekday of the start at the minute of the start past 12:00, until 24 December 2026 at 00:00; once in all"},
		{Recurrence{Frequency: Day, Hours: []int{9}, Minutes: []int{0}, Also: rules{{Cron: "30 12 * * 6"}}}, `Every day at 09:00 UTC; also every week on Saturday at 12:30 (cron "30 12 * * 6")`},
		{Recurrence{Frequency: Month, MonthDays: []int{15}, Hours: []int{9}, Minutes: []int{0}, Shift: ShiftNext, Except: []Filter{weekend}, ClockChanges: ClockSkip, TimeZone: newYork,
			Also: rules{{Frequency: Month, MonthDays: []int{-1}, Hours: []int{9}, Minutes: []int{0}}}}, "Every month on the 15th or else the next open day at 09:00 America/New_York time, not when the clocks skip it; not on Saturday and Sunday; also every month on the last day or else the next open day at 09:00, not when the clocks skip it"},

		// Clock changes.
		{Recurrence{Frequency: Day, Hours: []int{2}, Minutes: []int{30}, TimeZone: newYork, ClockChanges: ClockSkip}, "Every day at 02:30 America/New_York time, not when the clocks skip it"},
		{Recurrence{Cron: "30 1 * * *", TimeZone: newYork, ClockChanges: ClockShown, Count: 5, Except: []Filter{weekend}}, `Every day at 01:30 America/New_York time (cron "30 1 * * *"), each time the clocks show it, 5 times; not on Saturday and Sunday`},

		// Days.
		{Recurrence{Frequency: Year, Hours: []int{9}, Minutes: []int{0}, Days: []Filter{{Months: months{1}, MonthlyOccurrences: []NthWeekday{{mon, 1}}}, onDates("12-25")}}, "Every year, on the first Monday of January and on 25 December, at 09:00 UTC"},
		// In a list of days the last word is "and", in a condition "or".
		{Recurrence{Frequency: Year, Hours: []int{9}, Minutes: []int{0}, Days: []Filter{{Weeks: []int{2, 3}}}}, "Every year, in week 2 and week 3, at 09:00 UTC"},
		{Recurrence{Frequency: Year, Hours: []int{9}, Minutes: []int{0}, Days: []Filter{{WeekDays: weekDays{mon}, Weeks: []int{2, 3}}}}, "Every year, on Monday in week 2 or week 3, at 09:00 UTC"},
		{Recurrence{Frequency: Day, Hours: []int{9}, Minutes: []int{0}, Days: []Filter{{WeekDays: weekDays{sat, sun}, Months: months{5, 7}}, {Weeks: []int{2, 3}}}}, "Every day, if that is on Saturday or Sunday in May or July or in week 2 or week 3, at 09:00 UTC"},
		{Recurrence{Frequency: Day, Hours: []int{9}, Minutes: []int{0}, Days: []Filter{{MonthlyOccurrences: []NthWeekday{{mon, 0}, {fri, 1}, {fri, -1}}}}}, "Every day, if that is on a Monday or the first or the last Friday, at 09:00 UTC"},
		{Recurrence{Frequency: Day, Hours: []int{9}, Minutes: []int{0}, Days: []Filter{{YearDays: []int{1, 3}}, {YearlyOccurrences: []NthWeekday{{mon, 0}, {fri, 9}}}, onDates("12-25", "12-26")}}, "Every day, if that is on the 1st or the 3rd day of the year, on a Monday or the 9th Friday of the year or on 25 or 26 December, at 09:00 UTC"},
		{Recurrence{Frequency: Week, Positions: []int{1}, Hours: []int{9}, Minutes: []int{0}, Days: []Filter{{Months: months{5, 7}}}}, "Every week on the first of the days in May or July at 09:00 UTC"},
		{Recurrence{Frequency: Month, Interval: 2, Hours: []int{9}, Minutes: []int{0}, Days: []Filter{{MonthDays: []int{15}}}}, "Every 2 months, on the 15th, at 09:00 UTC"},
		{Recurrence{Frequency: Month, MonthDays: []int{15}, Hours: []int{9}, Minutes: []int{0}, Months: months{2}, Days: []Filter{{WeekDays: workdays}, {Weeks: []int{20}}}}, "Every month on the 15th, if that is on Monday to Friday or in week 20, at 09:00 UTC, only in February"},
		{Recurrence{Frequency: Month, MonthDays: []int{13}, MonthlyOccurrences: []NthWeekday{{fri, 0}}, Days: []Filter{{Weeks: []int{20}}}}, "Every month on the 13th, if that is a Friday, if that is in week 20, at the time of creation, UTC"},
		{Recurrence{Frequency: Day, Days: []Filter{{WeekDays: weekDays{tue}, MonthDays: []int{1, 2}}, {YearDays: []int{-1}}}, StartTime: start}, "Every day, if that is on Tuesday, if that is the 1st or the 2nd, or on the last day of the year, at 12:25:40 UTC, starting on 4 August 2012"},
		{Recurrence{Frequency: Year, Positions: []int{2, -1}, Hours: []int{9}, Minutes: []int{0}, Months: months{1, 2}, Days: []Filter{{WeekDays: weekDays{tue}, Weeks: []int{3}}}}, "Every year on the second and the last of the days on Tuesday in week 3 at 09:00 UTC, only in January and February"},
		{Recurrence{Frequency: Week, WeekDays: weekDays{mon, wed}, Positions: []int{2}, Hours: []int{9}, Minutes: []int{0}, Except: []Filter{weekend}, Days: []Filter{{Months: months{1}}}}, "Every week on the second open one of Monday and Wednesday that are in January at 09:00 UTC; not on Saturday and Sunday"},
		{Recurrence{Frequency: Week, Interval: 2, WeekDays: weekDays{sun, mon}, Hours: []int{9}, Minutes: []int{0}, WeekStart: WeekStartSunday, StartTime: midnight}, "Every 2 weeks on Monday and Sunday at 09:00 UTC, with weeks that begin on Sunday, from 4 August 2012 at 00:00"},
		{Recurrence{Frequency: Minute, Interval: 5, Hours: []int{9}, Days: []Filter{{WeekDays: workdays}}, TimeZone: newYork}, "Every 5 minutes, only from 09:00 to 09:59, if that is on Monday to Friday, America/New_York time"},
		{Recurrence{Frequency: Year, Days: []Filter{{MonthDays: []int{1}}}, Shift: ShiftNext, Except: []Filter{weekend}, Hours: []int{9}, Minutes: []int{0}}, "Every year, on the 1st, or else the next open day at 09:00 UTC; not on Saturday and Sunday"},

		// Seconds.
		{Recurrence{Frequency: Second, Seconds: []int{0, 1, 2, 30}}, "Every second, only in seconds 0 to 2 and 30 of the minute"},
		{Recurrence{Frequency: Second, Interval: 7, Seconds: upTo(0, 59, 1), Hours: []int{9}}, "Every 7 seconds, in any second of the minute, only from 09:00 to 09:59 UTC"},
		{Recurrence{Frequency: Minute, Interval: 5, Seconds: []int{15, 45}}, "Every 5 minutes at 15 and 45 seconds past the minute"},
		{Recurrence{Frequency: Minute, Seconds: upTo(0, 50, 10), Minutes: []int{5}}, "Every minute, every 10 seconds of the minute, only in minute 5 of the hour, UTC"},
		{Recurrence{Frequency: Hour, Seconds: []int{5}}, "Every hour, every minute at 5 seconds past"},
		{Recurrence{Frequency: Hour, Seconds: []int{1}, Minutes: []int{0, 30}}, "Every hour at 0 and 30 minutes past the hour, at 1 second past the minute, UTC"},
		{Recurrence{Frequency: Hour, Seconds: []int{5}, Hours: []int{9, 10}}, "Every hour at 5 seconds past the minute, only from 09:00 to 10:59 UTC"},
		{Recurrence{Frequency: Day, Seconds: []int{5}}, "Every day, every minute at 5 seconds past"},
		{Recurrence{Frequency: Day, Seconds: upTo(0, 50, 10)}, "Every day, every 10 seconds"},
		{Recurrence{Frequency: Day, Seconds: []int{5}, StartTime: start}, "Every day, every minute at 5 seconds past, from 4 August 2012 at 12:25:40 UTC"},
		{Recurrence{Frequency: Day, Seconds: upTo(0, 59, 1), Minutes: upTo(0, 59, 1)}, "Every day, every minute of every hour, every second of the minute"},
		{Recurrence{Frequency: Day, Seconds: []int{5}, Minutes: []int{15}}, "Every day, every hour at 15 minutes past, at 5 seconds past the minute, UTC"},
		{Recurrence{Frequency: Day, Seconds: []int{5}, Hours: []int{5}, StartTime: start}, "Every day at 05:25 UTC, at 5 seconds past the minute, from 12:25:40 on 4 August 2012"},
		{Recurrence{Frequency: Day, Seconds: []int{0}, Minutes: []int{0}, Hours: []int{5}}, "Every day at 05:00:00 UTC"},
		{Recurrence{Frequency: Day, Seconds: []int{0, 30}, Minutes: []int{0, 15, 30, 45}, Hours: []int{9, 10, 11}, TimeZone: newYork}, "Every day, every 15 minutes from 09:00 to 11:45 America/New_York time, at 0 and 30 seconds past the minute"},
		{Recurrence{Frequency: Week, Seconds: []int{0, 30}, Hours: []int{9}, WeekDays: weekDays{mon}}, "Every week on Monday at the minute of creation past 09:00 UTC, at 0 and 30 seconds past the minute"},
	}
	for _, test := range tests {
		if got := test.rule.String(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

func TestStringOfAnInvalidCalendarDoesNotPanic(t *testing.T) {
	f := Filter{WeekDays: []time.Weekday{-1, 9}, MonthDays: []int{0, 99}, MonthlyOccurrences: []NthWeekday{{9, 9}}, Months: []time.Month{0, 13},
		Weeks: []int{0, 99, -99}, YearDays: []int{0, 999, -999}, YearlyOccurrences: []NthWeekday{{9, 99}, {9, -99}, {9, 0}},
		Dates: []string{"", "christmas", "12-25/2026-12-26", "2026-13-01", "easter+99", "easter/orthodoxEaster", "orthodoxEaster"}, Times: []string{"", "25:00", "9"}}
	for frequency := range Frequency(10) {
		for _, cron := range []string{"", "nonsense; and more", "0 0 1 1 1"} {
			r := Recurrence{Frequency: frequency, Cron: cron, Seconds: []int{-1, 99}, Positions: []int{0, 999, -999}, Only: []Filter{{}, f}, Except: []Filter{f}, Days: []Filter{{}, f},
				Shift: 99, ClockChanges: 99, WeekStart: 99}
			r.Also = []Recurrence{{}, r, {StartTime: time.Unix(1<<40, 5)}}
			for _, zone := range []string{"", "No/Where"} {
				if r.TimeZone = zone; r.String() == "" {
					t.Errorf("%#v has no text", r)
				}
			}
		}
	}
}
