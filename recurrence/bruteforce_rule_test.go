package recurrence

import (
	"cmp"
	"slices"
	"time"
)

// A bruteRule is one rule, with its calendar and without its Also.
type bruteRule struct {
	Recurrence
	loc   *time.Location
	start time.Time // in loc, whole seconds
	end   time.Time // the first second at which the rule has ended
	cron  *cronFields

	hour, minute, second [60]bool // the times of the day
	everyHour            bool     // all 24 hours: every time that the clocks show counts, however they change
	only, except         []bruteFilter

	seen   map[time.Time][]time.Duration // results of offsets, by the day
	opened map[time.Time]bool            // results of isOpen, by the day
	placed map[time.Time][]time.Time     // results of openDaysOfPeriod, by the first day of the period
}

func newBruteRule(r Recurrence, created time.Time) *bruteRule {
	b := &bruteRule{Recurrence: r, loc: time.UTC, end: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)}
	if r.Cron != "" {
		f, err := compileCron(r.Cron)
		if err != nil {
			panic(err)
		}
		b.TimeZone = cmp.Or(r.TimeZone, f.zone)
		if f.every.Frequency != 0 {
			b.Frequency, b.Interval = f.every.Frequency, f.every.Interval
		} else {
			b.cron = &f
		}
	}
	if b.TimeZone != "" {
		b.loc, _ = time.LoadLocation(b.TimeZone)
	}
	b.start = created
	if !r.StartTime.IsZero() {
		b.start = r.StartTime
	}
	b.start = secondOf(b.start).In(b.loc)
	if !r.EndTime.IsZero() && r.EndTime.Before(b.end) {
		b.end = secondOf(r.EndTime).Add(time.Second)
	}
	b.Interval = max(b.Interval, 1)
	b.setTimes()
	b.only, b.except = bruteFilters(r.Only), bruteFilters(r.Except)
	b.seen, b.opened, b.placed = map[time.Time][]time.Duration{}, map[time.Time]bool{}, map[time.Time][]time.Time{}
	return b
}

// setTimes computes which hours, minutes and seconds match: given ones, and those that come from the start.
func (b *bruteRule) setTimes() {
	hours, minutes, seconds := b.Hours, b.Minutes, b.Seconds
	if f := b.cron; f != nil {
		for n := range 60 {
			if n < 24 && f.hours>>n&1 == 1 {
				hours = append(hours, n)
			}
			if f.minutes>>n&1 == 1 {
				minutes = append(minutes, n)
			}
		}
	}
	limitOnly := b.cron == nil && b.Frequency <= Minute
	hoursLimit := limitOnly || b.cron == nil && b.Frequency == Hour
	minutesGiven, secondsGiven := len(minutes) > 0, len(seconds) > 0
	switch {
	case secondsGiven:
	case limitOnly:
		seconds = upTo(0, 59, 1)
	case minutesGiven:
		seconds = []int{0}
	default:
		seconds = []int{b.start.Second()}
	}
	switch {
	case minutesGiven:
	case limitOnly:
		minutes = upTo(0, 59, 1)
	case secondsGiven && len(hours) == 0: // coarser than all that is given
		minutes = upTo(0, 59, 1)
	default:
		minutes = []int{b.start.Minute()}
	}
	switch {
	case len(hours) > 0:
	case hoursLimit, minutesGiven, secondsGiven:
		hours = upTo(0, 23, 1)
	default:
		hours = []int{b.start.Hour()}
	}
	for _, h := range hours {
		b.hour[h] = true
	}
	for _, m := range minutes {
		b.minute[m] = true
	}
	for _, s := range seconds {
		b.second[s] = true
	}
	b.everyHour = true
	for _, given := range b.hour[:24] {
		b.everyHour = b.everyHour && given
	}
}

// hasSchedule reports whether any element is set.
func (b *bruteRule) hasSchedule() bool {
	return len(b.Hours)+len(b.Minutes)+len(b.Seconds)+len(b.WeekDays)+len(b.MonthDays)+len(b.MonthlyOccurrences)+len(b.Months)+len(b.Positions) > 0
}

// matches returns the matches from one instant on and before another. They are not sorted, and may be repeated.
func (b *bruteRule) matches(from, to time.Time) (found []time.Time) {
	if from.Before(b.start) {
		from = b.start
	}
	if to.After(b.end) {
		to = b.end
	}
	from = from.Add(time.Second - 1).Truncate(time.Second) // the first whole second
	switch {
	case !from.Before(to):
		return nil
	case b.cron != nil || b.Frequency >= Day:
		found = b.runsOfDays(from, to)
	case b.Frequency == 0:
		found = []time.Time{b.start}
	case b.Frequency == Hour && b.hasSchedule():
		hour := b.start.Add(-time.Duration(b.start.Minute()*60+b.start.Second()) * time.Second)
		found = b.blocks(from, to, hour, 3600)
	case b.Frequency == Minute && len(b.Seconds) > 0:
		found = b.blocks(from, to, b.start.Add(-time.Duration(b.start.Second())*time.Second), 60)
	default:
		found = b.points(from, to)
	}
	if b.cron == nil && !b.hasSchedule() && b.open(shown(b.start)) {
		found = append(found, b.start) // occurrence 0 is the start itself, even on the second pass of a repeated hour
	}
	return slices.DeleteFunc(found, func(t time.Time) bool { return t.Before(from) || !t.Before(to) })
}

