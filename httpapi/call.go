package httpapi

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// A call is one request on its way. It goes through these steps; the first step that refuses it answers:
//
//  1. the options are invalid: 500
//  2. a page of another site sends it: 403
//  3. the sender is unknown: 401, or 403 if only this machine may send
//  4. its principal sends too many requests: 429
//  5. no such path 404, no such method 405, no such api-version 400
//  6. a name that no collection, job, task or batch can have: 404, for a PUT 400
//  7. its principal may not read the collection: 404, as for a missing one; may not do this: 403
//  8. its body is not JSON or is too long: 415, 413, 400
//  9. the handler of the route: parameters and conditions, then the store
//
// No step before 9 reads the store. A route that is open to everybody skips 3 and 4.
type call struct {
	api       *API
	w         http.ResponseWriter
	r         *http.Request
	route     *route
	id        string // of the request
	principal Principal
	unknown   string // the error of an Authenticator that the client does not receive; empty: none
	prefix    string // armPrefix with the values of the request; empty: the plain mount point
	query     url.Values
	name      resource.JobName // from the path; empty: the path has none
	task      string           // from the path, or the one that was added; empty: none, or several
	batch     string           // from the path, or the one that was added; empty: none
	tasks     int              // that are added; 0: the route adds none
	text      []byte           // the body, of routes that have one
	parts     int              // of the body, each as long as other bodies may be: the writes that it counts as
}

// storeTimeout bounds the time that a request may use the store.
const storeTimeout = 10 * time.Second

