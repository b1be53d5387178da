// Package change does the actions of the dashboard's forms. A form is sent once, and the response asks for confirmation. It is sent again with the
// confirmation to do the action. So everything works in a browser without scripts.
package change

import (
	"context"
	"errors"
	"net/url"
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
	batches   *chime.Batches
	known     *chime.Acknowledgements

	group      func(*chime.JobInfo) string
	shown      func(*chime.JobInfo) string
	arguments  func(*chime.JobInfo) (any, bool)
	selects    Selecting
	operations *operations
	most       int // number of jobs that one form selects; those that follow are found while these are changed
}

// A Selecting returns the schedules that match a filter, which has the form of the address of their list. It returns at most the given number of
// schedules for which concerns returns true. If a schedule cannot be read, concerns gets it without a State.
type Selecting func(ctx context.Context, filter url.Values, most int, concerns func(*chime.Schedule) bool) (Selected, error)

// Selected are the schedules that match a filter.
type Selected struct {
	Names  []string // those to change, in order
	Others int      // number of those that are not changed
	More   bool     // there are, or may be, more than were read
	Words  string   // describes the filter, such as "that are failing, of queue mail"; empty: all
}

// New returns a changer of a store. It does no I/O. group returns the name of a job's group of failures in forms. shown returns the text that viewers
// see for a job's last error; nil: the whole error. arguments returns the arguments that they may see.
func New(store chime.Store, group, shown func(*chime.JobInfo) string, arguments func(*chime.JobInfo) (any, bool), selects Selecting) *Changer {
	return &Changer{store: store, group: group, shown: shown, arguments: arguments, selects: selects, schedules: chime.NewSchedules(store), queues: chime.NewQueues(store), jobs: chime.NewJobs(store), batches: chime.NewBatches(store), known: chime.NewAcknowledgements(store), operations: newOperations(), most: maxAll}
}

// A Form is a form that a viewer has sent.
type Form struct {
	Values map[string]string // the values of the names in its path
	Fields url.Values
	Viewer string        // name of the sender; empty: no name
	Frame  *render.Frame // for links, and times in the viewer's zone

	Reveal    bool // the viewer may see arguments, so a filter may select jobs by them
	OtherArgs bool // the viewer may give other arguments than those of the schedule

	// Check returns why the viewer may not change schedules or jobs of a queue. It was already called for the names in the path and in the fields.
	// nil: they may.
	Check func(ctx context.Context, queue string, names ...string) error
	// Ended is called when an operation that the form has begun ends. nil: nobody needs to know.
	Ended func(Answer, Operation)
}

// check calls Check.
func (f *Form) check(ctx context.Context, queue string, names ...string) error {
	if f.Check == nil {
		return nil
	}
	return f.Check(ctx, queue, names...)
}

// sure reports whether the viewer has confirmed the action.
func (f *Form) sure() bool { return f.Fields.Get("sure") == "1" }

// note returns the viewer's reason.
func (f *Form) note() chime.Note {
	return chime.Note{Text: f.Fields.Get("note"), By: cutName(f.Viewer)}
}

// fromList is the field of a form in a list. It has the query of the list's address, to which the response redirects.
const fromList = "list"

const maxList = 2 << 10 // its maximum length, in bytes

// back returns the list of the form if it has one, and the page otherwise.
func (f *Form) back(page string) string {
	if !f.Fields.Has(fromList) {
		return page
	}
	list, _, _ := strings.Cut(page, "/")
	return list
}

// kept returns the fields that a confirmation has to send again.
func (f *Form) kept() []render.Pair {
	if !f.Fields.Has(fromList) {
		return nil
	}
	return []render.Pair{{Name: fromList, Value: f.list()}}
}

// list returns the query of the form's list. A query longer than that of a page is ignored, because a browser never sends one.
func (f *Form) list() string {
	if query := f.Fields.Get(fromList); len(query) <= maxList {
		return query
	}
	return ""
}

// An Answer is the result of a form: a confirmation to ask for, or a done action.
type Answer struct {
	Ask  *render.Ask // nil: the action was done, or there was an error
	Show *Shown      // a page to show if nothing was done; nil: none

	Said string // what was done, in a sentence
	Back string // the path of the page to redirect to
	List string // the query of its address, if it is a list

	Queue, Target, Note string // for the audit
	Args                []byte // other arguments than those of the schedule, or new ones; nil: none
	Detail              string // a range or a limit
	Count               int64
}

// one counts the only target of an action that has succeeded.
func (a Answer) one(err error) (Answer, error) {
	if err == nil {
		a.Count = 1
	}
	return a, err
}

// A Shown is a page in response to a form.
type Shown struct {
	Template, Title string
	Part            bool // for a script: without the frame
	Status          int
	Model           any
	Err             error // why nothing was done, for the audit; nil: no action was requested
}

// A Verb does the action of the forms of a path. Its Answer may name the target even if it returns an error.
type Verb func(*Changer, context.Context, *Form) (Answer, error)

// wrong returns the text of an error about a field, or "" if the error is not about a field.
func wrong(err error) string {
	var invalid *chime.InvalidError
	if errors.As(err, &invalid) {
		return invalid.Error()
	}
	return ""
}

const maxBy = 100 // maximum length of a name in a note, in bytes

// cutName shortens a viewer's name to the length for a note.
func cutName(name string) string {
	for i := range name {
		if i > maxBy-4 {
			return name[:i]
		}
	}
	return name
}
