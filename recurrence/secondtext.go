package recurrence

import (
	"fmt"
	"strconv"
	"strings"
)

// timesWithSeconds describes the times of day of a rule whose seconds change the description of its hours and minutes. Otherwise it returns "".
func (d *description) timesWithSeconds() (text string, local bool) {
	seconds := sortedSet(d.Seconds)
	switch {
	case len(seconds) == 0:
		return "", false
	case len(d.Hours)+len(d.Minutes) == 0:
		return d.secondsOfEveryMinute(seconds), false
	case len(d.Hours) == 0 && len(sortedSet(d.Minutes)) == 60:
		return "every minute of every hour", false
	case d.listsSeconds():
		return "at " + joinList(d.clocksWithSeconds(), "and"), true
	}
	return "", false
}

// listsSeconds reports whether the times of day are few enough to be listed with their seconds.
func (d *description) listsSeconds() bool {
	total := len(sortedSet(d.Hours)) * len(sortedSet(d.Minutes)) * len(sortedSet(d.Seconds))
	return d.Frequency >= Day && 0 < total && total <= maxListed
}

// clocksWithSeconds returns every time of day, if hours, minutes and seconds are all given: "09:00:00".
func (d *description) clocksWithSeconds() (clocks []string) {
	for _, hour := range sortedSet(d.Hours) {
		for _, minute := range sortedSet(d.Minutes) {
			for _, second := range sortedSet(d.Seconds) {
				clocks = append(clocks, fmt.Sprintf("%02d:%02d:%02d", hour, minute, second))
			}
		}
	}
	return clocks
}

// secondsAfterTimes describes the seconds of a rule for use after its times of day, if these do not contain them.
func (d *description) secondsAfterTimes() string {
	if len(d.Seconds) == 0 || len(d.Hours)+len(d.Minutes) == 0 || d.listsSeconds() {
		return ""
	}
	return ", " + secondsPast(sortedSet(d.Seconds))
}

// secondsOfElapsed describes the seconds of a rule with a frequency below day and, if that is hour, without minutes.
func (d *description) secondsOfElapsed() string {
	seconds := sortedSet(d.Seconds)
	switch {
	case len(seconds) == 0:
		return ""
	case d.Frequency == Second:
		text, _ := elementLimit("second of the minute", seconds)
		return text
	case d.Frequency == Hour && len(d.Hours) == 0:
		return ", " + d.secondsOfEveryMinute(seconds)
	}
	text := secondsPast(seconds)
	if strings.HasPrefix(text, "every") {
		return ", " + text
	}
	return " " + text
}

// secondsOfEveryMinute describes the seconds of a rule that names neither hours nor minutes: "every 10 seconds".
func (d *description) secondsOfEveryMinute(seconds []int) string {
	text, whole := strings.CutSuffix(secondsPast(seconds), " of the minute")
	if whole {
		return text
	}
	text = strings.TrimSuffix(text, " the minute")
	if strings.HasPrefix(text, "every") {
		return "every minute, " + text
	}
	return "every minute " + text
}

// secondsPast describes seconds: "at 5 and 10 seconds past the minute", "every 10 seconds of the minute".
func secondsPast(seconds []int) string {
	if step := (clockSet{minutes: seconds}).step(); step > 0 && seconds[0] == 0 && len(seconds) > maxListed {
		if step == 1 {
			return "every second of the minute"
		}
		return fmt.Sprintf("every %d seconds of the minute", step)
	}
	if step := progression(seconds, maxListed+2); step > 1 {
		return fmt.Sprintf("every %d seconds from %d to %d past the minute", step, seconds[0], seconds[len(seconds)-1])
	}
	noun := " seconds past the minute"
	if len(seconds) == 1 && seconds[0] == 1 {
		noun = " second past the minute"
	}
	return "at " + joinList(ranges(seconds, strconv.Itoa), "and") + noun
}
