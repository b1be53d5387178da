package recurrence_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A jsonModel computes the matches of a rule by trying days, hours and seconds one after another.
type jsonModel struct {
	jsonRule
	sched     jsonSchedule
	loc       *time.Location
	start     int64
	startDay  int // what the local clock shows at the start
	startTime int // in seconds of the day
	end       int64
	interval  int
	weekStart string
	cron      *modelCron

	hour, minute, second [60]bool
	everyHour            bool
	times                []int // of the day, in seconds
	only, except, days   []*modelFilter

	placed   map[int][]int // results of hasPosition
	offsets  map[int][]int64
	also     []*jsonModel
	instants []int64
}

func newJSONModel(r jsonRule, created int64) *jsonModel {
	b := &jsonModel{jsonRule: r, loc: time.UTC, start: created, end: 1 << 40, interval: max(r.Interval, 1), weekStart: "monday"}
	b.placed, b.offsets = map[int][]int{}, map[int][]int64{}
	if r.TimeZone != "" {
		loc, err := time.LoadLocation(r.TimeZone)
		if err != nil {
			panic(err)
		}
		b.loc = loc
	}
	if r.StartTime != "" {
		b.start = readInstant(r.StartTime)
	}
	if r.EndTime != "" {
		b.end = readInstant(r.EndTime) + 1
	}
	if r.Schedule != nil {
		b.sched = *r.Schedule
	}
	if b.sched.WeekStart != "" {
		b.weekStart = b.sched.WeekStart
	}
	if r.Cron != "" {
		b.cron = readModelCron(r.Cron)
	}
	b.startDay, b.startTime = b.shown(b.start)
	b.only, b.except, b.days = modelFilters(r.Only, "monday"), modelFilters(r.Except, "monday"), modelFilters(b.sched.Days, b.weekStart)
	b.setTimes()
	for _, raw := range r.Also {
		var at string
		if json.Unmarshal(raw, &at) == nil {
			b.instants = append(b.instants, readInstant(at))
			continue
		}
		entry := readJSONRule(string(raw))
		if entry.StartTime == "" {
			entry.StartTime = r.StartTime
		}
		entry.TimeZone, entry.Only, entry.Except, entry.Shift, entry.ShiftBy, entry.ClockChanges = r.TimeZone, r.Only, r.Except, r.Shift, r.ShiftBy, r.ClockChanges
		b.also = append(b.also, newJSONModel(entry, created))
	}
	return b
}

// hasDays reports whether the rule has days and times of the day, not an interval of elapsed time.
func (b *jsonModel) hasDays() bool {
	return b.cron != nil || slices.Contains([]string{"day", "week", "month", "year"}, b.Frequency)
}

// hasSchedule reports whether the schedule has any element. weekStart is not an element.
func (b *jsonModel) hasSchedule() bool {
	s := b.sched
	return len(s.Minutes)+len(s.Hours)+len(s.WeekDays)+len(s.MonthDays)+len(s.MonthlyOccurrences)+len(s.Months)+len(s.Seconds)+len(s.Positions)+len(s.Days) > 0
}

// startsAtOnce reports whether the rule runs at creation: it has no start, and creation is open.
func (b *jsonModel) startsAtOnce() bool {
	return b.cron == nil && b.StartTime == "" && b.start < b.end && b.isOpenAt(b.startDay, b.startTime)
}

