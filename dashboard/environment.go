package dashboard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chimejobs/chime/dashboard/internal/render"
)

// An Environment is the system whose store the pages show, such as production or a laptop. Its name and its colour are at the top of each page, and in the
// title and the icon of the browser's tab, so that nobody takes one system for another.
type Environment struct {
	Name  string // such as "production"; empty: none
	Color Color  // of the name; empty: grey
}

// A Color is the colour of an environment.
type Color string

// The colours. Each has enough contrast in the light and in the dark theme.
const (
	Red    Color = "red"
	Orange Color = "orange"
	Green  Color = "green"
	Blue   Color = "blue"
	Violet Color = "violet"
	Grey   Color = "grey"
)

var colors = []Color{"", Red, Orange, Green, Blue, Violet, Grey}

// checkPlace panics if the colour is unknown, or if a link leads nowhere.
func (o *Options) checkPlace() {
	if !slices.Contains(colors, o.Environment.Color) {
		panic(fmt.Sprintf("dashboard: Options.Environment has the colour %q, want one of red, orange, green, blue, violet and grey", o.Environment.Color))
	}
	for _, link := range o.Elsewhere {
		if link.Text == "" || link.URL == "" || strings.Contains(link.URL, ":") && !strings.HasPrefix(link.URL, "http://") && !strings.HasPrefix(link.URL, "https://") {
			panic(fmt.Sprintf("dashboard: Options.Elsewhere has %+v, want a text and a relative, http or https URL", link))
		}
	}
}

// place fills in what the frame shows of the environment and of other dashboards.
func (o *Options) place(f *render.Frame) {
	f.Environment, f.Color = o.Environment.Name, string(o.Environment.Color)
	if f.Environment != "" && f.Color == "" {
		f.Color = string(Grey)
	}
	for _, link := range o.Elsewhere {
		f.Elsewhere = append(f.Elsewhere, render.Pair{Name: link.Text, Value: link.URL})
	}
}
