package recurrence

// fromEaster is a set of days, by how many days they are after Easter or before it. Bit n is the day n-fromEasterBit.
type fromEaster [4]uint64

const fromEasterBit = maxFromEaster + 31

func (s *fromEaster) add(first, last int64) {
	for n := first + fromEasterBit; n <= last+fromEasterBit; n++ {
		s[n/64] |= 1 << (n % 64)
	}
}

// mask returns the days of the set in a month of a length that begins a number of days after Easter. Bit 1 is the first day.
func (s *fromEaster) mask(begin int64, length int) uint32 {
	n := begin + fromEasterBit
	if n < 0 || n >= 64*3 {
		return 0
	}
	days := s[n/64]>>(n%64) | s[n/64+1]<<(64-n%64)
	return uint32(days<<1) & daysOf(length)
}

// feastDays are the days of a filter that count from Easter and from Orthodox Easter.
type feastDays [2]fromEaster

func (s *feastDays) add(f feast, first, last int64) { s[f-easter].add(first, last) }

// mask returns the days of a month that begins with a day: a [monthMask].
func (s *feastDays) mask(month, first int64) (days uint32) {
	if month%12 > lastEasterMonth {
		return 0
	}
	march := firstDayOf(month/12*12 + 2)
	length := lengthOf(month)
	for i, after := range easterOf(month / 12) {
		days |= s[i].mask(first-march-int64(after), length)
	}
	return days
}

// lastEasterMonth is the last month with a day that counts from Easter: July. The first one is January, which is 0.
const lastEasterMonth = 6

// used has bit 0 if there are days that count from Easter, and bit 1 if there are some that count from Orthodox Easter.
func (s *feastDays) used() (used int) {
	for i := range s {
		if s[i] != (fromEaster{}) {
			used |= 1 << i
		}
	}
	return used
}

// join adds the days of another set.
func (s *feastDays) join(other *feastDays) {
	for i := range s {
		for n := range s[i] {
			s[i][n] |= other[i][n]
		}
	}
}
