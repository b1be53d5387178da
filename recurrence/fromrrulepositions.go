package recurrence

import (
	"slices"
	"strconv"
)

// A setTime is a time of a day, an hour or a minute: the units that a rule's frequency contains.
type setTime struct{ hour, minute, second int }

// setPositions applies BYSETPOS, which counts the instants of a period. Position n of a period with k times a day is the day ⌈n/k⌉ at the k-th time, so
// times with other days each become rules of their own. A day, an hour and a minute are periods of their own: positions select some of their times.
func (r *rruleReader) setPositions() error {
	if r.kept == nil {
		r.add(r.rule)
		return nil
	}
	times := r.timesOfPeriod()
	positions, err := r.positionsOfTimes(len(times))
	if err != nil {
		return err
	}
	var groups [][]int // the numbers of times with the same positions
	for i, days := range positions {
		if days == nil {
			continue
		}
		same := func(group []int) bool { return slices.Equal(positions[group[0]], days) }
		if n := slices.IndexFunc(groups, same); n >= 0 {
			groups[n] = append(groups[n], i)
		} else {
			groups = append(groups, []int{i})
		}
	}
	for _, group := range groups {
		parts := r.products(times, group)
		for _, part := range parts {
			rule := r.rule
			if len(part) < len(times) {
				r.setTimesOf(&rule, part)
			}
			if r.frequency >= Week {
				rule.Positions = positions[group[0]]
			}
			if r.numberWeekday(&rule) {
				r.add(rule)
			}
		}
		if len(r.list) > maxAlsoRules+1 {
			return refusePart("BYSETPOS of this many times a day", r.part("BYSETPOS"), "at most "+strconv.Itoa(maxAlsoRules+1)+" of them")
		}
	}
	if len(r.list) == 0 {
		return newError(CodeNeverFires, "", r.part("BYSETPOS"), "no period has that many runs")
	}
	r.picks = slices.ContainsFunc(r.list, func(rule Recurrence) bool { return len(rule.Positions) > 0 })
	return nil
}

// add adds a rule to the list. All 24 hours of BYHOUR follow the clock, but those of one rule would follow elapsed time in a zone, so they become two rules.
func (r *rruleReader) add(rule Recurrence) {
	if r.inZone && r.frequency >= Day && len(rule.Hours) == 24 {
		rest := rule
		rule.Hours, rest.Hours = rule.Hours[:23:23], rule.Hours[23:]
		r.list = append(r.list, rule, rest)
		return
	}
	r.list = append(r.list, rule)
}

// positionsOfTimes returns, for each of k times of a day, the days at which a position selects it: nil if none does. Days are numbered as Positions. They
// are 1 for a rule whose period is a day or less.
func (r *rruleReader) positionsOfTimes(k int) ([][]int, error) {
	limit := map[Frequency]int{Week: 7, Month: 31, Year: 366}[r.frequency]
	positions := make([][]int, k)
	for _, n := range r.kept {
		day, at := (n-1)/k+1, (n-1)%k
		if n < 0 {
			day, at = -((-n-1)/k + 1), k-1-(-n-1)%k
		}
		switch {
		case limit == 0 && (day == 1 || day == -1):
			positions[at] = []int{1}
		case -limit <= day && day <= limit:
			positions[at] = append(positions[at], day)
		}
	}
	for i := range positions {
		if positions[i] != nil {
			positions[i] = sortedSet(positions[i])
		}
	}
	return positions, nil
}

// timesOfPeriod returns the times of a day, or of an hour or a minute if that is the period, in order.
func (r *rruleReader) timesOfPeriod() (times []setTime) {
	given := func(list []int, start int) []int {
		if list == nil {
			return []int{start}
		}
		return list
	}
	hours, minutes, seconds := given(r.hours, r.start.Hour()), given(r.minutes, r.start.Minute()), given(r.seconds, r.start.Second())
	if r.frequency < Day {
		hours = []int{0}
	}
	if r.frequency < Hour {
		minutes = []int{0}
	}
	if r.frequency == Second {
		seconds = []int{0}
	}
	for _, hour := range hours {
		for _, minute := range minutes {
			for _, second := range seconds {
				times = append(times, setTime{hour, minute, second})
			}
		}
	}
	return times
}

// products returns a group of times as one list if it has all combinations of its hours, minutes and seconds, and otherwise each time by itself.
func (r *rruleReader) products(times []setTime, group []int) (parts [][]setTime) {
	var list []setTime
	for _, i := range group {
		list = append(list, times[i])
	}
	hours, minutes, seconds := unitsOf(list)
	if len(hours)*len(minutes)*len(seconds) == len(list) {
		return [][]setTime{list}
	}
	for _, time := range list {
		parts = append(parts, []setTime{time})
	}
	return parts
}

// unitsOf returns the hours, minutes and seconds of times.
func unitsOf(times []setTime) (hours, minutes, seconds []int) {
	for _, t := range times {
		hours, minutes, seconds = append(hours, t.hour), append(minutes, t.minute), append(seconds, t.second)
	}
	return sortedSet(hours), sortedSet(minutes), sortedSet(seconds)
}

// setTimesOf sets the elements of times.
func (r *rruleReader) setTimesOf(rule *Recurrence, times []setTime) {
	hours, minutes, seconds := unitsOf(times)
	if r.frequency >= Day {
		rule.Hours = hours
	}
	if r.frequency >= Hour {
		if rule.Minutes = minutes; slices.Equal(seconds, []int{0}) {
			rule.Seconds = nil
			return
		}
	}
	rule.Seconds = seconds
}
