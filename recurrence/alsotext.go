package recurrence

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// also describes the additions of the rule, and then its count and its end, which hold for the whole: "; also on 24 December 2026 at 13:00; also
// every week on Saturday at 11:00; 10 times in all". The instants come first.
func (d *description) also(whole Recurrence) string {
	var instants []time.Time
	var rules []string
	local := false
	for _, entry := range whole.Also {
		if entry.runsOnce() {
			instants = append(instants, entry.StartTime)
			continue
		}
		text, depends := d.addedRule(whole, entry)
		rules = append(rules, "; also "+text)
		local = local || depends
	}
	text := ""
	if len(instants) > 0 {
		text, local = "; also "+d.instants(instants), true
	}
	slices.Sort(rules)
	text += strings.Join(slices.Compact(rules), "")
	d.more = false
	return d.nameZone(text, local) + d.totals(whole)
}

// addedRule describes a rule of also. Another part of the text names the zone; local reports whether the text depends on it.
func (d *description) addedRule(whole, entry Recurrence) (text string, local bool) {
	e := description{Recurrence: entry.within(whole), zone: d.zone, zoneNamed: true, origin: d.origin}
	if entry.StartTime.IsZero() && !whole.StartTime.IsZero() {
		e.origin = "the start"
	}
	text = e.clause() + e.limits()
	return strings.ToLower(text[:1]) + text[1:], e.local
}

// instants describes instants by time of day: "on 24 and 28 December 2026 at 13:00 and on 2 January 2027 at 09:00".
func (d *description) instants(list []time.Time) string {
	suffix, location := "", d.location
	if location == nil {
		location, suffix = time.UTC, " UTC"
	}
	byClock := map[string][]time.Time{}
	var clocks []string
	list = slices.Clone(list)
	slices.SortFunc(list, time.Time.Compare)
	for _, t := range list {
		t = wholeSeconds(t).In(location)
		clock := formatClock(t.Clock()) + suffix
		if d.location != nil {
			clock = d.clock(t)
		}
		if byClock[clock] == nil {
			clocks = append(clocks, clock)
		}
		byClock[clock] = append(byClock[clock], t)
	}
	return joinList(format(clocks, func(clock string) string {
		dates := byClock[clock]
		for i, t := range dates {
			dates[i] = time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
		}
		return "on " + listDates(dates, "2 January 2006", "and") + " at " + clock
	}), "and")
}

// totals describes count and end of a rule with additions.
func (d *description) totals(whole Recurrence) string {
	text := ""
	switch {
	case whole.Count == 1:
		text = "; once in all"
	case whole.Count != 0:
		text = "; " + strconv.Itoa(whole.Count) + " times in all"
	}
	switch {
	case whole.EndTime.IsZero():
		return text
	case text == "":
		return "; all until " + d.instant(whole.EndTime, true)
	}
	return text + ", until " + d.instant(whole.EndTime, true)
}
