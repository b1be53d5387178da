package svg

import (
	_ "embed"
	"html/template"
	"strings"
)

// CSS has a rule for every class that the charts of pages write: all but timelines and shares. Colours come from the tokens of the page: --ink, --ink-2,
// --panel, --line, --edge, --accent, --ok, --run, --late, --fail, --paused, --off.
//
//go:embed chart.css
var CSS string

// timelineCSS has the rules for classes that only timelines and shares write. [File] adds it.
//
//go:embed timeline.css
var timelineCSS string

// File returns a chart as a separate picture that contains CSS and the tokens. It is for documentation, whose pages do not have our style sheet.
func File(chart template.HTML, tokens string) []byte {
	before, after, found := strings.Cut(string(chart), ">")
	if !found {
		return nil
	}
	return []byte(before + "><style>" + strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(tokens+CSS+timelineCSS) + "</style>" + after + "\n")
}
