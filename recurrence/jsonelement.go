package recurrence

import (
	"iter"
	"time"
)

// schedule reads the elements of the schedule.
func (d *decoder) schedule(v jsonValue) {
	const object = "schedule."
	set := d.members(v, "schedule", scheduleKeys)
	for name, m := range set {
		d.given[object+name] = source{m.at, m.errorValue()}
	}
	r := &d.rule
	r.Minutes = numbers[int](d, object, set, minutes)
	r.Hours = numbers[int](d, object, set, hours)
	r.WeekDays = d.weekDays(object, set)
	r.MonthDays = numbers[int](d, object, set, monthDays)
	r.MonthlyOccurrences = d.occurrences(object, set, monthlyOccurrences)
	r.Months = numbers[time.Month](d, object, set, months)
	r.Seconds = numbers[int](d, object, set, seconds)
	r.Positions = numbers[int](d, object, set, positionsOf(r.Frequency))
	if m, ok := set["days"]; ok {
		r.Days = d.filters(object+"days", m, dayKeys)
	}
	if m, ok := set["weekStart"]; ok {
		day, known := weekdayOf(m.text)
		if !known {
			d.add(m.at, unknownWeekStart(m.errorValue()))
		} else if r.WeekStart = WeekStart(daysSinceMonday(day)); r.WeekStart == WeekStartMonday {
			delete(d.given, object+"weekStart")
		}
	}
}

// numbers reads one number or an array of them. object is the path of the object that holds them, with a dot at its end.
func numbers[T ~int](d *decoder, object string, set map[string]jsonMember, e element) (list []T) {
	for field, v := range elementItems(object, set, e.name) {
		n, ok := d.integer(v, e.badType, field)
		if !ok {
			continue
		}
		if bad := e.checkRange(field, v.errorValue(), n); bad != nil {
			d.add(v.at, bad)
			continue
		}
		list = append(list, T(n))
	}
	return list
}

func (d *decoder) weekDays(object string, set map[string]jsonMember) (days []time.Weekday) {
	if m := set["weekDays"]; len(m.items) > 7 {
		d.add(m.at, tooManyWeekDays(object+"weekDays", m.errorValue(), len(m.items)))
	}
	for field, v := range elementItems(object, set, "weekDays") {
		if v.kind != jsonString {
			d.add(v.at, newError(CodeWeekDaysType, field, v.errorValue(), "must be a string, monday to sunday"))
			continue
		}
		day, ok := weekdayOf(v.text)
		if !ok {
			d.add(v.at, newError(CodeWeekDaysValue, field, v.errorValue(), "must be monday to sunday"))
			continue
		}
		days = append(days, day)
	}
	return days
}

func (d *decoder) occurrences(object string, set map[string]jsonMember, e occurrenceElement) (list []NthWeekday) {
	for field, v := range elementItems(object, set, e.name) {
		if v.kind != jsonObject {
			d.add(v.at, newError(CodeOccurrencesType, field, v.errorValue(), `must be an object such as {"day": "friday", "occurrence": -1}`))
			continue
		}
		list = append(list, d.occurrence(v, field, e.number))
	}
	return list
}

// occurrence reads one weekday of a period. A part that it refuses remains zero.
func (d *decoder) occurrence(v jsonValue, field string, number element) (nth NthWeekday) {
	set := d.members(v, field, occurrenceKeys)
	day, ok := set["day"]
	if !ok {
		d.add(v.at, newError(CodeOccurrenceDay, field+".day", "", "is missing, must be monday to sunday"))
	} else if nth.Day, ok = weekdayOf(day.text); !ok {
		d.add(day.at, newError(CodeOccurrenceDay, field+".day", day.errorValue(), "must be monday to sunday"))
	}
	m, ok := set["occurrence"]
	if !ok {
		return nth
	}
	n, ok := d.integer(m.jsonValue, CodeOccurrencesType, field+".occurrence")
	if !ok {
		return nth
	}
	if bad := number.checkRange(field+".occurrence", m.errorValue(), n); bad != nil {
		d.add(m.at, bad)
		return nth
	}
	nth.N = int(n)
	return nth
}

// elementItems yields the items of an element with their paths. It yields nothing if the element is not set.
func elementItems(object string, set map[string]jsonMember, name string) iter.Seq2[string, jsonValue] {
	m, ok := set[name]
	if !ok {
		return func(func(string, jsonValue) bool) {}
	}
	return items(object+name, m.jsonValue)
}
