package pages

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/internal/svg"
)

// The lines of a quiet store are not at 0, and the numbers of a busy store are not too long to read.
func TestJobsAreCountedPerATimeThatFits(t *testing.T) {
	for _, c := range []struct {
		back time.Duration
		in   []float64 // rate per second
		want pace
	}{
		{time.Hour, nil, pace{"a minute", svg.PerMinute, 60}},
		{time.Hour, []float64{0.02, 0}, pace{"a minute", svg.PerMinute, 60}},
		{time.Hour, []float64{5, 0}, pace{"a second", svg.PerSecond, 1}},
		{15 * time.Minute, []float64{0.9, 1}, pace{"a minute", svg.PerMinute, 60}},
		{25 * time.Hour, []float64{0.02}, pace{"an hour", svg.PerHour, 3600}},
		{25 * time.Hour, []float64{1.5}, pace{"a second", svg.PerSecond, 1}},
		{92 * 24 * time.Hour, []float64{0.0001}, pace{"an hour", svg.PerHour, 3600}},
	} {
		to := time.Date(2026, 11, 21, 13, 0, 0, 0, time.UTC)
		charts := &overview.Charts{From: to.Add(-c.back), To: to}
		for i, in := range c.in {
			charts.Points = append(charts.Points, overview.Point{At: charts.From.Add(time.Duration(i) * time.Minute), In: in})
		}
		if got := paceOf(charts); got != c.want {
			t.Errorf("%v a second over %v are counted %+v, want %+v", c.in, c.back, got, c.want)
		}
	}
}

func TestChartsOfManyZonesAreNotAllKept(t *testing.T) {
	var d drawings
	for i := range 2 * maxDrawings {
		d.get(drawing{zone: fmt.Sprint(i)}, &overview.Charts{}, func() []render.Chart { return nil })
		d.get(drawing{zone: "Europe/Berlin"}, &overview.Charts{}, func() []render.Chart { return nil })
	}
	if len(d.all) > maxDrawings {
		t.Errorf("%d drawings are kept, want at most %d", len(d.all), maxDrawings)
	}
	if d.all[drawing{zone: "Europe/Berlin"}] == nil {
		t.Error("the one that was requested all the time is not among them")
	}
}