// The forms of names. The core accepts more; these names are part of paths and headers.
var (
	collectionForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`)
	jobForm        = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)
	armForm        = regexp.MustCompile(`^[\p{L}\p{N}_.()-]{1,90}$`)
	requestIDForm  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
)

// The versions of Azure's API that old clients send.
var apiVersions = []string{"2014-08-01-preview", "2016-01-01", "2016-03-01"}

// ServeHTTP answers a request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The mux would redirect to the clean path, with a body of HTML.
	if escaped := r.URL.EscapedPath(); escaped != clean(escaped) {
		a.serve(w, r, nil)
		return
	}
	a.mux.ServeHTTP(w, r)
}

// clean returns a path in the form that the mux wants.
func clean(escaped string) string {
	cleaned := path.Clean("/" + escaped)
	if strings.HasSuffix(escaped, "/") && cleaned != "/" {
		cleaned += "/"
	}
	return cleaned
}

// serve answers a request to an endpoint.
func (a *API) serve(w http.ResponseWriter, r *http.Request, e endpoint) {
	c := &call{api: a, w: w, r: r, id: requestID(r), route: e.find(r.Method)}
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Request-Id", c.id)
	header.Set("X-Ms-Request-Id", c.id)
	done, err := c.do(e)
	if err != nil {
		done = c.refuse(err)
	}
	c.audit(done)
	c.write(done)
}

// requestID is the caller's ID of the request, or a new one.
func requestID(r *http.Request) string {
	for _, name := range []string{"X-Request-Id", "X-Ms-Request-Id"} {
		if id := r.Header.Get(name); requestIDForm.MatchString(id) {
			return id
		}
	}
	return rand.Text()
}

// do takes the call through its steps. A panic becomes an error; it is logged with its stack, without the request's body.
func (c *call) do(e endpoint) (done *answer, err error) {
	defer func() {
		switch value := recover(); {
		case value == nil:
		case value == http.ErrAbortHandler:
			panic(value)
		default:
			c.log().Error("httpapi: a request panicked", "event", "api.panicked", "error", fmt.Sprint(value), "path", c.path(), "stack", string(debug.Stack()))
			done, err = nil, problem.New(problem.Internal, "this request hit a bug in the program, which was logged; it is unknown whether the request changed anything")
		}
	}()
	for _, step := range []func(endpoint) error{c.configured, c.sameSite, c.authenticated, c.inRate, c.found, c.named, c.permitted, c.received} {
		if err := step(e); err != nil {
			return nil, err
		}
	}
	ctx := c.r.Context()
	if c.route.op != "" {
		ctx = context.WithoutCancel(ctx) // a client that disconnects leaves no half-made change
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return c.route.serve(ctx, c)
}

func (c *call) configured(endpoint) error {
	if c.api.bad != nil {
		return problem.New(problem.Misconfigured, "this API has invalid options and serves nothing until they are corrected; its Run returns the errors")
	}
	return nil
}

// sameSite refuses a request that a page of another site makes a browser send.
func (c *call) sameSite(endpoint) error {
	var protection http.CrossOriginProtection
	if err := protection.Check(c.r); err != nil {
		return problem.New(problem.Forbidden, "a browser sent this request for a page of another site")
	}
	return nil
}

func (c *call) authenticated(endpoint) (err error) {
	if c.route != nil && c.route.open {
		return nil
	}
	if c.principal, err = c.api.options.Authenticate(c.r); err == nil {
		return nil
	}
	if own := (*problem.Problem)(nil); errors.As(err, &own) {
		return own
	}
	c.unknown = cut(err.Error(), 200)
	return problem.New(problem.Unauthenticated, "the credentials are missing or unknown")
}

func (c *call) inRate(endpoint) error {
	if c.route != nil && c.route.open || c.principal.unlimited {
		return nil
	}
	kind, limits := "writes", c.api.writes
	if c.r.Method == http.MethodGet || c.r.Method == http.MethodHead {
		kind, limits = "reads", c.api.reads
	}
	if wait := limits.take(c.principal.Name, time.Now()); wait > 0 {
		p := problem.New(problem.TooMany, "this principal sends too many %s: wait for the time in Retry-After", kind)
		p.RetryAfter = wait
		return p
	}
	return nil
}

// found checks that path, method and, below armPrefix, the api-version are known.
func (c *call) found(e endpoint) error {
	if len(e) == 0 {
		return problem.New(problem.NotFound, "there is no such path; GET %s/ lists all paths", c.base())
	}
	if c.route == nil {
		c.w.Header().Set("Allow", e.allow())
		return problem.New(problem.MethodNotAllowed, "the methods of this path are %s", e.allow())
	}
	var err error
	if c.query, err = url.ParseQuery(c.r.URL.RawQuery); err != nil {
		return mistake("syntax", "query", c.r.URL.RawQuery, "the query cannot be read: two hexadecimal digits have to follow %%, and & joins parameters")
	}
	s, g := c.r.PathValue("s"), c.r.PathValue("g")
	if s == "" && g == "" {
		return nil
	}
	if !armForm.MatchString(s) || !armForm.MatchString(g) {
		return problem.New(problem.NotFound, "there is no such path: subscriptions and resource groups have 1 to 90 letters, digits, and _ . ( ) -")
	}
	c.prefix = strings.NewReplacer("{s}", s, "{g}", g).Replace(armPrefix)
	if version := c.query.Get("api-version"); !slices.Contains(apiVersions, version) {
		return mistake("api_version", "api-version", version, "want one of %s", strings.Join(apiVersions, ", "))
	}
	return nil
}

// named checks the names in the path.
func (c *call) named(endpoint) error {
	c.name = resource.JobName{Collection: c.r.PathValue("collection"), Job: c.r.PathValue("job")}
	c.task, c.batch = c.r.PathValue("task"), c.r.PathValue("batch")
	switch {
	case strings.Contains(c.route.path, "{collection}") && !collectionForm.MatchString(c.name.Collection):
		return c.noName("collection", c.name.Collection, "1 to 40 of A-Z a-z 0-9 _ -, a letter or a digit first")
	case strings.Contains(c.route.path, "{job}") && !jobForm.MatchString(c.name.Job):
		return c.noName("job", c.name.Job, "1 to 100 of A-Z a-z 0-9 _ . -, a letter or a digit first")
	case strings.Contains(c.route.path, "{task}") && !jobForm.MatchString(c.task):
		return c.noName("task", c.task, "1 to 100 of A-Z a-z 0-9 _ . -, a letter or a digit first")
	case strings.Contains(c.route.path, "{batch}") && !jobForm.MatchString(c.batch):
		return c.noName("batch", c.batch, "1 to 100 of A-Z a-z 0-9 _ . -, a letter or a digit first")
	}
	return nil
}

// noName is the problem of an invalid name.
func (c *call) noName(kind, name, want string) error {
	if c.r.Method == http.MethodPut {
		return mistake("name", kind, name, "want %s", want)
	}
	return problem.New(problem.NotFound, "there is no %s %.100q; want %s", kind, name, want)
}

func (c *call) permitted(endpoint) error {
	switch {
	case c.route.needs == 0 || c.principal.may(c.route.needs, c.name.Collection):
		return nil
	case !c.principal.may(Read, c.name.Collection):
		return c.noCollection()
	}
	return problem.New(problem.Forbidden, "%q may not do this to collection %q: the permission %v is needed", c.principal.Name, c.name.Collection, c.route.needs)
}

// noCollection is the problem of a collection that does not exist, or that the principal may not read.
func (c *call) noCollection() *problem.Problem {
	return problem.New(problem.NotFound, "there is no collection %s: PUT /jobCollections/%s with {} creates it", c.name.Collection, c.name.Collection)
}

// mistake is the problem of one error in a request's path, query or headers.
func mistake(code, field, value, format string, args ...any) *problem.Problem {
	return problem.Invalid([]problem.Mistake{{Code: code, Field: field, Value: cut(value, 100), Detail: fmt.Sprintf(format, args...)}})
}

// base is the beginning of absolute URLs.
func (c *call) base() string {
	if at := c.api.options.PublicURL; at != "" {
		return at
	}
	scheme := "http"
	if c.r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + c.r.Host
}

// url is the absolute URL of a path below the mount point that the client uses.
func (c *call) url(path string) string {
	at := c.base() + (&url.URL{Path: c.prefix}).EscapedPath() + path
	if c.prefix != "" {
		at += "?api-version=" + c.query.Get("api-version")
	}
	return at
}

// resource is the ID of the resource at a path below the mount point.
func (c *call) resource(path string) string { return c.prefix + path }

func (c *call) collectionPath() string { return "/jobCollections/" + c.name.Collection }

func (c *call) jobPath() string { return c.collectionPath() + "/jobs/" + c.name.Job }

// seconds is a wait in whole seconds, the form of Retry-After.
func seconds(wait time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(wait.Seconds()))))
}
