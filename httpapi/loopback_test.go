package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// The tests of internal/loopback have the full table.
func TestLoopbackServesThisMachineOnly(t *testing.T) {
	const here = "127.0.0.1:50000"
	for _, c := range []struct {
		name, peer, host, header string
		allowed                  bool
	}{
		{"curl to localhost", here, "localhost:8080", "", true},
		{"by IPv6", "[::1]:50000", "[::1]:8080", "", true},
		{"from the network", "192.0.2.7:50000", "localhost:8080", "", false},
		{"a name that was rebound", here, "evil.example:8080", "", false},
		{"a proxy: Forwarded", here, "localhost:8080", "Forwarded: for=192.0.2.7", false},
		{"a job that calls its own scheduler", here, "localhost:8080", "Chime-Fence: 7", false},
	} {
		api, _ := newTestAPI(t, Options{Authenticate: Loopback()}, "demo")
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr, r.Host = c.peer, c.host
		if name, value, ok := strings.Cut(c.header, ": "); ok {
			r.Header.Set(name, value)
		}
		got := serve(api, r)
		want := 403
		if c.allowed {
			want = 200
		}
		if got.Code != want {
			t.Errorf("%s (peer %q, host %q, %q): got %d, want %d: %s", c.name, c.peer, c.host, c.header, got.Code, want, got.Body)
		}
		if !c.allowed && problemCode(t, got) != "loopback_only" {
			t.Errorf("%s: got the code %q, want loopback_only", c.name, problemCode(t, got))
		}
	}
}

// A page of another site in a browser of this machine can send a form here, without reading the answer.
func TestAPageOfAnotherSiteChangesNothing(t *testing.T) {
	token, line, _ := NewToken("ci", Admin)
	tokens, err := Tokens(line)
	if err != nil {
		t.Fatal(err)
	}
	for name, authenticate := range map[string]Authenticator{"loopback": Loopback(), "tokens": tokens} {
		for _, c := range []struct {
			method, path, header string
			want                 int
		}{
			{"POST", "/jobCollections/demo/jobs/report/run", "Sec-Fetch-Site: cross-site", 403},
			{"POST", "/jobCollections/demo/disable", "Sec-Fetch-Site: same-site", 403},
			{"DELETE", "/jobCollections/demo", "Origin: https://evil.example", 403},
			{"POST", "/jobCollections/demo/disable", "Origin: null", 403},
			{"POST", "/jobCollections/demo/jobs/report/run", "Sec-Fetch-Site: same-origin", 200},
			{"POST", "/jobCollections/demo/jobs/report/run", "", 200},
		} {
			api, backend := newTestAPI(t, Options{Authenticate: authenticate}, "demo")
			backend.addJob("demo", "report")
			r := httptest.NewRequest(c.method, c.path, nil)
			r.RemoteAddr, r.Host = "127.0.0.1:50000", "localhost:8080"
			r.Header.Set("Authorization", "Bearer "+token)
			if name, value, ok := strings.Cut(c.header, ": "); ok {
				r.Header.Set(name, value)
			}
			got := serve(api, r)
			if got.Code != c.want {
				t.Errorf("%s, %s %s with %q: got %d, want %d: %s", name, c.method, c.path, c.header, got.Code, c.want, got.Body)
			}
			if c.want == 403 && backend.calls != 0 {
				t.Errorf("%s, %s %s with %q: the store was called", name, c.method, c.path, c.header)
			}
		}
	}
}
