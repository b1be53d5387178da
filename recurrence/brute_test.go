package recurrence

import (
	"slices"
	"time"
)

// A slow is the rule as its words say it, found by walking: every minute of every day, every instant, every lattice point.
// It asks time.Time for all that it knows of calendars and zones, and shares nothing with the engine but the reading of cron text.
type slow struct {
	Recurrence
	loc         *time.Location
	start       time.Time // in loc, whole seconds
	cron        *cronFields
	second      int
	everyHour   bool
	hour, limit map[int]bool // limit: the minutes
	seen        map[time.Time][]time.Duration
}

func newSlow(r Recurrence, created time.Time) *slow {
	s := &slow{Recurrence: r, loc: time.UTC}
	if r.TimeZone != "" {
		s.loc, _ = time.LoadLocation(r.TimeZone)
	}
	s.start = created
	if !r.StartTime.IsZero() {
		s.start = r.StartTime
	}
	s.start = time.Unix(s.start.Unix(), 0).In(s.loc)
	s.Interval = max(r.Interval, 1)
	if r.Cron != "" {
		f, err := compileCron(r.Cron)
		if err != nil {
			panic(err)
		}
		s.cron = &f
		for n := range 60 {
			if n < 24 && f.hours>>n&1 == 1 {
				s.Hours = append(s.Hours, n)
			}
			if f.minutes>>n&1 == 1 {
				s.Minutes = append(s.Minutes, n)
			}
		}
	}
	s.hour, s.limit, s.seen = map[int]bool{}, map[int]bool{}, map[time.Time][]time.Duration{}
	for _, h := range s.Hours {
		s.hour[h] = true
	}
	for _, m := range s.Minutes {
		s.limit[m] = true
	}
	s.everyHour = len(s.hour) == 24
	expands := s.cron != nil || r.Frequency >= Hour
	if len(s.Minutes) == 0 {
		s.second = s.start.Second()
		if expands {
			s.limit[s.start.Minute()] = true
		}
	}
	if s.cron == nil && r.Frequency >= Day && len(s.Hours) == 0 {
		s.everyHour = len(s.Minutes) > 0
		s.hour[s.start.Hour()] = true
	}
	return s
}

func (s *slow) scheduled() bool {
	return len(s.Hours)+len(s.Minutes)+len(s.WeekDays)+len(s.MonthDays)+len(s.MonthlyOccurrences)+len(s.Months) > 0
}

// between lists the matches from one instant on, as far as another.
func (s *slow) between(from, to time.Time) []time.Time {
	if from.Before(s.start) {
		from = s.start
	}
	if end := time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC); to.After(end) {
		to = end
	}
	from = from.Add(time.Second - 1).Truncate(time.Second) // the first whole second
	var found []time.Time
	switch {
	case s.cron == nil && s.Frequency == 0:
		found = []time.Time{s.start}
	case s.cron == nil && s.Frequency < Hour, s.cron == nil && s.Frequency == Hour && !s.scheduled():
		found = s.points(from, to)
	case s.cron == nil && s.Frequency == Hour:
		found = s.hourBlocks(from, to)
	default:
		found = s.calendar(from, to)
	}
	if s.cron == nil && !s.scheduled() {
		found = append(found, s.start)
	}
	found = slices.DeleteFunc(found, func(t time.Time) bool { return t.Before(from) || !t.Before(to) })
	slices.SortFunc(found, time.Time.Compare)
	return slices.CompactFunc(found, time.Time.Equal)
}

// points walks a lattice of elapsed time.
func (s *slow) points(from, to time.Time) (found []time.Time) {
	length := time.Duration(s.Interval) * []time.Duration{Second: time.Second, Minute: time.Minute, Hour: time.Hour}[s.Frequency]
	at := s.start
	if gone := (from.Unix() - at.Unix()) / int64(length/time.Second); gone > 2 {
		at = time.Unix(at.Unix()+(gone-1)*int64(length/time.Second), 0).In(s.loc)
	}
	for ; at.Before(to); at = at.Add(length) {
		if (len(s.Hours) == 0 || s.hour[at.Hour()]) && (len(s.Minutes) == 0 || s.limit[at.Minute()]) {
			found = append(found, at)
		}
	}
	return found
}

// hourBlocks walks every second that may matter of the blocks of an hour.
func (s *slow) hourBlocks(from, to time.Time) (found []time.Time) {
	origin := s.start.Add(-time.Duration(s.start.Minute()*60+s.start.Second()) * time.Second).Unix()
	for _, at := range s.moments(from, to) {
		blocks := (at.Unix() - origin) / 3600
		if at.Unix() >= origin && blocks%int64(s.Interval) == 0 && s.limit[at.Minute()] && (len(s.Hours) == 0 || s.hour[at.Hour()]) {
			found = append(found, at)
		}
	}
	return found
}

