package pages

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/overview"
)

// The numbers of a line are those of its steps, for any traffic.
func TestJobsAreCountedPerStepOfTheChart(t *testing.T) {
	to := time.Date(2026, 11, 21, 13, 0, 0, 0, time.UTC)
	for window, want := range map[overview.Window]string{overview.Quarter: "12/15 s", overview.Hour: "48/min", overview.Day: "48/min", overview.Season: "2,880/h"} {
		c := &overview.Charts{Window: window, From: to.Add(-15 * time.Minute), To: to, Step: time.Minute}
		for at := c.From; at.Before(c.To); at = at.Add(c.Step) {
			c.Points = append(c.Points, overview.Point{At: at, In: 0.8})
		}
		if text := string(draw(c, nil, nil, time.UTC)[0].SVG); !strings.Contains(text, want) {
			t.Errorf("0.8 jobs a second in the window %v are not drawn as %s: %.300s", window, want, text)
		}
	}
}

func TestChartsOfManyZonesAreNotAllKept(t *testing.T) {
	var d drawings
	for i := range 2 * maxDrawings {
		d.get(drawing{zone: fmt.Sprint(i)}, drawStamp{}, func() []render.Chart { return nil })
		d.get(drawing{zone: "Europe/Berlin"}, drawStamp{}, func() []render.Chart { return nil })
	}
	if len(d.all) > maxDrawings {
		t.Errorf("%d drawings are kept, want at most %d", len(d.all), maxDrawings)
	}
	if d.all[drawing{zone: "Europe/Berlin"}] == nil {
		t.Error("the one that was requested all the time is not among them")
	}
}
