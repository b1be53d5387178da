// Package timeline draws which occurrences of a schedule ran when, as SVG: one row a setting, time from left to right.
//
// The same chart gives the same bytes. The pictures have a background and colours of their own, so they look alike on light and on dark
// pages.
package timeline

import "time"

// An Outcome is what became of an occurrence.
type Outcome int

const (
	InTime   Outcome = iota // it ran at its planned instant
	Late                    // it ran later
	CutShort                // it began, and its ctx was ended for the next one
	Dropped                 // it did not run, because another one was running
	Missed                  // it did not run, because its instant was missed
)

// An Occurrence is one planned instant of a schedule. Started and Ended are zero if it did not run.
type Occurrence struct {
	Planned, Started, Ended time.Time
	Outcome                 Outcome
}

// ran reports whether the occurrence has a bar.
func (o Occurrence) ran() bool { return !o.Started.IsZero() }

// A Row is what one schedule did.
type Row struct {
	Name, Remark string
	Occurrences  []Occurrence // in the order of their planned instants
}

// A Span is a time that is marked in all rows.
type Span struct {
	From, To time.Time
	Label    string
}

// A Chart is a picture: its rows under one axis of time.
type Chart struct {
	Title    string
	From, To time.Time // of the axis; a label each full hour
	Spans    []Span
	Rows     []Row
}

// lanes says in which lane of its row each occurrence is drawn, so that no two bars overlap, and how many lanes there are, at least one.
func (r Row) lanes() (of []int, n int) {
	of, n = make([]int, len(r.Occurrences)), 1
	var free []time.Time // lane -> when its last bar ends
	for i, o := range r.Occurrences {
		if !o.ran() {
			continue
		}
		lane := 0
		for lane < len(free) && o.Started.Before(free[lane]) {
			lane++
		}
		if lane == len(free) {
			free = append(free, o.Ended)
		}
		free[lane], of[i] = o.Ended, lane
		n = max(n, lane+1)
	}
	return of, n
}
