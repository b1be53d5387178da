package recurrence

import (
	"maps"
	"slices"
	"time"
)

// FromRRule returns the rule of a text of RFC 5545 of at most 64 KiB and 2000 lines: a DTSTART line with Z or TZID, and RRULE, RDATE
// and EXDATE lines in any order. Lines may be folded and end with CRLF; names may have any case.
//
//   - DTSTART becomes StartTime and TimeZone. INTERVAL and UNTIL become Interval and EndTime. DTSTART itself runs only if the rule matches it.
//   - BYHOUR with all 24 hours in a zone becomes two rules, because 24 hours of one rule follow elapsed time: the second one is in Also.
//   - An INTERVAL above the limit of its frequency becomes one of a larger unit if that is the same: MONTHLY with INTERVAL=24 is every 2 years.
//   - COUNT becomes EndTime, the instant of the last run: COUNT counts from DTSTART, excluded runs too, and Count would count from creation. A COUNT above
//     100,000, of all RRULE lines together, becomes Count.
//   - BYDAY with WEEKLY becomes WeekDays; BYDAY, BYMONTHDAY and BYMONTH with MONTHLY become MonthlyOccurrences, MonthDays and Months. If these parts
//     only limit the runs (DAILY and below, WEEKLY with BYMONTH), they become one filter in Days, so each RRULE has its own limits.
//   - YEARLY with days becomes Frequency Month with Months or, if INTERVAL is above 1, Year with Days. BYWEEKNO, BYYEARDAY and 20MO become Weeks, YearDays
//     and YearlyOccurrences in Days. BYWEEKNO without another day means the weekday of DTSTART. WKST becomes WeekStart where it makes a difference.
//   - BYSETPOS becomes Positions; BYDAY=TU;BYSETPOS=2 becomes the second Tuesday. With several times a day, RFC 5545 counts each of them: the times whose
//     days differ become rules of their own in Also. With DAILY and below, BYSETPOS selects times.
//   - RFC 5545 counts days before it applies EXDATE, and Positions count the days that Except leaves open. So next to Positions an EXDATE has times, also one
//     for a whole day: such a filter closes no day.
//   - EXDATE becomes filters of Dates and Times in Except; RDATE and further RRULE lines become Also. If an RDATE is later than the last run of all
//     RRULE lines, the result is a list of dates, and these rules are in Also, each with its own end.
//   - RSCALE=GREGORIAN changes nothing. A byte order mark at the beginning is skipped.
//
// If the clocks skip a local time, its run is moved; if they repeat one, it runs on the first pass. RFC 5545 defines the same, and ClockChanges
// remains [ClockOnce]. Libraries that drop skipped times differ on those days; [ClockSkip] behaves like them.
//
// FromRRule never guesses. It returns an [*Error] with [CodeRRuleSyntax] for text that RFC 5545 does not allow, such as UNTIL without Z next to a
// DTSTART with TZID, or BYWEEKNO without YEARLY, and for times without a zone (see [FromRRuleAt]). It returns [CodeNoRecurrence] for text that no
// rule can represent: BYSECOND=60, EXRULE, RSCALE other than GREGORIAN, BYEASTER, RDATE with periods, an INTERVAL above the limit of its frequency
// that no larger unit has, a COUNT above 100,000 together with EXDATE, RDATE or another rule, an RDATE after the last run together with EXDATE,
// HOURLY in a zone with an INTERVAL above 1 or BYHOUR, MINUTELY and SECONDLY in a zone with parts that limit them, a DTSTART that the clocks skip,
// EXDATE at a time that the clocks repeat next to runs of every hour, unknown parts, more than 17 rules (RRULE lines, and times that BYSETPOS
// separates) or 1000 values of RDATE, and EXDATE that needs more than 32 filters. Its Reason names the part. Other mistakes, such as an unknown zone
// or a rule that never fires, have the codes of [Recurrence.Validate].
func FromRRule(text string) (Recurrence, error) {
	return fromRRule(&rruleText{days: map[string]bool{}}, text)
}

