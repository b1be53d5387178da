package recurrence

// yearSet is the set of years in which a rule has a match. A search looks into the year in which it begins and, if nothing matches there, into the
// next year of the set: two at most, however rare the matches are.
type yearSet struct {
	first int64 // the year of bit 0
	years []uint64
}

// newYearSet returns an empty set that has room for the years from first to last.
func newYearSet(first, last int64) *yearSet {
	return &yearSet{first: first, years: make([]uint64, max(last-first, 0)/64+1)}
}

func (s *yearSet) add(year int64) { s.years[(year-s.first)/64] |= 1 << ((year - s.first) % 64) }

func (s *yearSet) has(year int64) bool {
	i := uint64(year - s.first)
	return i/64 < uint64(len(s.years)) && s.years[i/64]>>(i%64)&1 == 1
}

// next returns the first year of the set at or after a year, or [never].
func (s *yearSet) next(year int64) int64 {
	i := max(year-s.first, 0)
	for from := int(i % 64); i/64 < int64(len(s.years)); i, from = i+64, 0 {
		if bit, ok := nextBit(s.years[i/64], from); ok {
			return s.first + i/64*64 + int64(bit)
		}
	}
	return never
}

// prev returns the last year of the set at or before a year, or [none].
func (s *yearSet) prev(year int64) int64 {
	i := min(year-s.first, int64(len(s.years))*64-1)
	for to := int(i & 63); i >= 0; i, to = i-64, 63 {
		if bit, ok := prevBit(s.years[i/64], to); ok {
			return s.first + i/64*64 + int64(bit)
		}
	}
	return none
}
