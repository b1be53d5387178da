package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// An api answers the requests. The tenant is in the path to keep the example short. In your program take it from a token, never from
// the caller's input; everything below remains the same.
//
//	GET    /tenants/{tenant}/schedules                  ?after=name&n=20, in order of names
//	PUT    /tenants/{tenant}/schedules/{name}           creates; with If-Match it changes the revision that the caller has seen
//	GET    /tenants/{tenant}/schedules/{name}           with the ETag for If-Match
//	DELETE /tenants/{tenant}/schedules/{name}
//	POST   /tenants/{tenant}/schedules/{name}/pause     {"text": "why", "by": "who"}, or nothing
//	POST   /tenants/{tenant}/schedules/{name}/resume    ?skipgap: missed runs are skipped
//	POST   /tenants/{tenant}/schedules/{name}/run       once, now; with Idempotency-Key the call can be repeated
//	GET    /tenants/{tenant}/schedules/{name}/run/{id}  its state and result, for a day
//	GET    /tenants/{tenant}/schedules/{name}/upcoming  ?n=10
//	GET    /tenants/{tenant}/schedules/{name}/runs      including manual runs, newest first
//	POST   /tenants/{tenant}/messages                   {"text": "…", "to": ["anna", …]}
//
// A schedule is stored as "<tenant>/<name>". A tenant's name has no slash, so no tenant can name, list or guess another one's
// schedules: every name in its requests gets its own prefix.
type api struct {
	schedules *chime.Schedules
	jobs      *chime.Jobs
	enqueuer  *chime.Enqueuer
}

// maxBody is the maximum size of a request in bytes. A rule has at most 64 KiB.
const maxBody = 64 << 10

// patience is the time that a request waits for the store.
const patience = 10 * time.Second

var tenants = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)

func newAPI(store chime.Store) http.Handler {
	a := api{chime.NewSchedules(store), chime.NewJobs(store), chime.NewEnqueuer(store, chime.EnqueuerOptions{Queue: messages})}
	mux := http.NewServeMux()
	serve := func(pattern string, act func(context.Context, *request) (answer, error)) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /tenants/{tenant}/schedules"+path, func(w http.ResponseWriter, r *http.Request) { respond(w, r, act) })
	}
	mux.HandleFunc("POST /tenants/{tenant}/messages", func(w http.ResponseWriter, r *http.Request) { respond(w, r, a.send) })
	serve("GET ", a.list)
	serve("PUT /{name}", a.put)
	serve("GET /{name}", a.get)
	serve("DELETE /{name}", a.delete)
	serve("POST /{name}/pause", a.pause)
	serve("POST /{name}/resume", a.resume)
	serve("POST /{name}/run", a.run)
	serve("GET /{name}/run/{id}", a.manual)
	serve("GET /{name}/upcoming", a.upcoming)
	serve("GET /{name}/runs", a.runs)
	return mux
}

func (a api) list(ctx context.Context, r *request) (answer, error) {
	n, err := r.number("n", 20, 100)
	if err != nil {
		return answer{}, err
	}
	filter := chime.ScheduleFilter{Prefix: r.prefix()}
	if after := r.URL.Query().Get("after"); after != "" {
		filter.After = r.prefix() + after
	}
	found := []scheduleView{}
	for s, err := range a.schedules.List(ctx, filter) {
		if err != nil {
			return answer{}, err
		}
		if found = append(found, r.view(s)); len(found) == n {
			break
		}
	}
	return answer{body: found}, nil
}

// put creates a schedule, or changes the revision that the caller has seen. Putting the same definition again is not a conflict.
func (a api) put(ctx context.Context, r *request) (answer, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return answer{}, err
	}
	rule, err := recurrence.Parse(body) // it ignores the action, which is ours
	if err != nil {
		return answer{}, err
	}
	var job struct {
		Action action `json:"action"`
	}
	if err := json.Unmarshal(body, &job); err != nil {
		return answer{}, &chime.InvalidError{Field: "action", Value: err.Error(), Limit: `{"message": "text"}`}
	}
	revision, err := r.seen()
	if err != nil {
		return answer{}, err
	}
	options := []chime.PutOption{notice.With(job.Action), chime.Header("tenant", r.tenant)}
	if revision > 0 {
		options = append(options, chime.IfRevision(revision))
	} else {
		options = append(options, chime.IfAbsent())
	}
	s, err := a.schedules.Put(ctx, r.schedule(), rule, options...)
	if err != nil {
		return answer{}, err
	}
	return answer{revision: s.Revision, body: r.view(s)}, nil
}

func (a api) get(ctx context.Context, r *request) (answer, error) {
	s, err := a.schedules.Get(ctx, r.schedule())
	if err != nil {
		return answer{}, err
	}
	return answer{revision: s.Revision, body: r.view(s)}, nil
}

func (a api) delete(ctx context.Context, r *request) (answer, error) {
	options, err := r.change()
	if err == nil {
		err = a.schedules.Delete(ctx, r.schedule(), append(options, chime.DeleteWaiting())...)
	}
	return answer{status: http.StatusNoContent}, err
}