// FromRRuleAt returns the rule of a text of RFC 5545 like [FromRRule], for texts that leave out the start or its zone, as those of Google Calendar and
// of rrule-go do: lines such as "RRULE:FREQ=DAILY", or "FREQ=DAILY" alone. start, in whole seconds, takes the place of a missing DTSTART. If the text has
// no DTSTART, start must not be zero. timeZone is the IANA name of the zone of all times that have neither Z nor TZID, and the TimeZone of a rule whose
// DTSTART has neither; empty means UTC. A DTSTART that is a date means midnight. UNTIL may be local time or a date if DTSTART is.
//
// It returns the errors of FromRRule, and an error with [CodeTimeZoneUnknown] for an unknown zone.
func FromRRuleAt(text string, start time.Time, timeZone string) (Recurrence, error) {
	loc := time.UTC
	if timeZone != "" {
		found, bad := findZone(timeZone)
		if bad != nil {
			return Recurrence{}, bad
		}
		loc = found
	}
	read := &rruleText{days: map[string]bool{}, local: loc, named: timeZone, loc: loc, zone: timeZone, float: true}
	if !start.IsZero() {
		read.start = wholeSeconds(start)
		if err := checkedTime(read.start); err != nil {
			return Recurrence{}, err
		}
	}
	return fromRRule(read, text)
}

