package render

import (
	"html/template"

	"github.com/chimejobs/chime/internal/svg"
)

// These are the models of templates/components.html, each of the template of its name in lower case: {{template "pager" ($.With .Model.Pager)}}.
// The template "state" takes whatever has a Word and a Sentence: {{template "state" .State}}.

// An Empty stands where a list has nothing, with the line that makes the first one.
type Empty struct {
	Text string
	Line string // to be typed or written; "" has none
	Href string // where it can be done here; "" is nowhere
	Do   string // what the link says
}

// A Pager leads to the pages before and after a part of a list. Their links are those of Frame.Here; "" has none.
type Pager struct {
	Newer, Older string
	Note         string // such as "50 of 12,403"
}

// A Tab is one of several lists of a page, or of several filters of a list.
type Tab struct {
	Name   string
	Href   string
	Count  string // "" is not shown
	Active bool
}

// Bulk are the buttons for the ticked rows of a list, in the form that is around it. Their form field is verb.
type Bulk struct {
	Path  string // that the form is sent to: "schedules/bulk"
	Noun  string // of what is ticked, in the plural
	Verbs []Verb
	All   string // "all 12,403 that match", which sends all=1 instead of the ticked; "" is not offered
}

// A Verb is something to be done.
type Verb struct {
	Name     string // the form's value, or the last part of the path
	Text     string
	Icon     string
	Destroys bool
}

// More is a menu of what is done seldom. Each verb is a form of its own, which asks first.
type More struct {
	Path  string // of the page that it is about: the verb is the last part
	Verbs []Verb
}

// A Chart is a picture with a heading and the same data as a table: what SVG and Table of a chart of internal/svg return.
type Chart struct {
	ID    string // of the element; one of its own on the page
	Title string
	Note  string // such as "p50 1, p99 3 ms"; "" has none
	SVG   template.HTML
	Table svg.Table
}

// A Fact is a name and a value of a list of them. The value is text, or what a method of Frame has returned.
type Fact struct {
	Name  string
	Value any
	Note  string
}

// An Ask is a question before something is done: the model of the template "ask".
type Ask struct {
	Title    string
	Text     string   // what will happen, in a sentence
	Warning  string   // what cannot be undone; "" is nothing
	Examples []string // some of what it will happen to
	More     int      // how many more than the examples
	Post     string   // where the answer goes: the path and the verb, as Frame.Action gives it
	Hidden   []Pair   // what the form has besides; sure=1 is always in it
	Fields   []Field
	Do       string // what the button says
	Destroys bool
	Cancel   string // the link back
}

// A Field is one that is asked for.
type Field struct {
	Name, Label, Value, Hint string
	Kind                     string // text, number, textarea, or select
	Placeholder              string // an example; it has to say something in a field that has For
	For                      string // the field matters for this frequency alone: week, month, or year for both; it hides while it is empty and another one is chosen
	Choices                  []Pair // of a select: values with what they are called
	Required                 bool
	Exactly                  string // what has to be typed, word for word; "" is anything
	Error                    string // what is wrong with the value; "" is nothing
}

// A Failure is the model of the template "error".
type Failure struct {
	Status int
	Text   string // what is wrong
	Do     string // what to do next
	Links  []Lead // where to look instead
}

// A Lead is a link to a page, with a name and a value of its query; an empty Name is none.
type Lead struct{ Text, Path, Name, Is string }
