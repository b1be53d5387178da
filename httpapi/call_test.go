package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// anybody has every permission.
func anybody(*http.Request) (Principal, error) {
	return Principal{Name: "tester", Allows: func(Permission, string) bool { return true }}, nil
}

// newTestAPI is an API over a fake with these collections. It sets Authenticate and the options that the test checks.
func newTestAPI(t *testing.T, options Options, collections ...string) (*API, *fakeBackend) {
	t.Helper()
	if options.Authenticate == nil {
		options.Authenticate = anybody
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	server := embedded.StartInMemory()
	t.Cleanup(func() { _ = server.Close() })
	api := New(server.Store(), options)
	if api.bad != nil {
		t.Fatal(api.bad)
	}
	backend := newFakeBackend(collections...)
	api.service = backend
	return api, backend
}

// errDown is the error of an unreachable store.
var errDown = errors.New("dial tcp 10.0.0.1:6379: refused")

func newRequest(method, target string) *http.Request { return httptest.NewRequest(method, target, nil) }

func serve(api *API, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	return w
}

// send sends a request with JSON, or without a body if it is empty, and headers as "Name: value".
func send(api *API, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, target, reader)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	return serve(api, r)
}

// answered decodes the JSON of an answer.
func answered(t *testing.T, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("status %d: the body is not JSON: %v: %q", w.Code, err, w.Body)
	}
	return got
}

func problemCode(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	code, _ := answered(t, w)["code"].(string)
	return code
}

func TestPathsAndMethodsThatAreNotThereAreRefused(t *testing.T) {
	const arm = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler"
	for _, c := range []struct {
		method, target string
		status         int
		code, allow    string
	}{
		{"GET", "/nothing", 404, "not_found", ""},
		{"GET", "/jobCollections/", 404, "not_found", ""},
		{"GET", "/jobCollections//jobs", 404, "not_found", ""},
		{"GET", "/jobCollections/demo/", 404, "not_found", ""},
		{"GET", "/jobCollections/demo/jobs/", 404, "not_found", ""},
		{"GET", "/jobCollections/demo/../demo", 404, "not_found", ""},
		{"GET", "/jobCollections/%2e%2e", 404, "not_found", ""},
		{"GET", "/jobCollections/a%2Fb", 404, "not_found", ""},
		{"GET", "/jobCollections/-a", 404, "not_found", ""},
		{"GET", "/jobCollections/demo/jobs/a%00b", 404, "not_found", ""},
		{"GET", "/jobCollections/" + strings.Repeat("a", 41), 404, "not_found", ""},
		{"PUT", "/jobCollections/" + strings.Repeat("a", 41), 400, "name", ""},
		{"PUT", "/jobCollections/demo/jobs/" + strings.Repeat("a", 101), 400, "name", ""},
		{"PUT", "/jobCollections/demo/jobs/.a", 400, "name", ""},
		{"GET", "/debug/pprof", 404, "not_found", ""},

		{"POST", "/", 405, "method_not_allowed", "GET, HEAD"},
		{"POST", "/jobCollections", 405, "method_not_allowed", "GET, HEAD"},
		{"POST", "/jobCollections/demo", 405, "method_not_allowed", "DELETE, GET, HEAD, PATCH, PUT"},
		{"OPTIONS", "/jobCollections/demo", 405, "method_not_allowed", "DELETE, GET, HEAD, PATCH, PUT"},
		{"GET", "/jobCollections/demo/enable", 405, "method_not_allowed", "POST"},
		{"GET", "/jobCollections/demo/jobs/report/run", 405, "method_not_allowed", "POST"},
		{"HEAD", "/preview", 405, "method_not_allowed", "POST"},
		{"DELETE", "/jobCollections/demo/jobs", 405, "method_not_allowed", "GET, HEAD, POST"},
		{"PUT", "/openapi.json", 405, "method_not_allowed", "GET, HEAD"},

		{"GET", arm + "/jobCollections", 400, "api_version", ""},
		{"GET", arm + "/jobCollections?api-version=2015-01-01", 400, "api_version", ""},
		{"GET", arm + "/jobCollections?api-version=2016-03-01", 200, "", ""},
		{"GET", arm + "/jobCollections?api-version=2016-01-01", 200, "", ""},
		{"GET", arm + "/jobCollections?api-version=2014-08-01-preview", 200, "", ""},
		{"GET", arm + "/", 404, "not_found", ""},
		{"GET", arm + "/openapi.json", 404, "not_found", ""},
		{"GET", strings.Replace(arm, "/g/", "/a%2Fb/", 1) + "/jobCollections?api-version=2016-03-01", 404, "not_found", ""},
		{"GET", "/jobCollections?a=%zz", 400, "syntax", ""},
		{"GET", "/jobCollections?api-version=anything", 200, "", ""},
	} {
		api, backend := newTestAPI(t, Options{}, "demo")
		got := send(api, c.method, c.target, "")
		if got.Code != c.status || got.Header().Get("Allow") != c.allow {
			t.Errorf("%s %s: got %d, Allow %q; want %d, %q: %s", c.method, c.target, got.Code, got.Header().Get("Allow"), c.status, c.allow, got.Body)
			continue
		}
		if c.status != 200 && c.method != "HEAD" && problemCode(t, got) != c.code {
			t.Errorf("%s %s: got the code %s, want %s", c.method, c.target, problemCode(t, got), c.code)
		}
		if c.status != 200 && backend.calls != 0 {
			t.Errorf("%s %s: the store was called", c.method, c.target)
		}
	}
}

