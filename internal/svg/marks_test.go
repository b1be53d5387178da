package svg

import (
	"strings"
	"testing"
	"time"
)

func TestMarksAndTheLinesOfThePeriodBeforeAreDrawn(t *testing.T) {
	from := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	points := func(values ...float64) (all []Point) {
		for i, v := range values {
			all = append(all, Point{from.Add(time.Duration(i) * time.Minute), v})
		}
		return all
	}
	l := Lines{
		Title: "Jobs", From: from, To: from.Add(3 * time.Minute), Step: time.Minute, Series: []Series{{Name: "in", Tone: Run, Points: points(1, 2, 3, 4)}},
		Before: Shifted([]Series{{Name: "in", Tone: Run, Points: points(10, 20, 30, 40)}}, 0),
		Marks:  []Mark{{from.Add(time.Minute), "v1.2.3"}, {from.Add(-time.Minute), "v1.2.2"}, {from.Add(61 * time.Second), "v1.2.4"}},
	}
	picture := string(l.SVG())
	for text, want := range map[string]int{`class="quiet run"`: 1, `class="now"`: 1, ">v1.2.3<": 1, ">v1.2.4<": 0, "v1.2.2": 0, "Marked: v1.2.3 from": 1, "40": 1} {
		if n := strings.Count(picture, text); (n > 0) != (want > 0) {
			t.Errorf("the picture has %q %d times, want it: %v\n%s", text, n, want > 0, picture)
		}
	}
	if plain := (Lines{Title: l.Title, From: l.From, To: l.To, Step: l.Step, Series: l.Series}); strings.Contains(string(plain.SVG()), "quiet") {
		t.Error("a picture without an earlier period has one")
	}
	if moved := Shifted(l.Series, time.Hour); !moved[0].Points[0].At.Equal(from.Add(time.Hour)) || !l.Series[0].Points[0].At.Equal(from) {
		t.Error("shifted series are not moved, or the original is")
	}
}
