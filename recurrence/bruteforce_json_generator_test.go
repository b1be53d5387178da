package recurrence_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// A jsonGenerator makes random rules as JSON, near an instant. Half of its filters are made to fit a day near that instant, so that most rules run.
type jsonGenerator struct {
	*rand.Rand
	zone string
	near int64
	day  int // that most filters fit
}

var jsonZones = strings.Fields(`America/New_York Europe/Berlin Australia/Lord_Howe America/Sao_Paulo Pacific/Apia Africa/Casablanca Asia/Kolkata Europe/London
	America/St_Johns Europe/Dublin Antarctica/Troll Asia/Gaza Pacific/Kwajalein Asia/Beirut America/Havana Pacific/Auckland Asia/Tehran America/Caracas`)

func (g jsonGenerator) chance(n int) bool { return g.IntN(n) == 0 }

func oneOf[T any](g jsonGenerator, values ...T) T { return values[g.IntN(len(values))] }

// newJSONGenerator draws a zone, and an instant between 1993 and 2060: near New Year, Easter, 29 February, a clock change, or any other.
func newJSONGenerator(seed uint64) jsonGenerator {
	g := jsonGenerator{Rand: rand.New(rand.NewPCG(seed, 30))}
	if g.IntN(5) < 3 {
		g.zone = oneOf(g, jsonZones...)
	}
	year := 1993 + g.IntN(68)
	day := dayNumber(year, 1, 1+g.IntN(365))
	switch g.IntN(6) {
	case 0, 1:
		day = dayNumber(year, 1, g.IntN(14)-6)
	case 2:
		day = oneOf(g, easterDay(year), orthodoxEasterDay(year)) + g.IntN(21) - 10
	case 3:
		day = dayNumber(year-year%4, 2, 27+g.IntN(5))
	}
	g.near = int64(day)*86400 + g.Int64N(86400)
	if g.zone != "" && g.chance(3) {
		g.near = g.clockChange()
	}
	if g.chance(2) {
		g.near -= g.near % 900
	}
	g.day = int(g.near/86400) + g.IntN(60) - 10
	return g
}

// clockChange returns an instant within three hours of the next change of the clocks, or near if the clocks do not change within a year.
func (g jsonGenerator) clockChange() int64 {
	loc, err := time.LoadLocation(g.zone)
	if err != nil {
		panic(err)
	}
	offset := func(at int64) int { _, seconds := time.Unix(at, 0).In(loc).Zone(); return seconds }
	for at := g.near; at < g.near+366*86400; at += 3600 {
		if offset(at) != offset(at+3600) {
			return at + int64(g.IntN(6*3600)-3*3600)
		}
	}
	return g.near
}

func (g jsonGenerator) some(low, high, most int) (list []int) {
	for range 1 + g.IntN(most) {
		list = append(list, low+g.IntN(high-low+1))
	}
	return list
}

// signed returns numbers from 1 to a limit, or from its end.
func (g jsonGenerator) signed(limit, most int) (list []int) {
	for _, n := range g.some(1, limit, most) {
		list = append(list, oneOf(g, n, n, -n))
	}
	return list
}

func (g jsonGenerator) weekdays(most int) (list []string) {
	for _, n := range g.some(0, 6, most) {
		list = append(list, weekdayNames[n])
	}
	return list
}

func (g jsonGenerator) nths(limit, most int) (list []jsonNth) {
	for range 1 + g.IntN(most) {
		list = append(list, jsonNth{weekdayNames[g.IntN(7)], g.IntN(2*limit+1) - limit})
	}
	return list
}

// anchor returns the day that most filters fit, or another one near the instant.
func (g jsonGenerator) anchor() int {
	return oneOf(g, g.day, g.day, g.day, int(g.near/86400)+g.IntN(60)-10)
}

