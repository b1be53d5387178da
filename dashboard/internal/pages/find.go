package pages

import (
	"context"
	"maps"
	"net/url"
	"strconv"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/jobfind"
)

// Find is the page that finds jobs on all queues by what people know about them: an ID, a header, an argument or a part of an error. It has a field for each, and
// uses the filter of the list of jobs.
type Find struct {
	ID, Header, Value, Argument, Is, Error string // what was typed
	State                                  string
	States                                 []Choice
	Hits                                   []Hit  // jobs and the batch with the ID
	Note                                   string // what was not searched for the ID
	Sought                                 bool   // an ID was typed
	Jobs                                   *Jobs  // the jobs that match the other fields; nil: they are empty
	MayArgue                               bool   // the viewer may see arguments
}

// Find reads what the fields of the query find.
func (s *Site) Find(ctx context.Context, r *Request) (View, error) {
	m := &Find{MayArgue: r.Can.Reveal}
	for name, field := range map[string]*string{"id": &m.ID, "header": &m.Header, "value": &m.Value, "arg": &m.Argument, "is": &m.Is, "error": &m.Error} {
		*field = strings.TrimSpace(r.Query.Get(name))
		if len(*field) > maxSought {
			return View{}, &QueryError{name, *field, "at most " + strconv.Itoa(maxSought) + " bytes"}
		}
	}
	var err error
	if m.State, err = r.choice("state", anyState, "waiting", "delayed", "running", "retrying", "parked", "dead", "done"); err != nil {
		return View{}, err
	}
	for _, state := range jobfind.States {
		if name := string(state); state != chime.JobTaken {
			m.States = append(m.States, Choice{name, name, name == m.State})
		}
	}
	if m.ID != "" {
		if err := s.findID(ctx, m); err != nil {
			return View{}, err
		}
	}
	if filter := m.filter(); !filter.Empty() {
		list := *r
		list.Query = url.Values{}
		maps.Copy(list.Query, r.Query)
		list.Query.Set("q", filter.String())
		view, err := s.Jobs(ctx, &list)
		if err != nil {
			return View{}, err
		}
		m.Jobs = view.Model.(*Jobs)
	}
	return View{"Find jobs", m}, nil
}

// findID finds the jobs and the batch with the ID.
func (s *Site) findID(ctx context.Context, m *Find) error {
	standing, err := s.Standing(ctx)
	if err != nil {
		return err
	}
	m.Sought = true
	search := &Search{Text: m.ID}
	for _, find := range []func(context.Context, *Standing, *Search) error{s.findJob, s.findBatch} {
		if err := find(ctx, standing, search); err != nil {
			return err
		}
	}
	m.Hits, m.Note = search.Hits, search.Note
	return nil
}

// filter returns the filter of the fields, without the ID.
func (m *Find) filter() (filter jobfind.Filter) {
	if m.Header != "" {
		filter.Header = map[string]string{m.Header: m.Value}
	}
	if m.Is != "" {
		filter.Arguments = []jobfind.Argument{{Path: m.Argument, Value: m.Is}}
	}
	filter.Error = m.Error
	return filter
}

// Incomplete is what is missing in the fields; empty: nothing.
func (m *Find) Incomplete() string {
	switch {
	case m.Value != "" && m.Header == "":
		return "The value of a header needs the header’s name."
	case m.Argument != "" && m.Is == "":
		return "An argument needs the value that it has."
	}
	return ""
}

// Empty reports whether nothing was typed.
func (m *Find) Empty() bool { return !m.Sought && m.Jobs == nil }

// Filter returns the filter that the list of jobs, the command and the API know.
func (m *Find) Filter() string { filter := m.filter(); return filter.String() }
