package chime

// A share is what a queue gets of the free slots: its weight, split among those of its lanes that may have work.
type share struct {
	queue  string
	weight int
	hungry int // lanes to be asked in this round
}

// maxCredit bounds what a lane is owed that could not take what it was given.
const maxCredit = 4

// divide says how many of room slots each lane is asked to fill, in proportion to the weights of their queues. What one
// round cannot divide evenly is remembered: over many rounds of a single slot each lane gets its share.
func divide(room int, lanes []*lane, takes []int) {
	total := 0
	for _, l := range lanes {
		l.queue.hungry = 0
	}
	for _, l := range lanes {
		if l.queue.hungry++; l.queue.hungry == 1 {
			total += l.queue.weight
		}
	}
	left := room
	defer func() {
		for _, l := range lanes {
			l.credit = max(-maxCredit, min(l.credit, maxCredit))
		}
	}()
	for i, l := range lanes {
		l.credit += float64(room) * float64(l.queue.weight) / float64(total*l.queue.hungry)
		takes[i] = max(0, min(int(l.credit), maxTake, left))
		l.credit -= float64(takes[i])
		left -= takes[i]
	}
	for left > 0 {
		best := -1
		for i, l := range lanes {
			if takes[i] < maxTake && (best < 0 || l.credit > lanes[best].credit) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		takes[best]++
		lanes[best].credit--
		left--
	}
}
