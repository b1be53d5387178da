// Package render turns what a page shows into HTML. It knows no store and no request: a Frame, what is around a page, and a model, what is in it,
// come in; a page, or one of its regions, comes out. Templates, styles, scripts, icons and fonts are embedded.
//
// A page has a template of its name in templates/; a region that changes while the page is open has one called page-region, which the page's template
// calls inside the element with the region's name as its ID. Both get a View, so that a page and the event that renews a part of it are one text.
package render

import (
	"bytes"
	"embed"
	"fmt"
	"hash/fnv"
	"html/template"
	"io"
	"strings"
)

//go:embed templates/*.html
var templateFiles embed.FS

var templates = template.Must(template.New("").Option("missingkey=error").Funcs(functions).ParseFS(templateFiles, "templates/*.html"))

// functions are what templates have besides the methods of a View.
var functions = template.FuncMap{
	"icon":    icon,
	"segment": Segment,
	"path":    Path,
	"asset":   assetPath,
	"tone":    toneOf,
	"symbol":  iconOf,
	"count":   count,
	"plural":  plural,
	"rate":    Rate,
	"took":    Took,
}

// A View is what a template gets. In a page's template and in those of its regions it is both the dot and $, so that in a range {{$.At .Next}} shows
// a time in the page's zone.
type View struct {
	*Frame
	Model any
}

// With is the view of a part of the model, for a template that another calls: {{template "row" ($.With .)}}.
func (v View) With(model any) View { return View{v.Frame, model} }

// scripts are those that a page alone has, by the name of its template.
var scripts = map[string]string{"calendar": "chart.js", "editor": "preview.js", "overview": "chart.js", "queue": "chart.js", "schedule": "chart.js"}

// Page writes a whole page: the frame, and in it the template of the name.
func Page(w io.Writer, name string, frame *Frame, model any) error {
	whole := *frame
	whole.Script = scripts[name]
	view := View{&whole, model}
	body, err := execute(name, view)
	if err != nil {
		return err
	}
	frameText, err := execute("frame", view.With(template.HTML(body))) // what html/template has escaped already
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, frameText)
	return err
}

// Part writes the template of the name without the frame, for a script that shows it on another page.
func Part(w io.Writer, name string, frame *Frame, model any) error {
	body, err := execute(name, View{frame, model})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, body)
	return err
}

// Region returns the inside of a page's region, and a hash of it: two that differ only in how long ago or how soon something is have the same,
// since the browser counts that itself.
func Region(page, region string, frame *Frame, model any) (html string, hash uint64, err error) {
	html, err = execute(page+"-"+region, View{frame, model})
	if err != nil {
		return "", 0, err
	}
	return html, hashOf(html), nil
}

func execute(name string, view View) (string, error) {
	var text bytes.Buffer
	if err := templates.ExecuteTemplate(&text, name, view); err != nil {
		return "", fmt.Errorf("dashboard: render %q: %w", name, err)
	}
	return visible(text.String()), nil
}

// relative is in the start tag of a time that says how far away it is. Data cannot contain it: their quotes are escaped.
const relative = ` data-show="rel"`

// hashOf hashes a text without what is inside relative times.
func hashOf(html string) uint64 {
	hash := fnv.New64a()
	for {
		before, after, found := strings.Cut(html, relative)
		io.WriteString(hash, before)
		if !found {
			return hash.Sum64()
		}
		tag, inside, _ := strings.Cut(after, ">")
		io.WriteString(hash, relative+tag)
		_, html, _ = strings.Cut(inside, "</time>")
	}
}
