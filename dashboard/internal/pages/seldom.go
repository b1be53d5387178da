package pages

import (
	"context"
	"sync"
	"time"
)

const (
	maxKept        = 50 // readings that are kept
	liveAgePerRead = 10 * agePerRead
	livePause      = 5 * agePerRead // for each part that was read for open pages, the next one waits so many times as long
	lookedAway     = time.Minute    // after which who asks again does not go on with what is old
)

// A seldom keeps what may be dear to read, by what it was asked for. It is read a part at a time, each when somebody asks: so a page costs a part, and
// shows what was read so far. When all of it was read it is read again, but not before so many times as long has passed as reading it took, and is
// shown until that has come to its end, unless nobody has asked for a while. So reading takes up a hundredth of the time, whoever looks. The zero seldom keeps nothing yet.
type seldom[T dear] struct {
	mu    sync.Mutex
	kept  map[string]*kept[T]
	pause time.Time // until when nothing dear is read for open pages
}

// dear says whether reading it has looked through many jobs: then it is read ten times more rarely for those who have a page open, and do not ask, and
// what all of them have open takes up a fifth of a hundredth of the time. whole: no part is left.
type dear interface {
	dear() bool
	whole() bool
}

type kept[T dear] struct {
	mu     sync.Mutex // one reading at a time
	have   T
	at     time.Time // when reading it began, by this process's clock; zero: nothing was read
	took   time.Duration
	next   *parts[T] // what follows it once it is whole; nil: it is good still, or not whole itself
	last   time.Time // when reading the last part began, and how long it took
	lastly time.Duration
	asked  time.Time
}

// parts are a reading under way.
type parts[T dear] struct {
	have T
	at   time.Time
	took time.Duration
}

// due reports whether a part is to be read now.
func (k *kept[T]) due(live bool) bool {
	switch {
	case k.at.IsZero():
		return true
	case !k.have.whole() || k.next != nil:
		return time.Since(k.last) >= max(minAge, agePerRead*k.lastly)
	}
	age := agePerRead * k.took
	if live && k.have.dear() {
		age = liveAgePerRead * k.took
	}
	return time.Since(k.at) >= max(minAge, age)
}

// get returns what was read so far, or before, and reads a part more if it is time. read gets what the parts before have read, which it leaves as it is;
// the zero T begins. An error is not kept. live: nobody asks for it, some have a page open that shows it.
func (s *seldom[T]) get(ctx context.Context, key string, live bool, read func(ctx context.Context, before T) (T, error)) (have T, err error) {
	k := s.of(key)
	k.mu.Lock()
	defer k.mu.Unlock()
	away := time.Since(k.asked)
	k.asked = time.Now()
	due := k.due(live)
	if due && away > lookedAway {
		k.next, k.at = nil, time.Time{}
	}
	if !due || live && !k.at.IsZero() && k.have.dear() && !s.free() {
		return k.have, nil
	}
	now := parts[T]{at: time.Now()}
	switch {
	case k.next != nil:
		now = *k.next
	case !k.at.IsZero() && !k.have.whole():
		now = parts[T]{k.have, k.at, k.took}
	}
	began := time.Now()
	have, err = read(ctx, now.have)
	if err != nil { // it may be where the part begins: the next one is the first
		k.next = nil
		if !k.at.IsZero() && !k.have.whole() {
			k.at = time.Time{}
		}
		return have, err
	}
	k.last, k.lastly = began, time.Since(began)
	now.have, now.took = have, now.took+k.lastly
	if live && have.dear() {
		s.rest(livePause * k.lastly)
	}
	if k.next = nil; !have.whole() && !k.at.IsZero() && k.have.whole() {
		k.next = &now
		return k.have, nil
	}
	k.have, k.at, k.took = now.have, now.at, now.took
	return k.have, nil
}

// of is the place of a key. Where there are too many, any other one is forgotten.
func (s *seldom[T]) of(key string) *kept[T] {
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

// free reports whether something dear may be read for open pages.
func (s *seldom[T]) free() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !time.Now().Before(s.pause)
}

func (s *seldom[T]) rest(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pause = time.Now().Add(d)
}

// forget has everything be read anew.
func (s *seldom[T]) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = nil
}
