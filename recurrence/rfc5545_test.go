package recurrence

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
)

// An rfcRule is an RRULE with a start in UTC, evaluated by the text of RFC 5545, section 3.3.10: each day of each period is checked against every
// part. It shares nothing with the package.
type rfcRule struct {
	start    time.Time
	freq     string
	interval int
	wkst     int // the first day of a week, counted from Monday
	parts    map[string][]string
}

func (r rfcRule) String() string {
	text := "DTSTART:" + r.start.Format("20060102T150405Z") + "\nRRULE:FREQ=" + r.freq + ";INTERVAL=" + strconv.Itoa(r.interval)
	if r.wkst > 0 {
		text += ";WKST=" + rfcDays[r.wkst]
	}
	for _, name := range []string{"BYMONTH", "BYWEEKNO", "BYMONTHDAY", "BYYEARDAY", "BYDAY", "BYHOUR", "BYMINUTE", "BYSECOND", "BYSETPOS"} {
		if len(r.parts[name]) > 0 {
			text += ";" + name + "=" + strings.Join(r.parts[name], ",")
		}
	}
	return text
}

// holds reports whether a part contains a number, or its negative counterpart counted from the end.
func (r rfcRule) holds(name string, n, negative int) bool {
	return slices.Contains(r.parts[name], strconv.Itoa(n)) || slices.Contains(r.parts[name], strconv.Itoa(negative))
}

func (r rfcRule) has(name string) bool { return len(r.parts[name]) > 0 }

// period returns the number of the period that holds a day.
func (r rfcRule) period(day time.Time) int {
	switch r.freq {
	case "YEARLY":
		return day.Year()
	case "MONTHLY":
		return 12*day.Year() + int(day.Month())
	case "WEEKLY":
		return int((day.Unix()/86400 + 3 - int64(r.wkst)) / 7) // 1970-01-01 is a Thursday
	}
	return int(day.Unix() / 86400)
}

// on reports whether a day is in the set before BYSETPOS.
func (r rfcRule) on(day time.Time) bool {
	monthLength := day.AddDate(0, 1, -day.Day()).Day()
	yearLength := time.Date(day.Year(), 12, 31, 0, 0, 0, 0, time.UTC).YearDay()
	if r.has("BYMONTH") && !r.holds("BYMONTH", int(day.Month()), 99) ||
		r.has("BYMONTHDAY") && !r.holds("BYMONTHDAY", day.Day(), day.Day()-monthLength-1) ||
		r.has("BYYEARDAY") && !r.holds("BYYEARDAY", day.YearDay(), day.YearDay()-yearLength-1) {
		return false
	}
	if r.has("BYWEEKNO") {
		weeks := Filter{}
		for _, word := range r.parts["BYWEEKNO"] {
			n, _ := strconv.Atoi(word)
			weeks.Weeks = append(weeks.Weeks, n)
		}
		if !isOfYear(weeks, day, r.wkst) {
			return false
		}
	}
	if r.has("BYDAY") {
		name := strings.ToUpper(day.Weekday().String()[:2])
		nth, last := (day.Day()-1)/7+1, -((monthLength-day.Day())/7 + 1)
		if r.freq == "YEARLY" && !r.has("BYMONTH") {
			nth, last = (day.YearDay()-1)/7+1, -((yearLength-day.YearDay())/7 + 1)
		}
		return slices.Contains(r.parts["BYDAY"], name) || slices.Contains(r.parts["BYDAY"], strconv.Itoa(nth)+name) ||
			slices.Contains(r.parts["BYDAY"], strconv.Itoa(last)+name)
	}
	if r.has("BYMONTHDAY") || r.has("BYYEARDAY") {
		return true
	}
	switch {
	case r.freq == "WEEKLY" || r.has("BYWEEKNO"):
		return day.Weekday() == r.start.Weekday()
	case r.freq == "MONTHLY":
		return day.Day() == r.start.Day()
	case r.freq == "YEARLY":
		return day.Day() == r.start.Day() && (r.has("BYMONTH") || day.Month() == r.start.Month())
	}
	return true
}

// times returns the values of a part of the clock, or the start's value.
func (r rfcRule) times(name string, start int) (list []int) {
	for _, word := range r.parts[name] {
		n, _ := strconv.Atoi(word)
		list = append(list, n)
	}
	if list == nil {
		list = []int{start}
	}
	slices.Sort(list)
	return list
}

// runs returns the first n runs before a limit.
func (r rfcRule) runs(n int, limit time.Time) (list []time.Time) {
	day := time.Date(r.start.Year(), 1, -10, 0, 0, 0, 0, time.UTC)
	first := r.period(r.start)
	for day.Before(limit) && len(list) < n {
		period := r.period(day)
		var set []time.Time
		for ; r.period(day) == period; day = day.AddDate(0, 0, 1) {
			if (period-first)%r.interval != 0 || !r.on(day) {
				continue
			}
			for _, hour := range r.times("BYHOUR", r.start.Hour()) {
				for _, minute := range r.times("BYMINUTE", r.start.Minute()) {
					for _, second := range r.times("BYSECOND", r.start.Second()) {
						set = append(set, day.Add(time.Duration(hour*3600+minute*60+second)*time.Second))
					}
				}
			}
		}
		for i, at := range set {
			if !at.Before(r.start) && at.Before(limit) && (!r.has("BYSETPOS") || r.holds("BYSETPOS", i+1, i-len(set))) {
				list = append(list, at)
			}
		}
	}
	return list[:min(n, len(list))]
}

