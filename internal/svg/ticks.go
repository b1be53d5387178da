package svg

import (
	"fmt"
	"html/template"
	"strings"
	"time"
)

// Ticks are the last runs of a schedule, one mark each, in a row of a list. Height and form differ as the colours do.
type Ticks struct {
	Title string // whose runs they are; it begins the sentence and is the table's caption
	Label string // the sentence; empty: composed of Title and the outcomes in their order

	Runs []Tick // the oldest first; of more than 20 the last
	Zone *time.Location
}

// A Tick is a run.
type Tick struct {
	At   time.Time
	Tone Tone
	Word string // how it ended, as in "dead"; empty: the tone's word
}

const (
	ticksMost  = 20
	tickPitch  = 6
	tickWidth  = 4
	tickHeight = 16
)

// SVG draws the marks. Where there are fewer than 20, the rest of the row is empty on the left: the newest stands at the end.
func (t Ticks) SVG() template.HTML {
	runs := t.shown()
	var w writer
	var l layers
	w.picture("ticks", t.sentence(), ticksMost*tickPitch, tickHeight)
	for i, run := range runs {
		run.Tone.tick(&l, float64((ticksMost-len(runs)+i)*tickPitch)+1)
	}
	l.draw(&w)
	return w.html()
}

// tick draws a mark whose form says the tone: what failed stands out above and below, what did not run is hollow, what was dropped is a dot.
func (t Tone) tick(l *layers, x float64) {
	p := l.pen("bar " + t.class())
	switch t {
	case Fail:
		p.rect(x, 0, tickWidth, tickHeight)
	case Late:
		p.rect(x, 3, tickWidth, 4)
		p.rect(x, 9, tickWidth, 4)
	case Missed, Run:
		l.pen("frame "+t.class()).rect(x+0.5, 3.5, tickWidth-1, tickHeight-7)
	case Off, Paused:
		p.rect(x, tickHeight/2-2, tickWidth, 4)
	default:
		p.rect(x, 3, tickWidth, tickHeight-6)
	}
}

// Table has a row for each run.
func (t Ticks) Table() Table {
	table := Table{Caption: t.Title, Header: []string{"Run", "Outcome"}}
	for _, run := range t.shown() {
		table.Rows = append(table.Rows, []string{instant(run.At.In(located(t.Zone))), run.word()})
	}
	return table
}

func (t Ticks) shown() []Tick { return t.Runs[max(0, len(t.Runs)-ticksMost):] }

func (t Tick) word() string {
	if t.Word != "" {
		return t.Word
	}
	return t.Tone.word()
}

// sentence says each outcome, those that follow each other and are the same by their number.
func (t Ticks) sentence() string {
	if t.Label != "" {
		return t.Label
	}
	runs := t.shown()
	var parts []string
	for i := 0; i < len(runs); {
		n := 1
		for i+n < len(runs) && runs[i+n].word() == runs[i].word() {
			n++
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, runs[i].word()))
		i += n
	}
	text := "no runs yet."
	if len(parts) > 0 {
		text = "last " + plural(int64(len(runs)), "run") + ", the oldest first: " + strings.Join(parts, ", ") + "."
	}
	return strings.TrimPrefix(t.Title+": "+text, ": ")
}
