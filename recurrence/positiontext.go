package recurrence

import (
	"fmt"
	"slices"
	"strings"
)

// positions describes which days of the period run: "the last open day", "the second of Monday and Wednesday". If the rule has a calendar, the
// days are open ones.
func (d *description) positions() string {
	which, plural := positionNames(sortedSet(d.Positions))
	open, among := d.hasFilters(), d.positionedDays()
	switch {
	case among != "" && open && plural:
		return which + " open ones of " + among
	case among != "" && open:
		return which + " open one of " + among
	case among != "":
		return which + " of " + among
	case open && plural:
		which += " open days"
	case open:
		which += " open day"
	case d.Frequency == Month: // "the last day" is a day of the month
		return which + " of all days"
	case plural:
		which += " days"
	default:
		which += " day"
	}
	if months := sortedSet(d.Months); d.Frequency == Year && len(months) == 12 {
		which += " of all twelve months"
	} else if d.Frequency == Year && len(months) > 0 {
		which += " of " + monthNames(months, "and")
		if len(months) > 1 {
			which += " together" // it is one period
		}
	}
	return which
}

// positionedDays describes the days that positions count, or returns "" if they are all days of the period.
func (d *description) positionedDays() string {
	names := d.positionedElements()
	switch {
	case len(d.Days) == 0:
		return names
	case names == "":
		return "the days " + d.dayList("or")
	}
	return names + " that are " + d.dayList("or")
}

// positionedElements is positionedDays without Days.
func (d *description) positionedElements() string {
	weekDays, monthDays := mondayFirst(d.WeekDays), sortedSet(d.MonthDays)
	switch {
	case len(weekDays) == 7:
		return "all seven days"
	case len(weekDays) > 0:
		return weekDayNames(weekDays, "and")
	case len(monthDays) > 0:
		names := strings.Replace(joinList(dayNames(monthDays), "and"), "every day", "the days 1 to 31", 1)
		if len(d.MonthlyOccurrences) > 0 {
			names += " that is " + joinList(occurrenceNames(d.MonthlyOccurrences, "a", "or"), "or")
		}
		return names
	}
	return joinList(occurrenceNames(d.MonthlyOccurrences, "every", "and"), "and")
}

// positionNames describes sorted positions, those from the end last: "the first, the 10th to last and the last 3". plural reports whether the
// noun after it needs the plural, because the last position names several days.
func positionNames(positions []int) (text string, plural bool) {
	name := func(n int) string { return "the " + occurrenceName(n) }
	firstPositive, _ := slices.BinarySearch(positions, 0)
	names := ranges(positions[firstPositive:], name)
	plural = slices.ContainsFunc(runs(positions[firstPositive:]), func(run []int) bool { return len(run) > 2 })
	for _, run := range runs(positions[:firstPositive]) {
		plural = len(run) > 2
		switch {
		case !plural:
			names = append(names, format(run, name)...)
		case run[len(run)-1] == -1:
			names = append(names, fmt.Sprintf("the last %d", len(run)))
		default:
			names = append(names, "the "+ordinal(-run[0])+" to "+ordinal(-run[len(run)-1])+" to last")
		}
	}
	return joinList(names, "and"), plural
}
