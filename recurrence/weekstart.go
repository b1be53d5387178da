package recurrence

import "strconv"

// A WeekStart is the first day of a week. It determines the weeks of Frequency Week, in which Interval and Positions count, and Weeks in Days. Weeks in
// Only and Except always begin on Monday. It changes nothing for other rules.
type WeekStart uint8

// The first days of a week.
const (
	WeekStartMonday WeekStart = iota
	WeekStartTuesday
	WeekStartWednesday
	WeekStartThursday
	WeekStartFriday
	WeekStartSaturday
	WeekStartSunday
)

// String returns the JSON word, such as "sunday". It returns "WeekStart(9)" for an unknown value.
func (s WeekStart) String() string {
	if s > WeekStartSunday {
		return "WeekStart(" + strconv.Itoa(int(s)) + ")"
	}
	return weekdayNames[(s+1)%7]
}

// MarshalText returns the JSON word. Its error for an unknown value is an [*Error] with [CodeWeekStartValue].
func (s WeekStart) MarshalText() ([]byte, error) {
	if s > WeekStartSunday {
		return nil, unknownWeekStart(s.String())
	}
	return []byte(s.String()), nil
}

// UnmarshalText reads a JSON word in any case. An empty text gives the zero value, which is Monday. Its error for any other text is an [*Error] with
// [CodeWeekStartValue].
func (s *WeekStart) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*s = WeekStartMonday
		return nil
	}
	day, ok := weekdayOf(string(text))
	if !ok {
		return unknownWeekStart(string(text))
	}
	*s = WeekStart(daysSinceMonday(day))
	return nil
}

// unknownWeekStart returns the error for a value that is not a first day of a week.
func unknownWeekStart(value string) *Error {
	return newError(CodeWeekStartValue, "schedule.weekStart", value, "must be monday to sunday")
}
