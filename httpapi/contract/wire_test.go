package contract_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A wire is a connection to a handler in the process that records its traffic.
type wire struct {
	api       http.Handler
	peer      string // empty: a peer on this machine
	exchanges []*exchange
}

// RoundTrip makes a wire an http.RoundTripper for clients.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	x := &exchange{request: r.Clone(r.Context())}
	if r.Body != nil {
		var err error
		if x.sent, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	served := r.Clone(r.Context())
	served.Body = io.NopCloser(bytes.NewReader(x.sent))
	served.RemoteAddr, served.Host, served.RequestURI = w.peer, r.URL.Host, r.URL.RequestURI()
	if w.peer == "" {
		served.RemoteAddr = "127.0.0.1:50000"
	}
	recorder := httptest.NewRecorder()
	w.api.ServeHTTP(recorder, served)
	x.answer, x.got = recorder.Result(), recorder.Body.Bytes()
	x.answer.Request = r
	w.exchanges = append(w.exchanges, x)
	return x.response(), nil
}

// local is the base URL of a wire's requests.
const local = "http://localhost:8080"

// send sends a request with headers as "Name: value". The content type is JSON unless a header sets it.
func (w *wire) send(t *testing.T, method, target, body string, headers ...string) *exchange {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, local+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body == "" {
		r.Body, r.ContentLength = http.NoBody, 0
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	if _, err := w.RoundTrip(r); err != nil {
		t.Fatal(err)
	}
	return w.exchanges[len(w.exchanges)-1]
}

// want sends a request and fails the test unless the answer has the status, and the code of a problem; empty: it is not a problem.
func (w *wire) want(t *testing.T, status int, code, method, target, body string, headers ...string) {
	t.Helper()
	x := w.send(t, method, target, body, headers...)
	if x.answer.StatusCode != status || !strings.Contains(string(x.got), `"code":"`+code+`"`) && code != "" {
		t.Errorf("%v\nwant %d %s", x, status, code)
	}
}

// everywhere sends a request to each operation, with a body if the operation has one.
func (w *wire) everywhere(t *testing.T, all []operation, query string, headers ...string) []*exchange {
	t.Helper()
	before := len(w.exchanges)
	for _, o := range all {
		w.send(t, o.method, strings.TrimPrefix(o.url(), mount)+query, o.body(), headers...)
	}
	return w.exchanges[before:]
}

// body is a valid body for the operation; empty: it has none.
func (o operation) body() string {
	switch {
	case o.RequestBody == nil:
		return ""
	case o.method == http.MethodPatch:
		return `{"state": "disabled"}`
	case o.path == "/jobCollections/{collection}":
		return `{}`
	case o.path == "/jobCollections/{collection}/tasks":
		return task
	case strings.HasSuffix(o.path, "/acknowledge"):
		return `{"note": "the bank repairs it", "until": "2199-01-01T00:00:00Z"}`
	case o.path == "/jobCollections/{collection}/batches":
		return `{"value": [` + task + `]}`
	}
	return weekly
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
