package recurrence

import "math/bits"

// minuteBlocks is a sequence of blocks. Each lasts one minute of elapsed time. The first begins at the full local minute that contains the start;
// the interval is the number of minutes from the beginning of one block to the next. An instant matches if it lies in a block, its local hour and
// minute are in times, and its local second is one of seconds.
type minuteBlocks struct {
	begins  filteredInterval // the beginnings of the blocks whose first second has its hour and minute in times
	seconds uint64           // bit 0 is second 0
}

func newMinuteBlocks(origin, interval int64, times timesOfDay, seconds uint64) minuteBlocks {
	return minuteBlocks{newFilteredInterval(origin, 60, interval, times), seconds}
}

// next returns the first wall second at or after from that matches, as if the clocks kept this offset without end.
func (b *minuteBlocks) next(from, offset int64) int64 {
	late := mod(b.begins.start+offset, 60) // seconds of the local minute at which blocks begin
	seconds := b.seconds >> late           // bit n: of the part of a block in the minute in which it begins
	found := b.nextIn(from, offset, 0, seconds)
	if late > 0 {
		// A change of the offset by less than a minute has shifted the blocks: their end is in the minute that follows.
		rest := b.seconds & (1<<late - 1) << (60 - late)
		found = min(found, b.nextIn(from, offset, 60, rest))
	}
	return found
}

// nextIn returns the first second at or after from that is in a block and one of seconds, counted from the block's beginning. The hour and minute
// are those that the clock shows later seconds after the beginning.
func (b *minuteBlocks) nextIn(from, offset, later int64, seconds uint64) int64 {
	if seconds == 0 {
		return never
	}
	begin := b.begins.next(from-59+later, offset+later)
	if begin == never {
		return never
	}
	begin -= later
	if second, ok := nextBit(seconds, int(max(from-begin, 0))); ok {
		return begin + int64(second)
	}
	if begin = b.begins.next(begin+later+1, offset+later); begin == never {
		return never
	}
	return begin - later + int64(bits.TrailingZeros64(seconds))
}
