// Package pages reads what the pages of the dashboard show. A page is a method of Site that returns a View: the model of its template.
package pages

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
)

// A Request is what a page is read for. Two that are equal get the same page.
type Request struct {
	Values map[string]string // what stands for the names of its path
	Query  url.Values
	Zone   *time.Location // that times are shown in
	Can    Can
	Live   bool // it is for those who have the page open, not for one who asks: what is dear is read more rarely for them
}

// Can is which buttons a page has.
type Can struct{ Operate, Edit, Delete, Reveal bool }

// A View is what a page shows.
type View struct {
	Title string
	Model any // of the page's template
}

// A QueryError says what of a query is wrong.
type QueryError struct{ Field, Value, Limit string }

// Error names the field, the value and the limit.
func (e *QueryError) Error() string {
	return fmt.Sprintf("%s is %.60q, want %s", e.Field, e.Value, e.Limit)
}

// number is a whole number of the query from low to high; without one it is otherwise.
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

// choice is one of some words of the query; without one it is the first.
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

// A MissingError says what is not there, or not there any more.
type MissingError struct {
	Text  string
	Links []render.Lead // where to look instead
}

// Error is its text.
func (e *MissingError) Error() string { return e.Text }

// Unwrap is chime.ErrNotFound.
func (e *MissingError) Unwrap() error { return chime.ErrNotFound }
