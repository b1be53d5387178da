package pages

import (
	"slices"
	"time"
	"unicode"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/history"
	"github.com/chimejobs/chime/internal/svg"
)

const (
	hourDays   = 14             // that the map of hours has on each side
	latenessOf = 25 * time.Hour // that the chart of lateness has
	latenessBy = time.Hour / 2  // of which it has the greatest
)

// maps are the heat maps of a schedule: by the hour, and by the day.
func (p *past) maps(zone *time.Location) []render.Chart {
	to := dayBegin(p.now, time.UTC, pastDays+2)
	ahead, until := coming(p.of, p.series, p.now.Add(time.Second), to, maxInstants)
	from := dayBegin(p.now, zone, 1-hourDays)
	if from.Before(p.kept) {
		from = p.kept
	}
	var hours, weeks []svg.Event
	instants, whole := p.instants(from, p.now.Add(time.Second), maxInstants)
	if !whole {
		from, instants = p.now, nil
	}
	for _, at := range instants {
		fate := p.fate(at)
		hours = append(hours, svg.Event{At: at, N: 1, Tone: fate.tone})
		if fate.Run == nil { // else its day has counted it
			weeks = append(weeks, svg.Event{At: at, N: 1, Tone: fate.tone})
		}
	}
	known := p.kept
	for _, day := range p.days {
		if day.Day.Before(known) {
			known = day.Day
		}
		at := day.Day.Add(12 * time.Hour)
		if at.After(p.now) {
			at = p.now // what became of today's before noon is not to come
		}
		for _, b := range becameOf(day) {
			weeks = append(weeks, svg.Event{At: at, N: b.N, Tone: b.tone})
		}
	}
	for _, at := range ahead {
		hours, weeks = append(hours, svg.Event{At: at, N: 1}), append(weeks, svg.Event{At: at, N: 1})
	}
	note := ""
	if until.Before(to) {
		note = "The next " + render.Count(maxInstants) + " are computed; what comes after them is hatched."
	} else if p.of.State != chime.StateLive {
		note = "It is " + string(p.of.State) + ": nothing is to come."
	}
	h := svg.Hours{Title: p.of.Name + ", by the hour", Now: p.now, Zone: zone, From: from, Until: until, Events: hours}
	w := svg.Weeks{Title: p.of.Name + ", by the day", Now: p.now, Zone: time.UTC, From: known, Until: until, Events: weeks}
	return []render.Chart{
		{ID: "hours", Title: "14 days, and the next 14, by the hour", Note: note, SVG: h.SVG(), Table: knownDays(h.Table())},
		{ID: "weeks", Title: "35 days, and the next 35", Note: "Days of UTC.", SVG: w.SVG(), Table: w.Table()},
	}
}

// knownDays leaves out the days of a map of hours of which nothing at all is known: the picture says that, and they are many texts.
func knownDays(t svg.Table) svg.Table {
	t.Rows = slices.DeleteFunc(t.Rows, func(row []string) bool {
		return !slices.ContainsFunc(row[1:], func(cell string) bool { return cell != row[1] || cell == "" || unicode.IsDigit(rune(cell[0])) })
	})
	return t
}

// latenessOfRuns draws how late the runs of the last 25 hours began, as far as they are kept. They come with the newest first; nil: there are none.
func latenessOfRuns(of *chime.Schedule, runs []*chime.RunInfo, now time.Time, zone *time.Location) *render.Chart {
	chart := svg.Lines{Title: "Lateness", From: now.Add(-latenessOf), To: now, Zone: zone, Unit: svg.Seconds, Width: 300}
	series := svg.Series{Name: "late", Tone: svg.Accent}
	for i := len(runs) - 1; i >= 0; i-- {
		late, ok := history.Lateness(of, runs[i])
		if !ok || runs[i].Started.Before(chart.From) {
			continue
		}
		point := svg.Point{At: runs[i].Started, Value: late.Seconds()}
		if n := len(series.Points); n > 0 && series.Points[n-1].At.Truncate(latenessBy).Equal(point.At.Truncate(latenessBy)) {
			series.Points[n-1].Value = max(series.Points[n-1].Value, point.Value)
			continue
		}
		series.Points = append(series.Points, point)
	}
	if len(series.Points) == 0 {
		return nil
	}
	chart.Series = []svg.Series{series}
	return &render.Chart{
		ID: "lateness", Title: "Lateness, 25 h", Note: "The greatest of each half hour.", SVG: chart.SVG(), Table: chart.Table(),
	}
}
