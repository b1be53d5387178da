package svg

import (
	_ "embed"
	"html/template"
	"strings"
)

// CSS has a rule for every class that the charts of pages write: all but timelines. Colours come from the tokens of the page: --ink, --ink-2, --panel, --line, --edge,
// --accent, --ok, --run, --late, --fail, --paused, --off.
//
//go:embed chart.css
var CSS string

// timelineCSS has the rules of what only timelines write; [File] adds it.
//
//go:embed timeline.css
var timelineCSS string

// File returns a chart as a picture of its own, with CSS and the tokens in it: for documentation, whose pages have no style sheet of ours.
func File(chart template.HTML, tokens string) []byte {
	before, after, found := strings.Cut(string(chart), ">")
	if !found {
		return nil
	}
	return []byte(before + "><style>" + strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(tokens+CSS+timelineCSS) + "</style>" + after + "\n")
}
