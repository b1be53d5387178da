package recurrence

import "slices"

// additions are the runs of also: instants, and rules that have the zone and the calendar of the outer rule. Its methods may be called on nil.
type additions struct {
	instants []int64 // in order, each once
	rules    []addedRule
}

// An addedRule is a rule of also with its own end.
type addedRule struct {
	*rule
	end int64
}

// newAdditions compiles the entries of also, or returns nil if also is empty. start is that of the outer rule.
func newAdditions(r Recurrence, start int64, z *zone, calendars *calendars) (*additions, error) {
	if len(r.Also) == 0 {
		return nil, nil
	}
	a := &additions{}
	rules := 0
	for i, entry := range r.Also {
		if entry.runsOnce() {
			a.instants = append(a.instants, unixOf(entry.StartTime))
			continue
		}
		fields, _, err := entry.expandCron()
		if err != nil {
			return nil, err
		}
		from := start
		if !entry.StartTime.IsZero() {
			from = unixOf(entry.StartTime)
		}
		entry.Shift, entry.ShiftBy, entry.ClockChanges = r.Shift, r.ShiftBy, r.ClockChanges
		rules++
		open, limit := calendars.of(rules, entry.Frequency)
		compiled, err := compile(entry, from, z, open, limit, fields)
		if err != nil {
			return nil, newError(CodeNeverFires, indexPath("also", i), "", "never matches: no instant from the start on is reached by the interval, fits the rule and is open")
		}
		a.rules = append(a.rules, addedRule{compiled, endOf(entry.EndTime)})
	}
	slices.Sort(a.instants)
	a.instants = slices.Compact(a.instants)
	return a, nil
}

// named reports whether every addition is a rule that names times of day.
func (a *additions) named() bool {
	return a == nil || len(a.instants) == 0 && !slices.ContainsFunc(a.rules, func(r addedRule) bool { return r.kind != namedHours })
}

// next returns the first run at or after an instant, or [never].
func (a *additions) next(from int64) int64 {
	if a == nil {
		return never
	}
	found := never
	if i, _ := slices.BinarySearch(a.instants, from); i < len(a.instants) {
		found = a.instants[i]
	}
	for _, r := range a.rules {
		if at := r.next(from); at <= r.end {
			found = min(found, at)
		}
	}
	return found
}

// prev returns the last run before an instant, or [none].
func (a *additions) prev(before int64) int64 {
	if a == nil {
		return none
	}
	found := none
	if i, _ := slices.BinarySearch(a.instants, before); i > 0 {
		found = a.instants[i-1]
	}
	for _, r := range a.rules {
		found = max(found, r.prev(min(before, r.end+1)))
	}
	return found
}
