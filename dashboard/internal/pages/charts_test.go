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

// The table of a chart has what its picture has: also the lines of a day earlier.
func TestTheTableOfAChartHasTheDayBefore(t *testing.T) {
	to := time.Date(2026, 11, 21, 13, 0, 0, 0, time.UTC)
	of := func(to time.Time, in, waiting float64) *overview.Charts {
		c := &overview.Charts{Window: overview.Hour, From: to.Add(-time.Hour), To: to, Step: time.Minute}
		for at := c.From; at.Before(c.To); at = at.Add(c.Step) {
			c.Points = append(c.Points, overview.Point{At: at, In: in, Waiting: waiting})
		}
		return c
	}
	charts := draw(of(to, 0.5, 7), of(to.Add(-24*time.Hour), 2, 9), nil, time.UTC)
	for i, want := range map[int]string{0: "in out failed in, a day earlier out, a day earlier failed, a day earlier: 30/min 0/min 0/min 120/min 0/min 0/min", 1: "waiting waiting, a day earlier: 7 9"} {
		table := charts[i].Table
		if got := strings.Join(table.Header[1:], " ") + ": " + strings.Join(table.Rows[len(table.Rows)-1][1:], " "); got != want {
			t.Errorf("the last row of %s is %q, want %q", charts[i].Title, got, want)
		}
	}
	if late := charts[2]; strings.Contains(late.Note, "a day earlier") || len(late.Table.Header) != 3 {
		t.Errorf("lateness of a day earlier is not known, but its chart has the note %q and the columns %q", late.Note, late.Table.Header)
	}
	if table := draw(of(to, 0.5, 7), nil, nil, time.UTC)[0].Table; len(table.Header) != 4 {
		t.Errorf("without a day earlier the table has the columns %q", table.Header)
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
