package recurrence

import (
	"slices"
	"time"
)

// A bruteForce computes the matches of a rule directly from its definition: it tries every minute of every day, every instant,
// every point of an interval. It takes calendars and zones from package time and shares only the cron reader with the engine.
type bruteForce struct {
	Recurrence
	loc         *time.Location
	start       time.Time // in loc, whole seconds
	cron        *cronFields
	second      int
	everyHour   bool
	hour, limit map[int]bool                  // hours; minutes
	seen        map[time.Time][]time.Duration // results of offsets, by the day
}

func newBruteForce(r Recurrence, created time.Time) *bruteForce {
	b := &bruteForce{Recurrence: r, loc: time.UTC}
	if r.TimeZone != "" {
		b.loc, _ = time.LoadLocation(r.TimeZone)
	}
	b.start = created
	if !r.StartTime.IsZero() {
		b.start = r.StartTime
	}
	b.start = time.Unix(b.start.Unix(), 0).In(b.loc)
	b.Interval = max(r.Interval, 1)
	if r.Cron != "" {
		f, err := compileCron(r.Cron)
		if err != nil {
			panic(err)
		}
		b.cron = &f
		for n := range 60 {
			if n < 24 && f.hours>>n&1 == 1 {
				b.Hours = append(b.Hours, n)
			}
			if f.minutes>>n&1 == 1 {
				b.Minutes = append(b.Minutes, n)
			}
		}
	}
	b.hour, b.limit, b.seen = map[int]bool{}, map[int]bool{}, map[time.Time][]time.Duration{}
	for _, h := range b.Hours {
		b.hour[h] = true
	}
	for _, m := range b.Minutes {
		b.limit[m] = true
	}
	b.everyHour = len(b.hour) == 24
	expands := b.cron != nil || r.Frequency >= Hour
	if len(b.Minutes) == 0 {
		b.second = b.start.Second()
		if expands {
			b.limit[b.start.Minute()] = true
		}
	}
	if b.cron == nil && r.Frequency >= Day && len(b.Hours) == 0 {
		b.everyHour = len(b.Minutes) > 0
		b.hour[b.start.Hour()] = true
	}
	return b
}

// hasSchedule reports whether any element is set.
func (b *bruteForce) hasSchedule() bool {
	return len(b.Hours)+len(b.Minutes)+len(b.WeekDays)+len(b.MonthDays)+len(b.MonthlyOccurrences)+len(b.Months) > 0
}

// between returns the matches from one instant on and before another.
func (b *bruteForce) between(from, to time.Time) []time.Time {
	if from.Before(b.start) {
		from = b.start
	}
	if end := time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC); to.After(end) {
		to = end
	}
	from = from.Add(time.Second - 1).Truncate(time.Second) // the first whole second
	var found []time.Time
	switch {
	case b.cron == nil && b.Frequency == 0:
		found = []time.Time{b.start}
	case b.cron == nil && b.Frequency < Hour, b.cron == nil && b.Frequency == Hour && !b.hasSchedule():
		found = b.points(from, to)
	case b.cron == nil && b.Frequency == Hour:
		found = b.hourBlocks(from, to)
	default:
		found = b.calendar(from, to)
	}
	if b.cron == nil && !b.hasSchedule() {
		found = append(found, b.start)
	}
	found = slices.DeleteFunc(found, func(t time.Time) bool { return t.Before(from) || !t.Before(to) })
	slices.SortFunc(found, time.Time.Compare)
	return slices.CompactFunc(found, time.Time.Equal)
}

// points returns the matches of an interval of elapsed time.
func (b *bruteForce) points(from, to time.Time) (found []time.Time) {
	length := time.Duration(b.Interval) * []time.Duration{Second: time.Second, Minute: time.Minute, Hour: time.Hour}[b.Frequency]
	at := b.start
	if gone := (from.Unix() - at.Unix()) / int64(length/time.Second); gone > 2 {
		at = time.Unix(at.Unix()+(gone-1)*int64(length/time.Second), 0).In(b.loc)
	}
	for ; at.Before(to); at = at.Add(length) {
		if (len(b.Hours) == 0 || b.hour[at.Hour()]) && (len(b.Minutes) == 0 || b.limit[at.Minute()]) {
			found = append(found, at)
		}
	}
	return found
}

// hourBlocks returns the matches of the frequency hour with a schedule.
func (b *bruteForce) hourBlocks(from, to time.Time) (found []time.Time) {
	origin := b.start.Add(-time.Duration(b.start.Minute()*60+b.start.Second()) * time.Second).Unix()
	for _, at := range b.moments(from, to) {
		blocks := (at.Unix() - origin) / 3600
		if at.Unix() >= origin && blocks%int64(b.Interval) == 0 && b.limit[at.Minute()] && (len(b.Hours) == 0 || b.hour[at.Hour()]) {
			found = append(found, at)
		}
	}
	return found
}

