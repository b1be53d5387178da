package svg

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/format"
)

// Ticks shows the last runs of a schedule in a row of a list, with one mark each. Marks of different colours also differ in height and form.
type Ticks struct {
	Title string // the name of the schedule; it begins the sentence and is the table's caption
	Label string // the sentence; empty: Title and the outcomes in order

	Runs []Tick // oldest first; only the last 20 are shown
	Zone *time.Location
}

// A Tick is a run.
type Tick struct {
	At   time.Time
	Tone Tone
	Word string // the outcome, such as "dead"; empty: the tone's word
}

const (
	ticksMost  = 20
	tickPitch  = 6
	tickWidth  = 4
	tickHeight = 16
)

// SVG draws the marks. The newest is at the right end. With fewer than 20 marks, the left part of the row is empty.
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

// tick draws a mark with the form of its tone: a failure is taller, a run that did not happen is hollow, a dropped one is a dot.
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

// sentence lists the outcomes. Equal consecutive outcomes are given as a number.
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
		text = "last " + format.Plural(len(runs), "run", "runs") + ", the oldest first: " + strings.Join(parts, ", ") + "."
	}
	return strings.TrimPrefix(t.Title+": "+text, ": ")
}
