package recurrence

import (
	"slices"
	"time"
)

// maxExportedDates limits the values of EXDATE of an exported rule.
const maxExportedDates = 3000

// excludedTimes collects the values of EXDATE of all rules of a text.
type excludedTimes struct {
	zone    string         // of the text; "" is UTC
	clock   *zone          // the same
	added   map[int64]bool // instants of also, which always run
	found   map[string]bool
	visited int // excluded times of all rules and filters. It bounds the time that an export takes
}

// newExcludedTimes returns an empty collection for a rule with these additions, in a zone that is known.
func newExcludedTimes(also []Recurrence, zone string) (*excludedTimes, error) {
	clock, err := loadZone(zone)
	if err != nil {
		return nil, err
	}
	e := &excludedTimes{zone: zone, clock: clock, added: map[int64]bool{}, found: map[string]bool{}}
	for _, entry := range also {
		if entry.runsOnce() {
			e.added[unixOf(entry.StartTime)] = true
		}
	}
	return e, nil
}

// addRule adds the times that a rule has on the dates of filters. The start is in the rule's zone.
func (e *excludedTimes) addRule(r rruleRule, left []Filter, start time.Time) error {
	if len(left) == 0 {
		return nil
	}
	if r.Frequency < Day {
		return noRRule("except", "EXDATE names single runs, and a date has too many of them: write frequency day")
	}
	var seconds []int64 // of the day, at which the rule runs, in order
	for second := range clockSeconds(r.clock(start)) {
		seconds = append(seconds, second)
	}
	for _, f := range left {
		times := wholeDay
		if len(f.Times) > 0 {
			times = newDayFilter(&Filter{Times: f.Times}, 0).times
		}
		closed := secondsIn(seconds, times)
		for _, text := range sortedSet(f.Dates) {
			e.visited += len(closed)
			if len(e.found)+len(closed) > maxExportedDates || e.visited > 10*maxExportedDates {
				return newError(CodeNoRRule, "except", text, "is one of more than %d times that EXDATE would have to name", maxExportedDates)
			}
			date, _ := time.Parse(time.DateOnly, text) // exportCalendar accepts no other texts
			if e.skips(date.Unix(), seconds, closed, times) {
				return newError(CodeNoRRule, "except", text, "EXDATE cannot name a time that the clocks skip")
			}
			if !e.add(date.Unix(), closed) && r.hourlyInZone() {
				return newError(CodeNoRRule, "except", text, "EXDATE names one of the two runs at a time that the clocks repeat")
			}
		}
	}
	return nil
}

// skips reports whether a rule has an excluded time that the clocks skip on a date or on the day before, or whether they move a run to an excluded time of
// the date. seconds has the times of the rule, closed those of them that are excluded, and times the excluded spans of the date.
func (e *excludedTimes) skips(date int64, seconds, closed []int64, times []span) bool {
	for i := e.clock.periodAt(date - 3*secondsPerDay); i < len(e.clock.periods) && e.clock.periods[i].begin < date+3*secondsPerDay; i++ {
		p := &e.clock.periods[i]
		if i == 0 || p.wallBefore >= p.wallAfter {
			continue
		}
		for _, day := range [...]int64{date, date - secondsPerDay} {
			first, last := p.wallBefore-day, p.wallAfter-1-day
			if hasSecond(closed, first, last) {
				return true
			}
			later := p.wallAfter - p.wallBefore + day - date // from a time of the day to where its run is on the date
			for _, s := range times {
				if hasSecond(seconds, max(first, s.first-later), min(last, s.last-later)) {
					return true
				}
			}
		}
	}
	return false
}

// secondsIn returns the numbers of a sorted list that lie in spans, which are in order: as many of them as EXDATE may have, and some more.
func secondsIn(list []int64, spans []span) (found []int64) {
	for _, s := range spans {
		first, _ := slices.BinarySearch(list, s.first)
		end, _ := slices.BinarySearch(list, s.last+1)
		if found = append(found, list[first:end]...); len(found) > maxExportedDates {
			break
		}
	}
	return found
}

// hasSecond reports whether a sorted list has a number from a first to a last one.
func hasSecond(list []int64, first, last int64) bool {
	i, _ := slices.BinarySearch(list, first)
	return i < len(list) && list[i] <= last
}

// add adds the times of a date that the clocks do not skip. It reports whether they show each of them once only.
func (e *excludedTimes) add(date int64, closed []int64) (once bool) {
	once = true
	for _, second := range closed {
		i := e.clock.periodAtWall(date + second)
		at := date + second - e.clock.periods[i].offset
		if i+1 < len(e.clock.periods) && date+second >= e.clock.periods[i+1].wallAfter {
			once = false
		}
		if !e.added[at] {
			e.found[rruleTime(time.Unix(at, 0).In(e.clock.location), e.zone)] = true
		}
	}
	return once
}

// clockSeconds yields the seconds of the day of every hour, minute and second.
func clockSeconds(hours, minutes, seconds []int) func(func(int64) bool) {
	return func(yield func(int64) bool) {
		for _, hour := range hours {
			for _, minute := range minutes {
				for _, second := range seconds {
					if !yield(int64(hour*3600 + minute*60 + second)) {
						return
					}
				}
			}
		}
	}
}
