package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A lab is a chimed with a dashboard that may change things, and tokens of each permission. Each visitor of the dashboard may send 20 requests a second, so
// each request is from another one of several visitors.
type lab struct {
	t       *testing.T
	handler http.Handler
	store   chime.Store
	tokens  map[string]string // name -> token
	sent    int
}

const visitors = 40 // with each permission

var allPermissions = []httpapi.Permission{httpapi.Read, httpapi.Run, httpapi.Write, httpapi.Admin}

func newLab(t *testing.T) *lab {
	l := &lab{t: t, tokens: map[string]string{}}
	var lines []string
	for _, permission := range allPermissions {
		for i := range visitors {
			name := fmt.Sprintf("%s-%d", permission, i)
			token, line, err := httpapi.NewToken(name, permission)
			if err != nil {
				t.Fatal(err)
			}
			l.tokens[name], lines = token, append(lines, line)
		}
	}
	server := embedded.StartInMemory()
	t.Cleanup(func() { _ = server.Close() })
	l.store = server.Store()
	l.handler = handlerOn(t, l.store, "-roles", withDashboardRole, "-dashboard-write", "-tokens", written(t, "tokens", strings.Join(lines, "\n")))
	return l
}

// visitor returns the name and the token of the next visitor with a permission.
func (l *lab) visitor(permission string) (name, token string) {
	l.sent++
	name = fmt.Sprintf("%s-%d", permission, l.sent%visitors)
	return name, l.tokens[name]
}

// api sends a request to the API with the token of a permission.
func (l *lab) api(permission, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	_, token := l.visitor(permission)
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	l.handler.ServeHTTP(w, r)
	return w
}

