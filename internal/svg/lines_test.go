package svg

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func drawing(values ...float64) Lines {
	points := samples(noon, time.Minute, len(values), func(i int) float64 { return values[i] })
	return Lines{From: noon, To: noon.Add(10 * time.Minute), Step: time.Minute, Series: []Series{{Name: "in", Points: points}}}
}

// pathOf returns the path of the first element of a class.
func pathOf(svg any, class string) string {
	m := regexp.MustCompile(`class="` + class + `" d="([^"]*)"`).FindStringSubmatch(fmt.Sprint(svg))
	if m == nil {
		return ""
	}
	return m[1]
}

func TestAGapStaysAGap(t *testing.T) {
	nan := math.NaN()
	missing := drawing(1, 2, 3, 4, 5, 6)
	missing.Series[0].Points = slices.Delete(missing.Series[0].Points, 2, 3)
	whole := drawing(1, 2, 3)
	whole.Step = 0
	for _, test := range []struct {
		name  string
		chart Lines
		lines int
		dots  int
	}{
		{"nothing is missing", drawing(1, 2, 3, 4), 1, 0},
		{"zeros are values", drawing(1, 0, 0, 4), 1, 0},
		{"a sample is missing", missing, 2, 0},
		{"a value is no number", drawing(1, 2, nan, 4, 5), 2, 0},
		{"an infinite one", drawing(1, 2, math.Inf(1), 4, 5), 2, 0},
		{"alone between gaps", drawing(1, 2, nan, 4, nan, 5, 6), 3, 1},
		{"nothing at the ends", drawing(nan, 2, 3, nan), 1, 0},
		{"no step, no gap", whole, 1, 0},
		{"nothing at all", drawing(nan, nan), 0, 0},
	} {
		svg := test.chart.SVG()
		if n := strings.Count(pathOf(svg, "line"), "M"); n != test.lines {
			t.Errorf("%s: %d pieces of line, want %d: %s", test.name, n, test.lines, pathOf(svg, "line"))
		}
		if n := strings.Count(pathOf(svg, "bar"), "M"); n != test.dots {
			t.Errorf("%s: %d dots, want %d", test.name, n, test.dots)
		}
	}
	if table := drawing(1, nan, 3).Table(); len(table.Rows) != 2 {
		t.Errorf("a missing sample has a row: %q", table.Rows)
	}
}

// A day of minutes has more samples than pixels, and gaps that are narrower than a pixel.
func TestManySamplesBecomeFewAndKeepTheirPeakAndTheirGaps(t *testing.T) {
	to := noon.Add(25 * time.Hour)
	value := func(i int) float64 { return []float64{1, 5}[i%1499/1498] } // 5 once, at 1498
	points := slices.Delete(samples(noon, time.Minute, 1500, value), 700, 702)
	for unit, want := range map[Unit]float64{Count: 5, Seconds: 5, PerSecond: 2, PerMinute: 2, PerHour: 2} {
		d := Lines{From: noon, To: to, Step: time.Minute, Unit: unit, Series: []Series{{Points: points}}}.digest(seriesMost)
		if n := len(d.times); n > maxPoints+2 || n < maxPoints-2 {
			t.Errorf("unit %d: %d points, want about %d", unit, n, maxPoints)
		}
		if n := len(d.series[0].runs); n != 2 {
			t.Errorf("unit %d: %d pieces, want 2", unit, n)
		}
		most := slices.Max(d.column(0))
		if !unit.rate() && most != want || unit.rate() && (most <= 1 || most >= want) {
			t.Errorf("unit %d: a peak of 5 is drawn as %v", unit, most)
		}
		if v, ok := d.series[0].current(to); !ok || v != 1 {
			t.Errorf("unit %d: the last value is %v, want that of the last sample, 1", unit, v)
		}
	}
}

func TestTheLastValueIsNotAnOldOne(t *testing.T) {
	chart := drawing(7, 7, 7, 7)
	chart.To = noon.Add(7 * time.Minute)
	if svg := string(chart.SVG()); !strings.Contains(svg, ">in 7<") {
		t.Errorf("the last value is missing: %s", svg)
	}
	chart.To = noon.Add(time.Hour)
	if svg := string(chart.SVG()); !strings.Contains(svg, ">in –<") || strings.Contains(svg, ">in 7<") {
		t.Errorf("an old value is shown at the end: %s", svg)
	}
}

func TestOrderAndRangeOfPointsDoNotMatter(t *testing.T) {
	sorted := drawing(1, 2, 3, 4)
	mixed := drawing(1, 2, 3, 4)
	points := mixed.Series[0].Points
	slices.Reverse(points)
	mixed.Series[0].Points = append([]Point{{noon.Add(-time.Hour), 1e9}, {noon.Add(time.Hour), 1e9}}, points...)
	if sorted.SVG() != mixed.SVG() {
		t.Error("the order, or points outside the range, have changed the picture")
	}
	if !points[0].At.After(points[3].At) {
		t.Error("the caller's points were sorted")
	}
}

func TestLastValuesDoNotCoverEachOther(t *testing.T) {
	points := samples(noon, time.Minute, 5, func(int) float64 { return 0 })
	svg := Lines{From: noon, To: noon.Add(4 * time.Minute), Step: time.Minute, Series: []Series{{"a", OK, points}, {"b", Run, points}, {"c", Fail, points}, {"d", Late, points}}}.SVG()
	var at []string
	for _, m := range regexp.MustCompile(`class="last \w+" x="\d+" y="(\d+)"`).FindAllStringSubmatch(string(svg), -1) {
		at = append(at, m[1])
	}
	if want := []string{"110", "125", "140"}; !slices.Equal(at, want) {
		t.Errorf("last values at %q, want %q, and no fourth series", at, want)
	}
}

func TestTheSentenceHasTheLastAndTheGreatestValue(t *testing.T) {
	chart := drawing(1, 9, 4)
	chart.Title, chart.Unit = "Jobs", PerSecond
	const want = `aria-label="Jobs: in last 4/s, at most 9/s; from Sat 21 Nov 12:00 UTC to Sat 21 Nov 12:10 UTC."`
	if svg := string(chart.SVG()); !strings.Contains(svg, want) {
		t.Errorf("%s\nwant %s", svg[:400], want)
	}
	chart.Label = "All is well."
	if svg := string(chart.SVG()); !strings.Contains(svg, `aria-label="All is well."`) {
		t.Errorf("the caller's sentence is not there: %s", svg[:400])
	}
}
