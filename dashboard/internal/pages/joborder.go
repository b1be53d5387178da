package pages

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/jobfind"
)

const (
	newestSort = "newest"
	oldestSort = "oldest"
	lastPlace  = "end" // the value of before for the last page
	sortAmong  = 1000  // number of jobs of a list that is sorted by a column without an instant
)

// A JobOrder is the order of the list of jobs, and the place in it.
type JobOrder struct {
	Sort    string // newest, oldest, or a column, with - before it from the last value to the first; empty: the order in which the store has them
	Timed   bool   // the state has an order by an instant
	Before  string // the page ends before this place; end: the last page; empty: it begins after After
	After   string
	Default string // the order without a parameter
}

// jobSorts are the columns by which rows can be sorted. The store has no order by them, so only the jobs of a page's search are sorted.
var jobSorts = map[string]func(a, b JobRow) int{
	"job":     func(a, b JobRow) int { return strings.Compare(a.Name, b.Name) },
	"queue":   func(a, b JobRow) int { return strings.Compare(a.Queue, b.Queue) },
	"error":   func(a, b JobRow) int { return strings.Compare(a.Error, b.Error) },
	"attempt": func(a, b JobRow) int { return cmp.Compare(a.Tried, b.Tried) },
}

// jobOrder reads the order of the list from the query. state is the open tab.
func (r *Request) jobOrder(state string) (JobOrder, error) {
	o := JobOrder{After: r.Query.Get("after"), Before: r.Query.Get("before")}
	switch chime.JobState(state) {
	case chime.JobDead, chime.JobDone:
		o.Timed, o.Default = true, newestSort
	case chime.JobDelayed, chime.JobRetrying:
		o.Timed, o.Default = true, oldestSort
	}
	words := []string{o.Default}
	if o.Timed {
		words = append(words, newestSort, oldestSort)
	}
	for _, column := range []string{"job", "queue", "error", "attempt"} {
		words = append(words, column, "-"+column)
	}
	var err error
	if o.Sort, err = r.choice("sort", words...); err != nil {
		return o, err
	}
	switch {
	case o.Before != "" && (!o.Timed || o.byColumn()):
		return o, &QueryError{"before", o.Before, "no value: only a list that is sorted by time has a last page"}
	case o.Before != "" && o.After != "":
		return o, &QueryError{"before", o.Before, "no value beside after"}
	case o.After != "" && o.byColumn():
		return o, &QueryError{"after", o.After, "no value: a list that is sorted by a column has one page"}
	}
	return o, nil
}

// byColumn reports whether the rows are sorted by a column.
func (o JobOrder) byColumn() bool {
	return o.Sort != "" && o.Sort != newestSort && o.Sort != oldestSort
}

// search sets the order and the place of a search.
func (o JobOrder) search(s *jobfind.Search) {
	s.After = o.After
	if o.Timed {
		s.Order = chime.NewestFirst
		if o.Sort == oldestSort || o.byColumn() && o.Default == oldestSort {
			s.Order = chime.OldestFirst
		}
	}
	if o.byColumn() {
		s.Limit = sortAmong
	}
	if o.Before == "" {
		return
	}
	if s.After = o.Before; o.Before == lastPlace {
		s.After = ""
	}
	if s.Order == chime.NewestFirst {
		s.Order = chime.OldestFirst
	} else {
		s.Order = chime.NewestFirst
	}
}

// arrange puts the rows that a search has found into the order of the list, and fills in the places before and after them.
func (m *Jobs) arrange(found *jobList, limit int) {
	m.Rows, m.Next = slices.Clone(found.rows), found.Next
	switch o := m.Order; {
	case o.byColumn():
		column, down := strings.CutPrefix(o.Sort, "-")
		slices.SortStableFunc(m.Rows, func(a, b JobRow) int {
			if down {
				a, b = b, a
			}
			return jobSorts[column](a, b)
		})
		m.Among, m.Partly = len(m.Rows), found.Next != ""
		m.Rows, m.Next = m.Rows[:min(len(m.Rows), limit)], ""
	case o.Before != "": // it was read towards the front
		slices.Reverse(m.Rows)
		m.Newer, m.Next = found.Next, found.Previous
		m.Later = m.Newer != ""
	case o.Timed:
		m.Newer = found.Previous
	}
	m.Last = m.Order.Timed && !m.Order.byColumn() && m.Next != ""
}

// Column returns the head of a column of the list.
func (m *Jobs) Column(sort, text string) Column {
	c := Column{Sort: sort, Text: text}
	c.Whole = sort == "error" && slices.ContainsFunc(m.Rows, func(row JobRow) bool { return row.Error != "" })
	switch m.Order.Sort {
	case sort:
		c.Aria, c.Sort = "ascending", "-"+sort
	case "-" + sort:
		c.Aria = "descending"
	}
	return c
}

// ByTime returns the head of the column with the times. Its Sort is empty if the state has no order by them.
func (m *Jobs) ByTime() Column {
	c := Column{Text: m.When()}
	if !m.Order.Timed {
		return c
	}
	c.Sort = m.Order.Default
	switch m.Order.Sort {
	case newestSort:
		c.Aria, c.Sort = "descending", oldestSort
	case oldestSort:
		c.Aria, c.Sort = "ascending", newestSort
	}
	return c
}

// Direction returns which jobs of the list come first.
func (m *Jobs) Direction() string {
	switch {
	case !m.Order.Timed:
		return "first"
	case m.Order.Sort == oldestSort && m.State != string(chime.JobDead) && m.State != string(chime.JobDone):
		return "next due"
	case m.Order.Sort == oldestSort:
		return "oldest"
	case m.State == string(chime.JobDelayed) || m.State == string(chime.JobRetrying):
		return "last due"
	}
	return "newest"
}

// Sorted describes the rows of a list that is sorted by a column; empty: it is not.
func (m *Jobs) Sorted() string {
	switch {
	case !m.Order.byColumn() || len(m.Rows) == 0:
		return ""
	case !m.Partly && m.Among == len(m.Rows):
		return ""
	case !m.Partly:
		return "The first " + format.Count(len(m.Rows)) + " of all " + format.Count(m.Among) + " that match."
	}
	first := map[bool]string{true: "newest", false: "first"}[m.Order.Default == newestSort]
	return "The first " + format.Count(len(m.Rows)) + " among the " + first + " " + format.Count(m.Among) + ": the store has no order by this column."
}

// frozen returns the filter for a link that shows the same jobs later.
func frozen(filter jobfind.Filter, now time.Time, zone *time.Location) string {
	filter = filter.Frozen(now.Truncate(time.Second), zone)
	return filter.String()
}
