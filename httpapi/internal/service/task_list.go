package service

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/httpapi/internal/taskid"
	"github.com/chimejobs/chime/internal/jobfind"
)

// A TaskQuery selects tasks of a collection on one queue.
type TaskQuery struct {
	Queue     string // empty: the collection's
	Filter    string // as chime jobs list has it; group:, batch:, since: and others
	Order     chime.JobOrder
	Top       int
	After     string // the end of the page before; empty: the first page
	Arguments bool   // the caller may search in arguments
}

// The bounds of a search for tasks: the queue may have a million jobs of others.
const (
	maxTasksLooked = 5000
	maxTaskSearch  = 2 * time.Second
)

// ListTasks returns tasks of a collection that have not ended, are dead, or are kept. A page may be short. next continues after it; empty: it is the last page.
func (s *Service) ListTasks(ctx context.Context, name string, q TaskQuery) (found []*resource.TaskView, next string, err error) {
	c, limits, err := s.taskCollection(ctx, name)
	if err != nil {
		return nil, "", err
	}
	filter, err := jobfind.Parse(q.Filter)
	if err != nil {
		return nil, "", badFilter("filter", q.Filter, err)
	}
	switch {
	case len(filter.Words) > 0 || filter.Queue != "" || filter.Schedule != (jobfind.Pattern{}) || filter.Worker != (jobfind.Pattern{}):
		return nil, "", mistake("filter", "filter", q.Filter, "want the keys state, job, group, batch, error, header, arg, older, newer, since, until and attempt")
	case len(filter.Arguments) > 0 && !q.Arguments:
		return nil, "", problem.New(problem.Forbidden, "a search in arguments (arg:) needs the permission write")
	}
	if filter.Batch != "" {
		filter.Batch = taskid.BatchID{Collection: c.Name, Creation: c.Creation, Batch: filter.Batch}.String()
	}
	filter.Queue = cmp.Or(q.Queue, s.queueOf(limits))
	search := jobfind.Search{
		Filter: filter, Order: q.Order, Limit: q.Top, After: q.After, Looked: maxTasksLooked, For: maxTaskSearch,
		Only: func(job *chime.JobInfo) bool {
			id, ok := taskid.Parse(job.ID)
			return ok && id.Collection == c.Name && id.Creation == c.Creation
		},
	}
	if redact := s.options.RedactError; redact != nil {
		search.Shown = func(job *chime.JobInfo) string {
			return redactTask(redact, resource.TaskName{Collection: name}, job.LastError)
		}
	}
	jobs, err := search.Find(ctx, s.options.Store)
	switch invalid := (*chime.InvalidError)(nil); {
	case errors.Is(err, chime.ErrNotFound): // there is no such queue yet
		return nil, "", nil
	case errors.As(err, &invalid) && invalid.Field == "after":
		return nil, "", badFilter("$skiptoken", q.After, err)
	case err != nil:
		return nil, "", err
	}
	for _, job := range jobs.Jobs {
		id, _ := taskid.Parse(job.ID)
		if job.Err == nil { // a task that a newer program has written cannot be shown
			found = append(found, s.taskView(resource.TaskName{Collection: name, Task: id.Task}, job))
		}
	}
	return found, jobs.Next, nil
}

// badFilter is the problem of a filter, or of a place in a list.
func badFilter(field, value string, err error) error {
	code := map[string]string{"filter": "filter", "$skiptoken": "skiptoken"}[field]
	detail := err.Error()
	if invalid := (*chime.InvalidError)(nil); errors.As(err, &invalid) {
		detail = invalid.Field + ": want " + invalid.Limit
	}
	return mistake(code, field, value, detail)
}
