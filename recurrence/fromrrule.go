package recurrence

import (
	"maps"
	"reflect"
	"slices"
	"time"
)

// FromRRule returns the rule of a text of RFC 5545 of at most 64 KiB and 2000 lines: a DTSTART line with Z or TZID, and RRULE, RDATE
// and EXDATE lines in any order. Lines may be folded and end with CRLF; names may have any case.
//
//   - DTSTART becomes StartTime and TimeZone. INTERVAL, UNTIL and COUNT become Interval, EndTime and Count. COUNT counts from DTSTART and Count
//     counts from creation: they agree for a rule created at or before its start. DTSTART itself runs only if the rule matches it.
//   - BYDAY with WEEKLY becomes WeekDays; BYDAY, BYMONTHDAY and BYMONTH with MONTHLY become MonthlyOccurrences, MonthDays and Months. If these parts
//     only limit the runs (DAILY and below, WEEKLY with BYMONTH), they become one filter in Only.
//   - YEARLY with days becomes Frequency Month with Months or, if INTERVAL is above 1, Year with Positions and Only.
//   - BYSETPOS, BYYEARDAY and 20MO become Positions. RFC 5545 counts days before it applies EXDATE, but Positions count only the days that Except
//     leaves open. So these parts are refused together with EXDATE.
//   - EXDATE becomes filters of Dates and Times in Except; RDATE and further RRULE lines become Also.
//
// If the clocks skip a local time, its run is moved; if they repeat one, it runs on the first pass. RFC 5545 defines the same, and ClockChanges
// remains [ClockOnce]. Libraries that drop skipped times differ on those days; [ClockSkip] behaves like them.
//
// FromRRule never guesses. It returns an [*Error] with [CodeRRuleSyntax] for text that RFC 5545 does not allow and for times without a zone. It
// returns [CodeNoRecurrence] for text that no rule can represent: BYWEEKNO, EXRULE, WKST other than MO if it makes a difference, COUNT together
// with EXDATE or RDATE, elapsed hours in a zone, unknown parts, more than 17 RRULE lines or 1000 values of RDATE, and EXDATE that needs more than
// 32 filters. Its Reason names the part. Other mistakes, such as an unknown zone or a rule that never fires, have the codes of
// [Recurrence.Validate].
func FromRRule(text string) (Recurrence, error) {
	read, err := readRRuleText(text)
	if err != nil {
		return Recurrence{}, err
	}
	r, err := read.recurrence()
	if err != nil {
		return Recurrence{}, err
	}
	if err := r.Validate(); err != nil {
		return Recurrence{}, err
	}
	return r, nil
}

// recurrence joins the lines to one rule.
func (t *rruleText) recurrence() (Recurrence, error) {
	added := slices.DeleteFunc(slices.Clone(t.added), t.excluded)
	slices.SortFunc(added, time.Time.Compare)
	added = slices.CompactFunc(added, time.Time.Equal)
	if len(added) > maxAlsoInstants || len(t.rules) > maxAlsoRules+1 {
		return Recurrence{}, refusePart("a list this long", "", "at most 1000 values of RDATE and 17 RRULE lines")
	}
	if len(t.rules) == 0 {
		return t.list(added)
	}
	rules, err := t.readRules()
	if err != nil {
		return Recurrence{}, err
	}
	r := rules[0]
	r.StartTime, r.TimeZone = t.start, t.zone
	for _, rule := range rules[1:] {
		if !reflect.DeepEqual(rule.Only, r.Only) {
			return Recurrence{}, refusePart("a second RRULE with other limits", "", "only holds for all rules: write two schedules")
		}
		rule.Only = nil
		r.Also = append(r.Also, rule)
	}
	for _, at := range added {
		if !r.EndTime.IsZero() && at.After(r.EndTime) {
			return Recurrence{}, refusePart("an RDATE after UNTIL", at.Format(time.RFC3339), "endTime also ends the dates: write two schedules")
		}
		r.Also = append(r.Also, Recurrence{StartTime: at})
	}
	return r, t.except(&r)
}

