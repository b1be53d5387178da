package recurrence

// A shapeSet has a set of days for every shape of a month: bit 1 of an entry is the first day. Conditions on weekdays, month days, months and
// dates of every year depend on the shape alone.
type shapeSet [monthShapes]uint32

// monthShapes is the number of shapes: seven for each month of the year, by its first weekday, and seven for a February of 29 days.
const monthShapes = 13 * 7

// shapeOf returns the shape of a month that begins on a weekday, counted from Monday.
func shapeOf(month, firstWeekday int64) int {
	inYear := month % 12
	if inYear == 1 && lengthOf(month) == 29 {
		inYear = 12
	}
	return int(inYear*7 + firstWeekday)
}

// shapeLength returns the number of days of a shape, and its month, from 0.
func shapeLength(shape int) (length int, month int) {
	if shape/7 == 12 {
		return 29, 1
	}
	return lengthOf(2001*12 + int64(shape/7)), shape / 7
}

// daysOf returns a mask of all days of a month of that length: bit 1 is the first.
func daysOf(length int) uint32 { return uint32(1<<(length+1) - 2) }