// page sends a request to the dashboard with the token of a permission. fields are names and values.
func (l *lab) page(permission, method, path string, fields ...string) *httptest.ResponseRecorder {
	form := url.Values{}
	for ; len(fields) >= 2; fields = fields[2:] {
		form.Add(fields[0], fields[1])
	}
	r := httptest.NewRequest(method, dashboardPrefix+path, nil)
	if method == http.MethodPost {
		r = httptest.NewRequest(method, dashboardPrefix+path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.SetBasicAuth(l.visitor(permission))
	w := httptest.NewRecorder()
	l.handler.ServeHTTP(w, r)
	return w
}

// must fails the test if a response does not have the status and the text.
func (l *lab) must(what string, got *httptest.ResponseRecorder, status int, text string) {
	l.t.Helper()
	if got.Code != status || !strings.Contains(got.Body.String(), text) {
		l.t.Errorf("%s: got %d, want %d and %q: %.600s", what, got.Code, status, text, got.Body)
	}
}

// fill creates jobs of collections, and the schedule "nightly" of a program.
func (l *lab) fill() {
	const action = `"action": {"type": "https", "request": {"uri": "https://example.com/"}}`
	for _, c := range []struct{ path, body string }{
		{"/demo", `{}`}, {"/off", `{}`},
		{"/demo/jobs/live", `{` + action + `, "recurrence": {"frequency": "day"}}`},
		{"/demo/jobs/disabled", `{"state": "disabled", ` + action + `, "recurrence": {"frequency": "day"}}`},
		{"/demo/jobs/ended", `{"startTime": "2020-01-01T00:00Z", ` + action + `, "recurrence": {"frequency": "day", "endTime": "2020-01-05T00:00Z"}}`},
		{"/off/jobs/live", `{` + action + `, "recurrence": {"frequency": "day"}}`},
	} {
		l.must("PUT "+c.path, l.api("admin", "PUT", "/jobCollections"+c.path, c.body), 201, "")
	}
	l.must("disable", l.api("admin", "POST", "/jobCollections/off/disable", ""), 200, "")
	if _, err := chime.NewSchedules(l.store).Put(l.t.Context(), "nightly", recurrence.Recurrence{Cron: "@daily"}, chime.JobName("admin.wipe")); err != nil {
		l.t.Fatal(err)
	}
}

// A demand is the lowest permission, for all collections, that an action needs. never: nobody may do it.
type demand struct {
	job     string // on a job of a collection
	program string // on everything else
}

const never = "never"

// demands has a line for each route of the dashboard that changes or reveals something, with what the API demands for it. A new route needs a new line.
var demands = map[string]demand{
	"POST /schedules/{name}/trigger":             {"run", "admin"}, // POST …/run
	"POST /schedules/bulk trigger":               {"run", "admin"},
	"POST /schedules/{name}/pause":               {"write", "admin"}, // PATCH {"state": "disabled"}
	"POST /schedules/bulk pause":                 {"write", "admin"},
	"POST /schedules/{name}/resume":              {"write", "admin"}, // PATCH {"state": "enabled"}
	"POST /schedules/bulk resume":                {"write", "admin"},
	"POST /schedules/{name}/acknowledge":         {"admin", "admin"}, // the API has no such route
	"POST /schedules/{name}/unacknowledge":       {"admin", "admin"},
	"GET /schedules/{name}/edit":                 {never, "admin"}, // the API changes definitions, and the dashboard of chimed does not
	"POST /schedules/{name}/edit":                {never, "admin"},
	"GET /schedules/new":                         {"admin", "admin"}, // a program's schedule may call any handler
	"POST /schedules/new":                        {never, "admin"},   // the name may be that of a job
	"POST /preview":                              {"write", "write"}, // it stores nothing
	"POST /schedules/{name}/backfill":            {"admin", "admin"}, // the API has no such route
	"POST /schedules/{name}/delete":              {"admin", "admin"},
	"POST /schedules/bulk delete":                {"admin", "admin"},
	"POST /queues/{queue}/pause":                 {"admin", "admin"}, // queues belong to all collections
	"POST /queues/{queue}/resume":                {"admin", "admin"},
	"POST /queues/{queue}/limit":                 {"admin", "admin"},
	"POST /queues/{queue}/groups/{group}/pause":  {"admin", "admin"}, // as queues do
	"POST /queues/{queue}/groups/{group}/resume": {"admin", "admin"},
	"POST /queues/{queue}/groups/{group}/limit":  {"admin", "admin"},
	"POST /queues/{queue}/groups/{group}/reset":  {"admin", "admin"},
	"POST /queues/{queue}/groups/{group}/purge":  {"admin", "admin"},
	"POST /queues/{queue}/rule":                  {"admin", "admin"},
	"POST /queues/{queue}/purge":                 {"admin", "admin"},
	"POST /queues/{queue}/delete":                {"admin", "admin"},
	"POST /jobs/{queue}/{id}/requeue":            {"admin", "admin"}, // the API has no such route
	"POST /jobs/{queue}/{id}/cancel":             {"admin", "admin"},
	"POST /jobs/{queue}/{id}/delete":             {"admin", "admin"},
	"POST /jobs/{queue}/{id}/reveal":             {"admin", "admin"},
	"POST /jobs/bulk requeue":                    {"admin", "admin"},
	"POST /jobs/bulk cancel":                     {"admin", "admin"},
	"POST /jobs/bulk delete":                     {"admin", "admin"},
	"POST /batches/{id}/seal":                    {"admin", "admin"}, // batches belong to all collections
	"POST /batches/{id}/recount":                 {"admin", "admin"},
	"POST /batches/{id}/cancel":                  {"admin", "admin"},
	"POST /batches/{id}/delete":                  {"admin", "admin"},
	"POST /failures/{job}/reveal":                {"admin", "admin"},
	"POST /failures/bulk requeue":                {"admin", "admin"},
	"POST /failures/bulk delete":                 {"admin", "admin"},
	"POST /failures/bulk acknowledge":            {"admin", "admin"},
	"POST /failures/bulk unacknowledge":          {"admin", "admin"},
}

// routesOfTheDashboard reads the routes with a right of their own. A test of the dashboard compares this file with the routes.
func routesOfTheDashboard(t *testing.T) (routes []string) {
	text, err := os.ReadFile("../../../dashboard/testdata/routes.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) >= 3 && (fields[1] == "POST" || fields[0] != "view") {
			routes = append(routes, strings.Join(fields[1:], " "))
		}
	}
	return routes
}

// A token gets no more from the dashboard than from the API.
func TestTheDashboardDemandsWhatTheAPIDemands(t *testing.T) {
	l := newLab(t)
	l.fill()
	known := map[string]bool{}
	for _, route := range routesOfTheDashboard(t) {
		known[route] = true
		want, ok := demands[route]
		if !ok {
			t.Errorf("the dashboard has the route %q: write down what the API demands for it", route)
			continue
		}
		method, rest, _ := strings.Cut(route, " ")
		path, verb, _ := strings.Cut(rest, " ")
		for target, lowest := range map[string]string{"demo:live": want.job, "nightly": want.program} {
			to := strings.NewReplacer("{name}", target, "{queue}", "default", "{id}", url.PathEscape(target+"@1"), "{job}", "report").Replace(path)
			fields := []string{"verb", verb, "id", target, "of", target, "name", target}
			if strings.HasPrefix(path, "/jobs/") || strings.HasPrefix(path, "/failures/") {
				fields[3] = "default/" + target
			}
			if path == "/schedules/new" {
				fields = append(fields, "do", "put", "tab", "cron", "cron", "0 9 * * *", "job_name", "admin.wipe", "queue", "default")
			}
			for at, permission := range allPermissions { // without "sure", so nearly all of them only ask for confirmation
				allowed := lowest != never
				for _, higher := range allPermissions[at+1:] {
					allowed = allowed && higher.String() != lowest
				}
				got := l.page(permission.String(), method, to, fields...)
				if (got.Code != http.StatusForbidden) != allowed || got.Code >= 500 {
					t.Errorf("%s on %s with %s: got %d, want it allowed: %v: %.300s", route, target, permission, got.Code, allowed, got.Body)
				}
			}
		}
	}
	for route := range demands {
		if !known[route] {
			t.Errorf("the dashboard has no route %q", route)
		}
	}
	// The API itself: the same tokens, and the same job.
	for route, c := range map[string]struct{ method, path, body string }{
		"POST /schedules/{name}/trigger": {"POST", "/jobCollections/demo/jobs/live/run", ""},
		"POST /schedules/{name}/pause":   {"PATCH", "/jobCollections/demo/jobs/live", `{"state": "disabled"}`},
		"POST /schedules/{name}/resume":  {"PATCH", "/jobCollections/demo/jobs/live", `{"state": "enabled"}`},
	} {
		for _, permission := range allPermissions {
			got := l.api(permission.String(), c.method, c.path, c.body).Code
			page := l.page(permission.String(), "POST", strings.Replace(strings.TrimPrefix(route, "POST "), "{name}", "demo:live", 1)).Code
			if (got == http.StatusForbidden) != (page == http.StatusForbidden) || got >= 500 {
				t.Errorf("%s with %s: the API answers %d, and the dashboard %d", route, permission, got, page)
			}
		}
	}
}

// The rules of the API that hold for everybody hold in the dashboard too.
func TestTheDashboardKeepsTheRulesOfTheAPI(t *testing.T) {
	l := newLab(t)
	l.fill()
	for what, c := range map[string]struct {
		permission, path string
		fields           []string
		status           int
		text             string
	}{
		"run what has ended":                  {"run", "/schedules/demo:ended/trigger", nil, 409, "has ended and cannot run again"},
		"run in a disabled collection":        {"admin", "/schedules/off:live/trigger", nil, 409, "collection_disabled"},
		"other arguments":                     {"write", "/schedules/demo:live/trigger", []string{"args", `{"type":"https"}`}, 403, "change it by the API"},
		"other arguments of an admin":         {"admin", "/schedules/demo:live/trigger", []string{"args", `{"type":"https"}`}, 403, "change it by the API"},
		"other arguments with run":            {"run", "/schedules/demo:live/trigger", []string{"args", `{"type":"https"}`}, 403, "the right to edit"},
		"resume in a disabled collection":     {"write", "/schedules/off:live/resume", nil, 409, "collection_disabled"},
		"resume what a client has disabled":   {"write", "/schedules/demo:disabled/resume", nil, 403, "enable it by the API"},
		"a definition":                        {"admin", "/schedules/demo:live/edit", []string{"do", "put"}, 403, "change it by the API"},
		"many, one of them in a disabled one": {"write", "/schedules/bulk", []string{"verb", "resume", "id", "demo:live", "id", "off:live"}, 409, "collection_disabled"},
		"many of which one has ended":         {"run", "/schedules/bulk", []string{"verb", "trigger", "id", "demo:live", "id", "demo:ended"}, 409, "has ended"},
		"run in an enabled collection":        {"run", "/schedules/demo:live/trigger", nil, 303, ""},
		"pause in a disabled collection":      {"write", "/schedules/off:live/pause", nil, 303, ""},
		"pause":                               {"write", "/schedules/demo:disabled/pause", nil, 303, ""},
		"what is not there":                   {"admin", "/schedules/demo:none/trigger", nil, 404, ""},
	} {
		l.must(what, l.page(c.permission, "POST", c.path, append(c.fields, "sure", "1")...), c.status, c.text)
	}
	queue, err := chime.NewQueues(l.store).Get(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]chime.ScheduleState{"demo:live": chime.StateLive, "off:live": chime.StatePaused, "demo:disabled": chime.StatePaused} {
		if s, err := chime.NewSchedules(l.store).Get(t.Context(), name); err != nil || s.State != want {
			t.Errorf("%s is %+v, %v; want %v", name, s, err, want)
		}
	}
	if queue.Paused {
		t.Error("the queue is paused")
	}
}

// A change of all that match a filter leaves out what the API would refuse.
func TestAChangeOfAllLeavesOutWhatTheAPIRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.fill()
		l.must("pause all", l.page("write", "POST", "/schedules/bulk", "verb", "pause", "all", "1", "sure", "1"), 303, "")
		synctest.Wait()
		for name, want := range map[string]string{"nightly": "", "demo:live": "write-"} {
			s, err := chime.NewSchedules(l.store).Get(t.Context(), name)
			if err != nil || !strings.HasPrefix(s.Note.By, want) || (s.State == chime.StatePaused) != (want != "") {
				t.Errorf("%s is %v, paused by %q, %v; want %q", name, s.State, s.Note.By, err, want)
			}
		}
	})
}
