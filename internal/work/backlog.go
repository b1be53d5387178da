package work

// A backlog is a queue of flights that reuses its memory. A flight that leads a call counts once for its length, and all its jobs count in jobs.
type backlog struct {
	flights []*flight
	first   int
	waiting int // jobs
}

func (b *backlog) len() int { return len(b.flights) - b.first }

// jobs returns how many jobs the flights have.
func (b *backlog) jobs() int { return b.waiting }

func (b *backlog) push(f *flight) {
	if b.first > 0 && len(b.flights) == cap(b.flights) {
		n := copy(b.flights, b.flights[b.first:])
		clear(b.flights[n:])
		b.flights, b.first = b.flights[:n], 0
	}
	b.flights = append(b.flights, f)
	b.waiting += f.jobs()
}

// head returns the first flight and does not remove it.
func (b *backlog) head() *flight { return b.flights[b.first] }

// pop removes the first flight.
func (b *backlog) pop() *flight {
	f := b.flights[b.first]
	b.waiting -= f.jobs()
	b.flights[b.first] = nil
	if b.first++; b.first == len(b.flights) {
		b.flights, b.first = b.flights[:0], 0
	}
	return f
}

func (b *backlog) all() []*flight { return b.flights[b.first:] }