func TestEveryAnswerHasItsHeaders(t *testing.T) {
	api, _ := newTestAPI(t, Options{}, "demo")
	refusing, _ := newTestAPI(t, Options{Authenticate: func(*http.Request) (Principal, error) { return Principal{}, errors.New("no") }})
	for name, got := range map[string]*httptest.ResponseRecorder{
		"GET /":           send(api, "GET", "/", ""),
		"a list":          send(api, "GET", "/jobCollections", ""),
		"no such path":    send(api, "GET", "/nothing", ""),
		"an unclean path": send(api, "GET", "//", ""),
		"no such method":  send(api, "PUT", "/", ""),
		"nobody knows":    send(refusing, "GET", "/", ""),
		"the document":    send(refusing, "GET", "/openapi.json", ""),
		"as yaml":         send(refusing, "GET", "/openapi.yaml", ""),
		"nothing there":   send(api, "DELETE", "/jobCollections/nothing", ""),
		"an unknown type": send(api, "PUT", "/jobCollections/demo", "{}", "Content-Type: text/plain"),
		"a HEAD":          send(api, "HEAD", "/", ""),
	} {
		header := got.Header()
		if header.Get("Cache-Control") != "no-store" || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: no-store or nosniff is missing: %v", name, header)
		}
		if id := header.Get("X-Request-Id"); id == "" || id != header.Get("x-ms-request-id") {
			t.Errorf("%s: X-Request-Id is %q, x-ms-request-id %q", name, id, header.Get("x-ms-request-id"))
		}
		if header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: other sites may read the answer", name)
		}
		if body := got.Body.String(); body != "" && !strings.HasSuffix(body, "\n") || strings.HasSuffix(body, "\n\n") {
			t.Errorf("%s: the body ends in %q, want one newline", name, body[max(0, len(body)-10):])
		}
	}
	if got := send(refusing, "GET", "/", ""); got.Code != 401 || got.Header().Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("an unknown caller: got %d, WWW-Authenticate %q; want 401, Bearer", got.Code, got.Header().Get("WWW-Authenticate"))
	}
	get, head := send(api, "GET", "/", ""), send(api, "HEAD", "/", "")
	if head.Code != get.Code || head.Body.Len() != 0 || head.Header().Get("Content-Length") != get.Header().Get("Content-Length") || get.Body.Len() == 0 {
		t.Errorf("HEAD: %d with %d bytes, length %s; want the status and length of GET: %d, %s, and no bytes", head.Code, head.Body.Len(), head.Header().Get("Content-Length"), get.Code, get.Header().Get("Content-Length"))
	}
}

