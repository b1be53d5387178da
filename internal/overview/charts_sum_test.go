package overview

import (
	"slices"
	"testing"
	"time"
)

// The samples of a queue come at another second of each minute than those of other queues. A sum of those that have come would be too low.
func TestTheNewestPointOfAChartIsOfAllQueues(t *testing.T) {
	from := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
	samples := func(waiting int64, minutes ...int) (all []entry) {
		for _, m := range minutes {
			all = append(all, entry{at: from.Add(time.Duration(m) * time.Minute), covers: 1, waiting: waiting})
		}
		return all
	}
	for _, c := range []struct {
		name  string
		queue []entry // beside one that has samples of the minutes 0 to 5
		want  []float64
	}{
		{"all have come", samples(100, 0, 1, 2, 3, 4, 5), []float64{101, 101, 101, 101, 101, 101}},
		{"the last one has not come", samples(100, 0, 1, 2, 3, 4), []float64{101, 101, 101, 101, 101}},
		{"the last two have not come", samples(100, 0, 1, 2, 3), []float64{101, 101, 101, 101}},
		{"nobody serves the queue since", samples(100, 0, 1, 2), []float64{101, 101, 101, 1, 1, 1}},
		{"the queue is new", samples(100, 4, 5), []float64{1, 1, 1, 1, 101, 101}},
	} {
		charts := Charts{Step: time.Minute, From: from, To: from.Add(5 * time.Minute)}
		charts.sum(map[string][]entry{"busy": samples(1, 0, 1, 2, 3, 4, 5), "other": c.queue})
		var got []float64
		for _, p := range charts.Points {
			got = append(got, p.Waiting)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v wait; want %v", c.name, got, c.want)
		}
	}
}
