package svg

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestTheBusiestIsMarked(t *testing.T) {
	chart := Bars{From: noon, Step: 10 * time.Minute, Counts: []int{1, 0, 9, 9, -5}}
	svg := string(chart.SVG())
	if !strings.Contains(svg, ">9 at 12:20<") {
		t.Errorf("the first of the busiest bars is not named: %s", svg)
	}
	if n := strings.Count(pathOf(svg, "bar accent"), "M"); n != 1 {
		t.Errorf("%d bars are marked, want 1", n)
	}
	if n := strings.Count(pathOf(svg, "bar accent quiet"), "M"); n != 2 {
		t.Errorf("%d other bars, want 2: counts of 0 and below have no bar", n)
	}
	const want = `aria-label="19 occurrences from Sat 21 Nov 12:00 UTC to Sat 21 Nov 12:50 UTC; most, 9, in the 10m from Sat 21 Nov 12:20 UTC."`
	if !strings.Contains(svg, want) {
		t.Errorf("%s\nwant %s", svg[:500], want)
	}
	if svg := string(Bars{From: noon, Counts: []int{0, 0}, Noun: "run"}.SVG()); !strings.Contains(svg, ">no runs<") || strings.Contains(svg, `class="bar`) {
		t.Errorf("nothing to show: %s", svg)
	}
}

func TestTicksAreSaidInTheirOrder(t *testing.T) {
	chart := Ticks{Title: "report"}
	for i := range 25 {
		chart.Runs = append(chart.Runs, Tick{At: noon, Tone: []Tone{OK, Fail}[i/24]})
	}
	const want = `aria-label="report: last 20 runs, the oldest first: 19 done, 1 failed."`
	if svg := string(chart.SVG()); !strings.Contains(svg, want) {
		t.Errorf("%s\nwant %s", svg, want)
	}
	if n := len(chart.Table().Rows); n != 20 {
		t.Errorf("%d rows, want 20", n)
	}
	seen := map[string]Tone{}
	for tone := Accent; tone <= Fail; tone++ {
		var l layers
		tone.tick(&l, 0)
		form := l.pens[l.classes[len(l.classes)-1]].String()
		if before, ok := seen[form]; ok && tone != OK && (tone != Paused || before != Off) && (tone != Missed || before != Run) {
			t.Errorf("tones %d and %d differ only in their colour", before, tone)
		}
		seen[form] = tone
	}
}

func TestASparkKeepsItsGaps(t *testing.T) {
	svg := Spark{Values: []float64{1, 2, math.NaN(), 3, math.Inf(-1), 4, 5}}.SVG()
	if line, dots := pathOf(svg, "line"), pathOf(svg, "bar"); strings.Count(line, "M") != 3 || strings.Count(dots, "M") != 1 {
		t.Errorf("line %q, dots %q, want three pieces, one of them a dot", line, dots)
	}
	if bars := pathOf(Spark{Values: []float64{0, 1, 0, 0.001, math.NaN()}, Bars: true}.SVG(), "bar"); strings.Count(bars, "M") != 2 {
		t.Errorf("bars %q, want two", bars)
	}
}
