package httpapi

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/service"
	"github.com/chimejobs/chime/recurrence"
)

// When to try again, as Retry-After says.
const (
	retryStore = 5 * time.Second // after trouble of the store
	lookAgain  = 2 * time.Second // after work that goes on
)

// An answer is what a request gets. It is whole before the first byte of it is written.
type answer struct {
	status   int
	body     []byte // without a newline at its end; nil: none
	kind     string // of the body; empty: JSON
	revision int64  // for the ETag; 0: none
	location string // absolute URL; empty: none
	wait     string // Retry-After; empty: none
	code     problem.Code
}

// write sends the answer. To HEAD it says how long the body would be.
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
		c.log().Debug("httpapi: an answer was not sent whole", "event", "api.unsent", "error", err)
	}
}

// etag is the revision as the header has it.
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

// problemOf is what the client is told of an error: a problem as it is, what chime refuses, or that the store is in trouble.
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
		return problem.New(problem.Internal, "the job is stored in a form that this program does not read: a newer program has written it, or a hand has changed it; it may be deleted")
	}
	code, trouble := problem.StoreUnavailable, "the store has not answered"
	if errors.Is(err, chime.ErrStoreFull) {
		code, trouble = problem.StoreFull, "the store is full"
	}
	c.log().Error("httpapi: the store is in trouble", "event", "store.trouble", "path", c.path(), "error", cut(err.Error(), 1000))
	p := problem.New(code, "%s: repeat the request", trouble)
	switch unknown := c.route != nil && c.route.op != "" && code == problem.StoreUnavailable; {
	case unknown && c.r.Method == http.MethodPost && c.r.PathValue("job") == "" && c.name.Job != "":
		p.Detail = trouble + "; whether the job is stored is unknown: GET " + c.url(c.jobPath()) + " tells; a PUT with a name of your own may be repeated"
	case unknown:
		p.Detail = trouble + "; whether the change is stored is unknown: repeat the request"
	}
	p.RetryAfter = retryStore
	return p
}