// setTimes computes which hours, minutes and seconds the rule has: those given, those of the start, or all.
func (b *jsonModel) setTimes() {
	s := b.sched
	if b.cron != nil {
		s = jsonSchedule{Minutes: b.cron.minutes, Hours: b.cron.hours}
	}
	all := func(n int) (list []int) {
		for i := range n {
			list = append(list, i)
		}
		return list
	}
	hours, minutes, seconds := s.Hours, s.Minutes, s.Seconds
	limits := b.cron == nil && (b.Frequency == "second" || b.Frequency == "minute")
	if len(hours) == 0 {
		hours = []int{b.startTime / 3600}
		if limits || b.Frequency == "hour" || len(s.Minutes)+len(s.Seconds) > 0 {
			hours = all(24)
		}
	}
	if len(minutes) == 0 {
		minutes = []int{b.startTime / 60 % 60}
		if limits || len(s.Seconds) > 0 && len(s.Hours) == 0 {
			minutes = all(60)
		}
	}
	if len(seconds) == 0 {
		seconds = []int{b.startTime % 60}
		if limits {
			seconds = all(60)
		} else if len(s.Minutes) > 0 {
			seconds = []int{0}
		}
	}
	for list, values := range map[*[60]bool][]int{&b.hour: hours, &b.minute: minutes, &b.second: seconds} {
		for _, n := range values {
			list[n] = true
		}
	}
	b.everyHour = !slices.Contains(b.hour[:24], false)
	for minute := range 24 * 60 {
		for second := 0; second < 60 && b.hour[minute/60] && b.minute[minute%60]; second++ {
			if b.second[second] {
				b.times = append(b.times, minute*60+second)
			}
		}
	}
}

// shown returns the day and the second of the day that the local clock shows.
func (b *jsonModel) shown(at int64) (day, second int) {
	_, offset := time.Unix(at, 0).In(b.loc).Zone()
	wall := at + int64(offset)
	return int(wall / 86400), int(wall % 86400) // no time is before 1970
}

// between returns the matches in [from, to), in order.
func (b *jsonModel) between(from, to int64) []int64 {
	found := b.matches(from, to)
	for _, rule := range b.also {
		found = append(found, rule.matches(from, to)...)
	}
	found = append(found, b.instants...)
	found = slices.DeleteFunc(found, func(at int64) bool { return at < from || at >= to || at >= b.end })
	slices.Sort(found)
	return slices.Compact(found)
}

// matches returns the matches of the rule without its also.
func (b *jsonModel) matches(from, to int64) (found []int64) {
	from, to = max(from, b.start), min(to, b.end)
	if from >= to {
		return nil
	}
	lasts := map[string]int64{"second": 1, "minute": 60, "hour": 3600}[b.Frequency] * int64(b.interval)
	switch {
	case b.hasDays():
		found = b.ofDays(from, to)
	case b.Frequency == "":
		found = []int64{b.start}
	case b.Frequency == "hour" && b.hasSchedule():
		found = b.inBlocks(from, to, b.start-int64(b.startTime%3600), 3600)
	case b.Frequency == "minute" && len(b.sched.Seconds) > 0:
		found = b.inBlocks(from, to, b.start-int64(b.startTime%60), 60)
	default:
		for at := b.start + max(0, (from-b.start)/lasts-1)*lasts; at < to; at += lasts {
			if day, second := b.shown(at); !b.hasSchedule() && b.isOpenAt(day, second) || b.hasSchedule() && b.atTime(second) && b.inDays(day) && b.isOpenAt(day, second) {
				found = append(found, at)
			}
		}
	}
	if b.cron == nil && !b.hasSchedule() && b.ShiftBy == 0 && b.isOpenAt(b.startDay, b.startTime) {
		found = append(found, b.start)
	}
	return slices.DeleteFunc(found, func(at int64) bool { return at < from || at >= to })
}

func (b *jsonModel) atTime(second int) bool {
	return b.hour[second/3600] && b.minute[second/60%60] && b.second[second%60]
}

// inBlocks returns the matches in every n-th block of elapsed seconds.
func (b *jsonModel) inBlocks(from, to, origin, length int64) (found []int64) {
	b.eachSecond(from, to, func(day int) bool { return b.inDays(day) && b.isOpen(day) }, func(at int64, day, second int) {
		if (at-origin)/length%int64(b.interval) == 0 && b.inDays(day) && b.isOpenAt(day, second) {
			found = append(found, at)
		}
	})
	return found
}

// eachSecond calls a function with every instant that shows a time of the rule. Hours without a day that may match are skipped.
func (b *jsonModel) eachSecond(from, to int64, may func(day int) bool, call func(at int64, day, second int)) {
	for hour := from; hour < to; hour += 3600 {
		end := min(hour+3600, to)
		first, begin := b.shown(hour)
		last, next := b.shown(end - 1)
		if int64((last-first)*86400+next-begin) == end-1-hour { // no clock change
			if !may(first) && !may(last) {
				continue
			}
			for at := hour; at < end; at++ {
				day, second := first, begin+int(at-hour)
				if second >= 86400 {
					day, second = last, second-86400
				}
				if b.atTime(second) {
					call(at, day, second)
				}
			}
			continue
		}
		for at := hour; at < end; at++ {
			if day, second := b.shown(at); b.atTime(second) {
				call(at, day, second)
			}
		}
	}
}

