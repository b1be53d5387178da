package recurrence_test

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A readRRule is one RRULE line. An rruleReading is a text of RFC 5545 with its DTSTART, and expands it by the table of section 3.3.10: each day of
// each period is tried against each part. It shares nothing with the package, nor with the other expansion in its tests.
type rruleReading struct {
	loc     *time.Location
	start   int64 // what the clock of loc shows at DTSTART, as seconds since 1970
	rules   []*readRRule
	added   []int64        // instants of RDATE
	removed map[int64]bool // instants of EXDATE
	days    map[int]bool   // days of EXDATE;VALUE=DATE
}

type readRRule struct {
	of       *rruleReading
	freq     string
	interval int
	count    int
	until    int64
	begin    string // weekday on which weeks begin
	parts    map[string][]string
	tried    int64 // if not 0, the search ended here, because too many hours, minutes or seconds were tried
}

var rruleWeekdays = map[string]string{"SU": "sunday", "MO": "monday", "TU": "tuesday", "WE": "wednesday", "TH": "thursday", "FR": "friday", "SA": "saturday"}

const rruleLayout = "20060102T150405"

// readRRules reads a text with DTSTART first.
func readRRules(text string) *rruleReading {
	r := &rruleReading{loc: time.UTC, removed: map[int64]bool{}, days: map[int]bool{}}
	for _, line := range strings.Split(strings.ReplaceAll(strings.ReplaceAll(text, "\r", ""), "\n ", ""), "\n") { // unfolded
		name, value, _ := strings.Cut(line, ":")
		name, parameter, _ := strings.Cut(name, ";")
		if zone, ok := strings.CutPrefix(parameter, "TZID="); ok {
			loc, err := time.LoadLocation(zone)
			if err != nil {
				panic(err)
			}
			r.loc = loc
		}
		switch {
		case name == "DTSTART":
			r.start = wallOf(value)
		case name == "RRULE":
			r.rules = append(r.rules, r.readRule(value))
		case parameter == "VALUE=DATE":
			for _, day := range strings.Split(value, ",") {
				r.days[int(wallOf(day+"T000000")/86400)] = true
			}
		default:
			for _, at := range strings.Split(value, ",") {
				instant := wallOf(at)
				if !strings.HasSuffix(at, "Z") {
					instant = r.instant(instant)
				}
				if name == "RDATE" {
					r.added = append(r.added, instant)
				} else {
					r.removed[instant] = true
				}
			}
		}
	}
	return r
}

func wallOf(text string) int64 {
	t, err := time.Parse(rruleLayout, strings.TrimSuffix(text, "Z"))
	if err != nil {
		panic(err)
	}
	return t.Unix()
}

func (r *rruleReading) readRule(value string) *readRRule {
	rule := &readRRule{of: r, interval: 1, until: 1 << 40, begin: "monday", parts: map[string][]string{}}
	for _, part := range strings.Split(value, ";") {
		name, list, _ := strings.Cut(part, "=")
		switch name {
		case "FREQ":
			rule.freq = list
		case "INTERVAL":
			rule.interval, _ = strconv.Atoi(list)
		case "COUNT":
			rule.count, _ = strconv.Atoi(list)
		case "UNTIL":
			rule.until = wallOf(list)
		case "WKST":
			rule.begin = rruleWeekdays[list]
		default:
			rule.parts[name] = strings.Split(list, ",")
		}
	}
	return rule
}

// instant returns the instant of a local time: the first if the clocks repeat it, and by the offset before the gap if they skip it.
func (r *rruleReading) instant(wall int64) int64 {
	var before int64
	for hours := int64(-36); hours <= 36; hours++ { // from the earliest offset on
		_, offset := time.Unix(wall+hours*3600, 0).In(r.loc).Zone()
		at := wall - int64(offset)
		if hours == -36 {
			before = at
		}
		if r.wall(at) == wall {
			return at
		}
	}
	for at := before - 86400; ; at += 900 { // the last quarter of an hour before the gap has the offset
		if r.wall(at+900) > wall {
			for r.wall(at+1) < wall {
				at++
			}
			return at + wall - r.wall(at)
		}
	}
}