func (a api) pause(ctx context.Context, r *request) (answer, error) {
	options, err := r.change()
	if err != nil {
		return answer{}, err
	}
	var note chime.Note
	if err := json.NewDecoder(r.Body).Decode(&note); err != nil && err != io.EOF {
		return answer{}, &chime.InvalidError{Field: "note", Value: err.Error(), Limit: `{"text": "why", "by": "who"}, or nothing`}
	}
	if err := a.schedules.Pause(ctx, r.schedule(), append(options, note)...); err != nil {
		return answer{}, err
	}
	return a.get(ctx, r)
}

func (a api) resume(ctx context.Context, r *request) (answer, error) {
	options, err := r.change()
	if err != nil {
		return answer{}, err
	}
	if r.URL.Query().Has("skipgap") {
		options = append(options, chime.SkipGap())
	}
	if err := a.schedules.Resume(ctx, r.schedule(), options...); err != nil {
		return answer{}, err
	}
	return a.get(ctx, r)
}

func (a api) run(ctx context.Context, r *request) (answer, error) {
	options := []chime.TriggerOption{chime.Keep(24 * time.Hour)}
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		options = append(options, chime.ID(key))
	}
	receipt, err := a.schedules.Trigger(ctx, r.schedule(), options...)
	return answer{status: http.StatusAccepted, body: map[string]any{"id": strings.TrimPrefix(receipt.ID, r.schedule()+"#"), "existing": receipt.Existing}}, err
}

// errNoRun means that nobody has requested a run with that ID, or that it was requested more than a day ago.
var errNoRun = errors.New("there is no such run")

func (a api) manual(ctx context.Context, r *request) (answer, error) {
	job, err := a.jobs.Get(ctx, "default", r.schedule()+"#"+r.PathValue("id"))
	if errors.Is(err, chime.ErrNotFound) {
		return answer{}, errNoRun
	}
	if err != nil {
		return answer{}, err
	}
	return answer{body: viewJob(job)}, nil
}

func (a api) upcoming(ctx context.Context, r *request) (answer, error) {
	n, err := r.number("n", 10, 1000)
	if err != nil {
		return answer{}, err
	}
	times, err := a.schedules.Upcoming(ctx, r.schedule(), n)
	return answer{body: append([]time.Time{}, times...)}, err
}

func (a api) runs(ctx context.Context, r *request) (answer, error) {
	found := []runView{}
	for run, err := range a.schedules.Runs(ctx, r.schedule()) {
		if err != nil {
			return answer{}, err
		}
		found = append(found, viewRun(run))
	}
	return answer{body: found}, nil
}

// A request is a request of a known tenant.
type request struct {
	*http.Request
	tenant string
}

func (r *request) prefix() string   { return r.tenant + "/" }
func (r *request) schedule() string { return r.prefix() + r.PathValue("name") }

// own returns a name or an ID without the tenant's prefix.
func (r *request) own(name string) string { return strings.TrimPrefix(name, r.prefix()) }

// seen returns the revision in If-Match, which the caller has seen; 0: none.
func (r *request) seen() (int64, error) {
	match := r.Header.Get("If-Match")
	if match == "" {
		return 0, nil
	}
	revision, err := strconv.ParseInt(strings.Trim(match, `"`), 10, 64)
	if err != nil || revision < 1 {
		return 0, &chime.InvalidError{Field: "If-Match", Value: match, Limit: "the ETag of a GET or PUT"}
	}
	return revision, nil
}

// change returns the options of a change to the revision that the caller has seen or, without one, to any revision.
func (r *request) change() ([]chime.ChangeOption, error) {
	revision, err := r.seen()
	if err != nil || revision == 0 {
		return nil, err
	}
	return []chime.ChangeOption{chime.IfRevision(revision)}, nil
}

// number returns a number of the query, from 1 to max.
func (r *request) number(field string, otherwise, max int) (int, error) {
	value := r.URL.Query().Get(field)
	if value == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > max {
		return 0, &chime.InvalidError{Field: field, Value: value, Limit: "1 to " + strconv.Itoa(max)}
	}
	return n, nil
}

// An answer is the result of a valid request.
type answer struct {
	status   int   // zero: 200
	revision int64 // of the schedule in the body, for the ETag; zero: none
	body     any   // nil: none
}

func respond(w http.ResponseWriter, r *http.Request, act func(context.Context, *request) (answer, error)) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	tenant := r.PathValue("tenant")
	if !tenants.MatchString(tenant) {
		fail(w, r, &chime.InvalidError{Field: "tenant", Value: tenant, Limit: "1 to 40 of a-z 0-9 -"})
		return
	}
	a, err := act(ctx, &request{r, tenant})
	if err != nil {
		fail(w, r, err)
		return
	}
	if a.revision > 0 {
		w.Header().Set("ETag", strconv.Quote(strconv.FormatInt(a.revision, 10)))
	}
	write(w, a.status, a.body)
}

// write answers with a status, zero means 200, and a body as JSON, if there is one.
func write(w http.ResponseWriter, status int, body any) {
	if status == 0 {
		status = http.StatusOK
	}
	if body == nil {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the caller may have disconnected
}
