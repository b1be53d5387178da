package render

import (
	"html/template"
	"strings"

	"github.com/chimejobs/chime/internal/svg"
)

// These are the models of templates/components.html. Each belongs to the template of its name in lower case: {{template "pager" ($.With .Model.Pager)}}.
// The template "state" takes any value with a Word and a Sentence: {{template "state" .State}}.

// An Empty is shown in place of an empty list. It may have a line that creates the first entry.
type Empty struct {
	Text string
	Line string // a command or code; "": none
	Href string // a page that can do it; "": none
	Do   string // the text of the link
}

// A Pager links to the previous and the next page of a list. The links come from Frame.Here; "": no link.
type Pager struct {
	Newer, Older string
	Note         string // such as "50 of 12,403"
}

// A Tab selects one list of a page, or one filter of a list.
type Tab struct {
	Name   string
	Href   string
	Count  string // "": not shown
	Active bool
}

// Bulk has the buttons for the ticked rows of a list. They belong to the form around the list, and their form field is verb.
type Bulk struct {
	Path  string // the path to which the form is sent: "schedules/bulk"
	Noun  string // the plural noun for the rows
	Verbs []Verb
	All   string // "all 12,403 that match", which sends all=1 instead of the ticked rows; "": not offered
}

// A Verb is a button for an action.
type Verb struct {
	Name     string // the form's value, or the last part of the path
	Text     string
	Icon     string
	Destroys bool
}

// More is a menu of less common actions. Each verb has its own form, which first asks for confirmation.
type More struct {
	Path  string // the path of the page; the verb is added as the last part
	Verbs []Verb
}

// A Chart is a picture with a heading and the same data as a table. Both come from a chart of internal/svg.
type Chart struct {
	ID    string // ID of the element, unique on the page
	Title string
	Note  string // such as "p50 1, p99 3 ms"; "": none
	SVG   template.HTML
	Table svg.Table
}

// A Fact is a name and a value in a list. The value is a text or the result of a method of Frame.
type Fact struct {
	Name  string
	Value any
	Note  string
}

// An Ask asks for confirmation before an action. It is the model of the template "ask".
type Ask struct {
	Title    string
	Text     string   // what will happen, in a sentence
	Warning  string   // a warning if it cannot be undone; "": none
	Examples []string // some of the affected names
	More     int      // number of others
	Post     string   // address of the form, from Frame.Action
	Hidden   []Pair   // further fields of the form, in addition to sure=1
	Fields   []Field
	Do       string // the text of the button
	Destroys bool
	Cancel   string // address of the link back
}

// Dismiss is the text of the link back. It is not Cancel if the action cancels something.
func (a Ask) Dismiss() string {
	if strings.HasPrefix(a.Do, "Cancel") {
		return "Back"
	}
	return "Cancel"
}

// A Field is an input field of a form.
type Field struct {
	Name, Label, Value, Hint string
	Kind                     string // text, number, textarea, or select
	Placeholder              string // an example; required in a field that has For
	For                      string // the only frequency for which the field matters: week, month, or year for both; an empty field is hidden for other frequencies
	Choices                  []Pair // of a select: values with their labels
	Required                 bool
	Exactly                  string // the exact text to type; "": any text
	Error                    string // the error of the value; "": none
}

// A Failure is the model of the template "error".
type Failure struct {
	Status int
	Text   string // what is wrong
	Do     string // what to do next
	Links  []Lead // links to other pages
}

// A Lead is a link to a page, with a name and a value of its query. An empty Name means no query.
type Lead struct{ Text, Path, Name, Is string }
