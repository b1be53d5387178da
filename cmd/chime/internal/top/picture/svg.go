package main

import (
	"bytes"
	"fmt"
	"html"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Sizes in pixels, at a scale of 1.
const (
	cellWidth  = 7.8
	cellHeight = 17
	margin     = 14
	baseline   = 12.5 // from a line's top
)

const style = `text{font:13px "JetBrains Mono",ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e8ebed;white-space:pre}` +
	`.b{font-weight:650}.f{fill:#a2adb5}.g{fill:#5cc98a}.r{fill:#62b5f2}.l{fill:#f0b14a}.x{fill:#ff8078}.p{fill:#c3a6f2}`

// classes are the CSS classes of the screen's paints.
var classes = map[string]string{"": "", "0": "", "1": "b", "2": "f", "31": "x", "32": "g", "33": "l", "34": "r", "35": "p"}

// A run is a text with one paint.
type run struct {
	at    int // the column of its first cell
	text  string
	class string
}

// draw draws a screen.
func draw(title, screen string) []byte {
	all := strings.Split(screen, "\n")
	columns := 0
	for _, line := range all {
		columns = max(columns, ansi.StringWidth(line))
	}
	width, height := int(float64(columns)*cellWidth)+2*margin, len(all)*cellHeight+2*margin
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img"><title>%s</title><style>%s</style>`,
		width, height, width, height, html.EscapeString(title), style)
	fmt.Fprintf(&b, "\n"+`<rect width="%d" height="%d" rx="8" fill="#0f1214"/>`, width, height)
	for row, line := range all {
		for _, r := range runs(line) {
			class := ""
			if r.class != "" {
				class = fmt.Sprintf(` class="%s"`, r.class)
			}
			// the length keeps columns aligned with any font
			fmt.Fprintf(&b, "\n"+`<text x="%.1f" y="%.1f" textLength="%.1f" lengthAdjust="spacingAndGlyphs"%s>%s</text>`, margin+float64(r.at)*cellWidth,
				margin+float64(row)*cellHeight+baseline, float64(ansi.StringWidth(r.text))*cellWidth, class, html.EscapeString(r.text))
		}
	}
	b.WriteString("\n</svg>\n")
	return b.Bytes()
}

// runs splits a line where its paint changes, and at two spaces.
func runs(line string) (all []run) {
	at, class := 0, ""
	for i, part := range strings.Split(line, "\x1b[") {
		if i > 0 {
			code, rest, _ := strings.Cut(part, "m")
			known := false
			if class, known = classes[code]; !known {
				panic("the screen paints with " + code)
			}
			part = rest
		}
		for part != "" {
			text, rest, cut := strings.Cut(part, "  ")
			if trimmed := strings.TrimLeft(text, " "); strings.TrimSpace(trimmed) != "" {
				all = append(all, run{at + len(text) - len(trimmed), strings.TrimRight(trimmed, " "), class})
			}
			at += ansi.StringWidth(text)
			if cut {
				at += 2
			}
			part = rest
		}
	}
	return all
}
