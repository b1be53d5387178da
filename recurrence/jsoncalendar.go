package recurrence

import "time"

// calendar reads only, except, shift, shiftBy and clockChanges. An unknown word counts as not given.
func (d *decoder) calendar(set map[string]jsonMember) {
	r := &d.rule
	if m, ok := set["only"]; ok {
		r.Only = d.filters("only", m, filterKeys)
	}
	if m, ok := set["except"]; ok {
		r.Except = d.filters("except", m, filterKeys)
	}
	if m, ok := set["shift"]; ok {
		r.Shift, ok = shiftOf(m.text)
		if !ok {
			d.add(m.at, unknownShift(m.errorValue()))
		} else if r.Shift == ShiftDrop {
			delete(d.given, "shift")
		}
	}
	if m, ok := set["shiftBy"]; ok {
		d.shiftBy(m)
	}
	if m, ok := set["clockChanges"]; ok {
		r.ClockChanges, ok = clockChangesOf(m.text)
		if !ok {
			d.add(m.at, unknownClockChanges(m.errorValue()))
		} else if r.ClockChanges == ClockOnce {
			delete(d.given, "clockChanges")
		}
	}
}

// shiftBy reads a number of open days. 0 means the same as no value. A number out of range becomes the nearest one out of range.
func (d *decoder) shiftBy(m jsonMember) {
	n, ok := d.integer(m.jsonValue, CodeShiftByType, "shiftBy")
	if d.rule.ShiftBy = int(min(max(n, -maxShiftBy-1), maxShiftBy+1)); ok && n == 0 {
		delete(d.given, "shiftBy")
	}
}

// filters reads only, except or days, whose filters have some keys.
func (d *decoder) filters(name string, m jsonMember, keys map[string]string) (list []Filter) {
	if len(m.items) > maxFilters {
		d.add(m.at, tooMany(name, m.errorValue(), "filters", len(m.items), maxFilters))
	}
	for field, v := range items(name, m.jsonValue) {
		if v.kind != jsonObject {
			d.add(v.at, newError(CodeFilterType, field, v.errorValue(), `must be an object such as {"weekDays": ["saturday", "sunday"]}`))
			continue
		}
		list = append(list, d.filter(field, v, keys))
	}
	return list
}

// filter reads one filter. It leaves out what it refuses.
func (d *decoder) filter(field string, v jsonValue, keys map[string]string) Filter {
	object, before := field+".", len(d.list)
	set := d.members(v, field, keys)
	if len(set) == 0 && len(d.list) == before {
		d.add(v.at, emptyFilter(field, v.errorValue()))
	}
	return Filter{
		WeekDays:           d.weekDays(object, set),
		MonthDays:          numbers[int](d, object, set, monthDays),
		MonthlyOccurrences: d.occurrences(object, set, monthlyOccurrences),
		Months:             numbers[time.Month](d, object, set, months),
		Weeks:              numbers[int](d, object, set, weeks),
		YearDays:           numbers[int](d, object, set, yearDays),
		YearlyOccurrences:  d.occurrences(object, set, yearlyOccurrences),
		Dates:              d.texts(object, set, dateTexts),
		Times:              d.texts(object, set, timeTexts),
	}
}

// texts reads one text or an array of them.
func (d *decoder) texts(object string, set map[string]jsonMember, e textElement) (list []string) {
	if m := set[e.name]; len(m.items) > e.limit {
		d.add(m.at, tooMany(object+e.name, m.errorValue(), e.name, len(m.items), e.limit))
	}
	for field, v := range elementItems(object, set, e.name) {
		if v.kind != jsonString {
			d.add(v.at, newError(e.badType, field, v.errorValue(), "must be a string such as %q", e.example))
			continue
		}
		if bad := e.check(field, v.text); bad != nil {
			d.add(v.at, bad)
			continue
		}
		list = append(list, v.text)
	}
	return list
}
