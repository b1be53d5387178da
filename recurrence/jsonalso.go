package recurrence

import "time"

// also reads the instants and rules of also. Times without an offset are in loc. An entry that it refuses remains in the list.
func (d *decoder) also(m jsonMember, loc *time.Location) (list []Recurrence) {
	for field, v := range items("also", m.jsonValue) {
		var entry Recurrence
		switch v.kind {
		case jsonString:
			at, bad := parseTime(field, v.text, loc)
			if bad != nil {
				d.add(v.at, bad)
			}
			entry.StartTime = at
		case jsonObject:
			part := decoder{given: map[string]source{}, inAlso: true}
			part.entry(v, loc, d.rule.StartTime)
			d.addPart(field, part.errorList)
			entry = part.rule
		default:
			d.add(v.at, newError(CodeAlsoType, field, v.errorValue(), `must be a time such as "2026-12-24T13:00" or a rule such as {"frequency": "week"}`))
		}
		list = append(list, entry)
	}
	for _, bad := range alsoTooLong(list, m.errorValue()) {
		d.add(m.at, bad)
	}
	return list
}

// entry reads a rule of also, or an instant that is written as an object. start is the startTime of the whole.
func (d *decoder) entry(v jsonValue, loc *time.Location, start time.Time) {
	set := d.members(v, "", alsoKeys)
	d.repetition(set)
	d.span(set, loc)
	d.rule.checkEntry(&d.errorList, d.given, start)
	for i := range d.list {
		d.list[i].at = max(d.list[i].at, v.at) // that of a field that is missing is 0
	}
}
