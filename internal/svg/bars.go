package svg

import (
	"cmp"
	"html/template"
	"math"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/format"
)

// Bars is a chart of counts in equal periods, such as the occurrences in each 10 minutes of a day or in each hour of a week. The busiest bar is marked,
// or the first of them if there are several.
type Bars struct {
	Title string // the title; it begins the sentence and is the table's caption
	Label string // the sentence; empty: Title, the sum and the busiest bar
	Noun  string // the counted thing, in the singular; empty: occurrence

	From   time.Time     // the beginning of the first bar
	Step   time.Duration // the length of each bar; zero: an hour
	Zone   *time.Location
	Counts []int // at most 400; negative ones count as 0

	Width, Height int // in pixels; zero means 720 and 160
}

const barsMost = 400

// SVG draws the chart.
func (b Bars) SVG() template.HTML {
	counts, busiest := b.counts()
	most := 0.0
	if busiest >= 0 {
		most = counts[busiest]
	}
	a := newAxes(b.From, b.at(len(counts)), b.Zone, Count, most)
	width, height := float64(max(cmp.Or(b.Width, 720), 240)), float64(max(cmp.Or(b.Height, 160), 80))
	a.left, a.top, a.right, a.bottom = a.room(), 2*topRoom+4, width-8, height-bottomRoom

	var w writer
	w.picture("bars", b.sentence(counts, busiest), width, height, append(a.data(), "data-step", integer(b.step().Milliseconds()), "data-v", numbers(counts))...)
	a.draw(&w)
	var plain, marked pen
	pitch := (a.right - a.left) / float64(max(len(counts), 1))
	for i, n := range counts {
		p := &plain
		if i == busiest {
			p = &marked
		}
		if n > 0 {
			top := min(a.y(n), a.bottom-1)
			p.rect(a.left+float64(i)*pitch, top, max(pitch-1, 0.6*pitch), a.bottom-top)
		}
	}
	w.path("bar accent quiet", plain.String())
	w.path("bar accent", marked.String())
	if busiest >= 0 {
		layout := "15:04"
		if a.to.Sub(a.from) > 25*time.Hour {
			layout = "Mon 15:04"
		}
		text := Count.format(most) + " at " + b.at(busiest).In(a.zone).Format(layout)
		x, anchor := a.left+(float64(busiest)+0.5)*pitch, "middle"
		if room := 4 * float64(len(text)); x < a.left+room {
			x, anchor = a.left, "start"
		} else if x > a.right-room {
			x, anchor = a.right, "end"
		}
		w.text("last accent", anchor, x, a.y(most)-6, text)
	} else {
		w.text("note", "middle", (a.left+a.right)/2, (a.top+a.bottom)/2+4, "no "+b.noun()+"s")
	}
	return w.html()
}

// Table has a row for each bar.
func (b Bars) Table() Table {
	t := Table{Caption: b.Title, Header: []string{"From", b.noun() + "s"}}
	counts, _ := b.counts()
	for i, n := range counts {
		t.Rows = append(t.Rows, []string{instant(b.at(i).In(located(b.Zone))), Count.exact(n)})
	}
	return t
}

// counts returns the drawn bars and the index of the busiest one, or -1.
func (b Bars) counts() (counts []float64, busiest int) {
	busiest = -1
	for i, n := range b.Counts[:min(len(b.Counts), barsMost)] {
		v, _ := drawn(float64(n))
		counts = append(counts, v)
		if v > 0 && (busiest < 0 || v > counts[busiest]) {
			busiest = i
		}
	}
	return counts, busiest
}

func (b Bars) at(i int) time.Time { return b.From.Add(time.Duration(i) * b.step()) }

// step returns the length of a bar, limited so that all bars fit into the longest range.
func (b Bars) step() time.Duration {
	step := b.Step
	if step <= 0 {
		step = time.Hour
	}
	return min(step, maxRange/time.Duration(max(1, min(len(b.Counts), barsMost))))
}

func (b Bars) noun() string { return cmp.Or(b.Noun, "occurrence") }

func (b Bars) sentence(counts []float64, busiest int) string {
	if b.Label != "" {
		return b.Label
	}
	var sum float64
	for _, n := range counts {
		sum += n
	}
	from, to := b.From.In(located(b.Zone)), b.at(len(counts)).In(located(b.Zone))
	text := format.Plural(int64(math.Round(sum)), b.noun(), b.noun()+"s") + " from " + instant(from) + " to " + instant(to)
	if busiest >= 0 {
		text += "; most, " + format.Count(int64(counts[busiest])) + ", in the " + format.Span(b.step()) + " from " + instant(b.at(busiest).In(located(b.Zone)))
	}
	return strings.TrimPrefix(b.Title+": "+text+".", ": ")
}
