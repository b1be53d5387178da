package recurrence

import "math/bits"

// timesOfDay is a set of times of the day: every hour of the set with every minute and every second of the set.
type timesOfDay struct {
	minutes uint64 // bit 0 is minute 0
	hours   uint32 // bit 0 is hour 0
	many    bool   // there is more than one second
	second  int64  // the first of seconds
	seconds uint64 // bit 0 is second 0
	first   int64  // the earliest time of the set, in seconds since midnight
}

const (
	allHours   = 1<<24 - 1
	allMinutes = 1<<60 - 1
	allSeconds = 1<<60 - 1
)

func newTimesOfDay(hours uint32, minutes, seconds uint64) timesOfDay {
	t := timesOfDay{minutes: minutes, hours: hours, seconds: seconds, many: bits.OnesCount64(seconds) > 1, second: int64(bits.TrailingZeros64(seconds))}
	t.first, _ = t.next(0)
	return t
}

// next returns the earliest time of the set at or after from. Both are in seconds since midnight.
func (t *timesOfDay) next(from int64) (second int64, ok bool) {
	if t.many && from < secondsPerDay && t.hasMinute(int(from/60)) {
		if s, ok := nextBit(t.seconds, int(from%60)); ok {
			return from - from%60 + int64(s), true
		}
	}
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

// prev returns the latest time of the set at or before to. Both are in seconds since midnight.
func (t *timesOfDay) prev(to int64) (second int64, ok bool) {
	minuteOfDay := int(to / 60)
	if t.hasMinute(minuteOfDay) {
		if s, ok := prevBit(t.seconds, int(to%60)); ok {
			return to - to%60 + int64(s), true
		}
	}
	last, _ := prevBit(t.seconds, 59)
	hour, minute := minuteOfDay/60, minuteOfDay%60
	if t.hours>>hour&1 == 1 {
		if m, ok := prevBit(t.minutes, minute-1); ok {
			return int64(hour*60+m)*60 + int64(last), true
		}
	}
	h, ok := prevBit(uint64(t.hours), hour-1)
	m, _ := prevBit(t.minutes, 59)
	return int64(h*60+m)*60 + int64(last), ok
}

// nextOnAnyDay returns the earliest wall second at or after from whose time of day is in the set.
func (t *timesOfDay) nextOnAnyDay(from int64) int64 {
	midnight := floorDiv(from, secondsPerDay) * secondsPerDay
	if second, ok := t.next(from - midnight); ok {
		return midnight + second
	}
	return midnight + secondsPerDay + t.first
}

// hasMinute reports whether a minute of the day is in the set. It ignores the seconds.
func (t *timesOfDay) hasMinute(minuteOfDay int) bool {
	return t.hours>>(minuteOfDay/60)&1 == 1 && t.minutes>>(minuteOfDay%60)&1 == 1
}
