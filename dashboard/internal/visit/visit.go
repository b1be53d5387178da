// Package visit sends requests to a dashboard in tests, like a browser on this machine, and checks the responses.
package visit

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// Send sends a request from this machine. Headers have the form "Name: value".
func Send(h http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.RemoteAddr, r.Host = "127.0.0.1:50000", "localhost:7080"
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Post sends a form from this machine. fields are names and values.
func Post(h http.Handler, target string, fields ...string) *httptest.ResponseRecorder {
	form := url.Values{}
	for ; len(fields) >= 2; fields = fields[2:] {
		form.Add(fields[0], fields[1])
	}
	r := httptest.NewRequest("POST", target, strings.NewReader(form.Encode()))
	r.RemoteAddr, r.Host = "127.0.0.1:50000", "localhost:7080"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Wants fails the test if a response does not have the status and the texts.
func Wants(t testing.TB, what string, got *httptest.ResponseRecorder, status int, texts ...string) {
	t.Helper()
	if got.Code != status {
		t.Errorf("%s: got %d, want %d: %s", what, got.Code, status, got.Body)
	}
	for _, text := range texts {
		if !strings.Contains(got.Body.String(), text) {
			t.Errorf("%s: the answer has no %q:\n%s", what, text, got.Body)
		}
	}
}

// HostileNames are names that a page has to show as text and must not interpret.
var HostileNames = []string{`"><script>alert(1)</script>`, "</title>", "a/b", "..", ".", "new", "bulk", "~x", "a b?c=d#e", "édition"}

// Must returns a value, or ends the test's process with the error.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