// moments walks the instants at which the local clock shows the rule's second.
func (s *slow) moments(from, to time.Time) (all []time.Time) {
	for at := from.In(s.loc); at.Before(to); {
		if at.Second() != s.second {
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

// calendar walks the days of the local calendar, and the minutes or the moments of those that match.
func (s *slow) calendar(from, to time.Time) (found []time.Time) {
	f, t := from.In(s.loc), to.In(s.loc)
	day := time.Date(f.Year(), f.Month(), f.Day()-3, 0, 0, 0, 0, time.UTC)
	last := time.Date(t.Year(), t.Month(), t.Day()+3, 0, 0, 0, 0, time.UTC)
	for ; day.Before(last); day = day.AddDate(0, 0, 1) {
		if !s.on(day) {
			continue
		}
		if s.everyHour {
			for _, at := range s.moments(day.Add(-27*time.Hour), day.Add(51*time.Hour)) {
				y, m, d := at.Date()
				if y == day.Year() && m == day.Month() && d == day.Day() && s.limit[at.Minute()] {
					found = append(found, at)
				}
			}
			continue
		}
		for h := range 24 {
			for m := range 60 {
				if s.hour[h] && s.limit[m] {
					found = append(found, s.instant(day.Add(time.Duration(h*3600+m*60+s.second)*time.Second)))
				}
			}
		}
	}
	return found
}

// instant is the first moment at which the local clock shows what wall shows in UTC; in a gap the offset before it applies.
func (s *slow) instant(wall time.Time) time.Time {
	shown := func(at time.Time) time.Time {
		_, offset := at.In(s.loc).Zone()
		return at.UTC().Add(time.Duration(offset) * time.Second)
	}
	var passes []time.Time
	for _, offset := range s.offsets(wall.Truncate(24 * time.Hour)) {
		if at := wall.Add(-offset); shown(at).Equal(wall) {
			passes = append(passes, at)
		}
	}
	if len(passes) > 0 {
		return slices.MinFunc(passes, time.Time.Compare).In(s.loc)
	}
	at := wall.Add(-30 * time.Hour)
	for shown(at.Add(time.Hour)).Before(wall) {
		at = at.Add(time.Hour)
	}
	for shown(at.Add(time.Second)).Before(wall) {
		at = at.Add(time.Second)
	}
	return at.Add(wall.Sub(shown(at))).In(s.loc)
}

// offsets lists what the offset is at any hour around a day.
func (s *slow) offsets(day time.Time) (list []time.Duration) {
	if s.seen[day] != nil {
		return s.seen[day]
	}
	for hours := -48; hours <= 72; hours++ {
		_, seconds := day.Add(time.Duration(hours) * time.Hour).In(s.loc).Zone()
		if offset := time.Duration(seconds) * time.Second; !slices.Contains(list, offset) {
			list = append(list, offset)
		}
	}
	s.seen[day] = list
	return list
}

// on reports whether a day, given as its midnight in UTC, is one of the rule's days.
func (s *slow) on(day time.Time) bool {
	y, m, d := day.Date()
	length := time.Date(y, m+1, 0, 0, 0, 0, 0, time.UTC).Day()
	if f := s.cron; f != nil {
		date := f.daysOfMonth>>d&1 == 1
		weekday := f.weekDays>>day.Weekday()&1 == 1
		if f.domRestricted && f.dowRestricted {
			date = date || weekday
			weekday = date
		}
		return f.months>>m&1 == 1 && date && weekday
	}
	begin := time.Date(s.start.Year(), s.start.Month(), s.start.Day(), 0, 0, 0, 0, time.UTC)
	periods := 0
	switch s.Frequency {
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
	if periods%s.Interval != 0 {
		return false
	}
	byMonth := len(s.Months) == 0 || slices.Contains(s.Months, m)
	switch s.Frequency {
	case Week:
		return slices.Contains(s.WeekDays, day.Weekday()) || len(s.WeekDays) == 0 && day.Weekday() == begin.Weekday()
	case Year:
		return d == begin.Day() && byMonth && (len(s.Months) > 0 || m == begin.Month())
	case Month:
		if len(s.MonthDays)+len(s.MonthlyOccurrences) == 0 {
			return byMonth && d == begin.Day()
		}
		byDate := len(s.MonthDays) == 0 || slices.Contains(s.MonthDays, d) || slices.Contains(s.MonthDays, d-length-1)
		byNth := len(s.MonthlyOccurrences) == 0
		for _, o := range s.MonthlyOccurrences {
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
