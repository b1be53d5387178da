package recurrence

import (
	"math/bits"
	"testing"
	"time"
)

// Every combination of a few values in each field of a filter has a text of its own.
func TestNoTwoFiltersHaveOneText(t *testing.T) {
	t.Parallel()
	seen := textSeen{}
	everyDay, everyMonth := []time.Weekday{0, 1, 2, 3, 4, 5, 6}, maskValues[time.Month](1<<13-2)
	for _, weekDays := range [][]time.Weekday{nil, {1}, everyDay} {
		for _, monthDays := range [][]int{nil, {29}, upTo(1, 31, 1)} {
			for _, occurrences := range [][]NthWeekday{nil, {{1, 0}}, {{1, 0}, {1, 5}}} {
				for _, months := range [][]time.Month{nil, {2}, everyMonth} {
					for _, dates := range [][]string{nil, {"02-29"}, {"2028-02-29"}, {"02-29", "2028-02-29"}, {"2028-02-28/2028-02-29"}, {"01-01", "02-28/02-29"}} {
						for _, times := range [][]string{nil, {"09:00"}, {"22:00/05:59"}} {
							f := Filter{weekDays, monthDays, occurrences, months, dates, times}
							if text := filterPhrase(f); text != "" {
								seen.own(t, text, Recurrence{Frequency: Hour, Only: []Filter{f}})
							} else if len(weekDays)+len(monthDays)+len(occurrences)+len(months)+len(dates)+len(times) > 0 {
								t.Errorf("%+v has no text", f)
							}
						}
					}
				}
			}
		}
	}
}

// Every set of a few positions has a text of its own, with a calendar and without.
func TestNoTwoSetsOfPositionsHaveOneText(t *testing.T) {
	t.Parallel()
	seen := textSeen{}
	values := []int{-5, -4, -3, -2, -1, 1, 2, 3, 4, 5}
	for set := uint(1); set < 1<<len(values); set++ {
		var positions []int
		for rest := set; rest != 0; rest &= rest - 1 {
			positions = append(positions, values[bits.TrailingZeros(rest)])
		}
		for _, frequency := range []Frequency{Week, Month, Year} {
			r := Recurrence{Frequency: frequency, Positions: positions}
			seen.own(t, r.String(), r)
			r.Except = []Filter{{Months: []time.Month{8}}}
			seen.own(t, r.String(), r)
		}
	}
}

// Every combination of a few seconds, minutes and hours has a text of its own, whatever the start gives.
func TestNoTwoSetsOfSecondsHaveOneText(t *testing.T) {
	t.Parallel()
	seen := textSeen{}
	every, hours := upTo(0, 59, 1), upTo(0, 23, 1)
	sets := [][]int{nil, {0}, {5}, {0, 5}, {0, 30}, upTo(0, 50, 10), upTo(5, 55, 10), upTo(0, 56, 7), every}
	for frequency := Second; frequency <= Year; frequency++ {
		for _, start := range []time.Time{{}, on("2026-08-03 12:05:05"), on("2026-08-03 00:00:00"), on("2026-08-03 00:00:05"), on("2026-08-03 12:05:00")} {
			for _, seconds := range sets {
				for _, minutes := range sets {
					for _, hours := range [][]int{nil, {0}, {12}, {9, 12}, {9, 10, 11, 12}, hours} {
						r := Recurrence{Frequency: frequency, StartTime: start, Seconds: seconds, Minutes: minutes, Hours: hours}
						seen.own(t, r.String(), r)
					}
				}
			}
		}
	}
}

// own reports an error if the text has been seen.
func (seen textSeen) own(t *testing.T, text string, r Recurrence) {
	t.Helper()
	if other, known := seen[text]; known {
		t.Errorf("one text for two rules: %s\n%s\n%s", text, marshal(t, r), other)
	}
	seen[text] = marshal(t, r)
}
