package recurrence

import (
	"fmt"
	"strconv"
	"strings"
)

// A clockSet is a set of times of day for a text: every hour of the set with every minute of the set, all at one second. It has a second only if
// it has exactly one minute.
type clockSet struct {
	hours   []int // sorted; none: every hour
	minutes []int // sorted, at least one
	second  int
}

// maxListed is how many times or minutes are listed if they repeat at equal distances; otherwise up to maxUneven are listed.
const (
	maxListed = 3
	maxUneven = 6
)

// phrase describes the set: "at 10:00 and 22:00", "every 15 minutes from 09:00 to 16:45". local is false if the phrase contains neither an hour
// nor a minute.
func (c clockSet) phrase() (text string, local bool) {
	switch total := len(c.hours) * len(c.minutes); {
	case total == 0:
		return c.inEveryHour()
	case len(c.minutes) == 1:
		return c.atOneMinute(), true
	case total <= maxListed:
		return "at " + joinList(c.list(), "and"), true
	case c.step() > 0 && !c.stepsHours():
		return everyMinutes(c.step()) + " " + c.windows(), true
	case len(c.hours) == 1 && progression(c.minutes, maxListed+1) > 0:
		return everyMinutes(progression(c.minutes, 2)) + " " + c.windows(), true
	case len(c.hours) == 1 || total <= maxUneven:
		return "at " + joinList(c.list(), "and"), true
	}
	if step := c.step(); step > 0 && c.minutes[0] == 0 {
		return everyMinutes(step) + " of " + c.hourNames(), true
	}
	return minutesPast(c.minutes) + " " + c.hourNames(), true
}

// inEveryHour describes the minutes of a set without hours.
func (c clockSet) inEveryHour() (text string, local bool) {
	switch step := c.step(); {
	case step > 0 && c.minutes[0] == 0:
		return everyMinutes(step), false
	case len(c.minutes) == 1 && c.minutes[0] == 0:
		return "every hour on the hour", false
	case progression(c.minutes, maxListed+2) > 0:
		return minutesPast(c.minutes) + " every hour", true
	}
	return "every hour " + strings.TrimSpace(minutesPast(c.minutes)), true
}

// atOneMinute describes a set with one minute: "at 07:30", "every hour from 09:30 to 12:30 and at 07:30".
func (c clockSet) atOneMinute() string {
	if step := progression(c.hours, maxListed+1); step > 1 {
		return fmt.Sprintf("every %d hours ", step) + c.window(c.hours)
	}
	var windows, single []string
	for _, run := range runs(c.hours) {
		if len(run) > maxListed {
			windows = append(windows, c.window(run))
			continue
		}
		single = append(single, clockSet{run, c.minutes, c.second}.list()...)
	}
	at := "at " + joinList(single, "and")
	switch {
	case len(windows) == 0:
		return at
	case len(single) == 0:
		return "every hour " + joinList(windows, "and")
	}
	return "every hour " + strings.Join(windows, ", ") + " and " + at
}

// windows describes the hours as windows in which the minutes repeat: "from 09:00 to 12:59 and from 14:00 to 17:59".
func (c clockSet) windows() string { return joinList(format(runs(c.hours), c.window), "and") }

// window describes the first and the last time within some of the hours.
func (c clockSet) window(hours []int) string {
	first := formatClock(hours[0], c.minutes[0], c.second)
	last := formatClock(hours[len(hours)-1], c.minutes[len(c.minutes)-1], c.second)
	return "from " + first + " to " + last
}

// list returns every time of the set.
func (c clockSet) list() (times []string) {
	for _, hour := range c.hours {
		for _, minute := range c.minutes {
			times = append(times, formatClock(hour, minute, c.second))
		}
	}
	return times
}

