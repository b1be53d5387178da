package recurrence

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// hasFilters reports whether the rule has filters, which determine the open days and times.
func (r Recurrence) hasFilters() bool { return len(r.Only)+len(r.Except) > 0 }

// filters describes the open days and times: "; only on Monday to Friday; not on 25 December, not in August".
func (d *description) filters() (text string) {
	if len(d.Only) > 0 {
		texts := filterTexts(d.Only, inOnly, "and")
		if strings.Contains(strings.Join(texts, ""), ",") {
			text += "; only " + strings.Join(texts, ", or ")
		} else {
			text += "; only " + joinList(texts, "or")
		}
	}
	if len(d.Except) > 0 {
		text += "; not " + strings.Join(filterTexts(d.Except, inExcept, "and"), ", not ")
	}
	return text
}

// filterTexts describes the filters of a list, each once, in the order of their kind. last is the word before the last of several values: "and", or "or" if
// the filters are conditions.
func filterTexts(filters []Filter, use filterUse, last string) []string {
	type described struct {
		kind     int
		weekDays []int
		text     string
	}
	list := make([]described, len(filters))
	for i, f := range filters {
		list[i].kind, list[i].text = filterKind(f), filterPhrase(f, use, last)
		for _, day := range mondayFirst(f.WeekDays) {
			list[i].weekDays = append(list[i].weekDays, daysSinceMonday(day))
		}
	}
	slices.SortFunc(list, func(a, b described) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), slices.Compare(a.weekDays, b.weekDays), strings.Compare(a.text, b.text))
	})
	texts := make([]string, len(list))
	for i, f := range list {
		texts[i] = f.text
	}
	return slices.Compact(texts)
}

// filterKind returns a number that orders filters: by the first element of their text.
func filterKind(f Filter) int {
	return slices.Index([]bool{
		len(f.WeekDays) > 0, len(f.MonthDays) > 0, len(f.MonthlyOccurrences) > 0, len(f.YearDays) > 0,
		len(f.YearlyOccurrences) > 0, len(f.Weeks) > 0, len(f.Months) > 0, len(f.Dates) > 0, true,
	}, true)
}

// filterPhrase describes a filter: "on Tuesday, if that is the 2nd to 8th, in November". A weekday comes first; without a weekday, a day of the
// month, and then a day of the year. The other elements of a day are conditions, and so are weeks beside a day. last is the word before the last of several
// values that are not conditions.
func filterPhrase(f Filter, use filterUse, last string) string {
	var p phrase
	days, conditions := filterDays(f, last)
	dates := datesText(f.Dates, last)
	single := strings.HasPrefix(dates, "on ")
	if single && days != "" {
		conditions, dates = append(conditions, dateCondition(f.Dates)), ""
	}
	if days != "" {
		p.add("on " + days)
	}
	if len(conditions) > 0 {
		p.addApart("if that is " + strings.Join(conditions, " and also "))
	}
	if len(f.Weeks) > 0 {
		join := last
		if days != "" {
			join = "or"
		}
		p.add("in " + weekNames(sortedSet(f.Weeks), join))
	}
	if months := sortedSet(f.Months); len(months) == 12 {
		p.add("in any month")
	} else if len(months) > 0 {
		word := "in "
		if use == inDays {
			word = monthWord(f)
		}
		p.add(word + monthNames(months, last))
	}
	switch {
	case dates == "":
	case single && p.text != "":
		p.addApart("if that is " + dateCondition(f.Dates))
	case single && !strings.Contains(dates, " "+last+" "):
		p.add(dates)
	default:
		p.addApart(dates)
	}
	if len(f.Times) > 0 {
		p.add(timesText(f.Times, p.text != ""))
	}
	return p.text
}

// A phrase is built from parts. The part after one that is between commas gets commas too.
type phrase struct {
	text  string
	apart bool
}

func (p *phrase) add(part string) {
	switch {
	case p.text == "":
	case p.apart:
		p.text += ", "
	default:
		p.text += " "
	}
	p.text += part
}

// addApart adds a part between commas.
func (p *phrase) addApart(part string) {
	p.apart = true
	p.add(part)
}

// dateCondition describes dates as a condition for a day: "25 or 26 December 2026".
func dateCondition(dates []string) string { return strings.TrimPrefix(datesText(dates, "or"), "on ") }

// filterDays describes the day elements of a filter: the first by name, the others as conditions. last is the word before the last of several names.
func filterDays(f Filter, last string) (days string, conditions []string) {
	weekDays, monthDays := mondayFirst(f.WeekDays), sortedSet(f.MonthDays)
	every := "every"
	if last == "or" {
		every = "a"
	}
	add := func(name, condition string) {
		if days == "" {
			days = name
			return
		}
		conditions = append(conditions, condition)
	}
	switch {
	case len(weekDays) == 7:
		add("any day of the week", "")
	case len(weekDays) > 0:
		add(weekDayNames(weekDays, last), "")
	}
	if len(monthDays) > 0 {
		add(filterMonthDays(monthDays, last), filterMonthDays(monthDays, "or"))
	}
	if len(f.MonthlyOccurrences) > 0 {
		add(joinList(occurrenceNames(f.MonthlyOccurrences, every, last), last), joinList(occurrenceNames(f.MonthlyOccurrences, "a", "or"), "or"))
	}
	if yearDays := sortedSet(f.YearDays); len(yearDays) > 0 {
		add(yearDayNames(yearDays, last), yearDayNames(yearDays, "or"))
	}
	if of := f.YearlyOccurrences; len(of) > 0 {
		add(joinList(occurrenceNames(of, every, last), last)+" of the year", joinList(occurrenceNames(of, "a", "or"), "or")+" of the year")
	}
	return days, conditions
}

// yearDayNames describes sorted days of the year: "the 100th to the 110th and the last day of the year".
func yearDayNames(days []int, last string) string {
	firstPositive, _ := slices.BinarySearch(days, 0)
	names := ranges(days[firstPositive:], func(n int) string { return "the " + ordinal(n) })
	names = append(names, ranges(days[:firstPositive], func(n int) string { return "the " + fromLast(n) })...)
	return joinList(names, last) + " day of the year"
}

// weekNames describes sorted weeks: "week 1, week 20 to week 22 and the last week of the year".
func weekNames(list []int, last string) string {
	firstPositive, _ := slices.BinarySearch(list, 0)
	names := ranges(list[firstPositive:], func(n int) string { return "week " + strconv.Itoa(n) })
	names = append(names, ranges(list[:firstPositive], func(n int) string { return "the " + fromLast(n) + " week of the year" })...)
	return joinList(names, last)
}

// filterMonthDays describes sorted days of the month: "the 2nd to 8th".
func filterMonthDays(days []int, last string) string {
	if len(days) == 31 && days[0] == 1 {
		return "any day of the month"
	}
	return strings.ReplaceAll(joinList(dayNames(days), last), " to the ", " to ")
}
