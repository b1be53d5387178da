package work

import "github.com/chimejobs/chime/internal/protocol"

// A share is what a queue gets of the free slots: its weight, divided among those of its lanes that may have jobs.
type share struct {
	weight int
	hungry int // of its lanes, in this round
}

// A stake is one lane's part in its queue's share. Its credit is what it should have got and did not get.
type stake struct {
	share  *share
	credit float64
}

// maxCredit bounds the credit of a lane that could not use the slots that it was given.
const maxCredit = 4

// divide sets in takes how many of room slots each stake gets, in proportion to the weights of their queues. The credit carries
// over what one round cannot divide evenly, so over many rounds of a single slot each lane gets its share.
func divide(room int, stakes []*stake, takes []int) {
	total := 0
	for _, s := range stakes {
		s.share.hungry = 0
	}
	for _, s := range stakes {
		if s.share.hungry++; s.share.hungry == 1 {
			total += s.share.weight
		}
	}
	left := room
	defer func() {
		for _, s := range stakes {
			s.credit = max(-maxCredit, min(s.credit, maxCredit))
		}
	}()
	for i, s := range stakes {
		s.credit += float64(room) * float64(s.share.weight) / float64(total*s.share.hungry)
		takes[i] = max(0, min(int(s.credit), protocol.MaxTake, left))
		s.credit -= float64(takes[i])
		left -= takes[i]
	}
	for left > 0 {
		best := -1
		for i, s := range stakes {
			if takes[i] < protocol.MaxTake && (best < 0 || s.credit > stakes[best].credit) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		takes[best]++
		stakes[best].credit--
		left--
	}
}
