package recurrence

// hourBlocks is a sequence of blocks. Each lasts one hour of elapsed time. The first begins at the full local hour that contains the start; the
// interval is the number of hours from the beginning of one block to the next. An instant matches if it lies in a block and its local time is one
// of times.
type hourBlocks struct {
	origin int64 // the instant at which the first block begins
	length int64 // seconds from the beginning of one block to the beginning of the next
	times  timesOfDay

	// skipBlocks is how many blocks to skip to find one that touches an hour of times; noBlock means that none does. Its second index is the
	// local hour in which a block begins. After 24 blocks the hours repeat. Row 0 is for blocks that begin on the hour. Row 1 is for blocks that
	// a clock change of less than an hour has shifted, so that they extend into the next hour.
	skipBlocks [2][24]uint8
}

const noBlock = 1<<8 - 1

func newHourBlocks(origin, interval int64, times timesOfDay) hourBlocks {
	b := hourBlocks{origin: origin, length: interval * 3600, times: times}
	hourBefore := times.hours>>1 | times.hours<<23&allHours
	for row, hours := range [2]uint32{times.hours, times.hours | hourBefore} {
		for hour := range int64(24) {
			b.skipBlocks[row][hour] = noBlock
			for n := range int64(24) {
				if hours>>((hour+n*interval)%24)&1 == 1 {
					b.skipBlocks[row][hour] = uint8(n)
					break
				}
			}
		}
	}
	return b
}

// next returns the first wall second at or after from that matches, as if the clocks kept this offset without end.
func (b *hourBlocks) next(from, offset int64) int64 {
	// 24 blocks cover every hour of the day that the interval reaches. The rest is for a first block that is cut short.
	for range 26 {
		wall := b.times.nextOnAnyDay(from)
		inBlock := mod(wall-b.origin-offset, b.length)
		if inBlock < 3600 {
			return wall
		}
		from = wall - inBlock + b.length
		row := 0
		if mod(from, 3600) != 0 {
			row = 1
		}
		skip := b.skipBlocks[row][mod(from, secondsPerDay)/3600]
		if skip == noBlock {
			return never
		}
		from += int64(skip) * b.length
	}
	return never
}
