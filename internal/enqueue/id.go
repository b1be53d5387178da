package enqueue

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"
)

// idDigits are the 64 digits of an ID, in the order of their bytes. Names may contain all of them.
const idDigits = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

const (
	idLength  = 14 // a hash in Redis needs as much memory for 13
	idLowBits = 42
	idStep    = 1<<20 - 1
)

var jobIDs idSource

// NewID returns an ID of 14 characters. No two calls in a process return the same one. IDs of one process sort in the order of the calls; IDs of
// several processes sort by time, as exactly as their clocks agree. The first ID of a millisecond is random; each next one is a random step of up
// to a million further, so nobody can count from one ID to the next. IDs are not secrets: they show when they were made.
func NewID() string { return jobIDs.next(time.Now()) }

// An idSource makes IDs of 42 bits of Unix milliseconds (until the year 2109) and 42 bits that grow within a millisecond. If a hundred processes
// together make ten thousand jobs a second, two of them make the same ID about once in three years. With 36 bits it would be once in eighteen
// days.
type idSource struct {
	mu     sync.Mutex
	ms     uint64
	low    uint64
	random [512]byte
	unused int // bytes at the end of random
}

func (s *idSource) next(now time.Time) string {
	var id [idLength]byte
	s.mu.Lock()
	ms, low := s.step(uint64(now.UnixMilli()))
	s.mu.Unlock()
	writeID(id[:], ms, low)
	return string(id[:])
}

// step advances to the next ID. The caller holds mu.
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

// idBlockSize is the largest number of IDs that are made together. They share memory: a program that keeps one of them keeps the memory of all.
const idBlockSize = 36

// An idBlock gives one caller many IDs, which it makes in blocks. They sort in the order of the calls.
type idBlock struct{ left string }

// next returns an ID like NewID's. The caller needs at most more IDs after it.
func (b *idBlock) next(more int) string {
	if b.left == "" {
		b.left = jobIDs.block(min(1+more, idBlockSize))
	}
	id := b.left[:idLength]
	b.left = b.left[idLength:]
	return id
}

// block returns n IDs in one string.
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
