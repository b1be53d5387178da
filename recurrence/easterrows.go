package recurrence

import "sync"

// easterRows are the rows of a calendar for months with days that count from Easter. In two years with the same Easter days, months of the same shape
// share a row.
type easterRows struct {
	used int         // bit 0: some filter has Easter; bit 1: some filter has Orthodox Easter
	rows []easterRow // sorted by key
}

type easterRow struct {
	key uint32
	row uint16
}

// key returns the key of a month: the row of its shape, and the Easter days of its year.
func (e *easterRows) key(shape int, year int64) uint32 {
	key := uint32(shape)
	for i, after := range easterOf(year) {
		if e.used>>i&1 == 1 {
			key |= uint32(after) << (16 + 8*i)
		}
	}
	return key
}

// rowOf returns the row of a month of a shape, which is that of the shape if no day counts from Easter. It may be called on nil.
func (e *easterRows) rowOf(month int64, shape int) int {
	if e == nil || month%12 > lastEasterMonth {
		return shape
	}
	key := e.key(shape, month/12)
	low, high := 0, len(e.rows)
	for low < high {
		if middle := (low + high) / 2; e.rows[middle].key < key {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low < len(e.rows) && e.rows[low].key == key {
		return int(e.rows[low].row)
	}
	return shape
}

// touches reports whether a month of a shape has days that count from Easter. It may be called on nil.
func (e *easterRows) touches(month int64, shape int) bool { return e.rowOf(month, shape) != shape }

// easterKinds returns one year of each kind. Years are of one kind if they have the same months and the same Easter days, of those that are used, and,
// if conditions count in the year, the same shape.
func easterKinds(used int, yearly bool) []int64 {
	if yearly {
		return kindsOfYears()[1][used]
	}
	return kindsOfYears()[0][used]
}

var kindsOfYears = sync.OnceValue(func() (years [2][4][]int64) {
	for i := range 8 {
		yearly, used := i/4, i%4
		seen := map[[3]int64]bool{}
		for year := int64(firstEasterYear); year <= lastEasterYear; year++ {
			after := easterOf(year)
			kind := [3]int64{weekdayOfDay(firstDayOf(year*12))*2 + int64(lengthOf(year*12+1)-28)}
			if yearly == 1 {
				kind[0] = int64(yearShapeOf(year))
			}
			for i := range after {
				if used>>i&1 == 1 {
					kind[i+1] = int64(after[i])
				}
			}
			if !seen[kind] {
				seen[kind] = true
				years[yearly][used] = append(years[yearly][used], year)
			}
		}
	}
	return years
})
