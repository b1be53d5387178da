package work

import "github.com/chimejobs/chime/internal/protocol"

// A share is the part of the free slots that a queue gets: its weight, divided among its lanes that may have jobs.
type share struct {
	weight int
	hungry int // of its lanes, in this round
}

// A stake is one lane's part in its queue's share. Its credit is the number of slots that it should have got and did not get.
type stake struct {
	share  *share
	credit float64
	called bool // the lane is called anyway
}

// maxCredit bounds the credit of a lane that could not use the slots that it was given, in grains.
const maxCredit = 4

// divide sets in takes how many of room slots each stake gets, in proportion to the weights of their queues. The credit keeps what one round
// cannot divide evenly, so over many rounds of a single slot each lane gets its share.
//
// A call to a lane costs the store as much as some jobs. So a stake gets at least a grain, or nothing, and a lane that is called anyway has a
// grain more credit than the others. With only, just the lanes that are called anyway get slots, until they are a grain ahead of their share.
func divide(room, grain int, only bool, stakes []*stake, takes []int) {
	total := 0
	for i, s := range stakes {
		takes[i], s.share.hungry = 0, 0
	}
	for _, s := range stakes {
		if s.share.hungry++; s.share.hungry == 1 {
			total += s.share.weight
		}
	}
	grant := func(room int) {
		for _, s := range stakes {
			s.credit += float64(room) * float64(s.share.weight) / float64(total*s.share.hungry)
		}
	}
	rank := func(s *stake) float64 {
		if s.called {
			return s.credit + float64(grain)
		}
		return s.credit
	}
	grant(room)
	for left := room; left > 0; {
		best := -1
		for i, s := range stakes {
			if takes[i] < protocol.MaxTake && (s.called || !only) && (best < 0 || rank(s) > rank(stakes[best])) {
				best = i
			}
		}
		if best < 0 || only && rank(stakes[best]) <= 0 {
			grant(-left)
			break
		}
		n := min(max(int(stakes[best].credit), grain), protocol.MaxTake-takes[best], left)
		takes[best] += n
		stakes[best].credit -= float64(n)
		left -= n
	}
	most := float64(maxCredit * grain)
	for _, s := range stakes {
		s.credit = max(-most, min(s.credit, most))
	}
}
