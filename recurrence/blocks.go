package recurrence

// blocks are stretches of an hour of elapsed time, every n-th from the full local hour that holds the start, of which
// every moment is kept that the clock shows.
type blocks struct {
	origin int64 // the instant the first begins
	length int64 // seconds from one to the next
	clock  dial

	// wait is, by the hour in which a block begins, how many blocks later one comes that has to do with the clock's hours;
	// noBlock where none does. After 24 blocks they begin as before. The first row is for blocks that
	// begin on the hour, the second for those that a change of less than an hour has moved, which last into the next.
	wait [2][24]uint8
}

const noBlock = 1<<8 - 1

func newBlocks(origin, interval int64, clock dial) blocks {
	b := blocks{origin: origin, length: interval * 3600, clock: clock}
	into := clock.hours>>1 | clock.hours<<23&allHours
	for row, hours := range [2]uint32{clock.hours, clock.hours | into} {
		for hour := range int64(24) {
			b.wait[row][hour] = noBlock
			for n := range int64(24) {
				if hours>>((hour+n*interval)%24)&1 == 1 {
					b.wait[row][hour] = uint8(n)
					break
				}
			}
		}
	}
	return b
}

// next is the first wall second at or after from on clocks that keep this offset for ever.
func (b *blocks) next(from, offset int64) int64 {
	// 24 blocks meet the day in every way they ever will; one more for a first that is cut short.
	for range 26 {
		wall := b.clock.nextDaily(from)
		within := mod(wall-b.origin-offset, b.length)
		if within < 3600 {
			return wall
		}
		from = wall - within + b.length
		row := 0
		if mod(from, 3600) != 0 {
			row = 1
		}
		wait := b.wait[row][mod(from, secondsPerDay)/3600]
		if wait == noBlock {
			return never
		}
		from += int64(wait) * b.length
	}
	return never
}
