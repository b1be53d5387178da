// Package change does what the forms of the dashboard say. A form is sent once to ask what it will do, and again, with what was asked for, to do
// it: so all of it works in a browser without scripts.
package change

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
)

// A Changer changes one store.
type Changer struct {
	store     chime.Store
	schedules *chime.Schedules
	queues    *chime.Queues
	jobs      *chime.Jobs

	group      func(*chime.JobInfo) string
	shown      func(*chime.JobInfo) string
	selects    Selecting
	operations *operations
}

// A Selecting returns the schedules that a filter of their list means, as the address of the list has it; of these, at most so many that a change
// concerns. Of a schedule that cannot be read, concerns gets one without a State.
type Selecting func(ctx context.Context, filter url.Values, most int, concerns func(*chime.Schedule) bool) (Selected, error)

// Selected are schedules that a filter means.
type Selected struct {
	Names  []string // those that a change concerns, in order
	Others int      // that it does not concern
	More   bool     // there are more, or may be, than were looked at
	Words  string   // which the filter means, as "that are failing, of queue mail"; empty: all
}

// New returns a changer of a store. It does no I/O. group names the group of failures that a job is in, as a form names it; shown is what
// viewers are shown of a job's last error, nil: all of it.
func New(store chime.Store, group, shown func(*chime.JobInfo) string, selects Selecting) *Changer {
	return &Changer{store: store, group: group, shown: shown, selects: selects, schedules: chime.NewSchedules(store), queues: chime.NewQueues(store), jobs: chime.NewJobs(store), operations: newOperations()}
}

// A Form is what a viewer has sent.
type Form struct {
	Values map[string]string // what stands for the names of its path
	Fields url.Values
	Viewer string        // who has sent it; empty: has no name
	Frame  *render.Frame // for links, and times in the viewer's zone
}

// sure reports whether the viewer has seen what the form will do.
func (f *Form) sure() bool { return f.Fields.Get("sure") == "1" }

// note is why the viewer does it.
func (f *Form) note() chime.Note {
	return chime.Note{Text: f.Fields.Get("note"), By: cutName(f.Viewer)}
}

// fromList is in a form that stands in a list the query of the list's address, to which its answer leads back.
const fromList = "list"

const maxList = 2 << 10 // bytes of it

// back is where the answer leads that without it leads to a page: to the list that the form stands in, if it does.
func (f *Form) back(page string) string {
	if !f.Fields.Has(fromList) {
		return page
	}
	list, _, _ := strings.Cut(page, "/")
	return list
}

// kept are the fields that a question has to send again.
func (f *Form) kept() []render.Pair {
	if !f.Fields.Has(fromList) {
		return nil
	}
	return []render.Pair{{Name: fromList, Value: f.list()}}
}

// list is the query of the list that the form stands in. A browser sends none that is longer than a page's may be.
func (f *Form) list() string {
	if query := f.Fields.Get(fromList); len(query) <= maxList {
		return query
	}
	return ""
}

// An Answer is what came of a form: a question, or what was done.
type Answer struct {
	Ask  *render.Ask // nil: it was done, or there was an error
	Show *Shown      // a page to answer with, where nothing was done; nil: none

	Said string // what was done, in a sentence
	Back string // the path of the page to go on to
	List string // the query of its address, if it is a list

	Queue, Target, Note string // for the audit
	Count               int64
}

// A Shown is a page that answers a form.
type Shown struct {
	Template, Title string
	Part            bool // for a script: without the frame
	Status          int
	Model           any
	Err             error // why nothing was done, for the audit; nil: nothing was to be done
}

// A Verb is what forms of one path do. Its error may come with an Answer that says to what it happened.
type Verb func(*Changer, context.Context, *Form) (Answer, error)

// plural is a number of things.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text + " " + many
}

// wrong is what an error says of a field that a viewer has filled in; empty: it is not about one.
func wrong(err error) string {
	var invalid *chime.InvalidError
	if errors.As(err, &invalid) {
		return invalid.Error()
	}
	return ""
}

const maxBy = 100 // bytes of a name that a note has

// cutName shortens a viewer's name to what a note keeps.
func cutName(name string) string {
	for i := range name {
		if i > maxBy-4 {
			return name[:i]
		}
	}
	return name
}
