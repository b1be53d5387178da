package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chimejobs/chime/internal/login"
)

// Without a file of tokens the API has one token. Where a request seems to come from proves nothing, and its headers need not be honest.
func TestTheLocalTokenIsProvedNotGuessed(t *testing.T) {
	handler := handlerOf(t, "-roles", withDashboardRole)
	proxies := []string{"Forwarded", "Via", "X-Real-Ip", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Forwarded-Server", "X-Forwarded-Prefix", "X-Forwarded-By"}
	for _, c := range []struct {
		what, token, host, path string
		headers                 []string
		want                    int
		code                    string
	}{
		{"the token", localToken, "localhost:8080", "/jobCollections", nil, 200, ""},
		{"the token, through a proxy", localToken, "127.0.0.1:8080", "/jobCollections", proxies, 200, ""},
		{"no token", "", "localhost:8080", "/jobCollections", nil, 401, "unauthenticated"},
		{"no token, through a proxy", "", "localhost:8080", "/jobCollections", proxies, 401, "unauthenticated"},
		{"another token", localToken[:46] + "B", "localhost:8080", "/jobCollections", nil, 401, "unauthenticated"},
		{"no token, the list of routes", "", "localhost:8080", "/", nil, 401, "unauthenticated"},
		{"a host that was rebound", localToken, "evil.example", "/jobCollections", nil, 403, "loopback_only"},
		{"a job", localToken, "localhost:8080", "/jobCollections", []string{"Chime-Fence"}, 403, "loopback_only"},
		{"the document", "", "localhost:8080", "/openapi.json", nil, 200, ""},
		{"the document in YAML", "", "localhost:8080", "/openapi.yaml", nil, 200, ""},
		{"alive", "", "localhost:8080", "/livez", nil, 200, ""},
		{"ready", "", "localhost:8080", "/readyz", nil, 503, ""}, // it does not run
	} {
		for version, minor := range map[string]int{"HTTP/1.0": 0, "HTTP/1.1": 1} { // health checks and nginx speak 1.0
			r := httptest.NewRequest("GET", c.path, nil)
			r.RemoteAddr, r.Host, r.Proto, r.ProtoMinor = "127.0.0.1:50000", c.host, version, minor
			if c.token != "" {
				r.Header.Set("Authorization", "Bearer "+c.token)
			}
			for _, name := range c.headers {
				r.Header.Set(name, "127.0.0.1")
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != c.want || !strings.Contains(w.Body.String(), c.code) {
				t.Errorf("%s, %s: got %d %s, want %d %s", c.what, version, w.Code, w.Body, c.want, c.code)
			}
			if w.Code == http.StatusUnauthorized && (w.Header().Get("WWW-Authenticate") != "Bearer" || !strings.Contains(w.Body.String(), "CHIMED_LOCAL_TOKEN")) {
				t.Errorf("%s, %s: the answer does not show how to log in: %v %s", c.what, version, w.Header(), w.Body)
			}
		}
	}
}

func TestALocalTokenIsOnlyForAProcessThatServesWithoutAFileOfTokens(t *testing.T) {
	tokens := written(t, "tokens", "")
	for _, c := range []struct {
		args string
		want bool
	}{
		{"", true}, {"-redis redis://127.0.0.1 -roles api", true}, {"-redis redis://127.0.0.1 -roles dashboard", true},
		{"-redis redis://127.0.0.1 -roles scheduler,worker", false}, {"-tokens " + tokens, false},
	} {
		p := process{args: strings.Fields(c.args), env: localEnv}
		s, err := p.serveSettings()
		if err != nil {
			t.Fatal(err)
		}
		if got := s.local != nil; got != c.want {
			t.Errorf("chimed %s: it has a local token: %v, want %v", c.args, got, c.want)
		}
	}
	got := command(t, nil, login.LocalVariable, "canary")
	if got.code != exitUsage || !strings.Contains(got.err, "CHIMED_LOCAL_TOKEN: want chm_") || strings.Contains(got.err, "canary") {
		t.Errorf("a token of another form: got exit %d, %q", got.code, got.err)
	}
	var nobody credentials
	nobody.useLocal()
	if _, err := nobody.authenticate(httptest.NewRequest("GET", "/", nil)); err == nil {
		t.Error("a process without tokens admits somebody")
	}
}

func TestADeviceThatDropsEverythingIsNoTerminal(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, f := range []*os.File{null, file} {
		if isTerminal(f) {
			t.Errorf("%s is taken for a terminal", f.Name())
		}
	}
}
