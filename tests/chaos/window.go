//go:build unix

package chaos

import "time"

// A Window is a time span. A zero To means that it has not ended.
type Window struct{ From, To time.Time }

// reaches reports whether the window and the span from begin to end overlap.
func (w Window) reaches(begin, end time.Time) bool {
	return !w.From.After(end) && (w.To.IsZero() || !w.To.Before(begin))
}

// overlapping reports whether one of the windows overlaps the span.
func overlapping(windows []Window, begin, end time.Time) bool {
	for _, w := range windows {
		if w.reaches(begin, end) {
			return true
		}
	}
	return false
}
