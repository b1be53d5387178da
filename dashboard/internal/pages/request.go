// Package pages reads the data of the dashboard's pages. Each page is a method of Site that returns a View, the model of its template.
package pages

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
)

// A Request has everything on which the data of a page depends. Equal requests get the same page.
type Request struct {
	Values map[string]string // the values of the names in its path
	Query  url.Values
	Zone   *time.Location // the time zone of the page
	Can    Can
	Live   bool // it is for open pages and not for a new request; expensive data is read less often for them
}

// Can has the actions for which a page has buttons.
type Can struct{ Operate, Edit, Delete, Reveal bool }

// A View is the data of a page.
type View struct {
	Title string
	Model any // the model of the page's template
}

// A QueryError describes a wrong parameter of a query.
type QueryError struct{ Field, Value, Limit string }

// Error returns the field, the value and the limit.
func (e *QueryError) Error() string {
	return fmt.Sprintf("%s is %.60q, want %s", e.Field, e.Value, e.Limit)
}

// number returns a whole number of the query, from low to high. The default is otherwise.
func (r *Request) number(field string, low, high, otherwise int) (int, error) {
	text := r.Query.Get(field)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, &QueryError{field, text, fmt.Sprintf("a number from %d to %d", low, high)}
	}
	return n, nil
}

// choice returns a parameter of the query that has to be one of the words. The default is the first word.
func (r *Request) choice(field string, words ...string) (string, error) {
	text := r.Query.Get(field)
	if text == "" {
		return words[0], nil
	}
	for _, word := range words {
		if text == word {
			return word, nil
		}
	}
	return "", &QueryError{field, text, fmt.Sprintf("one of %q", words)}
}

// A MissingError describes something that does not exist or no longer exists.
type MissingError struct {
	Text  string
	Links []render.Lead // links to other pages
}

// Error returns its text.
func (e *MissingError) Error() string { return e.Text }

// Unwrap returns chime.ErrNotFound.
func (e *MissingError) Unwrap() error { return chime.ErrNotFound }
