package main

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// metricsOf is the handler of a chimed with all roles on a store in memory, which does not run.
func metricsOf(t *testing.T, tokens string) http.Handler {
	t.Helper()
	s, err := process{args: []string{"-roles", "api,scheduler,worker,dashboard", "-tokens", tokens}, env: func(string) string { return "" }}.serveSettings()
	if err != nil {
		t.Fatal(err)
	}
	known, err := newCredentials(s)
	if err != nil {
		t.Fatal(err)
	}
	store := embedded.StartInMemory()
	t.Cleanup(func() { _ = store.Close() })
	made, err := newServer(s, known, store.Store(), &net.TCPListener{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return made.http.Handler
}

// The metrics are of the whole store: tokens of single collections do not see them.
func TestMetricsNeedATokenForAllCollections(t *testing.T) {
	var lines []string
	token := func(name string, permission httpapi.Permission, collections ...string) string {
		text, line, err := httpapi.NewToken(name, permission, collections...)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
		return "Bearer " + text
	}
	all, one, some := token("prometheus", httpapi.Read), token("one", httpapi.Admin, "demo"), token("some", httpapi.Admin, "demo*")
	handler := metricsOf(t, written(t, "tokens", strings.Join(lines, "\n")))
	for _, c := range []struct {
		method, authorization string
		want                  int
	}{
		{"GET", all, 200}, {"HEAD", all, 200}, {"POST", all, 405}, {"GET", one, 403}, {"GET", some, 403}, {"GET", "", 401}, {"GET", all + "x", 401}, {"POST", "", 401},
	} {
		request := httptest.NewRequest(c.method, metricsPath, nil)
		if c.authorization != "" {
			request.Header.Set("Authorization", c.authorization)
		}
		got := httptest.NewRecorder()
		handler.ServeHTTP(got, request)
		if got.Code != c.want || strings.Contains(got.Body.String(), "chime_") != (c.want == 200) {
			t.Errorf("%s with %.20q: got %d and %d bytes, want %d", c.method, c.authorization, got.Code, got.Body.Len(), c.want)
		}
		if c.want == 401 && got.Header().Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s with %.20q: the 401 has no WWW-Authenticate", c.method, c.authorization)
		}
	}
}

// Each metric that the alerts and the dashboard of chimeprom use, and the process's own.
func TestMetricsAreThoseOfChimeprom(t *testing.T) {
	token, line, err := httpapi.NewToken("prometheus", httpapi.Read)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest("GET", metricsPath, nil)
	request.Header.Set("Authorization", "Bearer "+token)
	got := httptest.NewRecorder()
	metricsOf(t, written(t, "tokens", line)).ServeHTTP(got, request)
	for _, name := range []string{"chime_worker_slots", "chime_leader", "chime_schedules", "chime_scrape_errors_total 0", "go_goroutines"} {
		if !strings.Contains(got.Body.String(), "\n"+name) {
			t.Errorf("there is no %s in\n%s", name, got.Body)
		}
	}
}
