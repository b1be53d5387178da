package recurrence

// A dial is a set of times of the day: every listed hour with every listed minute, at one second.
type dial struct {
	minutes uint64 // bit 0 is minute 0
	hours   uint32
	second  int64 // 0 to 59
	first   int64 // the earliest of them, in seconds of the day
}

const (
	allHours   = 1<<24 - 1
	allMinutes = 1<<60 - 1
)

func newDial(hours uint32, minutes uint64, second int64) dial {
	c := dial{minutes: minutes, hours: hours, second: second}
	c.first, _ = c.next(0)
	return c
}

// next is the earliest of the times at or after a second of the day.
func (c *dial) next(from int64) (second int64, ok bool) {
	minuteOfDay := int((from - c.second + 59) / 60) // never below 0, for a second is at most 59
	hour, minute := minuteOfDay/60, minuteOfDay%60
	if hour < 24 && c.hours>>hour&1 == 1 {
		if m, ok := lowest(c.minutes, minute); ok {
			return int64(hour*60+m)*60 + c.second, true
		}
	}
	h, ok := lowest(uint64(c.hours), hour+1)
	m, _ := lowest(c.minutes, 0)
	return int64(h*60+m)*60 + c.second, ok
}

// nextDaily is the earliest wall second at or after from, on any day.
func (c *dial) nextDaily(from int64) int64 {
	midnight := floorDiv(from, secondsPerDay) * secondsPerDay
	if second, ok := c.next(from - midnight); ok {
		return midnight + second
	}
	return midnight + secondsPerDay + c.first
}

// shows reports whether the minute of the day is among them, whatever the second.
func (c *dial) shows(minuteOfDay int) bool {
	return c.hours>>(minuteOfDay/60)&1 == 1 && c.minutes>>(minuteOfDay%60)&1 == 1
}