func TestTheCallersRequestIDIsKept(t *testing.T) {
	api, _ := newTestAPI(t, Options{})
	long := strings.Repeat("a", 65)
	for _, c := range []struct {
		header string
		kept   bool
	}{
		{"X-Request-Id: abc-1.2_3", true},
		{"x-ms-request-id: abc", true},
		{"X-Request-Id: " + long[:64], true},
		{"X-Request-Id: " + long, false},
		{"X-Request-Id: a b", false},
		{"X-Request-Id: <script>", false},
		{"X-Request-Id: ", false},
	} {
		got := send(api, "GET", "/", "", c.header).Header().Get("X-Request-Id")
		_, given, _ := strings.Cut(c.header, ": ")
		if kept := got == given; kept != c.kept || got == "" {
			t.Errorf("%q: got %q, want it kept: %v", c.header, got, c.kept)
		}
	}
}

func TestAPanicIsAnsweredAndLoggedWithoutTheBody(t *testing.T) {
	var log strings.Builder
	api, backend := newTestAPI(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, "demo")
	backend.hook = func(context.Context) error { panic("boom") }
	got := send(api, "GET", "/jobCollections/demo", "", "X-Request-Id: here")
	if got.Code != 500 || problemCode(t, got) != "internal" || strings.Contains(got.Body.String(), "boom") {
		t.Errorf("got %d %s, want 500 internal without the panic's value", got.Code, got.Body)
	}
	if !strings.Contains(log.String(), "boom") || !strings.Contains(log.String(), "call_test.go") {
		t.Errorf("the log does not have the panic with its stack: %s", log.String())
	}
}

func TestBadOptionsAreErrorsOfRunAndServeNothing(t *testing.T) {
	server := embedded.StartInMemory()
	defer func() { _ = server.Close() }()
	for _, c := range []struct {
		name    string
		store   chime.Store
		options Options
		want    []string
	}{
		{"nothing", nil, Options{}, []string{"store is nil", "Options.Authenticate is nil"}},
		{"no Authenticate", server.Store(), Options{}, []string{"Options.Authenticate is nil"}},
		{"an invalid queue name", server.Store(), Options{Authenticate: anybody, Queues: []string{"a", "b c"}}, []string{`Options.Queues: "b c"`}},
		{"a negative retention", server.Store(), Options{Authenticate: anybody, Retention: -1}, []string{"Options.Retention"}},
		{"a negative PerHost", server.Store(), Options{Authenticate: anybody, PerHost: -1}, []string{"Options.PerHost"}},
		{"a URL without scheme", server.Store(), Options{Authenticate: anybody, PublicURL: "jobs.example.com"}, []string{"Options.PublicURL"}},
		{"a URL with a query", server.Store(), Options{Authenticate: anybody, PublicURL: "https://jobs.example.com/?a=1"}, []string{"Options.PublicURL"}},
		{"a URL with a user", server.Store(), Options{Authenticate: anybody, PublicURL: "https://u:p@jobs.example.com"}, []string{"Options.PublicURL"}},
		{"another scheme", server.Store(), Options{Authenticate: anybody, PublicURL: "ftp://jobs.example.com"}, []string{"Options.PublicURL"}},
	} {
		c.options.Logger = slog.New(slog.DiscardHandler)
		api := New(c.store, c.options)
		err := api.Run(t.Context())
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: Run returned %v, want %q", c.name, err, want)
			}
		}
		if strings.Contains(err.Error(), "u:p") {
			t.Errorf("%s: the error has the password: %v", c.name, err)
		}
		for _, target := range []string{"/", "/openapi.json", "/nothing"} {
			if got := send(api, "GET", target, ""); got.Code != 500 || problemCode(t, got) != "misconfigured" {
				t.Errorf("%s: GET %s: got %d %s, want 500 misconfigured", c.name, target, got.Code, got.Body)
			}
		}
	}
}