// filter returns a filter for days. Its fields fit a day near the instant, each with further values, or are drawn freely.
func (g jsonGenerator) filter() (f jsonFilter) {
	n := g.anchor()
	day := dayAt(n)
	fit := g.IntN(8) > 0
	last := func(n, length int) int { return oneOf(g, n, n, n-length-1) }
	for empty := true; empty; {
		if g.chance(4) {
			f.WeekDays, empty = g.weekdays(4), false
			if fit {
				f.WeekDays = append(f.WeekDays, day.weekday)
			}
		}
		if g.chance(7) {
			f.MonthDays, empty = g.signed(31, 12), false
			if fit {
				f.MonthDays = append(f.MonthDays, last(day.day, day.monthLength))
			}
		}
		if g.chance(9) {
			f.MonthlyOccurrences, empty = g.nths(5, 3), false
			if fit {
				f.MonthlyOccurrences = append(f.MonthlyOccurrences, jsonNth{day.weekday, oneOf(g, (day.day+6)/7, 0, -(day.monthLength-day.day)/7-1)})
			}
		}
		if g.chance(8) {
			f.Months, empty = g.some(1, 12, 4), false
			if fit {
				f.Months = append(f.Months, day.month)
			}
		}
		if g.chance(3) {
			f.Weeks, empty = g.signed(53, 8), false
			if fit {
				week, weeks := weekOf(n, oneOf(g, "monday", oneOf(g, weekdayNames...)))
				f.Weeks = append(f.Weeks, last(week, weeks))
			}
			if g.chance(3) {
				f.Weeks = append(f.Weeks, oneOf(g, 1, 52, 53, -1, -52, -53))
			}
		}
		if g.chance(6) {
			f.YearDays, empty = g.signed(366, 20), false
			if fit {
				f.YearDays = append(f.YearDays, last(day.yearDay, day.yearLength))
			}
			if g.chance(3) {
				f.YearDays = append(f.YearDays, oneOf(g, 1, 59, 60, 61, 365, 366, -1, -365, -366))
			}
		}
		if g.chance(6) {
			f.YearlyOccurrences, empty = g.nths(53, 5), false
			if fit {
				f.YearlyOccurrences = append(f.YearlyOccurrences, jsonNth{day.weekday, oneOf(g, (day.yearDay+6)/7, 0, -(day.yearLength-day.yearDay)/7-1)})
			}
		}
		if g.chance(3) {
			for range 1 + g.IntN(3) {
				f.Dates = append(f.Dates, g.dates())
			}
			empty = false
			if since := day.sinceEaster; fit && -70 <= since && since <= 69 && g.chance(2) {
				f.Dates = append(f.Dates, fmt.Sprintf("easter%+d/easter%+d", since, since+1))
			} else if fit {
				f.Dates = append(f.Dates, fmt.Sprintf("%02d-%02d", day.month, day.day))
			}
		}
	}
	return f
}

// dates returns an entry of dates.
func (g jsonGenerator) dates() string {
	if g.chance(2) {
		name := oneOf(g, "easter", "orthodoxEaster")
		offset := func(n int) string {
			if n == 0 && g.chance(2) {
				return name
			}
			return fmt.Sprintf("%s%+d", name, n)
		}
		from := oneOf(g, g.IntN(7)-3, g.IntN(141)-70)
		if g.chance(2) {
			return offset(from)
		}
		return offset(from) + "/" + offset(min(70, from+oneOf(g, 0, 3, g.IntN(60))))
	}
	at := time.Unix(int64(g.anchor())*86400, 0).UTC()
	layout := oneOf(g, time.DateOnly, "01-02", "01-02")
	if g.chance(2) {
		return at.Format(layout)
	}
	return at.Format(layout) + "/" + at.AddDate(0, 0, g.IntN(80)).Format(layout) // some of every year contain New Year
}

func (g jsonGenerator) times() (list []string) {
	for range 1 + g.IntN(2) {
		clock := func() string {
			return fmt.Sprintf("%02d:%02d", oneOf(g, g.IntN(24), g.IntN(5)), oneOf(g, 0, 30, g.IntN(60)))
		}
		entry := clock()
		if g.chance(5) {
			entry += fmt.Sprintf(":%02d", g.IntN(60))
		}
		if g.IntN(4) > 0 {
			entry += "/" + clock()
		}
		list = append(list, entry)
	}
	return list
}

// calendar returns filters, in half of the cases with the weekend.
func (g jsonGenerator) calendar(weekend bool) (list []jsonFilter) {
	if weekend && g.chance(2) {
		list = append(list, jsonFilter{WeekDays: []string{"saturday", "sunday"}})
	}
	for len(list) == 0 || g.chance(2) {
		f := g.filter()
		if g.chance(4) {
			f.Times = g.times()
		}
		if g.chance(8) {
			f = jsonFilter{Times: g.times()}
		}
		list = append(list, f)
	}
	return list
}

