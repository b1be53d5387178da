package recurrence

import (
	"slices"
	"strings"
	"time"
)

// days describes on which days a rule runs; local is false if the text depends on no calendar. Commas distinguish the days that Days names from those of
// the elements and of the start: "Every year, on the first Monday of January and on 25 December,".
func (d *description) days() (text string, local bool) {
	switch {
	case len(d.Days) == 0 || len(d.Positions) > 0: // positions describes the days that it counts
		return d.elementDays()
	case d.Frequency >= Week && len(d.WeekDays)+len(d.MonthDays)+len(d.MonthlyOccurrences) == 0:
		return d.every(d.Frequency.String()) + ", " + d.dayList("and") + ",", true
	}
	text, _ = d.elementDays()
	return strings.TrimSuffix(text, ",") + ", if that is " + d.dayList("or") + ",", true
}

// dayList describes the filters of Days: "on the first Monday of January and on 25 December". last is the word before the last one.
func (d *description) dayList(last string) string {
	texts := filterTexts(d.Days, inDays, last)
	if strings.Contains(strings.Join(texts, ""), ",") {
		return strings.Join(texts, ", "+last+" ")
	}
	return joinList(texts, last)
}

// weeks describes the first day of a week, unless it is Monday.
func (d *description) weeks() string {
	if d.WeekStart == WeekStartMonday {
		return ""
	}
	return ", with weeks that begin on " + time.Weekday((d.WeekStart+1)%7).String()
}

// monthWord returns the word between the days of a filter of Days and its months: "the first Monday of January", but "Monday in January".
func monthWord(f Filter) string {
	every := func(o NthWeekday) bool { return o.N == 0 }
	if len(f.WeekDays)+len(f.Weeks) == 0 && len(f.MonthDays)+len(f.MonthlyOccurrences) > 0 && !slices.ContainsFunc(f.MonthlyOccurrences, every) {
		return "of "
	}
	return "in "
}
