// Package render renders pages as HTML. It does not know the store or the request. It gets a Frame, for the parts around a page, and a model, for its
// content, and returns a page or one of its regions. Templates, styles, scripts, icons and fonts are embedded.
//
// A page has a template of its name in templates/. A live region has a template named page-region. The page's template calls it inside the element that
// has the region's name as its ID. Both templates get a View, so a page and the event that updates a part of it have the same text.
package render

import (
	"bytes"
	"embed"
	"fmt"
	"hash/fnv"
	"html/template"
	"io"
	"strings"

	"github.com/chimejobs/chime/internal/format"
)

//go:embed templates/*.html
var templateFiles embed.FS

var templates = template.Must(template.New("").Option("missingkey=error").Funcs(functions).ParseFS(templateFiles, "templates/*.html"))

// functions are the functions of templates, in addition to the methods of a View.
var functions = template.FuncMap{
	"icon":    icon,
	"segment": Segment, "key": key, "icon_of": iconName,
	"path":   Path,
	"asset":  assetPath,
	"tone":   toneOf,
	"symbol": iconOf,
	"count":  count,
	"plural": plural,
	"n":      mark,
	"rate":   format.Rate,
	"took":   format.Span,
	"exact":  format.Exact,
}

// A View is the data of a template. In the templates of a page and its regions it is both the dot and $, so {{$.At .Next}} in a range shows a time in
// the page's zone.
type View struct {
	*Frame
	Model any
}

// With returns the view of a part of the model, for a template that another one calls: {{template "row" ($.With .)}}.
func (v View) With(model any) View { return View{v.Frame, model} }

// scripts are the scripts that only one page has, by the name of its template.
var scripts = map[string]string{"calendar": "chart.js", "editor": "preview.js", "failure": "find.js", "failures": "find.js", "jobs": "find.js", "kind": "chart.js", "overview": "chart.js", "queue": "chart.js", "schedule": "chart.js"}

// key returns a hash of a text, for the ID of a row: rows with an ID keep the focus when a list changes.
func key(text string) string {
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, text)
	return fmt.Sprintf("%x", hash.Sum64())
}

// Page writes a whole page: the frame with the template of the name inside.
func Page(w io.Writer, name string, frame *Frame, model any) error {
	whole := *frame
	whole.Script = scripts[name]
	view := View{&whole, model}
	body, err := execute(name, view)
	if err != nil {
		return err
	}
	frameText, err := execute("frame", view.With(template.HTML(body))) // html/template has already escaped it
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

// Region returns the inner HTML of a page's region, and a hash of it. The hash does not depend on relative times, because the browser updates these
// itself.
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

// relative is in the start tag of a relative time. Data cannot contain it, because their quotes are escaped.
const relative = ` data-show="rel"`

// hashOf hashes a text without the contents of relative times.
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
