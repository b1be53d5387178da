package docs_test

import (
	"time"

	"github.com/chimejobs/chime/recurrence"
)

// A calendarRule is a rule of docs/calendar.md. The page is generated from this file.
type calendarRule struct {
	wish string // the rule in words
	note string // an explanation, or empty
	rule recurrence.Recurrence
}

var (
	workdays = []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday}
	weekend  = []time.Weekday{time.Saturday, time.Sunday}
	holidays = []string{"2026-01-01", "2026-04-03", "2026-04-06", "2026-05-25", "2026-12-25", "2026-12-28", "2027-01-01"}

	newYork, chicago, berlin, tokyo = zone("America/New_York"), zone("America/Chicago"), zone("Europe/Berlin"), zone("Asia/Tokyo")
)

func zone(name string) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return loc
}

// calendarRules are written as in a program. The page copies the source of each rule.
var calendarRules = []calendarRule{
	{
		wish: "Every working day at nine",
		rule: recurrence.Recurrence{
			Frequency: recurrence.Week, WeekDays: workdays, Hours: []int{9}, Minutes: []int{0},
			Except: []recurrence.Filter{{Dates: holidays}},
		},
	},
	{
		wish: "The last working day of the month at six in the evening",
		note: "A position counts the open days of its period: the calendar has already removed the closed ones. -1 is the last open day.",
		rule: recurrence.Recurrence{
			Frequency: recurrence.Month, Positions: []int{-1}, Hours: []int{18}, Minutes: []int{0}, TimeZone: "Europe/London",
			Except: []recurrence.Filter{{WeekDays: weekend}, {Dates: holidays}},
		},
	},
	{
		wish: "The third working day of the month",
		rule: recurrence.Recurrence{
			Frequency: recurrence.Month, Positions: []int{3}, Hours: []int{8}, Minutes: []int{0},
			Except: []recurrence.Filter{{WeekDays: weekend}, {Dates: holidays}},
		},
	},
	{
		wish: "Payday: the 25th, or the working day before",
		rule: recurrence.Recurrence{
			Frequency: recurrence.Month, MonthDays: []int{25}, Hours: []int{9}, Minutes: []int{0},
			Except: []recurrence.Filter{{WeekDays: weekend}, {Dates: holidays}}, Shift: recurrence.ShiftPrevious,
		},
	},
	{
		wish: "The 30th, or the next working day, but never in the next month",
		note: "Finance calls this modified following: if no open day is left in the month, the run moves to the last open day before, as on 29 May 2026. A month without a 30th has no run.",
		rule: recurrence.Recurrence{
			Frequency: recurrence.Month, MonthDays: []int{30}, Hours: []int{9}, Minutes: []int{0},
			Except: []recurrence.Filter{{WeekDays: weekend}, {Dates: holidays}}, Shift: recurrence.ShiftNextInMonth,
		},
	},
	{
		wish: "The working day nearest to the 15th",
		rule: recurrence.Recurrence{
			Frequency: recurrence.Month, MonthDays: []int{15}, Hours: []int{9}, Minutes: []int{0},
			Except: []recurrence.Filter{{WeekDays: weekend}}, Shift: recurrence.ShiftNearestInMonth,
		},
	},
	{
		wish: "Every half hour from nine to half past five on weekdays",
		note: "With a frequency below a day the calendar checks what the clock shows: 17:30 is the last open minute.",
		rule: recurrence.Recurrence{
			StartTime: time.Date(2026, time.January, 1, 0, 0, 0, 0, newYork), Frequency: recurrence.Minute, Interval: 30, TimeZone: "America/New_York",
			Only: []recurrence.Filter{{WeekDays: workdays, Times: []string{"09:00/17:30"}}},
		},
	},
	{
		wish: "Every hour while the shop is open: weekdays from nine, Saturdays from ten to noon",
		note: "A time is open if it matches one filter of Only.",
		rule: recurrence.Recurrence{
			StartTime: time.Date(2026, time.January, 1, 0, 0, 0, 0, chicago), Frequency: recurrence.Hour, TimeZone: "America/Chicago",
			Only: []recurrence.Filter{
				{WeekDays: workdays, Times: []string{"09:00/17:00"}},
				{WeekDays: []time.Weekday{time.Saturday}, Times: []string{"10:00/12:00"}},
			},
		},
	},
	{
		wish: "The first working day of the quarter",
		rule: recurrence.Recurrence{
			Frequency: recurrence.Month, Months: []time.Month{time.January, time.April, time.July, time.October}, Positions: []int{1},
			Hours: []int{7}, Minutes: []int{0}, Except: []recurrence.Filter{{WeekDays: weekend}, {Dates: holidays}},
		},
	},
	{
		wish: "The last working day of the year at noon",
		rule: recurrence.Recurrence{
			Frequency: recurrence.Year, Positions: []int{-1}, Hours: []int{12}, Minutes: []int{0},
			Except: []recurrence.Filter{{WeekDays: weekend}, {Dates: holidays}},
		},
	},
	{
		wish: "The first working day of each week",
		rule: recurrence.Recurrence{
			Frequency: recurrence.Week, Positions: []int{1}, Hours: []int{9}, Minutes: []int{0},
			Except: []recurrence.Filter{{WeekDays: weekend}, {Dates: holidays}},
		},
	},
	{
		wish: "The last day of every month",
		rule: recurrence.Recurrence{Frequency: recurrence.Month, MonthDays: []int{-1}, Hours: []int{23}, Minutes: []int{59}},
	},
	{
		wish: "The second Tuesday of the month",
		rule: recurrence.Recurrence{
			Frequency: recurrence.Month, MonthlyOccurrences: []recurrence.NthWeekday{{Day: time.Tuesday, N: 2}}, Hours: []int{18}, Minutes: []int{0},
		},
	},
	{
		wish: "The Tuesday after the first Monday in November",
		note: "This is the Tuesday between the 2nd and the 8th.",
		rule: recurrence.Recurrence{
			Frequency: recurrence.Day, Hours: []int{20}, Minutes: []int{0}, TimeZone: "America/New_York",
			Only: []recurrence.Filter{{WeekDays: []time.Weekday{time.Tuesday}, MonthDays: []int{2, 3, 4, 5, 6, 7, 8}, Months: []time.Month{time.November}}},
		},
	},
	{
		wish: "The first Monday of the month, or the Tuesday if that is a holiday",
		rule: recurrence.Recurrence{
			Frequency: recurrence.Month, MonthlyOccurrences: []recurrence.NthWeekday{{Day: time.Monday, N: 1}}, Hours: []int{10}, Minutes: []int{0},
			Except: []recurrence.Filter{{Dates: holidays}}, Shift: recurrence.ShiftNext,
		},
	},
	{
		wish: "Friday the 13th",
		rule: recurrence.Recurrence{
			Frequency: recurrence.Month, MonthDays: []int{13}, MonthlyOccurrences: []recurrence.NthWeekday{{Day: time.Friday}}, Hours: []int{13}, Minutes: []int{13},
		},
	},
	{
		wish: "Every five minutes, but not during database maintenance on Sunday nights",
		rule: recurrence.Recurrence{
			StartTime: time.Date(2026, time.January, 1, 0, 0, 0, 0, berlin), Frequency: recurrence.Minute, Interval: 5, TimeZone: "Europe/Berlin",
			Except: []recurrence.Filter{{WeekDays: []time.Weekday{time.Sunday}, Times: []string{"02:00/03:59"}}},
		},
	},
	{
		wish: "Every night, but not between Christmas Eve and Epiphany",
		rule: recurrence.Recurrence{
			Frequency: recurrence.Day, Hours: []int{3}, Minutes: []int{0}, TimeZone: "Europe/Berlin",
			Except: []recurrence.Filter{{Dates: []string{"12-24/01-06"}}},
		},
	},
	{
		wish: "Every working day, and one Saturday that is a working day by exception",
		note: "It is enough to match one filter of Only, so the Saturday is a second filter.",
		rule: recurrence.Recurrence{
			Frequency: recurrence.Day, Hours: []int{9}, Minutes: []int{0}, TimeZone: "Asia/Shanghai",
			Only: []recurrence.Filter{{WeekDays: workdays}, {Dates: []string{"2026-02-14"}}},
		},
	},
	{
		wish: "When the market closes: at four, on half days at one",
		note: "On half days the run at four is closed; instants of Also always run.",
		rule: recurrence.Recurrence{
			StartTime: time.Date(2026, time.November, 23, 0, 0, 0, 0, newYork), Frequency: recurrence.Day, Hours: []int{16}, Minutes: []int{0}, TimeZone: "America/New_York",
			Only:   []recurrence.Filter{{WeekDays: workdays}},
			Except: []recurrence.Filter{{Dates: []string{"2026-11-26", "2026-12-25"}}, {Dates: []string{"2026-11-27", "2026-12-24"}, Times: []string{"16:00"}}},
			Also: []recurrence.Recurrence{
				{StartTime: time.Date(2026, time.November, 27, 13, 0, 0, 0, newYork)},
				{StartTime: time.Date(2026, time.December, 24, 13, 0, 0, 0, newYork)},
			},
		},
	},
	{
		wish: "Weekdays at nine, Saturdays at eleven, holidays off",
		rule: recurrence.Recurrence{
			Frequency: recurrence.Week, WeekDays: workdays, Hours: []int{9}, Minutes: []int{0},
			Also:   []recurrence.Recurrence{{Frequency: recurrence.Week, WeekDays: []time.Weekday{time.Saturday}, Hours: []int{11}, Minutes: []int{0}}},
			Except: []recurrence.Filter{{Dates: []string{"12-25", "12-26", "01-01"}}},
		},
	},
	{
		wish: "A list of dates and nothing else",
		note: "The first date is StartTime, the others are in Also.",
		rule: recurrence.Recurrence{
			StartTime: time.Date(2026, time.March, 31, 15, 0, 0, 0, time.UTC),
			Also: []recurrence.Recurrence{
				{StartTime: time.Date(2026, time.June, 29, 15, 0, 0, 0, time.UTC)},
				{StartTime: time.Date(2026, time.September, 30, 15, 0, 0, 0, time.UTC)},
			},
		},
	},
	{
		wish: "A cron line with holidays",
		rule: recurrence.Recurrence{
			Cron: "*/30 8-17 * * 1-5", TimeZone: "Europe/London",
			Except: []recurrence.Filter{{Dates: holidays}},
		},
	},
	{
		wish: "Every other Thursday, but not in August",
		rule: recurrence.Recurrence{
			StartTime: time.Date(2026, time.July, 9, 14, 0, 0, 0, time.UTC), Frequency: recurrence.Week, Interval: 2,
			WeekDays: []time.Weekday{time.Thursday}, Hours: []int{14}, Minutes: []int{0},
			Except: []recurrence.Filter{{Months: []time.Month{time.August}}},
		},
	},
	{
		wish: "Every ten seconds in office hours",
		rule: recurrence.Recurrence{
			StartTime: time.Date(2026, time.January, 1, 0, 0, 0, 0, tokyo), Frequency: recurrence.Second, Interval: 10, TimeZone: "Asia/Tokyo",
			Only: []recurrence.Filter{{WeekDays: workdays, Times: []string{"09:00/16:59"}}},
		},
	},
	{
		wish: "At the 5th and the 35th second of every minute",
		rule: recurrence.Recurrence{
			StartTime: time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC), Frequency: recurrence.Minute, Seconds: []int{5, 35},
		},
	},
	{
		wish: "The 256th day of the year",
		rule: recurrence.Recurrence{Frequency: recurrence.Year, Positions: []int{256}, Hours: []int{12}, Minutes: []int{0}},
	},
	{
		wish: "Thanksgiving",
		note: "A holiday with a formula needs no list.",
		rule: recurrence.Recurrence{
			Frequency: recurrence.Month, Months: []time.Month{time.November}, MonthlyOccurrences: []recurrence.NthWeekday{{Day: time.Thursday, N: 4}},
			Hours: []int{8}, Minutes: []int{0}, TimeZone: "America/New_York",
		},
	},
	{
		wish: "Every night at half past two, but not in the night when the clocks skip that time",
		note: "Without ClockSkip it runs at 03:30 that night.",
		rule: recurrence.Recurrence{
			StartTime: time.Date(2026, time.March, 26, 0, 0, 0, 0, berlin), Frequency: recurrence.Day, Hours: []int{2}, Minutes: []int{30},
			TimeZone: "Europe/Berlin", ClockChanges: recurrence.ClockSkip,
		},
	},
	{
		wish: "Every time the clocks show one in the morning, even twice in one night",
		note: "Without ClockShown it runs only the first time.",
		rule: recurrence.Recurrence{
			StartTime: time.Date(2026, time.October, 31, 0, 0, 0, 0, newYork), Frequency: recurrence.Day, Hours: []int{1}, Minutes: []int{0},
			TimeZone: "America/New_York", ClockChanges: recurrence.ClockShown,
		},
	},
}
