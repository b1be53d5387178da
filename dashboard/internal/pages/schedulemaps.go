package pages

import (
	"slices"
	"time"
	"unicode"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/history"
	"github.com/chimejobs/chime/internal/svg"
)

const (
	hourDays   = 14             // number of days on each side of the map of hours
	latenessOf = 25 * time.Hour // length of the chart of lateness
	latenessBy = time.Hour / 2  // the chart shows the maximum of each such period
)

// maps returns the heat maps of a schedule: by the hour and by the day.
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
	// Days whose runs are all kept have their occurrences. Of earlier days only counts are known, and these count each failed attempt.
	whole = whole && from.Before(p.now)
	isKept := func(day time.Time) bool { return whole && !day.Before(from) }
	for _, at := range instants {
		fate := p.fate(at)
		hours = append(hours, svg.Event{At: at, N: 1, Tone: fate.tone})
		if fate.Run == nil || isKept(at.UTC().Truncate(24*time.Hour)) { // otherwise it is in the counts of its day
			weeks = append(weeks, svg.Event{At: at, N: 1, Tone: fate.tone})
		}
	}
	known, attempts := p.kept, false
	for _, day := range p.days {
		if day.Day.Before(known) {
			known = day.Day
		}
		at := day.Day.Add(12 * time.Hour)
		if at.After(p.now) {
			at = p.now // today's past occurrences before noon are not future ones
		}
		if isKept(day.Day) {
			continue
		}
		attempts = attempts || day.Failed > 0
		for _, b := range becameOf(day) {
			weeks = append(weeks, svg.Event{At: at, N: b.N, Tone: b.tone})
		}
	}
	for _, at := range ahead {
		hours, weeks = append(hours, svg.Event{At: at, N: 1}), append(weeks, svg.Event{At: at, N: 1})
	}
	note := ""
	if until.Before(to) {
		note = "The next " + format.Count(maxInstants) + " are computed; the time after them is hatched."
	} else if p.of.State != chime.StateLive {
		note = "It is " + string(p.of.State) + ": it has no further occurrences."
	}
	days := "Days of UTC."
	if attempts {
		days = "Days of UTC. On days whose runs are not all kept, each failed attempt counts."
	}
	h := svg.Hours{Title: p.of.Name + ", by the hour", Now: p.now, Zone: zone, From: from, Until: until, Events: hours}
	w := svg.Weeks{Title: p.of.Name + ", by the day", Now: p.now, Zone: time.UTC, From: known, Until: until, Events: weeks}
	return []render.Chart{
		{ID: "hours", Title: "14 days, and the next 14, by the hour", Note: note, SVG: h.SVG(), Table: knownDays(h.Table())},
		{ID: "weeks", Title: "35 days, and the next 35", Note: days, SVG: w.SVG(), Table: w.Table()},
	}
}

// knownDays removes the days without any data from the table of a map of hours. The picture shows them, and they would be many rows.
func knownDays(t svg.Table) svg.Table {
	t.Rows = slices.DeleteFunc(t.Rows, func(row []string) bool {
		return !slices.ContainsFunc(row[1:], func(cell string) bool { return cell != row[1] || cell == "" || unicode.IsDigit(rune(cell[0])) })
	})
	return t
}

// latenessOfRuns draws the lateness of the kept runs of the last 25 hours. Runs are ordered newest first. It returns nil if there are no runs.
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
		ID: "lateness", Title: "Lateness, 25 h", Note: "The maximum of each half hour.", SVG: chart.SVG(), Table: chart.Table(),
	}
}