// step returns the distance of the minutes if it is the same between all of them, also from the last to the first of the next hour;
// otherwise 0.
func (c clockSet) step() int {
	n := len(c.minutes)
	if n < 2 || 60%n != 0 || progression(c.minutes, 2) != 60/n || c.minutes[0] < 0 || c.minutes[n-1] > 59 {
		return 0
	}
	return 60 / n
}

// stepsHours reports whether the distances between the hours are equal, and are two hours or more.
func (c clockSet) stepsHours() bool { return progression(c.hours, maxListed+1) > 1 }

// hourNames describes the hours for use after minutes: "09:00 and 17:00", "every hour from 09:00 to 12:00".
func (c clockSet) hourNames() string {
	set := clockSet{hours: c.hours, minutes: []int{0}}
	if step := progression(c.hours, maxListed+1); step > 1 {
		return "every " + ordinal(step) + " hour " + set.window(c.hours)
	}
	var names []string
	for _, run := range runs(c.hours) {
		if len(run) > maxListed {
			names = append(names, "every hour "+set.window(run))
			continue
		}
		names = append(names, clockSet{run, set.minutes, 0}.list()...)
	}
	return joinList(names, "and")
}

// everyMinutes describes minutes that repeat: "every minute", "every 15 minutes".
func everyMinutes(step int) string {
	if step == 1 {
		return "every minute"
	}
	return fmt.Sprintf("every %d minutes", step)
}

// minutesPast describes minutes, for use before an hour: "at 15 and 45 minutes past", "every 7 minutes from 0 to 56 past".
func minutesPast(minutes []int) string {
	if step := progression(minutes, maxListed+2); step > 0 {
		return fmt.Sprintf("%s from %d to %d past", everyMinutes(step), minutes[0], minutes[len(minutes)-1])
	}
	noun := " minutes past"
	if len(minutes) == 1 && minutes[0] == 1 {
		noun = " minute past"
	}
	return "at " + joinList(ranges(minutes, strconv.Itoa), "and") + noun
}

// minutesOfEachHour describes the minutes of a rule that counts hours. local is false if the text contains no minute.
func minutesOfEachHour(minutes []int) (text string, local bool) {
	set := clockSet{minutes: minutes}
	switch step := set.step(); {
	case len(minutes) == 1 && minutes[0] == 0:
		return " on the hour", false
	case step > 0 && minutes[0] == 0 && len(minutes) > maxListed+1:
		return ", " + everyMinutes(step) + " of the hour", false
	case progression(minutes, maxListed+2) > 0:
		return ", " + minutesPast(minutes) + " the hour", true
	}
	return " " + minutesPast(minutes) + " the hour", true
}

// elementLimit describes the minutes or seconds that limit a rule; noun is "minute of the hour". local is false if they do not limit it.
func elementLimit(noun string, values []int) (text string, local bool) {
	unit, of, _ := strings.Cut(noun, " ")
	if len(values) == 60 {
		return ", in any " + noun, false
	}
	if step := progression(values, maxListed+2); step > 1 {
		return fmt.Sprintf(", only in every %s %s from %d to %d %s", ordinal(step), unit, values[0], values[len(values)-1], of), true
	}
	return ", only in " + pluralize(unit, values) + " " + joinList(ranges(values, strconv.Itoa), "and") + " " + of, true
}

// hourLimit describes the hours that limit a rule, from the first to the last minute.
func hourLimit(hours []int) string {
	set := clockSet{hours: hours, minutes: []int{0, 59}}
	switch {
	case len(hours) == 24:
		return ", around the clock"
	case set.stepsHours():
		return ", only in every " + ordinal(progression(hours, 2)) + " hour " + set.window(hours)
	case len(runs(hours)) > maxListed:
		return ", only in hours " + joinList(ranges(hours, strconv.Itoa), "and")
	}
	return ", only " + set.windows()
}

// endsWithClock reports whether a text ends with a time of day, or with the offset of one.
func endsWithClock(text string) bool {
	return strings.Contains(text[strings.LastIndexByte(text, ' ')+1:], ":")
}
