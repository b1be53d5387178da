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
//	svg.Shares{Title: "Slots", Owners: []string{"a", "b"}, Slots: 10, Step: time.Second, Panels: []svg.SharesPanel{{Name: "fair", Held: held}}}.SVG()
//	svg.Bars{Title: "Next 24 hours", From: now.Truncate(10 * time.Minute), Step: 10 * time.Minute, Zone: berlin, Counts: counts}.SVG()
//
// # What holds
//
// The result of SVG is safe in a page for any data: every text is escaped, and data never name an attribute. It works under the strictest
// Content-Security-Policy, because it has no style attribute, style element, script or reference. It is also well-formed XML. The same data give the
// same bytes. A coordinate has at most one decimal, and is never computed from a missing sample or NaN. Missing is not zero: a line is interrupted, a
// cell is hatched.
//
// Charts follow a zone's clock: an hour that it shows twice is drawn twice, and an hour that it skips is a gap.
//
// # Looks
//
// Elements have classes. [CSS] has a rule for each class, and [File] has the rules for timelines and shares. The colours are tokens of the page, so a
// chart follows its theme. The picture has the class chart and the class of its kind: lines, spark, ticks, hours, weeks, bars, timeline, shares. A tone is a separate class:
// accent, ok, run, off, paused, late, missed, fail. It sets the colour of the other classes.
//
//	axis last note                 texts: along an axis, of the last value, instead of data
//	grid base cross now            gridlines, the line at 0, a script's crosshair, the line after today and the frame around it
//	line fill bar quiet frame      a line, the area below it, a bar or a mark, a bar other than the busiest, a hollow mark
//	title sheet span               a title, the background of a timeline, a marked time in it
//	hollow cross-out               the marks of missed and of dropped occurrences
//	h0 … h6                        a cell by its number
//	cell hatch ring                a cell by its outcome, the diagonals of a failure, a missed occurrence
//	next n1 n2 n3                  a future cell, by its number
//	unknown skipped                a cell without data, a cell that the clock skips
//
// # For scripts
//
// Lines and Bars have attributes with positions, so that one script can draw a crosshair in all of them. data-plot is the plot's left, top, right and
// bottom in the units of viewBox. data-from and data-to are its ends in Unix milliseconds. data-height is the value at its top, in the unit data-unit:
// count, seconds, or the suffix of a rate: /s, /min, /h. Lines has data-t, the seconds from data-from to each sample. Each series has data-name and
// data-v, its values, with null for a missing one. Bars has data-v and data-step, in milliseconds. The path cross is empty, and the script fills it.
package svg