// ofDays returns the matches of a rule with days.
func (b *jsonModel) ofDays(from, to int64) (found []int64) {
	first, _ := b.shown(from)
	last, _ := b.shown(to)
	days := b.runDays(first-2, last+3)
	if b.everyHour {
		b.eachSecond(from, to, func(day int) bool { return days[day] }, func(at int64, day, second int) {
			if days[day] && b.isOpenAt(day, second) {
				found = append(found, at)
			}
		})
		return found
	}
	for day := range days {
		for _, second := range b.times {
			if !b.isOpenAt(day, second) {
				continue
			}
			for _, at := range b.instantsOf(day, second) {
				if landed, time := b.shown(at); b.isOpenAt(landed, time) {
					found = append(found, at)
				}
			}
		}
	}
	return found
}

// instantsOf returns the instants of a local time, by clockChanges.
func (b *jsonModel) instantsOf(day, second int) (list []int64) {
	wall := int64(day)*86400 + int64(second)
	if b.offsets[day] == nil {
		for hours := int64(-36); hours <= 60; hours++ {
			_, offset := time.Unix(int64(day)*86400+hours*3600, 0).In(b.loc).Zone()
			if !slices.Contains(b.offsets[day], int64(offset)) {
				b.offsets[day] = append(b.offsets[day], int64(offset))
			}
		}
	}
	for _, offset := range b.offsets[day] {
		if d, s := b.shown(wall - offset); d == day && s == second {
			list = append(list, wall-offset)
		}
	}
	slices.Sort(list)
	if len(list) == 0 && b.ClockChanges != "skip" && b.ClockChanges != "shown" {
		return []int64{b.afterGap(wall)}
	}
	if len(list) > 0 && b.ClockChanges != "shown" {
		return list[:1]
	}
	return list
}

// afterGap returns the instant of a skipped local time by the offset before the gap.
func (b *jsonModel) afterGap(wall int64) int64 {
	local := func(at int64) int64 {
		day, second := b.shown(at)
		return int64(day)*86400 + int64(second)
	}
	at := wall - 30*3600
	for _, step := range []int64{3600, 60, 1} {
		for local(at+step) < wall {
			at += step
		}
	}
	return at + wall - local(at)
}

// A modelCron is a cron text of five fields with numbers, lists, ranges and steps.
type modelCron struct {
	minutes, hours, days, months, weekdays []int
	byDay, byWeekday                       bool // the field is restricted
}

func readModelCron(text string) *modelCron {
	fields := strings.Fields(text)
	read := func(i, low, high int) (list []int) {
		for _, part := range strings.Split(fields[i], ",") {
			part, stepText, stepped := strings.Cut(part, "/")
			from, to, step := low, high, 1
			if part != "*" {
				fromText, toText, ranged := strings.Cut(part, "-")
				from, _ = strconv.Atoi(fromText)
				if to, _ = strconv.Atoi(toText); !ranged {
					if to = from; stepped {
						to = high
					}
				}
			}
			if stepped {
				step, _ = strconv.Atoi(stepText)
			}
			for n := from; n <= to; n += step {
				list = append(list, n)
			}
		}
		return list
	}
	return &modelCron{read(0, 0, 59), read(1, 0, 23), read(2, 1, 31), read(3, 1, 12), read(4, 0, 7), fields[2] != "*", fields[4] != "*"}
}

func (c *modelCron) names(day *modelDay) bool {
	byDay := slices.Contains(c.days, day.day)
	byWeekday := slices.ContainsFunc(c.weekdays, func(n int) bool { return weekdayNames[n%7] == day.weekday })
	if c.byDay && c.byWeekday {
		return slices.Contains(c.months, day.month) && (byDay || byWeekday)
	}
	return slices.Contains(c.months, day.month) && byDay && byWeekday
}
