package recurrence

// timesOfDay is a set of times of the day: every hour of the set with every minute of the set, all at one second.
type timesOfDay struct {
	minutes uint64 // bit 0 is minute 0
	hours   uint32 // bit 0 is hour 0
	second  int64  // 0 to 59
	first   int64  // the earliest time of the set, in seconds since midnight
}

const (
	allHours   = 1<<24 - 1
	allMinutes = 1<<60 - 1
)

func newTimesOfDay(hours uint32, minutes uint64, second int64) timesOfDay {
	t := timesOfDay{minutes: minutes, hours: hours, second: second}
	t.first, _ = t.next(0)
	return t
}

// next returns the earliest time of the set at or after from. Both are in seconds since midnight.
func (t *timesOfDay) next(from int64) (second int64, ok bool) {
	minuteOfDay := int((from - t.second + 59) / 60) // never below 0, because a second is at most 59
	hour, minute := minuteOfDay/60, minuteOfDay%60
	if hour < 24 && t.hours>>hour&1 == 1 {
		if m, ok := nextBit(t.minutes, minute); ok {
			return int64(hour*60+m)*60 + t.second, true
		}
	}
	h, ok := nextBit(uint64(t.hours), hour+1)
	m, _ := nextBit(t.minutes, 0)
	return int64(h*60+m)*60 + t.second, ok
}

// nextOnAnyDay returns the earliest wall second at or after from whose time of day is in the set.
func (t *timesOfDay) nextOnAnyDay(from int64) int64 {
	midnight := floorDiv(from, secondsPerDay) * secondsPerDay
	if second, ok := t.next(from - midnight); ok {
		return midnight + second
	}
	return midnight + secondsPerDay + t.first
}

// hasMinute reports whether a minute of the day is in the set. It ignores the second.
func (t *timesOfDay) hasMinute(minuteOfDay int) bool {
	return t.hours>>(minuteOfDay/60)&1 == 1 && t.minutes>>(minuteOfDay%60)&1 == 1
}
