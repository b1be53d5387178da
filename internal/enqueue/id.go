package enqueue

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"
)

// idDigits are the 64 digits of an ID, in the order of their bytes, all of them in the alphabet of names.
const idDigits = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

const (
	idLength  = 14 // 13 take as much in a hash of Redis
	idLowBits = 42
	idStep    = 1<<20 - 1
)

var jobIDs idSource

// NewID returns 14 characters that no two calls in this process share, that sort in the order of the calls, and by time
// among processes as far as their clocks agree. A millisecond's first ID is random; the next are a random step of up to a
// million further. IDs are not secrets: they cannot be counted up, but they do tell when they were made.
func NewID() string { return jobIDs.next() }

// idSource makes IDs of 42 bits of Unix milliseconds (until the year 2109) and 42 bits that grow within each. A hundred
// processes that make ten thousand jobs a second together draw one ID twice in three years; with 36 bits it was every eighteen days.
type idSource struct {
	mu     sync.Mutex
	ms     uint64
	low    uint64
	random [512]byte
	unused int // bytes at the end of random
}

func (s *idSource) next() string {
	var id [idLength]byte
	s.mu.Lock()
	ms, low := s.step(uint64(time.Now().UnixMilli()))
	s.mu.Unlock()
	writeID(id[:], ms, low)
	return string(id[:])
}

// step moves on to the next ID. Its caller has the lock.
func (s *idSource) step(now uint64) (ms, low uint64) {
	if r := s.draw(); now > s.ms {
		s.ms, s.low = now, r&(1<<idLowBits-1)
	} else if s.low += 1 + r&idStep; s.low>>idLowBits > 0 {
		s.ms, s.low = s.ms+1, s.low&(1<<idLowBits-1)
	}
	return s.ms, s.low
}

func writeID(id []byte, ms, low uint64) {
	for i := idLength - 1; i >= idLength-7; i-- {
		id[i] = idDigits[low&63]
		low >>= 6
	}
	for i := idLength - 8; i >= 0; i-- {
		id[i] = idDigits[ms&63]
		ms >>= 6
	}
}

// idBlockSize is how many IDs are made at once at most: they share memory, of which one ID that is kept keeps all.
const idBlockSize = 36

// An idBlock is IDs for one caller, made together. They sort in the order of the calls.
type idBlock struct{ left string }

// next returns an ID like NewID's. Its caller wants at most so many more after it.
func (b *idBlock) next(more int) string {
	if b.left == "" {
		b.left = jobIDs.block(min(1+more, idBlockSize))
	}
	id := b.left[:idLength]
	b.left = b.left[idLength:]
	return id
}

// block returns n IDs, one behind the other.
func (s *idSource) block(n int) string {
	var text [idBlockSize * idLength]byte
	var steps [idBlockSize]struct{ ms, low uint64 }
	s.mu.Lock()
	now := uint64(time.Now().UnixMilli())
	for i := range n {
		steps[i].ms, steps[i].low = s.step(now)
	}
	s.mu.Unlock()
	for i := range n {
		writeID(text[i*idLength:(i+1)*idLength], steps[i].ms, steps[i].low)
	}
	return string(text[:n*idLength])
}

func (s *idSource) draw() uint64 {
	if s.unused == 0 {
		rand.Read(s.random[:]) // never fails
		s.unused = len(s.random)
	}
	s.unused -= 8
	return binary.LittleEndian.Uint64(s.random[s.unused:])
}