// rfcDays are the weekdays of RFC 5545.
var rfcDays = []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}

// drawRFC returns a random rule. Some of them never run.
func drawRFC(g *rand.Rand) rfcRule {
	r := rfcRule{interval: 1 + g.IntN(4), parts: map[string][]string{}}
	r.start = time.Date(2026, time.Month(1+g.IntN(12)), 1+g.IntN(31), g.IntN(24), g.IntN(60), g.IntN(2)*30, 0, time.UTC)
	r.freq = []string{"DAILY", "WEEKLY", "MONTHLY", "YEARLY", "YEARLY"}[g.IntN(5)]
	if g.IntN(2) == 0 {
		r.interval = 1
	}
	add := func(name string, chance, most int, value func() string) {
		if g.IntN(chance) > 0 {
			return
		}
		for range 1 + g.IntN(most) {
			if v := value(); !slices.Contains(r.parts[name], v) {
				r.parts[name] = append(r.parts[name], v)
			}
		}
	}
	number := func(low, high int) func() string {
		return func() string {
			n := low + g.IntN(high-low+1)
			if n == 0 {
				n = 1
			}
			return strconv.Itoa(n)
		}
	}
	add("BYMONTH", 3, 5, number(1, 12))
	if r.freq != "WEEKLY" {
		add("BYMONTHDAY", 3, 12, number(-31, 31))
	}
	if r.freq == "YEARLY" {
		add("BYYEARDAY", 6, 4, number(-366, 366))
		add("BYWEEKNO", 4, 6, number(-53, 53))
	}
	if g.IntN(3) == 0 {
		r.wkst = g.IntN(7)
	}
	numbered := !r.has("BYWEEKNO") && g.IntN(2) == 0 && (r.freq == "MONTHLY" || r.freq == "YEARLY")
	add("BYDAY", 2, 5, func() string {
		name := []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}[g.IntN(7)]
		if !numbered {
			return name
		}
		if r.freq == "YEARLY" && !r.has("BYMONTH") {
			return number(-53, 53)() + rfcDays[g.IntN(7)]
		}
		return number(-5, 5)() + name
	})
	for _, name := range []string{"BYHOUR", "BYMINUTE", "BYSECOND"} {
		high := 59
		if name == "BYHOUR" {
			high = 23
		}
		if g.IntN(4) == 0 {
			add(name, 1, 2, func() string { return strconv.Itoa(g.IntN(high + 1)) })
		}
	}
	if len(r.parts) > 0 {
		add("BYSETPOS", 4, 3, number(-6, 6))
	}
	return r
}

func TestAnRRuleRunsAsRFC5545SaysByTheDay(t *testing.T) {
	limit := time.Date(2056, 1, 1, 0, 0, 0, 0, time.UTC)
	compared := map[string]int{}
	seeds := long.Draw(400, 1600)
	for _, seed := range seeds {
		r := drawRFC(rand.New(rand.NewPCG(seed, 5545)))
		want := r.runs(20, limit)
		got, err := FromRRule(r.String())
		if code := codesOf(err); code == string(CodeNeverFires) && len(want) == 0 {
			continue
		}
		if err != nil {
			t.Errorf("seed %d: %s\n%v", seed, r, err)
			continue
		}
		s, err := got.Series(r.start)
		if err != nil {
			t.Errorf("seed %d: %s\n%+v: %v", seed, r, got, err)
			continue
		}
		runs := firstRuns(s, len(want)+1)
		runs = slices.DeleteFunc(runs, func(at time.Time) bool { return !at.Before(limit) })
		runs = runs[:min(20, len(runs))]
		if !slices.EqualFunc(runs, want, time.Time.Equal) {
			t.Errorf("seed %d: %s\n%+v\ngot  %v\nwant %v", seed, r, got, runs, want)
			continue
		}
		compared[r.freq]++
		text, err := got.RRule()
		if err != nil {
			t.Errorf("seed %d: %s\n%+v cannot be written back: %v", seed, r, got, err)
			continue
		}
		again, err := FromRRule(text)
		if err != nil {
			t.Errorf("seed %d: %s\nwritten back as %s: %v", seed, r, text, err)
			continue
		}
		s, err = again.Series(r.start)
		if err != nil {
			t.Errorf("seed %d: %s\nwritten back as %s: %v", seed, r, text, err)
			continue
		}
		back := firstRuns(s, len(runs)+1)
		if back = back[:min(len(back), len(runs))]; !slices.EqualFunc(back, runs, time.Time.Equal) {
			t.Errorf("seed %d: %s\nwritten back as %s\ngot  %v\nwant %v", seed, r, text, back, runs)
		}
	}
	for _, freq := range []string{"DAILY", "WEEKLY", "MONTHLY", "YEARLY"} {
		if compared[freq] < len(seeds)/8 {
			t.Errorf("%s: %d rules compared, want at least %d (%v)", freq, compared[freq], len(seeds)/8, compared)
		}
	}
}
