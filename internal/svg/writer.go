package svg

import (
	"bytes"
	"cmp"
	"html/template"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// A writer writes elements. Every name of an element or an attribute is a constant of this package, and every value and text is escaped. So the result
// is safe in a page for any data.
type writer struct {
	buf  bytes.Buffer
	open []string // elements that are not closed yet
}

// picture begins a chart of a size in pixels: an image with a sentence for screen readers.
func (w *writer) picture(class, label string, width, height float64, attrs ...string) {
	w.start("svg", append([]string{
		"xmlns", "http://www.w3.org/2000/svg", "class", "chart " + class, "role", "img", "aria-label", label,
		"width", num(width), "height", num(height), "viewBox", "0 0 " + num(width) + " " + num(height), "font-size", "12",
	}, attrs...)...)
}

// sheet begins a picture of its own: a sheet with a title. Its label for screen readers is the title, unless it has another one.
func (w *writer) sheet(class, title, label string, width, height float64) {
	w.picture(class, cmp.Or(label, title), width, height)
	var sheet pen
	sheet.rect(0.5, 0.5, width-1, height-1)
	w.path("sheet", sheet.String())
	w.text("title", "start", 18, 28, title)
}

// html closes the open elements and returns the markup.
func (w *writer) html() template.HTML {
	for len(w.open) > 0 {
		w.end()
	}
	return template.HTML(w.buf.String()) // element and text have escaped it
}

// start begins an element. attributes has names and values alternately.
func (w *writer) start(name string, attrs ...string) {
	w.element(name, attrs)
	w.buf.WriteByte('>')
	w.open = append(w.open, name)
}

// end closes the element that was started last.
func (w *writer) end() {
	last := len(w.open) - 1
	w.buf.WriteString("</" + w.open[last] + ">")
	w.open = w.open[:last]
}

// leaf writes an element without content.
func (w *writer) leaf(name string, attrs ...string) {
	w.element(name, attrs)
	w.buf.WriteString("/>")
}

// path draws a path. It leaves out an empty one.
func (w *writer) path(class, d string) {
	if d != "" {
		w.leaf("path", "class", class, "d", d)
	}
}

// text writes a text at a place; anchor is start, middle or end.
func (w *writer) text(class, anchor string, x, y float64, text string) {
	w.element("text", []string{"class", class, "text-anchor", anchor, "x", num(x), "y", num(y)})
	w.buf.WriteString(">" + escape(text) + "</text>")
}

func (w *writer) element(name string, attrs []string) {
	w.buf.WriteString("<" + name)
	for i := 0; i+1 < len(attrs); i += 2 {
		if attrs[i] == "text-anchor" && attrs[i+1] == "start" {
			continue // the value without it
		}
		w.buf.WriteString(" " + attrs[i] + `="` + escape(attrs[i+1]) + `"`)
	}
}

// escape escapes s for a text or a quoted value. Characters that XML does not allow, control characters and characters that change the direction of a
// text become U+FFFD.
func escape(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&#34;")
		case r == '\'':
			b.WriteString("&#39;")
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r&0xFFFE == 0xFFFE:
			b.WriteRune(unicode.ReplacementChar)
		default:
			b.WriteRune(r) // a byte that is not UTF-8 becomes U+FFFD
		}
	}
	return b.String()
}

// plain reports whether s is printable ASCII without special characters of markup, as coordinates are.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '&' || c == '<' || c == '>' || c == '"' || c == '\'' {
			return false
		}
	}
	return true
}

// num formats a coordinate, to a tenth of a pixel.
func num(v float64) string {
	v = math.Round(v*10) / 10
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return "0"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// A pen collects the commands of a path.
type pen struct{ strings.Builder }

// do adds a command: M, L, h, v, l, z.
func (p *pen) do(command string, at ...float64) {
	p.WriteString(command)
	for i, v := range at {
		text := num(v)
		if i > 0 && text[0] != '-' {
			p.WriteByte(' ')
		}
		p.WriteString(text)
	}
}

// rect adds a rectangle.
func (p *pen) rect(x, y, width, height float64) {
	p.do("M", x, y)
	p.do("h", width)
	p.do("v", height)
	p.do("h", -width)
	p.do("z")
}

// dot adds a circle.
func (p *pen) dot(x, y, r float64) {
	p.do("M", x-r, y)
	p.do("a", r, r, 0, 1, 0, 2*r, 0)
	p.do("a", r, r, 0, 1, 0, -2*r, 0)
}

// hatch adds diagonals through a rectangle at a distance from each other.
func (p *pen) hatch(x, y, width, height, apart float64) {
	for c := apart; c < width+height; c += apart {
		p.do("M", x+max(0, c-height), y+min(c, height))
		p.do("L", x+min(c, width), y+max(0, c-width))
	}
}

// Layers are paths by class, drawn in the order in which the classes first occur. Many shapes of one look are one element.
type layers struct {
	classes []string
	pens    map[string]*pen
}

func (l *layers) pen(class string) *pen {
	if l.pens == nil {
		l.pens = map[string]*pen{}
	}
	if l.pens[class] == nil {
		l.classes = append(l.classes, class)
		l.pens[class] = &pen{}
	}
	return l.pens[class]
}

func (l *layers) draw(w *writer) {
	for _, class := range l.classes {
		w.path(class, l.pens[class].String())
	}
}
