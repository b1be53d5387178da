package httpapi

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"

	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/httpapi/internal/service"
)

// The states of a job that a filter accepts.
var jobStates = []string{string(resource.Enabled), string(resource.Disabled), string(resource.Completed), string(resource.Faulted)}

// maxKey is the maximum length of an Idempotency-Key in bytes.
const maxKey = 255

func listJobs(ctx context.Context, c *call) (*answer, error) {
	p, err := c.page("state", jobStates, jobForm)
	if err != nil {
		return nil, err
	}
	found, next, err := c.api.service.ListJobs(ctx, c.name.Collection, service.Page{After: p.after, Skip: p.skip, Top: p.top, State: p.only})
	if err != nil {
		return nil, err
	}
	entries := make([][]byte, len(found))
	for i, one := range found {
		entries[i] = c.showJob(one)
	}
	return c.list(c.collectionPath()+"/jobs", entries, next), nil
}

func getJob(ctx context.Context, c *call) (*answer, error) {
	found, err := c.api.service.GetJob(ctx, c.name)
	if err != nil {
		return nil, err
	}
	return c.jobAnswer(http.StatusOK, found), nil
}

func putJob(ctx context.Context, c *call) (*answer, error) {
	when, err := c.condition()
	if err != nil {
		return nil, err
	}
	read, err := c.readJob(c.name)
	if err != nil {
		return nil, err
	}
	return c.changeJob(ctx, when, false, func(*service.Job) (*resource.Job, error) { return copied(read), nil })
}

// postJob creates a job with a new, unique name.
func postJob(ctx context.Context, c *call) (*answer, error) {
	read, err := c.readJob(c.name)
	if err != nil {
		return nil, err
	}
	c.name.Job = newGUID()
	return c.changeJob(ctx, service.Condition{None: true}, false, func(*service.Job) (*resource.Job, error) { return copied(read), nil })
}

func patchJob(ctx context.Context, c *call) (*answer, error) {
	when, err := c.condition()
	if err != nil {
		return nil, err
	}
	return c.changeJob(ctx, when, true, func(old *service.Job) (*resource.Job, error) {
		if old == nil {
			return nil, c.noJob()
		}
		patched, mistakes := old.Job.Patch(c.text, c.name)
		return patched, asError(problem.Invalid(mistakes))
	})
}

// readJob reads the body of a PUT or POST.
func (c *call) readJob(name resource.JobName) (*resource.Job, error) {
	read, mistakes := resource.ReadJob(c.text, name)
	return read, asError(problem.Invalid(mistakes))
}

// copied returns a job with its own copy of the action, because the service converts the action to the stored form.
func copied(j *resource.Job) *resource.Job {
	one := *j
	if one.Action != nil {
		one.Action = one.Action.Clone()
	}
	return &one
}

// changeJob applies edit to the stored job, and stores the result.
func (c *call) changeJob(ctx context.Context, when service.Condition, patched bool, edit func(*service.Job) (*resource.Job, error)) (*answer, error) {
	stored, created, err := c.api.service.PutJob(ctx, c.name, when, patched, edit)
	if err != nil {
		return nil, err
	}
	if created {
		a := c.jobAnswer(http.StatusCreated, stored)
		a.location = c.url(c.jobPath())
		return a, nil
	}
	return c.jobAnswer(http.StatusOK, stored), nil
}

func deleteJob(ctx context.Context, c *call) (*answer, error) {
	when, err := c.condition()
	if err != nil {
		return nil, err
	}
	existed, err := c.api.service.DeleteJob(ctx, c.name, when)
	switch {
	case err != nil:
		return nil, err
	case !existed:
		return &answer{status: http.StatusNoContent}, nil
	}
	return &answer{status: http.StatusOK, body: c.deleted(c.jobPath())}, nil
}

func runJob(ctx context.Context, c *call) (*answer, error) {
	key, err := c.idempotencyKey()
	if err != nil {
		return nil, err
	}
	id, err := c.api.service.RunJob(ctx, c.name, key)
	if err != nil {
		return nil, err
	}
	return &answer{status: http.StatusOK, body: append(append([]byte(`{"id":`), quote(id)...), '}')}, nil
}

// idempotencyKey is the value of that header; empty: none.
func (c *call) idempotencyKey() (string, error) {
	given := c.r.Header.Values("Idempotency-Key")
	if len(given) == 0 {
		return "", nil
	}
	key := given[0]
	printable := !strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' })
	if len(given) > 1 || key == "" || len(key) > maxKey || !printable {
		return "", mistake("header_value", "Idempotency-Key", strings.Join(given, ", "), "want one value of 1 to %d printable ASCII characters", maxKey)
	}
	return key, nil
}

// newGUID is a random UUID, version 4, the form of Azure's job names.
func newGUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// noJob is the problem of a job that does not exist.
func (c *call) noJob() *problem.Problem {
	return problem.New(problem.NotFound, "there is no job %s in collection %s", c.name.Job, c.name.Collection)
}

func (c *call) jobAnswer(status int, found *service.Job) *answer {
	return &answer{status: status, body: c.showJob(found), revision: found.Revision}
}

func (c *call) showJob(found *service.Job) []byte {
	view := found.JobView
	view.ID = c.resource("/jobCollections/" + view.Name.Collection + "/jobs/" + view.Name.Job)
	return view.Append(nil)
}
