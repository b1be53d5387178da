package pages

import (
	"context"
	"sync"
	"time"
)

const maxKept = 50 // readings that are kept

// A seldom keeps what may be dear to read, by what it was asked for: it is read again when it was asked for, but not before so many times as long has
// passed as reading it took. So reading takes up a hundredth of the time, whoever looks. The zero seldom keeps nothing yet.
type seldom[T dear] struct {
	mu   sync.Mutex
	kept map[string]*kept[T]
}

// dear says whether reading it has looked through many jobs: then it is read ten times more rarely for those who have a page open, and do not ask.
type dear interface{ dear() bool }

const liveAgePerRead = 10 * agePerRead

type kept[T dear] struct {
	mu   sync.Mutex // one reading at a time
	have T
	at   time.Time // when reading began, by this process's clock; zero: it was not read
	took time.Duration
}

func (k *kept[T]) fresh(live bool) bool {
	if k.at.IsZero() {
		return false
	}
	age := agePerRead * k.took
	if live && k.have.dear() {
		age = liveAgePerRead * k.took
	}
	return time.Since(k.at) < max(minAge, age)
}

// get returns what read returns, or has returned when it was read last. An error is not kept. live: nobody asks for it, some
// have a page open that shows it.
func (s *seldom[T]) get(ctx context.Context, key string, live bool, read func(context.Context) (T, error)) (have T, err error) {
	k := s.of(key)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fresh(live) {
		return k.have, nil
	}
	began := time.Now()
	if have, err = read(ctx); err != nil {
		return have, err
	}
	k.have, k.at, k.took = have, began, time.Since(began)
	return have, nil
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

// forget has everything be read anew.
func (s *seldom[T]) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = nil
}
