package svg

import (
	"html/template"
	"maps"
	"math"
	"slices"
	"testing"
	"time"
)

// A picture is a chart of the story that the tests check.
type picture interface {
	SVG() template.HTML
	Table() Table
}

// story returns one chart of each kind and of each special case.
func story(t testing.TB) map[string]picture {
	t.Helper()
	berlin, apia, johns := zone(t, "Europe/Berlin"), zone(t, "Pacific/Apia"), zone(t, "America/St_Johns")
	now := time.Date(2026, 10, 26, 14, 26, 48, 0, berlin) // the day after the clocks went back
	dayAgo, hourAgo := now.Add(-25*time.Hour), now.Add(-time.Hour)
	wave := func(height float64) func(int) float64 {
		return func(i int) float64 { return height * (1 + math.Sin(float64(i)/90)/2) }
	}
	hostile := `"/><script>alert(1)</script>` + "\x1b[31m\u202e"
	return map[string]picture{
		"lines": Lines{Title: "Jobs a second", From: dayAgo, To: now, Zone: berlin, Step: time.Minute, Unit: PerSecond, Series: []Series{
			{"in", Run, without(samples(dayAgo, time.Minute, 1500, wave(1200)), 600, 700)},
			{"out", OK, without(samples(dayAgo, time.Minute, 1500, wave(1100)), 600, 700)},
			{"failed", Fail, samples(dayAgo, time.Minute, 1500, func(int) float64 { return 0.4 })},
		}},
		"lines-lateness": Lines{Title: "Lateness", From: hourAgo, To: now, Zone: berlin, Step: time.Minute, Unit: Seconds, Series: []Series{
			{"p50", Accent, samples(hourAgo, time.Minute, 60, wave(0.001))},
			{"p99", Late, samples(hourAgo, time.Minute, 60, wave(0.02))},
		}},
		"lines-empty":   Lines{From: hourAgo, To: now, Zone: berlin},
		"lines-one":     Lines{Title: "Depth", From: hourAgo, To: now, Zone: berlin, Step: time.Minute, Series: []Series{{"waiting", Accent, []Point{{now.Add(-time.Minute), 7}}}}},
		"lines-hostile": Lines{Title: hostile, From: hourAgo, To: now, Series: []Series{{hostile, Tone(200), []Point{{now, math.Inf(1)}, {now, math.NaN()}, {now, -1}}}}},
		"spark":         Spark{Title: "report", Values: []float64{1, 3, 2, math.NaN(), 7, math.NaN(), 4, 5}, From: hourAgo, Step: time.Minute, Zone: berlin},
		"spark-bars":    Spark{Title: "refused", Values: []float64{0, 0, 4, 12, 0.1, 0}, Tone: Fail, Bars: true, From: hourAgo, Step: time.Minute, Zone: berlin},
		"spark-empty":   Spark{},
		"ticks": Ticks{Title: "report", Zone: berlin, Runs: []Tick{
			{hourAgo, OK, ""}, {hourAgo, OK, ""}, {hourAgo, Fail, "dead"}, {hourAgo, Late, ""}, {hourAgo, Missed, ""}, {hourAgo, Off, "superseded"}, {now, Run, ""},
		}},
		"ticks-empty": Ticks{},
		"hours":       Hours{Title: "report", Now: now, Zone: berlin, From: now.AddDate(0, 0, -12), Until: now.AddDate(0, 0, 13), Events: events(now)},
		"hours-spring": Hours{Title: "report", Now: time.Date(2027, 3, 29, 9, 0, 0, 0, berlin), Zone: berlin, Past: 3, Next: 2,
			Events: events(time.Date(2027, 3, 29, 9, 0, 0, 0, berlin))},
		"hours-apia":     Hours{Now: time.Date(2011, 12, 31, 9, 0, 0, 0, apia), Zone: apia, Past: 4, Next: 2},
		"hours-st-johns": Hours{Now: time.Date(2010, 11, 7, 9, 0, 0, 0, johns), Zone: johns, Past: 3, Next: 2},
		"weeks":          Weeks{Title: "report", Now: now, Zone: berlin, From: now.AddDate(0, 0, -30), Events: events(now)},
		"weeks-apia":     Weeks{Now: time.Date(2011, 12, 31, 9, 0, 0, 0, apia), Zone: apia, Past: 7, Next: 7},
		"bars":           Bars{Title: "Next 24 hours", From: now.Truncate(10 * time.Minute), Step: 10 * time.Minute, Zone: berlin, Counts: busyDay()},
		"bars-empty":     Bars{},
		"shares": Shares{Title: hostile, Owners: []string{"<flood>", "b", hostile}, Slots: 10, Step: time.Second, Panels: []SharesPanel{
			{Name: "without", Mark: 2 * time.Second, MarkLabel: "<&>", Held: [][]int{{1, 4, 5}, {1, 4, 5}, {10, 0, 0}, {10}, {2, 4, 4}}},
			{Name: "with", Remark: hostile, Held: [][]int{{1, 4, 5}, {3, 3, 20}}}, {},
		}},
		"timeline": Timeline{Title: `"<a & b>"`, From: hourAgo, To: now, Zone: berlin, Spans: []Span{{now.Add(-50 * time.Minute), now.Add(-40 * time.Minute), hostile}},
			Rows: []Row{{Name: "report", Remark: "&"}, {Name: hostile, Remark: hostile, Occurrences: []Occurrence{
				{now.Add(-55 * time.Minute), now.Add(-55 * time.Minute), now.Add(-30 * time.Minute), RanInTime},
				{now.Add(-50 * time.Minute), now.Add(-35 * time.Minute), now.Add(-25 * time.Minute), RanLate},
				{now.Add(-40 * time.Minute), now.Add(-20 * time.Minute), now.Add(-19 * time.Minute), CutShort},
				{Planned: now.Add(-30 * time.Minute), Outcome: Dropped}, {Planned: now.Add(-20 * time.Minute), Outcome: 200},
			}}}},
	}
}

// events returns a run for each quarter of an hour around now. A few of the runs failed.
func events(now time.Time) []Event {
	tones := map[int]Tone{-100: Fail, -340: Missed, -341: Late, -500: Off, -7: Run, -905: Fail}
	var all []Event
	for i := -13 * 96; i < 13*96; i++ {
		tone, ok := tones[i]
		if !ok {
			tone = OK
		}
		all = append(all, Event{now.Truncate(15 * time.Minute).Add(time.Duration(i) * 15 * time.Minute), 1, tone})
	}
	return all
}

func busyDay() []int {
	counts := make([]int, 144)
	for i := range counts {
		counts[i] = 3 + i%6*5
	}
	counts[54] = 120
	return counts
}

func samples(from time.Time, step time.Duration, n int, value func(int) float64) []Point {
	points := make([]Point, n)
	for i := range points {
		points[i] = Point{from.Add(time.Duration(i) * step), value(i)}
	}
	return points
}

// without removes the points [from, to).
func without(points []Point, from, to int) []Point { return slices.Delete(points, from, to) }

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	location, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return location
}

func names(charts map[string]picture) []string { return slices.Sorted(maps.Keys(charts)) }
