package recurrence

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// datesText describes the dates of a filter: "on 25 and 28 December 2026 and from 24 December to 6 January of every year". Dates of every year
// come first, then those that count from Easter. They have the words "of every year" only if there are also dates of one year. last is the word before the last of several.
func datesText(dates []string, last string) string {
	var yearly, dated dateList
	var feasts feastList
	var unread []string
	for _, text := range dates {
		if !feasts.add(text) && !yearly.add(text, "01-02") && !dated.add(text, time.DateOnly) {
			unread = append(unread, fmt.Sprintf("on %q", text))
		}
	}
	everyYear := ""
	if !dated.empty() {
		everyYear = " of every year"
	}
	parts := append(yearly.parts("2 January", everyYear, last), feasts.parts(everyYear, last)...)
	parts = append(parts, dated.parts("2 January 2006", "", last)...)
	slices.Sort(unread)
	return joinList(append(parts, slices.Compact(unread)...), last)
}

// A dateList holds dates and ranges of dates, all with years or all without. Those without years are in the year 0, which is a leap year.
type dateList struct {
	single []time.Time
	ranges [][2]time.Time
}

func (l *dateList) empty() bool { return len(l.single)+len(l.ranges) == 0 }

// add adds an entry in a layout. It reports whether the entry has that layout.
func (l *dateList) add(text, layout string) bool {
	from, to, isRange := strings.Cut(text, "/")
	first, err := time.Parse(layout, from)
	if err != nil {
		return false
	}
	if !isRange || from == to {
		l.single = append(l.single, first)
		return true
	}
	last, err := time.Parse(layout, to)
	l.ranges = append(l.ranges, [2]time.Time{first, last})
	return err == nil
}

// parts describes the single dates, if there are any, and each range. Each part ends with the suffix.
func (l *dateList) parts(layout, suffix, last string) (parts []string) {
	if len(l.single) > 0 {
		parts = append(parts, "on "+listDates(l.single, layout, last)+suffix)
	}
	slices.SortFunc(l.ranges, func(a, b [2]time.Time) int {
		if c := a[0].Compare(b[0]); c != 0 {
			return c
		}
		return a[1].Compare(b[1])
	})
	for _, r := range slices.Compact(l.ranges) {
		parts = append(parts, rangeOfDates(r[0], r[1], layout)+suffix)
	}
	return parts
}

// listDates describes dates by year and month: "25 and 28 December 2026, 1 January and 25 March 2027".
func listDates(dates []time.Time, layout, last string) string {
	dates = slices.Clone(dates)
	slices.SortFunc(dates, time.Time.Compare)
	dates = slices.CompactFunc(dates, time.Time.Equal)
	year := strings.TrimPrefix(layout, "2 January")
	years := groups(dates, func(a, b time.Time) bool { return a.Year() == b.Year() }, func(ofYear []time.Time) string {
		months := groups(ofYear, sameMonth, func(ofMonth []time.Time) string {
			days := format(ofMonth, func(t time.Time) string { return strconv.Itoa(t.Day()) })
			return joinList(days, last) + ofMonth[0].Format(" January")
		})
		return joinGroups(months, last) + ofYear[0].Format(year)
	})
	return joinGroups(years, last)
}

// groups describes each group of dates that follow each other and are alike.
func groups(dates []time.Time, alike func(a, b time.Time) bool, describe func([]time.Time) string) (texts []string) {
	for begin := 0; begin < len(dates); {
		end := begin + 1
		for end < len(dates) && alike(dates[begin], dates[end]) {
			end++
		}
		texts = append(texts, describe(dates[begin:end]))
		begin = end
	}
	return texts
}

// joinGroups joins lists with the word last, unless the last list contains that word itself.
func joinGroups(texts []string, last string) string {
	if strings.Contains(texts[len(texts)-1], " "+last+" ") {
		return strings.Join(texts, ", ")
	}
	return joinList(texts, last)
}

// rangeOfDates describes a range: "from 24 to 26 December", "from 24 December 2026 to 6 January 2027".
func rangeOfDates(first, last time.Time, layout string) string {
	from := layout
	switch {
	case first.After(last): // over New Year
	case sameMonth(first, last):
		from = "2"
	case first.Year() == last.Year():
		from = "2 January"
	}
	return "from " + first.Format(from) + " to " + last.Format(layout)
}

func sameMonth(a, b time.Time) bool { return a.Year() == b.Year() && a.Month() == b.Month() }
