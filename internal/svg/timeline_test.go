package svg

import (
	"slices"
	"testing"
	"time"
)

func TestNoTwoRunsOfALaneOverlap(t *testing.T) {
	minutes := func(n int) time.Time { return time.Date(2000, 1, 1, 0, n, 0, 0, time.UTC) }
	row := Row{Occurrences: []Occurrence{
		{Planned: minutes(0), Started: minutes(0), Ended: minutes(30)},
		{Planned: minutes(10), Started: minutes(10), Ended: minutes(40)},
		{Planned: minutes(20), Outcome: NotRun},
		{Planned: minutes(30), Started: minutes(30), Ended: minutes(35)},
		{Planned: minutes(32), Started: minutes(32), Ended: minutes(50)},
	}}
	if of, n := row.lanes(); n != 3 || !slices.Equal(of, []int{0, 1, 0, 0, 2}) {
		t.Errorf("%d lanes, %v", n, of)
	}
	if _, n := (Row{}).lanes(); n != 1 {
		t.Errorf("an empty row has %d lanes, want 1", n)
	}
}