// rule returns a rule without its calendar. If a shift is to be valid with it, days is true.
func (g jsonGenerator) rule(days bool) (r jsonRule) {
	r.Frequency = oneOf(g, "second", "minute", "hour", "hour", "day", "day", "week", "week", "week", "month", "month", "month", "year", "year", "year")
	if days && slices.Contains([]string{"second", "minute", "hour"}, r.Frequency) {
		r.Frequency = "day"
	}
	if g.chance(15) {
		r.Frequency = ""
		r.Cron = oneOf(g, "*/15 9-16 * * 1-5", "30 2 * * *", "15,45 * * * *", "0 */2 13 * 5", "5 0-23 */9 3,10 *", "0,30 0-3 25-31 3,4,9,10,11 0", "59 23 31 * *")
		return r
	}
	if g.chance(3) {
		r.Interval = 1 + g.IntN(map[string]int{"month": 18, "week": 30, "year": 4}[r.Frequency]+oneOf(g, 2, 20))
		if r.Frequency == "month" {
			r.Interval = min(r.Interval, 18)
		}
	}
	var s jsonSchedule
	if g.chance(3) {
		s.Minutes = g.some(0, 59, 3)
	}
	if g.chance(3) {
		s.Hours = g.some(0, oneOf(g, 23, 4), 4)
	}
	if g.chance(6) {
		s.Seconds = g.some(0, 59, 2)
	}
	if g.chance(25) {
		s.Hours = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}
	}
	switch r.Frequency {
	case "week":
		if g.chance(2) {
			s.WeekDays = g.weekdays(4)
		}
	case "month":
		if g.chance(3) {
			s.MonthDays = g.signed(31, 5)
		}
		if g.chance(3) {
			s.MonthlyOccurrences = g.nths(5, 3)
		}
	}
	if day := dayAt(g.day); g.IntN(4) > 0 {
		if len(s.WeekDays) > 0 {
			s.WeekDays = append(s.WeekDays, day.weekday)
		}
		if len(s.MonthDays) > 0 {
			s.MonthDays = append(s.MonthDays, day.day)
		}
		if len(s.MonthlyOccurrences) > 0 {
			s.MonthlyOccurrences = append(s.MonthlyOccurrences, jsonNth{day.weekday, (day.day + 6) / 7})
		}
	}
	if (r.Frequency == "month" || r.Frequency == "year") && g.chance(4) {
		s.Months = append(g.some(1, 12, 4), dayAt(g.anchor()).month)
	}
	if limit := map[string]int{"week": 7, "month": 31, "year": 366}[r.Frequency]; limit > 0 && g.chance(3) {
		s.Positions = g.signed(oneOf(g, limit, min(limit, 8)), 4)
	}
	if g.IntN(5) < 3 {
		for len(s.Days) == 0 || g.chance(3) {
			s.Days = append(s.Days, g.filter())
		}
	}
	if g.chance(3) {
		s.WeekStart = weekdayNames[g.IntN(7)]
	}
	if text, _ := json.Marshal(s); string(text) != "{}" {
		r.Schedule = &s
	}
	return r
}

// draw returns a rule, and the instant of its creation.
func (g jsonGenerator) draw() (r jsonRule, created int64) {
	r = g.rule(false)
	r.TimeZone = g.zone
	if g.IntN(4) > 0 {
		r.StartTime = instantText(g.near - g.Int64N(oneOf[int64](g, 1, 40*86400, 9*365*86400)))
	}
	if g.chance(4) {
		r.Only = g.calendar(false)
	}
	if g.chance(2) {
		r.Except = g.calendar(true)
	}
	model := newJSONModel(r, g.near)
	positions := len(model.sched.Positions) > 0
	if model.hasDays() {
		if !positions && len(r.Only)+len(r.Except) > 0 && g.IntN(3) > 0 {
			r.Shift = oneOf(g, "next", "previous", "nearest", "nextInMonth", "previousInMonth", "nearestInMonth")
		}
		if g.chance(2) {
			r.ShiftBy = oneOf(g, g.IntN(63)-31, g.IntN(7)-3)
		}
		if g.chance(4) {
			r.ClockChanges = oneOf(g, "skip", "shown")
		}
	}
	if r.Frequency != "" && g.chance(5) {
		for range 1 + g.IntN(3) {
			entry := fmt.Sprintf("%q", instantText(g.near+g.Int64N(60*86400)-10*86400))
			if g.chance(2) {
				other := g.rule(model.hasDays() && (r.Shift != "" || r.ShiftBy != 0 || r.ClockChanges != ""))
				if r.Shift != "" && other.Schedule != nil {
					other.Schedule.Positions = nil
				}
				if g.chance(2) {
					other.StartTime = instantText(g.near - g.Int64N(40*86400))
				}
				entry = other.text()
			}
			r.Also = append(r.Also, json.RawMessage(entry))
		}
	}
	if g.chance(6) {
		r.EndTime = instantText(g.near + g.Int64N(300*86400))
	}
	return r, g.near
}
