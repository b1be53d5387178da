package pages

import (
	"context"
	"sync"
	"time"
)

const (
	maxKept        = 50 // number of kept readings
	liveAgePerRead = 10 * agePerRead
	livePause      = 5 * agePerRead   // after each part that was read for open pages, the next part waits this multiple of its duration
	firstPause     = 10               // the same for the parts of what is shown for the first time: a viewer waits for it, and it ends
	lookedAway     = time.Minute      // after this time without a request, an unfinished second reading is discarded
	sameFor        = 10 * time.Second // for open pages a reading is kept this long while its stamp remains the same
)

// A cache keeps readings that may be expensive, by key. A reading is done in parts, one part for each request, so a page costs one part and shows
// what was read so far. A whole reading is shown until the next one is whole, unless there was no request for a while. The next one begins after a
// multiple of the time that the last one took, so readings take at most a hundredth of the time for any number of viewers. Only the parts of first readings
// may take a tenth of it, until these are whole. The zero cache is empty.
type cache[T costly] struct {
	mu    sync.Mutex
	kept  map[string]*kept[T]
	pause [2]time.Time // nothing expensive is read for open pages until then: again, and for the first time
}

// expensive reports whether a reading has gone through many jobs. Such a reading is repeated ten times less often for open pages than for requests,
// and the readings for all open pages together take a fifth of a hundredth of the time. whole reports whether no part is left.
type costly interface {
	expensive() bool
	whole() bool
}

type kept[T costly] struct {
	mu     sync.Mutex // one reading at a time
	have   T
	stamp  string    // the state of the store before it was read
	at     time.Time // when reading it began, by this process's clock; zero: nothing was read
	took   time.Duration
	next   *parts[T] // replaces have once it is whole; nil: have is not due yet, or not whole itself
	last   time.Time // when reading the last part began, and how long it took
	lastly time.Duration
	asked  time.Time
}

// parts is an unfinished reading.
type parts[T costly] struct {
	have  T
	stamp string
	at    time.Time
	took  time.Duration
}

// first reports whether nothing whole was read yet.
func (k *kept[T]) first() bool { return k.at.IsZero() || k.next == nil && !k.have.whole() }

// due reports whether to read a part now.
func (k *kept[T]) due(live bool) bool {
	switch {
	case k.at.IsZero():
		return true
	case k.first():
		return time.Since(k.last) >= max(minAge, firstPause*k.lastly)
	case k.next != nil:
		return time.Since(k.last) >= max(minAge, agePerRead*k.lastly)
	}
	age := agePerRead * k.took
	if live && k.have.expensive() {
		age = liveAgePerRead * k.took
	}
	return time.Since(k.at) >= max(minAge, age)
}

// get returns the current reading, and first reads another part if that is due. read gets the result of the previous parts, which it must not change;
// it gets the zero T for the first part. An error is not kept. live: no request needs it now, but open pages show it.
func (s *cache[T]) get(ctx context.Context, key string, live bool, read func(ctx context.Context, before T) (T, error)) (have T, err error) {
	return s.getSince(ctx, key, live, "", read)
}

// getSince is get with a stamp of the store. For open pages a whole reading is kept for sameFor while its stamp is the same; empty: it is not known.
func (s *cache[T]) getSince(ctx context.Context, key string, live bool, stamp string, read func(ctx context.Context, before T) (T, error)) (have T, err error) {
	k := s.of(key)
	k.mu.Lock()
	defer k.mu.Unlock()
	away := time.Since(k.asked)
	k.asked = time.Now()
	due := k.due(live)
	if due && away > lookedAway {
		k.next, k.at = nil, time.Time{}
	}
	first, pause := k.first(), livePause
	if first {
		pause = firstPause
	}
	if !due || live && !k.at.IsZero() && k.have.expensive() && !s.free(first) {
		return k.have, nil
	}
	if live && !k.at.IsZero() && k.have.whole() && k.next == nil && stamp != "" && stamp == k.stamp && time.Since(k.at) < sameFor {
		return k.have, nil
	}
	now := parts[T]{at: time.Now(), stamp: stamp}
	switch {
	case k.next != nil:
		now = *k.next
	case !k.at.IsZero() && !k.have.whole():
		now = parts[T]{k.have, k.stamp, k.at, k.took}
	}
	began := time.Now()
	have, err = read(ctx, now.have)
	if err != nil { // the error may come from the part's start, so the next part is the first one
		k.next = nil
		if !k.at.IsZero() && !k.have.whole() {
			k.at = time.Time{}
		}
		return have, err
	}
	k.last, k.lastly = began, time.Since(began)
	now.have, now.took = have, now.took+k.lastly
	if live && have.expensive() {
		s.rest(first, time.Duration(pause)*k.lastly)
	}
	if k.next = nil; !have.whole() && !k.at.IsZero() && k.have.whole() {
		k.next = &now
		return k.have, nil
	}
	k.have, k.stamp, k.at, k.took = now.have, now.stamp, now.at, now.took
	return k.have, nil
}

// of returns the entry of a key. If there are too many entries, it removes any other one.
func (s *cache[T]) of(key string) *kept[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, ok := s.kept[key]; ok {
		return k
	}
	if s.kept == nil {
		s.kept = map[string]*kept[T]{}
	}
	for other := range s.kept {
		if len(s.kept) < maxKept {
			break
		}
		delete(s.kept, other)
	}
	k := &kept[T]{}
	s.kept[key] = k
	return k
}

// free reports whether something expensive may be read for open pages, for the first time or again.
func (s *cache[T]) free(first bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !time.Now().Before(s.pause[counted(first)])
}

func (s *cache[T]) rest(first bool, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pause[counted(first)] = time.Now().Add(d)
}

// counted returns 1 for true.
func counted(one bool) int {
	if one {
		return 1
	}
	return 0
}

// forget removes all readings.
func (s *cache[T]) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = nil
}
