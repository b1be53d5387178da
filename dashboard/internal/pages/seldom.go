package pages

import (
	"context"
	"sync"
	"time"
)

const maxKept = 50 // readings that are kept

// A seldom keeps what may be dear to read, by what it was asked for: it is read again when it was asked for, but not before so many times as long has
// passed as reading it took. So reading takes up a hundredth of the time, whoever looks. The zero seldom keeps nothing yet.
type seldom[T any] struct {
	mu   sync.Mutex
	kept map[string]*kept[T]
}

type kept[T any] struct {
	mu   sync.Mutex // one reading at a time
	have T
	at   time.Time // when reading began, by this process's clock; zero: it was not read
	took time.Duration
}

func (k *kept[T]) fresh() bool {
	return !k.at.IsZero() && time.Since(k.at) < max(minAge, agePerRead*k.took)
}

// get returns what read returns, or has returned when it was read last. An error is not kept.
func (s *seldom[T]) get(ctx context.Context, key string, read func(context.Context) (T, error)) (have T, err error) {
	k := s.of(key)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fresh() {
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