// readRules reads the RRULE lines. The rule that ends last comes first, because its end becomes the end of all.
func (t *rruleText) readRules() ([]Recurrence, error) {
	var rules []Recurrence
	lasting := 0
	for i, parts := range t.rules {
		reader := rruleReader{parts: parts, start: t.start.In(t.loc), inZone: !isUTC(t.zone)}
		rule, err := reader.read()
		switch {
		case err != nil:
			return nil, err
		case rule.Count > 0 && len(t.rules) > 1:
			return nil, refusePart("COUNT together with another RRULE", reader.part("COUNT"), "count counts the runs of all: write UNTIL")
		case rule.Count > 0 && (len(t.added) > 0 || t.hasExceptions()):
			return nil, refusePart("COUNT together with EXDATE or RDATE", reader.part("COUNT"), "RFC 5545 counts excluded runs, count does not: write UNTIL")
		case reader.picks && t.hasExceptions():
			return nil, refusePart("EXDATE together with BYSETPOS or another part that becomes positions", "", "positions count what except leaves")
		case rule.Frequency < Day && t.hasExceptions() && reader.inZone:
			return nil, refusePart("EXDATE together with elapsed time in a zone", "", "write DTSTART with Z")
		}
		if end := rules; i > 0 && !end[lasting].EndTime.IsZero() && (rule.EndTime.IsZero() || rule.EndTime.After(end[lasting].EndTime)) {
			lasting = i
		}
		rules = append(rules, rule)
	}
	rules[0], rules[lasting] = rules[lasting], rules[0]
	return rules, nil
}

func (t *rruleText) hasExceptions() bool { return len(t.removed)+len(t.days) > 0 }

// isUTC reports whether a zone is UTC, whose clocks never change.
func isUTC(zone string) bool { return zone == "" || zone == "UTC" || zone == "Etc/UTC" }

// excluded reports whether an EXDATE names an instant.
func (t *rruleText) excluded(at time.Time) bool {
	return slices.ContainsFunc(t.removed, at.Equal) || t.days[at.In(t.loc).Format(time.DateOnly)]
}

// list returns the rule of a text without RRULE: DTSTART and the values of RDATE.
func (t *rruleText) list(added []time.Time) (Recurrence, error) {
	start := t.start
	if t.excluded(start) {
		if len(added) == 0 {
			return Recurrence{}, newError(CodeNeverFires, "", "", "EXDATE leaves no run")
		}
		start = added[0]
	}
	r := Recurrence{StartTime: start, TimeZone: t.zone}
	for _, at := range added {
		if !at.Equal(start) {
			r.Also = append(r.Also, Recurrence{StartTime: at})
		}
	}
	return r, nil
}

// except adds the values of EXDATE as filters: one for the days, and one for the times of the same days.
func (t *rruleText) except(r *Recurrence) error {
	days := map[string]map[string]bool{} // by time of day; "" for the whole day
	if len(t.days) > 0 {
		days[""] = t.days
	}
	for _, at := range t.removed {
		local := at.In(t.loc)
		if !resolveLocal(t.loc, onUTC(local)).Equal(at) {
			continue // the second pass of a repeated hour, at which no rule runs
		}
		clock := local.Format(time.TimeOnly)
		if days[clock] == nil {
			days[clock] = map[string]bool{}
		}
		days[clock][local.Format(time.DateOnly)] = true
	}
	var filters []Filter // filters with the same dates each, so that dates and times combine to exactly the named instants
	for _, clock := range slices.Sorted(maps.Keys(days)) {
		dates := slices.Sorted(maps.Keys(days[clock]))
		if clock == "" {
			filters = append(filters, Filter{Dates: dates})
			continue
		}
		same := func(f Filter) bool {
			return len(f.Times) > 0 && len(f.Times) < timeTexts.limit && slices.Equal(f.Dates, dates)
		}
		if i := slices.IndexFunc(filters, same); i >= 0 {
			filters[i].Times = append(filters[i].Times, clock)
			continue
		}
		filters = append(filters, Filter{Dates: dates, Times: []string{clock}})
	}
	for _, f := range filters {
		for part := range slices.Chunk(f.Dates, dateTexts.limit) {
			r.Except = append(r.Except, Filter{Dates: part, Times: f.Times})
		}
	}
	if len(r.Except) > maxFilters {
		return refusePart("EXDATE at this many times of day", "", "at most 32 sets of dates and times")
	}
	return nil
}