func fromRRule(read *rruleText, text string) (Recurrence, error) {
	if err := read.read(text); err != nil {
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
	r.Also = append(r.Also, rules[1:]...)
	for i, at := range added {
		if !r.EndTime.IsZero() && at.After(r.EndTime) {
			return t.endsBefore(r, added, i)
		}
		r.Also = append(r.Also, Recurrence{StartTime: at})
	}
	return r, t.except(&r)
}

// endsBefore returns the rule of a text whose last RRULE ends before some values of RDATE: a list of dates to which the rules are added, each with its own
// end. late is the first of these values.
func (t *rruleText) endsBefore(r Recurrence, added []time.Time, late int) (Recurrence, error) {
	if t.hasExceptions() {
		return Recurrence{}, refusePart("an RDATE after the last run together with EXDATE", added[late].Format(time.RFC3339), "endTime also ends the dates: write two schedules")
	}
	whole := Recurrence{StartTime: added[late], TimeZone: t.zone, NoImmediateRun: true}
	first := r
	first.TimeZone, first.Also = "", nil
	for _, entry := range append([]Recurrence{first}, r.Also...) {
		if entry.Frequency != 0 {
			entry.StartTime = t.start
			whole.Also = append(whole.Also, entry)
		}
	}
	for _, at := range added {
		if !at.Equal(whole.StartTime) {
			whole.Also = append(whole.Also, Recurrence{StartTime: at})
		}
	}
	return whole, nil
}

// maxCounted is the largest COUNT that becomes an end.
const maxCounted = 100_000

// endCount replaces the count of the rules of an RRULE by the instant of the last run, counted from DTSTART on and without EXDATE: Count would count from
// the creation on. It leaves a count with which the text has more than maxCounted runs to count.
func (t *rruleText) endCount(rules []Recurrence) error {
	count := rules[0].Count
	if count == 0 || t.counted+count > maxCounted {
		return nil
	}
	t.counted += count
	all := make([]*Series, len(rules))
	for i, rule := range rules {
		rule.StartTime, rule.TimeZone, rule.Count = t.start, t.zone, 0
		if err := rule.Validate(); err != nil {
			return err
		}
		series, err := rule.Series(t.start)
		if err != nil {
			return err
		}
		all[i] = series
	}
	last := lastRun(all, t.start, count)
	for i := range rules {
		rules[i].EndTime, rules[i].Count = last.UTC(), 0
	}
	return nil
}

// lastRun returns the last of a number of runs of several series together, from a start on. Only the caller may use the series.
func lastRun(all []*Series, start time.Time, count int) (last time.Time) {
	next := make([]time.Time, len(all)) // of each series; zero: there are no more
	for i, series := range all {
		if kept := series.rule.kept; kept != nil {
			kept.recent = &daysOfYear{}
		}
		next[i], _ = series.Next(start.Add(-time.Second))
	}
	for range count {
		first := time.Time{}
		for _, at := range next {
			if !at.IsZero() && (first.IsZero() || at.Before(first)) {
				first = at
			}
		}
		if first.IsZero() {
			break
		}
		last = first
		for i, at := range next {
			if at.Equal(last) {
				next[i], _ = all[i].Next(last)
			}
		}
	}
	return last
}

// firing returns the rules of an RRULE without those that never fire, if others do.
func (t *rruleText) firing(rules []Recurrence) []Recurrence {
	if len(rules) == 1 {
		return rules
	}
	var kept []Recurrence
	for _, rule := range rules {
		rule.StartTime, rule.TimeZone, rule.Count = t.start, t.zone, 0
		if err := rule.Validate(); !slices.ContainsFunc(Errors(err), func(e *Error) bool { return e.Code == CodeNeverFires }) {
			rule.StartTime, rule.TimeZone, rule.Count = time.Time{}, "", rules[0].Count
			kept = append(kept, rule)
		}
	}
	if len(kept) == 0 {
		return rules[:1] // one error for all
	}
	return kept
}

// readRules reads the RRULE lines. The rule that ends last comes first, because its end becomes the end of all.
func (t *rruleText) readRules() (list []Recurrence, err error) {
	for _, parts := range t.rules {
		reader := rruleReader{parts: parts, start: t.start.In(t.loc), inZone: !isUTC(t.zone), float: t.float, allDay: t.allDay}
		rules, err := reader.read()
		if err == nil {
			rules = t.firing(rules)
			err = t.endCount(rules)
		}
		switch {
		case err != nil:
			return nil, err
		case rules[0].Count > 0 && len(t.rules)+len(rules) > 2:
			return nil, refusePart("COUNT together with another RRULE", reader.part("COUNT"), "count counts the runs of all: write UNTIL")
		case rules[0].Count > 0 && (len(t.added) > 0 || t.hasExceptions()):
			return nil, refusePart("COUNT together with EXDATE or RDATE", reader.part("COUNT"), "RFC 5545 counts excluded runs, count does not, and this one is too large to count: write UNTIL")
		case rules[0].Frequency < Day && t.hasExceptions() && reader.inZone:
			return nil, refusePart("EXDATE together with elapsed time in a zone", "", "write DTSTART with Z")
		}
		t.picks = t.picks || reader.picks
		list = append(list, rules...)
	}
	if len(list) > maxAlsoRules+1 {
		return nil, refusePart("a list this long", "", "at most 17 rules, of which BYSETPOS with several times a day needs one for each")
	}
	lasting := 0
	for i, rule := range list {
		if end := list[lasting].EndTime; !end.IsZero() && (rule.EndTime.IsZero() || rule.EndTime.After(end)) {
			lasting = i
		}
	}
	list[0], list[lasting] = list[lasting], list[0]
	return list, nil
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
		if repeats(t.loc, local) && r.runsEveryHour() { // on both passes, and a filter would close both
			return refusePart("EXDATE at a time that the clocks repeat, next to runs of every hour,", local.Format(time.RFC3339), "write DTSTART with Z")
		}
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
		if clock == "" && t.picks { // a filter with times closes no day, so positions count its days
			filters = append(filters, Filter{Dates: dates, Times: []string{"00:00/23:59"}})
			continue
		}
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
		if len(filters) == maxFilters {
			return tooManyExclusions()
		}
		filters = append(filters, Filter{Dates: dates, Times: []string{clock}})
	}
	for _, f := range filters {
		for part := range slices.Chunk(f.Dates, dateTexts.limit) {
			r.Except = append(r.Except, Filter{Dates: part, Times: f.Times})
		}
	}
	if len(r.Except) > maxFilters {
		return tooManyExclusions()
	}
	return nil
}

// repeats reports whether the clocks of a zone show the time of an instant twice.
func repeats(loc *time.Location, at time.Time) bool {
	if !resolveLocal(loc, onUTC(at)).Equal(at) {
		return true // at is the second pass
	}
	end, ends := offsetEnd(at)
	if !ends {
		return false
	}
	_, before := at.Zone()
	_, after := end.Zone()
	second := at.Add(time.Duration(before-after) * time.Second)
	return before > after && !second.Before(end)
}

// runsEveryHour reports whether a rule, or one of its Also, runs on both passes of an hour that the clocks repeat.
func (r Recurrence) runsEveryHour() bool {
	for _, rule := range r.rules() {
		everyHour := len(sortedSet(rule.Hours)) == 24 || len(rule.Hours) == 0 && len(rule.Minutes)+len(rule.Seconds) > 0
		if rule.Frequency != 0 && (rule.Frequency < Day || everyHour) {
			return true
		}
	}
	return false
}

func tooManyExclusions() error {
	return refusePart("EXDATE at this many times of day", "", "at most 32 sets of dates and times")
}
