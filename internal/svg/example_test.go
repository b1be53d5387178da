package svg_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/svg"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func ExampleLines() {
	chart := svg.Lines{
		Title: "Waiting", From: noon.Add(-3 * time.Minute), To: noon, Step: time.Minute,
		Series: []svg.Series{{Name: "mail", Points: []svg.Point{{At: noon.Add(-2 * time.Minute), Value: 1204}, {At: noon, Value: 312}}}},
	}
	show(chart.Table())
	// Output:
	// Time | mail
	// Sat 21 Nov 11:58 UTC | 1,204
	// Sat 21 Nov 12:00 UTC | 312
}

func ExampleSpark() {
	show(svg.Spark{Values: []float64{0.002, 0.003}, Unit: svg.Seconds, From: noon, Step: time.Minute}.Table())
	// Output:
	// Time | Value
	// Sat 21 Nov 12:00 UTC | 2ms
	// Sat 21 Nov 12:01 UTC | 3ms
}

func ExampleTicks() {
	show(svg.Ticks{Title: "report", Runs: []svg.Tick{{At: noon, Tone: svg.OK}, {At: noon.Add(time.Hour), Tone: svg.Fail, Word: "dead"}}}.Table())
	// Output:
	// Run | Outcome
	// Sat 21 Nov 12:00 UTC | done
	// Sat 21 Nov 13:00 UTC | dead
}

func ExampleWeeks() {
	show(svg.Weeks{Title: "report", Now: noon, Past: 3, Next: 1, From: noon.Add(-36 * time.Hour), Events: []svg.Event{
		{At: noon.Add(-24 * time.Hour), N: 96, Tone: svg.OK},
		{At: noon.Add(-time.Hour), N: 1, Tone: svg.Fail},
		{At: noon.Add(24 * time.Hour), N: 4},
	}}.Table())
	// Output:
	// Day, UTC | runs
	// Thu 19 Nov | not known
	// Fri 20 Nov | 96
	// Sat 21 Nov | 1, failed
	// Sun 22 Nov | 4 to come
}

func ExampleBars() {
	show(svg.Bars{From: noon, Step: 10 * time.Minute, Counts: []int{3, 120}}.Table())
	// Output:
	// From | occurrences
	// Sat 21 Nov 12:00 UTC | 3
	// Sat 21 Nov 12:10 UTC | 120
}

func show(table svg.Table) {
	fmt.Println(strings.Join(table.Header, " | "))
	for _, row := range table.Rows {
		fmt.Println(strings.Join(row, " | "))
	}
}
