package httpapi

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/service"
	"github.com/chimejobs/chime/recurrence"
)

// The waits in Retry-After.
const (
	retryStore   = 5 * time.Second // after a failure of the store
	retryPending = 2 * time.Second // after work that continues in the background
)

// An answer is the response to a request. It is complete before its first byte is written.
type answer struct {
	status   int
	body     []byte // without a newline at its end; nil: none
	kind     string // of the body; empty: JSON
	revision int64  // for the ETag; 0: none
	location string // absolute URL; empty: none
	wait     string // Retry-After; empty: none
	code     problem.Code
}

// write sends the answer. To HEAD it sends the length that the body would have.
func (c *call) write(a *answer) {
	header := c.w.Header()
	set := func(name, value string) {
		if value != "" {
			header.Set(name, value)
		}
	}
	set("Location", a.location)
	set("Retry-After", a.wait)
	set("Etag", a.etag())
	if a.body == nil {
		c.w.WriteHeader(a.status)
		return
	}
	kind := a.kind
	if kind == "" {
		kind = "application/json"
	}
	body := append(a.body[:len(a.body):len(a.body)], '\n')
	set("Content-Type", kind)
	set("Content-Length", strconv.Itoa(len(body)))
	c.w.WriteHeader(a.status)
	if c.r.Method == http.MethodHead {
		return
	}
	if _, err := c.w.Write(body); err != nil {
		c.log().Debug("httpapi: an answer could not be sent completely", "event", "api.unsent", "error", err)
	}
}

// etag is the revision in the form of the header.
func (a *answer) etag() string {
	if a.revision == 0 {
		return ""
	}
	return strconv.Quote(strconv.FormatInt(a.revision, 10))
}

// refuse makes the answer of an error.
func (c *call) refuse(err error) *answer {
	p := c.problemOf(err)
	a := &answer{status: p.Code.Status(), body: p.Append(nil, c.r.URL.EscapedPath()), kind: "application/problem+json", code: p.Code}
	if p.RetryAfter > 0 {
		a.wait = seconds(p.RetryAfter)
	}
	if a.status == http.StatusUnauthorized {
		c.w.Header().Set("WWW-Authenticate", "Bearer")
	}
	return a
}

// problemOf is what the client receives for an error: a problem unchanged, an input that chime refuses, or a failure of the store.
func (c *call) problemOf(err error) *problem.Problem {
	if p := (*problem.Problem)(nil); errors.As(err, &p) {
		return p
	}
	if rules := recurrence.Errors(err); len(rules) > 0 {
		mistakes := make([]problem.Mistake, len(rules))
		for i, e := range rules {
			mistakes[i] = problem.Mistake{Code: string(e.Code), Field: e.Field, Value: cut(e.Value, 100), Detail: e.Reason}
		}
		return problem.Invalid(mistakes)
	}
	if invalid := (*chime.InvalidError)(nil); errors.As(err, &invalid) {
		return mistake("type", invalid.Field, invalid.Value, "want %s", invalid.Limit)
	}
	if errors.Is(err, service.ErrUnreadable) {
		c.log().Error("httpapi: a job cannot be read", "event", "schedule.unreadable", "error", cut(err.Error(), 1000))
		return problem.New(problem.Internal, "the job is stored in a form that this program cannot read: a newer program has written it, or it was edited manually; you can delete it")
	}
	code, trouble := problem.StoreUnavailable, "the store did not answer"
	if errors.Is(err, chime.ErrStoreFull) {
		code, trouble = problem.StoreFull, "the store is full"
	}
	c.log().Error("httpapi: the store is in trouble", "event", "store.trouble", "path", c.path(), "error", cut(err.Error(), 1000))
	p := problem.New(code, "%s: repeat the request", trouble)
	switch unknown := c.route != nil && c.route.op != "" && code == problem.StoreUnavailable; {
	case unknown && c.r.Method == http.MethodPost && c.r.PathValue("job") == "" && c.name.Job != "":
		p.Detail = trouble + "; it is unknown whether the job is stored: check with GET " + c.url(c.jobPath()) + "; a PUT with a name of your own can be repeated"
	case unknown && c.tasks > 0 && strings.HasSuffix(c.route.path, batchesPath):
		p.Detail = trouble + "; it is unknown whether the batch is stored: repeat the request if it has an id; else its tasks may be stored twice"
	case unknown && c.tasks > 0:
		p.Detail = trouble + "; it is unknown whether the tasks are stored, and some of several may be: repeat the request if it has an Idempotency-Key or each task an id; else tasks may be stored twice"
	case unknown:
		p.Detail = trouble + "; it is unknown whether the change is stored: repeat the request"
	}
	p.RetryAfter = retryStore
	return p
}