// wall returns what the clock shows at an instant.
func (r *rruleReading) wall(at int64) int64 {
	_, offset := time.Unix(at, 0).In(r.loc).Zone()
	return at + int64(offset)
}

// runs returns the instants of the text before a limit: at most most of each rule, and so complete only up to the returned limit.
func (r *rruleReading) runs(limit int64, most int) (list []int64, complete int64) {
	for _, rule := range r.rules {
		of, end := rule.runs(limit, most)
		limit = end
		list = append(list, of...)
	}
	list = append(list, r.added...)
	list = slices.DeleteFunc(list, func(at int64) bool { return at >= limit || r.removed[at] || r.days[int(r.wall(at)/86400)] })
	slices.Sort(list)
	return slices.Compact(list), limit
}

func (r *readRRule) has(part string) bool { return len(r.parts[part]) > 0 }

func (r *readRRule) numbers(part string) (list []int) {
	for _, text := range r.parts[part] {
		n, _ := strconv.Atoi(text)
		list = append(list, n)
	}
	return list
}

// runs returns the instants of one RRULE before a limit, and the instant up to which they are complete.
func (r *readRRule) runs(limit int64, most int) (list []int64, complete int64) {
	start := r.of.instant(r.of.start)
	last := int64(0)
	if r.count > 0 {
		most = r.count
	}
	for set := range r.periods(limit) {
		for i, at := range set {
			if r.has("BYSETPOS") && !counted(r.numbers("BYSETPOS"), i+1, len(set)) || at < start || at > r.until || at == last {
				continue
			}
			if at >= limit {
				return list, limit
			}
			if len(list) == most {
				if r.count > 0 {
					return list, limit
				}
				return list, at
			}
			list, last = append(list, at), at
		}
	}
	if r.tried > 0 {
		limit = r.tried
	}
	return list, limit
}

// periods yields the set of each period from the one of DTSTART on, before BYSETPOS.
func (r *readRRule) periods(limit int64) func(yield func([]int64) bool) {
	if length := map[string]int64{"SECONDLY": 1, "MINUTELY": 60, "HOURLY": 3600}[r.freq]; length > 0 {
		return r.elapsed(limit, length)
	}
	return func(yield func([]int64) bool) {
		first := int(r.of.start / 86400)
		for r.period(first-1) == r.period(first) {
			first--
		}
		times := r.times()
		for n, gone := first, 0; n < int(limit/86400)+3; gone++ {
			period, on := r.period(n), gone%r.interval == 0
			var set []int64
			for ; r.period(n) == period; n++ {
				if !on || !r.holdsDay(n) {
					continue
				}
				for _, second := range times {
					set = append(set, r.of.instant(int64(n)*86400+int64(second)))
				}
			}
			if len(set) > 0 && !yield(set) {
				return
			}
		}
	}
}

