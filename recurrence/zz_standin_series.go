package recurrence

// Delete this file when series.go lands.

import (
	"iter"
	"time"
)

type Series struct{ every time.Duration }

func (r Recurrence) Series(created time.Time) (*Series, error) { return &Series{}, nil }

func (s *Series) First() (time.Time, bool)               { return time.Time{}, false }
func (s *Series) Next(after time.Time) (time.Time, bool) { return time.Time{}, false }
func (s *Series) All() iter.Seq[time.Time]               { return func(func(time.Time) bool) {} }
func (s *Series) Between(from, to time.Time) iter.Seq[time.Time] {
	return func(func(time.Time) bool) {}
}