// moments returns the instants at which the local clock shows the second of the rule.
func (b *bruteForce) moments(from, to time.Time) (all []time.Time) {
	for at := from.In(b.loc); at.Before(to); {
		if at.Second() != b.second {
			at = at.Add(time.Second)
			continue
		}
		all = append(all, at)
		next := at.Add(time.Minute)
		_, before := at.Zone()
		if _, after := next.Zone(); (after-before)%60 != 0 {
			next = at.Add(time.Second)
		}
		at = next
	}
	return all
}

// calendar returns the matches of a rule with days. It tries every local day, and on a matching day every minute or moment.
func (b *bruteForce) calendar(from, to time.Time) (found []time.Time) {
	f, t := from.In(b.loc), to.In(b.loc)
	day := time.Date(f.Year(), f.Month(), f.Day()-3, 0, 0, 0, 0, time.UTC)
	last := time.Date(t.Year(), t.Month(), t.Day()+3, 0, 0, 0, 0, time.UTC)
	for ; day.Before(last); day = day.AddDate(0, 0, 1) {
		if !b.matchesDay(day) {
			continue
		}
		if b.everyHour {
			for _, at := range b.moments(day.Add(-27*time.Hour), day.Add(51*time.Hour)) {
				y, m, d := at.Date()
				if y == day.Year() && m == day.Month() && d == day.Day() && b.limit[at.Minute()] {
					found = append(found, at)
				}
			}
			continue
		}
		for h := range 24 {
			for m := range 60 {
				if b.hour[h] && b.limit[m] {
					found = append(found, b.instant(day.Add(time.Duration(h*3600+m*60+b.second)*time.Second)))
				}
			}
		}
	}
	return found
}

// instant returns the first instant at which the local clock shows what wall shows in UTC. In a gap the offset before it applies.
func (b *bruteForce) instant(wall time.Time) time.Time {
	shown := func(at time.Time) time.Time {
		_, offset := at.In(b.loc).Zone()
		return at.UTC().Add(time.Duration(offset) * time.Second)
	}
	var passes []time.Time
	for _, offset := range b.offsets(wall.Truncate(24 * time.Hour)) {
		if at := wall.Add(-offset); shown(at).Equal(wall) {
			passes = append(passes, at)
		}
	}
	if len(passes) > 0 {
		return slices.MinFunc(passes, time.Time.Compare).In(b.loc)
	}
	at := wall.Add(-30 * time.Hour)
	for shown(at.Add(time.Hour)).Before(wall) {
		at = at.Add(time.Hour)
	}
	for shown(at.Add(time.Second)).Before(wall) {
		at = at.Add(time.Second)
	}
	return at.Add(wall.Sub(shown(at))).In(b.loc)
}

// offsets returns the different offsets in the hours around a day.
func (b *bruteForce) offsets(day time.Time) (list []time.Duration) {
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

// matchesDay reports whether a day, given as its midnight in UTC, is one of the days of the rule.
func (b *bruteForce) matchesDay(day time.Time) bool {
	y, m, d := day.Date()
	length := time.Date(y, m+1, 0, 0, 0, 0, 0, time.UTC).Day()
	if f := b.cron; f != nil {
		date := f.daysOfMonth>>d&1 == 1
		weekday := f.weekDays>>day.Weekday()&1 == 1
		if f.domRestricted && f.dowRestricted {
			date = date || weekday
			weekday = date
		}
		return f.months>>m&1 == 1 && date && weekday
	}
	begin := time.Date(b.start.Year(), b.start.Month(), b.start.Day(), 0, 0, 0, 0, time.UTC)
	periods := 0
	switch b.Frequency {
	case Day:
		periods = int(day.Sub(begin) / (24 * time.Hour))
	case Week:
		monday := func(t time.Time) time.Time { return t.AddDate(0, 0, -(int(t.Weekday())+6)%7) }
		periods = int(monday(day).Sub(monday(begin)) / (7 * 24 * time.Hour))
	case Month:
		periods = (y-begin.Year())*12 + int(m) - int(begin.Month())
	case Year:
		periods = y - begin.Year()
	}
	if periods%b.Interval != 0 {
		return false
	}
	byMonth := len(b.Months) == 0 || slices.Contains(b.Months, m)
	switch b.Frequency {
	case Week:
		return slices.Contains(b.WeekDays, day.Weekday()) || len(b.WeekDays) == 0 && day.Weekday() == begin.Weekday()
	case Year:
		return d == begin.Day() && byMonth && (len(b.Months) > 0 || m == begin.Month())
	case Month:
		if len(b.MonthDays)+len(b.MonthlyOccurrences) == 0 {
			return byMonth && d == begin.Day()
		}
		byDate := len(b.MonthDays) == 0 || slices.Contains(b.MonthDays, d) || slices.Contains(b.MonthDays, d-length-1)
		byNth := len(b.MonthlyOccurrences) == 0
		for _, o := range b.MonthlyOccurrences {
			nth, back := 0, 0
			for i := 1; i <= length; i++ {
				if time.Date(y, m, i, 0, 0, 0, 0, time.UTC).Weekday() == o.Day {
					if i <= d {
						nth++
					}
					if i >= d {
						back--
					}
				}
			}
			byNth = byNth || day.Weekday() == o.Day && (o.N == 0 || o.N == nth || o.N == back)
		}
		return byMonth && byDate && byNth
	}
	return true
}