// elapsed yields the sets of hours, minutes and seconds. They are intervals of elapsed time from the full hour or minute of DTSTART.
func (r *readRRule) elapsed(limit, length int64) func(yield func([]int64) bool) {
	at := r.of.instant(r.of.start)
	at -= r.of.start % length
	hours, minutes, seconds := r.numbers("BYHOUR"), r.numbers("BYMINUTE"), r.numbers("BYSECOND")
	if r.freq == "HOURLY" && len(minutes) == 0 {
		minutes = []int{int(r.of.start / 60 % 60)}
	}
	if r.freq != "SECONDLY" && len(seconds) == 0 {
		seconds = []int{int(r.of.start % 60)}
	}
	fits := func(list []int, n int64) bool { return len(list) == 0 || slices.Contains(list, int(n)) }
	return func(yield func([]int64) bool) {
		days := [2]int64{-1, -1} // the last days that were tried
		var held [2]bool
		holds := func(day int64) bool {
			if i := day % 2; days[i] != day {
				days[i], held[i] = day, r.holdsDay(int(day))
			}
			return held[day%2]
		}
		for tried := 0; at < limit; at += length * int64(r.interval) {
			wall := r.of.wall(at)
			if !holds(wall/86400) && (r.of.loc == time.UTC || !holds(r.of.wall(at+length-1)/86400)) {
				step := length * int64(r.interval)
				if left := (wall/86400+1)*86400 - wall; r.of.loc == time.UTC && left > step { // to the last period of the day
					at += (left - 1) / step * step
				}
				continue
			}
			if tried++; tried > 100_000 {
				r.tried = at
				return
			}
			var set []int64
			for second := int64(0); second < length; second++ {
				if second%60 == 0 {
					wall = r.of.wall(at+second) - second
					if shown := wall + second; shown%60 == 0 && !(fits(minutes, shown/60%60) && fits(hours, shown/3600%24)) {
						second += 59
						continue
					}
				}
				if shown := wall + second; fits(minutes, shown/60%60) && fits(seconds, shown%60) && fits(hours, shown/3600%24) && holds(shown/86400) {
					set = append(set, at+second)
				}
			}
			if len(set) > 0 && !yield(set) {
				return
			}
		}
	}
}

// period returns a number that all days of a period have in common.
func (r *readRRule) period(n int) int {
	switch day := dayAt(n); r.freq {
	case "YEARLY":
		return day.year
	case "MONTHLY":
		return day.year*12 + day.month
	case "WEEKLY":
		return weekBegin(n, r.begin)
	}
	return n
}

// times returns the times of the day in order, in seconds.
func (r *readRRule) times() (list []int) {
	of := func(part string, start int64) []int {
		if r.has(part) {
			return r.numbers(part)
		}
		return []int{int(start)}
	}
	for _, hour := range of("BYHOUR", r.of.start/3600%24) {
		for _, minute := range of("BYMINUTE", r.of.start/60%60) {
			for _, second := range of("BYSECOND", r.of.start%60) {
				list = append(list, hour*3600+minute*60+second)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// holdsDay reports whether a day is in the set of its period: each part for days holds, and the parts that are missing take the place of DTSTART.
func (r *readRRule) holdsDay(n int) bool {
	day, start := dayAt(n), dayAt(int(r.of.start/86400))
	week, weeks := weekOf(n, r.begin)
	if r.has("BYMONTH") && !slices.Contains(r.numbers("BYMONTH"), day.month) || r.has("BYWEEKNO") && !counted(r.numbers("BYWEEKNO"), week, weeks) ||
		r.has("BYYEARDAY") && !counted(r.numbers("BYYEARDAY"), day.yearDay, day.yearLength) ||
		r.has("BYMONTHDAY") && !counted(r.numbers("BYMONTHDAY"), day.day, day.monthLength) {
		return false
	}
	if r.has("BYDAY") {
		of, length := day.day, day.monthLength
		if r.freq == "YEARLY" && !r.has("BYMONTH") {
			of, length = day.yearDay, day.yearLength
		}
		var list []jsonNth
		for _, text := range r.parts["BYDAY"] {
			occurrence, _ := strconv.Atoi(text[:len(text)-2])
			list = append(list, jsonNth{rruleWeekdays[text[len(text)-2:]], occurrence})
		}
		return nth(list, day.weekday, of, length)
	}
	if r.has("BYMONTHDAY") || r.has("BYYEARDAY") {
		return true
	}
	switch r.freq {
	case "WEEKLY":
		return day.weekday == start.weekday
	case "MONTHLY":
		return day.day == start.day
	case "YEARLY":
		if r.has("BYWEEKNO") {
			return day.weekday == start.weekday
		}
		return day.day == start.day && (r.has("BYMONTH") || day.month == start.month)
	}
	return true
}
