package recurrence_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// The types below are the JSON of a rule, read by package encoding/json alone. Brute force over them (jsonModel) shares no code, no type and no
// constant with the engine: the two meet only in the text of a rule and in its instants.

type jsonRule struct {
	StartTime    string            `json:"startTime,omitempty"`
	Frequency    string            `json:"frequency,omitempty"`
	Interval     int               `json:"interval,omitempty"`
	EndTime      string            `json:"endTime,omitempty"`
	Schedule     *jsonSchedule     `json:"schedule,omitempty"`
	TimeZone     string            `json:"timeZone,omitempty"`
	Cron         string            `json:"cron,omitempty"`
	Only         []jsonFilter      `json:"only,omitempty"`
	Except       []jsonFilter      `json:"except,omitempty"`
	Shift        string            `json:"shift,omitempty"`
	ShiftBy      int               `json:"shiftBy,omitempty"`
	Also         []json.RawMessage `json:"also,omitempty"` // a string or a jsonRule each
	ClockChanges string            `json:"clockChanges,omitempty"`
}

type jsonSchedule struct {
	Minutes            []int        `json:"minutes,omitempty"`
	Hours              []int        `json:"hours,omitempty"`
	WeekDays           []string     `json:"weekDays,omitempty"`
	MonthDays          []int        `json:"monthDays,omitempty"`
	MonthlyOccurrences []jsonNth    `json:"monthlyOccurrences,omitempty"`
	Months             []int        `json:"months,omitempty"`
	Seconds            []int        `json:"seconds,omitempty"`
	Positions          []int        `json:"positions,omitempty"`
	Days               []jsonFilter `json:"days,omitempty"`
	WeekStart          string       `json:"weekStart,omitempty"`
}

type jsonNth struct {
	Day        string `json:"day"`
	Occurrence int    `json:"occurrence,omitempty"`
}

type jsonFilter struct {
	WeekDays           []string  `json:"weekDays,omitempty"`
	MonthDays          []int     `json:"monthDays,omitempty"`
	MonthlyOccurrences []jsonNth `json:"monthlyOccurrences,omitempty"`
	Months             []int     `json:"months,omitempty"`
	Weeks              []int     `json:"weeks,omitempty"`
	YearDays           []int     `json:"yearDays,omitempty"`
	YearlyOccurrences  []jsonNth `json:"yearlyOccurrences,omitempty"`
	Dates              []string  `json:"dates,omitempty"`
	Times              []string  `json:"times,omitempty"`
}

func (r jsonRule) text() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func readJSONRule(text string) jsonRule {
	var r jsonRule
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return r
}

var weekdayNames = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

func instantText(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }

func readInstant(text string) int64 {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t.Unix()
}

// A modelDay is a day as a calendar on the wall shows it.
type modelDay struct {
	year, month, day    int
	weekday             string
	monthLength         int
	yearDay, yearLength int
	sinceEaster         int // days since Easter Sunday of the same year, negative before it
	sinceOrthodox       int
}

const firstModelDay, lastModelDay = 3650, 38800 // 1979-12-30 to 2076-03-25, as days since 1970

var modelDays = func() (days []modelDay) {
	for n := firstModelDay; n <= lastModelDay; n++ {
		t := time.Unix(int64(n)*86400, 0).UTC()
		y, m, d := t.Date()
		at := modelDay{year: y, month: int(m), day: d, weekday: strings.ToLower(t.Weekday().String()), yearDay: t.YearDay()}
		at.monthLength = time.Date(y, m+1, 0, 0, 0, 0, 0, time.UTC).Day()
		at.yearLength = time.Date(y, 12, 31, 0, 0, 0, 0, time.UTC).YearDay()
		at.sinceEaster, at.sinceOrthodox = n-easterDay(y), n-orthodoxEasterDay(y)
		days = append(days, at)
	}
	return days
}()

func dayAt(n int) *modelDay { return &modelDays[n-firstModelDay] }

func dayNumber(year int, month time.Month, day int) int {
	return int(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / 86400)
}

// paschalMoons are the dates of the Paschal full moon by the golden number of the year. The first are those of the table in the Book of Common
// Prayer for the years 1900 to 2199; the others those of the Julian calendar, for all its years.
var paschalMoons = strings.Fields("04-14 04-03 03-23 04-11 03-31 04-18 04-08 03-28 04-16 04-05 03-25 04-13 04-02 03-22 04-10 03-30 04-17 04-07 03-27")
var julianMoons = strings.Fields("04-05 03-25 04-13 04-02 03-22 04-10 03-30 04-18 04-07 03-27 04-15 04-04 03-24 04-12 04-01 03-21 04-09 03-29 04-17")

// easterDay returns the Sunday after the Paschal full moon.
func easterDay(year int) int { return sundayAfterMoon(year, paschalMoons, 0) }

// orthodoxEasterDay returns the Sunday after the Paschal full moon of the Julian calendar, which is 13 days late from 1900 to 2099.
func orthodoxEasterDay(year int) int { return sundayAfterMoon(year, julianMoons, 13) }

func sundayAfterMoon(year int, moons []string, late int) int {
	moon, err := time.Parse(time.DateOnly, fmt.Sprintf("%d-%s", year, moons[year%19]))
	if err != nil {
		panic(err)
	}
	for day := moon.AddDate(0, 0, late+1); ; day = day.AddDate(0, 0, 1) {
		if day.Weekday() == time.Sunday {
			return int(day.Unix() / 86400)
		}
	}
}

// weekOf returns the number of the week of a day, and the number of weeks of its year. Weeks begin on the given weekday. A week belongs to the year
// in which at least four of its days lie (RFC 5545, BYWEEKNO; ISO 8601 if weeks begin on Monday).
func weekOf(n int, begin string) (week, weeks int) {
	if knownWeeks[begin] == nil {
		knownWeeks[begin] = make([][2]int, len(modelDays))
	}
	known := &knownWeeks[begin][n-firstModelDay]
	if known[0] == 0 {
		known[0], known[1] = countWeeks(n, begin)
	}
	return known[0], known[1]
}

var knownWeeks = map[string][][2]int{} // results of countWeeks, by the weekday on which weeks begin and by the day

func countWeeks(n int, begin string) (week, weeks int) {
	number := func(n int) (year, week int) {
		first := weekBegin(n, begin)
		days := map[int]int{}
		for i := range 7 {
			days[dayAt(first+i).year]++
		}
		year = dayAt(first).year
		if days[year] < 4 {
			year++
		}
		for ; ; first -= 7 { // count the weeks back to the first of the year
			days := 0
			for i := range 7 {
				if dayAt(first+i).year == year {
					days++
				}
			}
			if days < 4 {
				return year, week
			}
			week++
		}
	}
	year, week := number(n)
	for last := dayNumber(year, 12, 31) + 7; ; last -= 7 {
		if of, weeks := number(last); of == year {
			return week, weeks
		}
	}
}

func weekBegin(n int, begin string) int {
	for dayAt(n).weekday != begin {
		n--
	}
	return n
}
