// Package svg draws charts on the server: for pages that work without a script, and for documentation. A chart is a value with two methods:
// SVG, the picture, and Table, the same data as text.
//
//	chart := svg.Lines{
//		Title: "Jobs a second", From: now.Add(-25 * time.Hour), To: now, Zone: berlin, Step: time.Minute, Unit: svg.PerSecond,
//		Series: []svg.Series{{Name: "in", Tone: svg.Run, Points: in}, {Name: "failed", Tone: svg.Fail, Points: failed}},
//	}
//	page.Chart, page.ChartTable = chart.SVG(), chart.Table()
//
//	svg.Spark{Title: "connection refused, 24 h", Values: failures, Tone: svg.Fail, Bars: true, From: dayAgo, Step: time.Hour}.SVG()
//	svg.Ticks{Title: "report", Runs: []svg.Tick{{At: at, Tone: svg.OK}, {At: then, Tone: svg.Fail, Word: "dead"}}}.SVG()
//	svg.Hours{Title: "report", Now: now, Zone: berlin, From: keptSince, Events: []svg.Event{{At: at, N: 1, Tone: svg.OK}}}.SVG()
//	svg.Weeks{Title: "report", Now: now, From: firstDay, Events: daysAndPlanned}.SVG()
//	svg.Timeline{Title: "overlap policies", From: eight, To: noon, Zone: berlin, Rows: []svg.Row{{Name: "skip", Occurrences: runs}}}.SVG()
//	svg.Bars{Title: "Next 24 hours", From: now.Truncate(10 * time.Minute), Step: 10 * time.Minute, Zone: berlin, Counts: counts}.SVG()
//
// # What holds
//
// What SVG returns is safe in a page whatever the data say: every text is escaped, no attribute is named by data. It stands under the strictest
// Content-Security-Policy: there is no style attribute, no style element, no script, no reference. It is well-formed XML too. The same data
// give the same bytes. A coordinate has at most one decimal, and neither a missing sample nor a number that is none leaves a trace in it.
// Missing is not zero: a line is interrupted, a cell is hatched.
//
// A zone's clock is taken as it is: what it shows twice is drawn twice, what it leaves out is a gap.
//
// # Looks
//
// Elements have classes, for which [CSS] has a rule each, or for timelines [File]; the colours are tokens of the page, so a chart follows its theme. The picture itself
// has the class chart and that of its kind: lines, spark, ticks, hours, weeks, bars, timeline. A tone is a class of its own: accent, ok, run, off, paused,
// late, missed, fail; the rest takes its colour from it.
//
//	axis last note                 texts: along an axis, of the last value, in place of data
//	grid base cross now            gridlines, the line at 0, a script's crosshair, the line after today and the frame around it
//	line fill bar quiet frame      a line, the area below it, a bar or a mark, one that is not the busiest, a hollow mark
//	title sheet span               a title, what a timeline is drawn on, a time that is marked in it
//	hollow cross-out               signs of what was missed and of what was dropped
//	h0 … h6                        a cell by its number
//	cell hatch ring                a cell by its outcome, the diagonals of a failure, what was missed
//	next n1 n2 n3                  a cell to come, by its number
//	unknown skipped                a cell of which nothing is known, one that the clock leaves out
//
// # For scripts
//
// Lines and Bars say where things are, so that one script draws one crosshair in all of them: data-plot is the plot's left, top, right and bottom
// in the units of viewBox, data-from and data-to are its ends in Unix milliseconds, data-height is the value at its top, in data-unit: count,
// seconds, or what stands behind a rate: /s, /min, /h. Lines has data-t, the seconds from data-from to each sample, and for each series data-name and data-v, its values,
// null where one is missing. Bars has data-v and data-step, in milliseconds. The path cross is empty, for the script to fill.
package svg
