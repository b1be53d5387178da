package chime

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"
)

// idDigits are the 64 digits of an ID, in the order of their bytes, all of them in the alphabet of names.
const idDigits = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

const (
	idLength  = 13
	idLowBits = 36
	idStep    = 1<<20 - 1
)

var jobIDs idSource

// newID returns 13 characters that no two calls in this process share, that sort in the order of the calls, and by time
// among processes as far as their clocks agree. A millisecond's first ID is random; the next are a random step of up to a
// million further. IDs are not secrets: they cannot be counted up, but they do tell when they were made.
func newID() string { return jobIDs.next() }

// idSource makes IDs of 42 bits of Unix milliseconds (until the year 2109) and 36 bits that grow within each.
type idSource struct {
	mu     sync.Mutex
	ms     uint64
	low    uint64
	random [512]byte
	unused int // bytes at the end of random
}

func (s *idSource) next() string {
	s.mu.Lock()
	now := uint64(time.Now().UnixMilli())
	if r := s.draw(); now > s.ms {
		s.ms, s.low = now, r&(1<<idLowBits-1)
	} else if s.low += 1 + r&idStep; s.low>>idLowBits > 0 {
		s.ms, s.low = s.ms+1, s.low&(1<<idLowBits-1)
	}
	ms, low := s.ms, s.low
	s.mu.Unlock()

	var id [idLength]byte
	for i := 12; i >= 7; i-- {
		id[i] = idDigits[low&63]
		low >>= 6
	}
	for i := 6; i >= 0; i-- {
		id[i] = idDigits[ms&63]
		ms >>= 6
	}
	return string(id[:])
}

func (s *idSource) draw() uint64 {
	if s.unused == 0 {
		rand.Read(s.random[:]) // never fails
		s.unused = len(s.random)
	}
	s.unused -= 8
	return binary.LittleEndian.Uint64(s.random[s.unused:])
}
