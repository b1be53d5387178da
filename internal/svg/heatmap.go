package svg

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/format"
)

// A HeatMap shows the past and future occurrences of a schedule: by the hour as [Hours], by the day as [Weeks], which have the same fields. The colour
// of a cell is its worst outcome, and its depth is the number of occurrences.
type HeatMap struct {
	Title string // the name of the schedule; it begins the sentence and is the table's caption
	Label string // the sentence; empty: Title and the counts
	Noun  string // the counted thing, in the singular; empty: run

	Now        time.Time
	Zone       *time.Location // the zone of the days and hours; nil: UTC
	Past, Next int            // days before tomorrow and from tomorrow on, at most 92; zero means 14 and 14 of Hours, 35 and 35 of Weeks

	// Events is complete from From to Until. The time before and after is marked as unknown, and never shown as if nothing ran.
	// Zero: everything is known.
	From, Until time.Time

	Events []Event
}

// An Event is a past or planned occurrence at an instant. Events of one cell are added, so a caller may have one for each run or for each hour.
type Event struct {
	At   time.Time
	N    int  // the count; below 1: no event
	Tone Tone // the worst outcome; ignored for future events
}

// A cell is an existing hour or day. An hour that a clock shows twice has two cells.
type cell struct {
	from, to int64 // Unix seconds
	past     int64 // events until now
	next     int64 // future events
	worst    Tone  // of the past events
	look     look
}

// A look is the way to draw a cell.
type look uint8

const (
	blank   look = iota // in the future, with nothing planned
	unknown             // not kept, or not computed
	ran                 // by the worst tone and by number
	coming              // planned
	skipped             // the clock skipped it
)

// A cellGrid has the cells of the shown days, by day and then by hour. Weeks have one "hour".
type cellGrid struct {
	first, today, last int64 // numbers of days
	cells              map[[2]int64][]cell
	most               int64 // the greatest number in one cell
	zone               *time.Location
}

const eventMost = 1e12 // so that sums do not overflow

// grid counts the events into cells. rows is 24 for hours, 1 for days.
func (h HeatMap) grid(past, next int, rows int64) cellGrid {
	zone := located(h.Zone)
	g := cellGrid{today: dayOf(h.Now.In(zone)), cells: map[[2]int64][]cell{}, zone: zone}
	g.first, g.last = g.today-int64(days(h.Past, past))+1, g.today+int64(days(h.Next, next))
	length := day / rows
	// A zone's day begins and ends less than two days from UTC's.
	for _, s := range spans((g.first-2)*day, (g.last+3)*day, zone) {
		for at := s.from; at < s.to; {
			shown := floor(at+s.offset, length)
			end := min((shown+1)*length-s.offset, s.to)
			if d := floor(shown, rows); d >= g.first && d <= g.last {
				g.add([2]int64{d, shown - d*rows}, cell{from: at, to: end}, rows == 1)
			}
			at = end
		}
	}
	for _, e := range h.Events {
		g.count(e, h.Now, rows)
	}
	for _, cells := range g.cells {
		for i := range cells {
			cells[i].look = h.look(&cells[i])
			g.most = max(g.most, cells[i].past, cells[i].next)
		}
	}
	return g
}

func days(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return min(n, 92)
}

// add adds a cell. whole: it joins the parts that a clock change has split.
func (g *cellGrid) add(at [2]int64, c cell, whole bool) {
	if cells := g.cells[at]; whole && len(cells) > 0 {
		cells[0].to = c.to
		return
	}
	g.cells[at] = append(g.cells[at], c)
}

func (g *cellGrid) count(e Event, now time.Time, rows int64) {
	if e.N < 1 {
		return
	}
	shown := e.At.In(g.zone)
	at := [2]int64{dayOf(shown), 0}
	if rows > 1 {
		at[1] = int64(shown.Hour())
	}
	cells := g.cells[at]
	for i := range cells {
		c := &cells[i]
		if seconds := e.At.Unix(); rows > 1 && (seconds < c.from || seconds >= c.to) {
			continue
		}
		if e.At.After(now) {
			c.next = min(c.next+int64(e.N), eventMost)
		} else {
			c.past, c.worst = min(c.past+int64(e.N), eventMost), max(c.worst, e.Tone.known())
		}
		return
	}
}

func (h HeatMap) look(c *cell) look {
	from, to, now := time.Unix(c.from, 0), time.Unix(c.to, 0), h.Now
	switch {
	case c.past > 0:
		return ran
	case c.next > 0:
		return coming
	case !h.From.IsZero() && from.Before(h.From) && !from.After(now), !h.Until.IsZero() && to.After(h.Until) && to.After(now):
		return unknown
	case from.After(now):
		return blank
	}
	return ran
}

// words returns the text of cells in a table.
func (g *cellGrid) words(at [2]int64) string {
	cells := g.cells[at]
	if len(cells) == 0 {
		return "not on the clock"
	}
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = c.words()
	}
	return strings.Join(texts, " | ")
}

func (c *cell) words() string {
	switch c.look {
	case unknown:
		return "not known"
	case blank:
		return "0"
	case coming:
		return format.Count(c.next) + " to come"
	}
	text := format.Count(c.past)
	if c.worst > OK {
		text += ", " + c.worst.word()
	}
	if c.next > 0 {
		text += ", " + format.Count(c.next) + " to come"
	}
	return text
}

// level returns the depth of a number: 0 for none, 1 to 6 by its size relative to the largest one.
func (g *cellGrid) level(n int64) int {
	if n <= 0 {
		return 0
	}
	const least = 16 // number for the deepest level
	return 1 + min(5, int(math.Round(5*math.Log(float64(n))/math.Log(float64(max(g.most, least))))))
}

// sentence describes the map in numbers. each is the name of a cell.
func (h HeatMap) sentence(g *cellGrid, each string) string {
	if h.Label != "" {
		return h.Label
	}
	noun := h.Noun
	if noun == "" {
		noun = "run"
	}
	var past, next, failed, missed, unknowns int64
	for _, cells := range g.cells {
		for _, c := range cells {
			past, next = past+c.past, next+c.next
			switch {
			case c.look == unknown:
				unknowns++
			case c.worst == Fail:
				failed++
			case c.worst == Missed:
				missed++
			}
		}
	}
	text := fmt.Sprintf("%s by %s from %s to %s, %s: %s until now", noun+"s", each,
		date(g.first).Format("2 Jan"), date(g.last).Format("2 Jan"), g.zone, format.Count(past))
	for _, part := range []struct {
		n    int64
		text string
	}{{failed, " with failures"}, {missed, " with missed ones"}, {unknowns, " of which nothing is known"}} {
		if part.n > 0 {
			text += ", " + format.Plural(part.n, each, each+"s") + part.text
		}
	}
	text += "; " + format.Count(next) + " to come."
	return strings.TrimPrefix(h.Title+": "+text, ": ")
}