// shown returns what the clocks of t show, as a time in UTC.
func shown(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// dayOf returns the midnight of a wall time. Days are represented by their midnight in UTC.
func dayOf(wall time.Time) time.Time { return wall.Truncate(24 * time.Hour) }

// points returns the matches of an interval of elapsed time.
func (b *bruteRule) points(from, to time.Time) (found []time.Time) {
	length := time.Duration(b.Interval) * []time.Duration{Second: time.Second, Minute: time.Minute, Hour: time.Hour}[b.Frequency]
	at := b.start
	if gone := (from.Unix() - at.Unix()) / int64(length/time.Second); gone > 2 {
		at = time.Unix(at.Unix()+(gone-1)*int64(length/time.Second), 0).In(b.loc)
	}
	free := !b.hasSchedule()
	for ; at.Before(to); at = at.Add(length) {
		if (free || b.hour[at.Hour()] && b.minute[at.Minute()] && b.second[at.Second()]) && b.open(shown(at)) {
			found = append(found, at)
		}
	}
	return found
}

// blocks returns the matches of a schedule in every n-th block of elapsed seconds from an origin on.
func (b *bruteRule) blocks(from, to, origin time.Time, seconds int64) (found []time.Time) {
	for _, at := range b.moments(from, to) {
		gone := (at.Unix() - origin.Unix()) / seconds
		if gone%int64(b.Interval) == 0 && b.hour[at.Hour()] && b.minute[at.Minute()] && b.open(shown(at)) {
			found = append(found, at)
		}
	}
	return found
}

// moments returns the instants at which the local clock shows one of the seconds of the rule.
func (b *bruteRule) moments(from, to time.Time) (all []time.Time) {
	add := func(at time.Time) {
		if b.second[at.Second()] && at.Before(to) {
			all = append(all, at)
		}
	}
	for at := from.In(b.loc); at.Before(to); {
		_, offset := at.Zone()
		_, later := at.Add(time.Minute).Zone()
		if at.Second() != 0 || (later-offset)%60 != 0 {
			add(at)
			at = at.Add(time.Second)
			continue
		}
		for second := range 60 {
			if b.second[second] {
				add(at.Add(time.Duration(second) * time.Second))
			}
		}
		at = at.Add(time.Minute)
	}
	return all
}

// runsOfDays returns the matches of a rule with days.
func (b *bruteRule) runsOfDays(from, to time.Time) (found []time.Time) {
	const margin = 3 * 24 * time.Hour // an offset, and a move out of a gap, are shorter
	days := b.keptDays(dayOf(shown(from.In(b.loc)).Add(-margin)), dayOf(shown(to.In(b.loc)).Add(margin)))
	if b.everyHour {
		for hour := from; hour.Before(to); hour = hour.Add(time.Hour) {
			if today := dayOf(shown(hour.In(b.loc))); !slices.ContainsFunc([]int{-2, -1, 0, 1, 2}, func(n int) bool { return days[today.AddDate(0, 0, n)] }) {
				continue // this saves time; no clock changes by more
			}
			for _, at := range b.moments(hour, hour.Add(time.Hour)) {
				if wall := shown(at); b.minute[at.Minute()] && days[dayOf(wall)] && b.open(wall) {
					found = append(found, at)
				}
			}
		}
		return found
	}
	for day := range days {
		for _, wall := range b.timesOn(day) {
			for _, at := range b.instantsOf(wall) {
				if b.open(wall) && b.open(shown(at)) { // both the named time and the time after a gap
					found = append(found, at)
				}
			}
		}
	}
	return found
}

// timesOn returns the wall times of a day at which the rule runs.
func (b *bruteRule) timesOn(day time.Time) (walls []time.Time) {
	for h := range 24 {
		for m := range 60 {
			for s := 0; s < 60 && b.hour[h] && b.minute[m]; s++ {
				if b.second[s] {
					walls = append(walls, day.Add(time.Duration(h*3600+m*60+s)*time.Second))
				}
			}
		}
	}
	return walls
}

// instantsOf returns the instants at which a named time runs.
func (b *bruteRule) instantsOf(wall time.Time) (passes []time.Time) {
	for _, offset := range b.offsets(dayOf(wall)) {
		if at := wall.Add(-offset).In(b.loc); shown(at).Equal(wall) {
			passes = append(passes, at)
		}
	}
	slices.SortFunc(passes, time.Time.Compare)
	switch {
	case len(passes) == 0 && b.ClockChanges == ClockOnce:
		return []time.Time{b.afterGap(wall)}
	case len(passes) > 0 && b.ClockChanges != ClockShown:
		return passes[:1]
	}
	return passes
}

// afterGap returns the instant of a skipped wall time by the offset before the gap.
func (b *bruteRule) afterGap(wall time.Time) time.Time {
	at := wall.Add(-30 * time.Hour).In(b.loc)
	for shown(at.Add(time.Hour)).Before(wall) {
		at = at.Add(time.Hour)
	}
	for shown(at.Add(time.Second)).Before(wall) {
		at = at.Add(time.Second)
	}
	return at.Add(wall.Sub(shown(at)))
}

// offsets returns the different offsets in the hours around a day.
func (b *bruteRule) offsets(day time.Time) (list []time.Duration) {
	if b.seen[day] != nil {
		return b.seen[day]
	}
	for hours := -48; hours <= 72; hours++ {
		_, seconds := day.Add(time.Duration(hours) * time.Hour).In(b.loc).Zone()
		if offset := time.Duration(seconds) * time.Second; !slices.Contains(list, offset) {
			list = append(list, offset)
		}
	}
	b.seen[day] = list
	return list
}
