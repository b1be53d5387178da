package recurrence

// yearShapes is the number of shapes of years. A shape is the weekday of 1 January, and which of the year, the one before and the one after is a leap
// year: one of them at most. It determines all days and weeks of the year, and the number of weeks in the year before and after.
const yearShapes = 4 * 7

// shapeYears has a year of each shape. All shapes occur in 400 years.
var shapeYears = func() (years [yearShapes]int64) {
	for year := int64(2000); year < 2400; year++ {
		years[yearShapeOf(year)] = year
	}
	return years
}()

// yearShapeOf returns the shape of a year.
func yearShapeOf(year int64) int {
	leap := int64(0)
	switch {
	case isLeap(year):
		leap = 1
	case isLeap(year - 1):
		leap = 2
	case isLeap(year + 1):
		leap = 3
	}
	return int(leap*7 + weekdayOfDay(firstDayOf(year*12)))
}

func isLeap(year int64) bool { return lengthOf(year*12+1) == 29 }

// A yearShapeSet has a set of days for every month of every shape of a year: bit 1 of an entry is the first day of the month. The index is the shape of
// the year times 12, plus the month from 0. Conditions that count in the year depend on it alone.
type yearShapeSet [12 * yearShapes]uint32

// newYearShapeSet returns the days that fit fields of the year.
func newYearShapeSet(y *yearFields) *yearShapeSet {
	set := &yearShapeSet{}
	for shape, year := range shapeYears {
		months := y.masks(year)
		copy(set[12*shape:], months[:])
	}
	return set
}
