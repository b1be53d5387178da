package svg

import (
	"math"
	"time"
	"unicode/utf8"
)

// labelRoom is the width of an instant's label, in pixels.
const labelRoom = 58

// maxRange is the longest period that a chart shows. For a longer one it shows the end.
const maxRange = 366 * 24 * time.Hour

// Axes are the axes of a plot: time from left to right, values upwards from 0.
type axes struct {
	left, top, right, bottom float64 // the edges of the plot

	from, to time.Time
	zone     *time.Location

	unit  Unit
	step  float64 // distance of gridlines
	lines int     // number of gridlines, without the one at 0
}

// newAxes returns axes from one instant to a later one, for values up to most.
func newAxes(from, to time.Time, zone *time.Location, unit Unit, most float64) axes {
	from, to = within(from, to)
	a := axes{from: from, to: to, zone: located(zone), unit: unit}
	a.step, a.lines = steps(unit, most)
	return a
}

// within returns a drawable range of time: not empty and not longer than maxRange.
func within(from, to time.Time) (time.Time, time.Time) {
	if !to.After(from) {
		to = from.Add(time.Minute)
	}
	if to.Sub(from) > maxRange {
		from = to.Add(-maxRange)
	}
	return from, to
}

// timeSteps are round steps of more than a minute for durations. Smaller steps are 1, 2 and 5 times a power of ten.
var timeSteps = []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400}

// steps returns the smallest round step with which at most four steps reach the greatest value, and the number of steps.
func steps(unit Unit, most float64) (step float64, lines int) {
	const lineMost = 4
	if most <= 0 {
		return 1, 1
	}
	if unit == Seconds && most > lineMost*timeSteps[0] && most <= lineMost*timeSteps[len(timeSteps)-1] {
		for _, s := range timeSteps {
			if most <= lineMost*s {
				return s, reaching(most, s)
			}
		}
	}
	scale := 1.0
	if unit == Seconds && most > lineMost*day {
		scale = day
	}
	power := math.Pow(10, math.Floor(math.Log10(most/scale))-1)
	if unit == Count {
		power = max(power, 1)
	}
	for {
		for _, s := range []float64{1, 2, 5} {
			if s = round3(s * power * scale); s > 0 && most <= lineMost*s {
				return s, reaching(most, s)
			}
		}
		power *= 10
	}
}

// reaching returns the number of steps that reach most.
func reaching(most, step float64) int { return max(1, int(math.Ceil(most/step-1e-9))) }

// height returns the value at the top of the plot.
func (a *axes) height() float64 { return a.step * float64(a.lines) }

func (a *axes) x(at time.Time) float64 {
	return a.left + (a.right-a.left)*float64(at.Sub(a.from))/float64(a.to.Sub(a.from))
}

func (a *axes) y(v float64) float64 { return a.bottom - (a.bottom-a.top)*min(v/a.height(), 1) }

// level returns the label of the i-th gridline.
func (a *axes) level(i int) string {
	if i == 0 {
		return "0"
	}
	return a.unit.format(a.step * float64(i))
}

// room returns the width of the gridlines' labels on the left, in pixels.
func (a *axes) room() float64 {
	const perRune, gap = 6.6, 6.0
	room := float64(leftRoom)
	for i := range a.lines + 1 {
		room = max(room, gap+math.Ceil(perRune*float64(utf8.RuneCountInString(a.level(i)))))
	}
	return room
}

// draw writes the gridlines with their values, and round instants below.
func (a *axes) draw(w *writer) {
	var grid, base pen
	for i := range a.lines + 1 {
		y := a.y(a.step * float64(i))
		line := &grid
		if i == 0 {
			line = &base
		}
		line.do("M", a.left, y)
		line.do("H", a.right)
		w.text("axis", "end", a.left-6, y+4, a.level(i))
	}
	w.path("grid", grid.String())
	w.path("base", base.String())
	a.drawTimes(w)
}

func (a *axes) drawTimes(w *writer) {
	var ticks pen
	before := ""
	for _, at := range a.rounds(int((a.right - a.left) / labelRoom)) {
		x := a.x(at)
		ticks.do("M", x, a.bottom)
		ticks.do("v", 4)
		text := a.label(at)
		if text == before { // the clock shows this time for the second time
			text = at.Format("15:04 MST")
		}
		before = a.label(at)
		w.text("axis", "middle", x, a.bottom+17, text)
	}
	w.path("base", ticks.String())
}

// rounds returns the round instants of the range, at most about the given number.
func (a *axes) rounds(most int) []time.Time {
	seconds := a.to.Sub(a.from).Seconds()
	from, to := a.from.Unix(), a.to.Unix()
	if a.from.Nanosecond() > 0 {
		from++
	}
	for _, step := range []int64{1, 2, 5, 15, 30, 60, 120, 300, 600, 900, 1800, hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour} {
		if seconds <= float64(step)*float64(most) {
			return rounds(from, to, step, a.zone)
		}
	}
	days := midnights(from, to, a.zone)
	for _, step := range []int64{1, 2, 7, 14, 28, 56, 112, 224, 448} {
		if seconds <= float64(step*day)*float64(most) || step == 448 {
			var some []time.Time
			for _, at := range days {
				if (dayOf(at)+3)%step == 0 { // Mondays, if the step is weeks
					some = append(some, at)
				}
			}
			return some
		}
	}
	return nil
}

// label formats an instant of the axis: a midnight as its date, others as their time.
func (a *axes) label(at time.Time) string {
	switch {
	case at.Second() != 0:
		return at.Format("15:04:05")
	case at.Hour() == 0 && at.Minute() == 0 || a.to.Sub(a.from) > 7*24*time.Hour:
		return at.Format("2 Jan")
	}
	return at.Format("15:04")
}

// data returns the attributes that map instants and values to the picture, for the script that draws the crosshair.
func (a *axes) data() []string {
	return []string{
		"data-plot", num(a.left) + " " + num(a.top) + " " + num(a.right) + " " + num(a.bottom),
		"data-from", integer(a.from.UnixMilli()), "data-to", integer(a.to.UnixMilli()),
		"data-height", number(a.height()), "data-unit", a.unit.word(),
	}
}
