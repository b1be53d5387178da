package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/internal/login"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// localEnv is an environment with the local token.
func localEnv(name string) string {
	return map[string]string{login.LocalVariable: localToken}[name]
}

// handlerOf is the handler of a chimed with these flags.
func handlerOf(t *testing.T, args ...string) http.Handler {
	t.Helper()
	store := embedded.StartInMemory()
	t.Cleanup(func() { _ = store.Close() })
	return handlerOn(t, store.Store(), args...)
}

// handlerOn is handlerOf on a store.
func handlerOn(t *testing.T, store chime.Store, args ...string) http.Handler {
	t.Helper()
	p := process{args: args, env: localEnv}
	s, err := p.serveSettings()
	if err != nil {
		t.Fatal(err)
	}
	known, err := newCredentials(s)
	if err != nil {
		t.Fatal(err)
	}
	made, err := newServer(s, known, store, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = made.http.Shutdown(t.Context()) }) // ends the dashboard's open work
	return made.http.Handler
}

// browse sends a request from this machine, with a name and a token unless they are empty. Without a name the token is a bearer token.
func browse(handler http.Handler, method, path, name, token string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.RemoteAddr, r.Host = "127.0.0.1:50000", "localhost:8080"
	switch {
	case name != "":
		r.SetBasicAuth(name, token)
	case token != "":
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

const withDashboardRole = "api,scheduler,worker,dashboard"

func TestTheDashboardIsOffUnlessItIsARole(t *testing.T) {
	for what, c := range map[string]struct {
		args   []string
		status map[string]int
	}{
		"without the role": {nil, map[string]int{"/dashboard": 404, "/dashboard/workers": 404, "/jobCollections": 200}},
		"with it": {[]string{"-roles", withDashboardRole},
			map[string]int{"/dashboard": 308, "/dashboard/workers": 200, "/dashboard/nothing": 404, "/jobCollections": 200, "/livez": 200, "/dashboardx": 404}},
		"alone": {[]string{"-roles", "dashboard", "-redis", "redis://127.0.0.1:1"}, map[string]int{"/dashboard/workers": 200, "/jobCollections": 404}},
	} {
		handler := handlerOf(t, c.args...)
		for path, want := range c.status {
			got := browse(handler, "GET", path, "", localToken)
			if got.Code != want {
				t.Errorf("%s: GET %s: got %d %s, want %d", what, path, got.Code, got.Body, want)
			}
			if want == 308 && got.Header().Get("Location") != "dashboard/" {
				t.Errorf("%s: GET %s redirects to %q", what, path, got.Header().Get("Location"))
			}
		}
	}
}

func TestTheDashboardWithoutTokensHasALocalOne(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int // of a pause
	}{{nil, 403}, {[]string{"-dashboard-write"}, 200}} { // the dashboard asks for confirmation first
		handler := handlerOf(t, append([]string{"-roles", withDashboardRole}, c.args...)...)
		for name, token := range map[string]string{login.LocalUser: localToken, "": localToken} {
			if got := browse(handler, "POST", "/dashboard/schedules/a/pause", name, token); got.Code != c.status {
				t.Errorf("%q: a pause by %q: got %d, want %d: %s", c.args, name, got.Code, c.status, got.Body)
			}
		}
		for what, user := range map[string][2]string{"nobody": {}, "another name": {"anna", localToken}, "another token": {login.LocalUser, localToken[:46] + "B"}} {
			if got := browse(handler, "GET", "/dashboard/workers", user[0], user[1]); got.Code != http.StatusUnauthorized {
				t.Errorf("%q: %s: got %d, want 401", c.args, what, got.Code)
			}
		}
		r := httptest.NewRequest("GET", "/dashboard/workers", nil)
		r.RemoteAddr, r.Host = "127.0.0.1:50000", "evil.example"
		r.SetBasicAuth(login.LocalUser, localToken)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != http.StatusForbidden {
			t.Errorf("%q: a host that was rebound: got %d, want 403", c.args, w.Code)
		}
	}
}

// The rights of a token in the dashboard are its permissions for all collections, because the dashboard shows the whole store.
func TestPermissionsForAllCollectionsAreRightsInTheDashboard(t *testing.T) {
	var lines []string
	tokens := map[string]string{}
	add := func(name string, permission httpapi.Permission, collections ...string) {
		token, line, err := httpapi.NewToken(name, permission, collections...)
		if err != nil {
			t.Fatal(err)
		}
		tokens[name], lines = token, append(lines, line)
	}
	add("reader", httpapi.Read)
	add("runner", httpapi.Run)
	add("writer", httpapi.Write)
	add("admin", httpapi.Admin)
	add("team", httpapi.Admin, "team-*", "*-team")
	handler := handlerOf(t, "-roles", withDashboardRole, "-dashboard-write", "-tokens", written(t, "tokens", strings.Join(lines, "\n")))
	for name, want := range map[string][3]int{ // statuses of a read, of a pause of a program's schedule, and of a deletion; the last two need a confirmation
		"reader": {200, 403, 403}, "runner": {200, 403, 403}, "writer": {200, 403, 403}, "admin": {200, 200, 200}, "team": {403, 403, 403},
	} {
		got := [3]int{
			browse(handler, "GET", "/dashboard/workers", name, tokens[name]).Code,
			browse(handler, "POST", "/dashboard/schedules/a/pause", name, tokens[name]).Code,
			browse(handler, "POST", "/dashboard/schedules/a/delete", name, tokens[name]).Code,
		}
		if got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	for what, c := range map[string][2]string{"nobody": {}, "another name": {"admin", tokens["reader"]}, "no token": {"admin", "secret"}} {
		got := browse(handler, "GET", "/dashboard/workers", c[0], c[1])
		if got.Code != http.StatusUnauthorized || got.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s: got %d, want 401 and how to log in", what, got.Code)
		}
	}
	known := credentials{}
	who, err := httpapi.Tokens(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	known.who.Store(&who)
	for name, want := range map[string]string{
		"reader": "view", "runner": "view, operate", "writer": "view, operate, edit", "admin": "view, operate, edit, delete, reveal", "team": "none",
	} {
		if viewer, ok := known.viewer(name, tokens[name]); !ok || viewer.Name != name || viewer.Rights.String() != want {
			t.Errorf("%s: got %q with %s, want %s", name, viewer.Name, viewer.Rights, want)
		}
	}
}

// Arguments are shown without their sealed secrets.
func TestRevealMasksSealedSecrets(t *testing.T) {
	store := embedded.StartInMemory()
	t.Cleanup(func() { _ = store.Close() })
	payload := map[string]any{"type": "https", "request": map[string]any{
		"uri": "https://example.com/r", "secretHeaders": map[string]any{"X-Key": map[string]string{"$secret": "2.k1.canary.canary"}},
	}}
	enqueuer := chime.NewEnqueuer(store.Store(), chime.EnqueuerOptions{})
	for id, name := range map[string]string{"action": action.JobName, "other": "mail.send"} {
		if _, err := enqueuer.EnqueueMany(t.Context(), []chime.Item{{Name: name, Args: payload, Options: []chime.EnqueueOption{chime.ID(id), chime.In(time.Hour)}}}); err != nil {
			t.Fatal(err)
		}
	}
	local, err := login.NewLocal(localEnv)
	if err != nil {
		t.Fatal(err)
	}
	s := &settings{local: local}
	known, err := newCredentials(s)
	if err != nil {
		t.Fatal(err)
	}
	_, handler := newDashboard(s, known, store.Store(), httpapi.New(store.Store(), httpapi.Options{Authenticate: httpapi.Loopback()}), slog.New(slog.DiscardHandler))
	for id, sealed := range map[string]bool{"action": false, "other": true} { // what another program's job has there is its own
		page := browse(handler, "POST", dashboardPrefix+"/jobs/default/"+id+"/reveal", login.LocalUser, localToken)
		if body := page.Body.String(); page.Code != http.StatusOK || !strings.Contains(body, "example.com/r") || strings.Contains(body, "canary") != sealed {
			t.Errorf("%s: got %d, with the sealed text: %v, want %v", id, page.Code, strings.Contains(body, "canary"), sealed)
		}
	}
}