func TestTroubleOfTheStoreIsAnsweredWithWhatToDo(t *testing.T) {
	for _, c := range []struct {
		name         string
		err          error
		method, path string
		status       int
		code, detail string
	}{
		{"down, a change", errDown, "DELETE", "/jobCollections/demo", 503, "store_unavailable", "it is unknown whether the change is stored: repeat the request"},
		{"down, a read", errDown, "GET", "/jobCollections/demo", 503, "store_unavailable", "the store did not answer: repeat the request"},
		{"full", chime.ErrStoreFull, "DELETE", "/jobCollections/demo", 503, "store_full", "the store is full: repeat the request"},
		{"a problem", problem.New(problem.Busy, "others write"), "DELETE", "/jobCollections/demo", 409, "busy", "others write"},
		{"refused by chime", &chime.InvalidError{Field: "queue", Value: "a b", Limit: "1 to 100 of a"}, "DELETE", "/jobCollections/demo", 400, "type", "want 1 to 100 of a"},
	} {
		api, backend := newTestAPI(t, Options{}, "demo")
		backend.err = c.err
		got := send(api, c.method, c.path, "")
		detail, _ := answered(t, got)["detail"].(string)
		if got.Code != c.status || problemCode(t, got) != c.code || !strings.Contains(detail, c.detail) {
			t.Errorf("%s: got %d %s, want %d %s %q", c.name, got.Code, got.Body, c.status, c.code, c.detail)
		}
		if strings.Contains(got.Body.String(), "10.0.0.1") {
			t.Errorf("%s: the answer shows the address of the store: %s", c.name, got.Body)
		}
		if wait := got.Header().Get("Retry-After"); (wait != "") != (c.status == 503) {
			t.Errorf("%s: Retry-After is %q", c.name, wait)
		}
	}
}

func TestAStoreThatDoesNotAnswerIsWaitedForTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, backend := newTestAPI(t, Options{}, "demo")
		backend.hook = func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		begun := now()
		got := send(api, "GET", "/jobCollections/demo", "")
		if took := now().Sub(begun); got.Code != 503 || took != storeTimeout {
			t.Errorf("got %d after %v, want 503 after %v", got.Code, took, storeTimeout)
		}
	})
}

// A change that has begun is completed, because a half-done change would have to be repaired. A read has no effect, so it stops.
func TestAClientThatHangsUpEndsReadsOnly(t *testing.T) {
	for method, want := range map[string]error{"GET": context.Canceled, "DELETE": nil} {
		api, backend := newTestAPI(t, Options{}, "demo")
		ctx, hangUp := context.WithCancel(t.Context())
		var got error
		backend.hook = func(ctx context.Context) error {
			hangUp()
			got = ctx.Err()
			return got
		}
		serve(api, httptest.NewRequest(method, "/jobCollections/demo", nil).WithContext(ctx))
		if !errors.Is(got, want) {
			t.Errorf("%s: the store's ctx ended with %v, want %v", method, got, want)
		}
	}
}

func TestRunReturnsNilWhenItsCtxEndsAndErrorsOtherwise(t *testing.T) {
	for _, c := range []struct{ err, want error }{{nil, nil}, {context.Canceled, nil}, {errDown, errDown}} {
		api, backend := newTestAPI(t, Options{})
		backend.err = c.err
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if got := api.Run(ctx); !errors.Is(got, c.want) || got != nil && c.want == nil {
			t.Errorf("the service's %v: Run returned %v, want %v", c.err, got, c.want)
		}
	}
}
