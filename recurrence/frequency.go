package recurrence

// Frequency is the unit of a Recurrence's interval. The zero value means that it runs once.
type Frequency uint8

// The frequencies, from the shortest.
const (
	Second Frequency = 1 + iota
	Minute
	Hour
	Day
	Week
	Month
	Year
)
