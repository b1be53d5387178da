package httpapi

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestABodyNeedsTheContentTypeJSON(t *testing.T) {
	const job = `{"action": {"type": "https", "request": {"uri": "https://example.com/r"}}}`
	for _, c := range []struct {
		method, kind, encoding string
		status                 int
	}{
		{"PUT", "application/json", "", 201},
		{"PUT", "Application/JSON", "", 201},
		{"PUT", "application/json; charset=utf-8", "", 201},
		{"PUT", `application/json;charset="UTF-8"`, "", 201},
		{"PUT", "application/json", "identity", 201},
		{"PUT", "application/json; charset=utf-16", "", 415},
		{"PUT", "application/json", "gzip", 415},
		{"PUT", "application/x-www-form-urlencoded", "", 415},
		{"PUT", "text/plain", "", 415},
		{"PUT", "text/json", "", 415},
		{"PUT", "multipart/form-data; boundary=a", "", 415},
		{"PUT", "", "", 415},
		{"PUT", "application/json, text/plain", "", 415},
		{"PUT", "application/merge-patch+json", "", 415},
		{"PATCH", "application/merge-patch+json", "", 200},
		{"PATCH", "application/json", "", 200},
		{"PATCH", "application/json-patch+json", "", 415},
	} {
		api, backend := newTestAPI(t, Options{}, "demo")
		name := "new"
		if c.method == "PATCH" {
			name = "there"
			backend.addJob("demo", name)
		}
		got := send(api, c.method, "/jobCollections/demo/jobs/"+name, job, "Content-Type: "+c.kind, "Content-Encoding: "+c.encoding)
		if got.Code != c.status {
			t.Errorf("%s as %q, encoding %q: got %d, want %d: %s", c.method, c.kind, c.encoding, got.Code, c.status, got.Body)
		}
		if c.status == 415 && (problemCode(t, got) != "content_type" || c.encoding == "" && !strings.Contains(got.Body.String(), "curl --json")) {
			t.Errorf("%s as %q: the answer does not say what to do: %s", c.method, c.kind, got.Body)
		}
	}
}

// An endless body counts the bytes that are read from it.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestABodyThatIsTooLargeIsNotRead(t *testing.T) {
	api, backend := newTestAPI(t, Options{}, "demo")
	const limit = 2*16<<10 + 64<<10
	for _, c := range []struct {
		name   string
		length int64
		most   int // bytes that are read
	}{
		{"its header says 1 GB", 1 << 30, 0},
		{"its header says one byte too many", limit + 1, 0},
		{"without an end", -1, limit + 64<<10},
	} {
		body := &endless{}
		r := httptest.NewRequest("PUT", "/jobCollections/demo/jobs/report", body)
		r.ContentLength = c.length
		r.Header.Set("Content-Type", "application/json")
		got := serve(api, r)
		if got.Code != 413 || problemCode(t, got) != "too_large" || body.read > c.most {
			t.Errorf("%s: got %d %s after %d bytes, want 413 too_large after at most %d", c.name, got.Code, got.Body, body.read, c.most)
		}
	}
	if backend.calls != 0 {
		t.Errorf("the store was called %d times", backend.calls)
	}
	larger := Options{Limits: Limits{JobBytes: 512 << 10}}
	if got := larger.maxBody(); got != 2*512<<10+64<<10 {
		t.Errorf("with jobs of 512 KiB the maximum for a request is %d bytes, want twice that and 64 KiB", got)
	}
}

// A broken body ends before its length: the client did not send all of it.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestABodyThatIsMissingOrBrokenIsRefused(t *testing.T) {
	api, backend := newTestAPI(t, Options{}, "demo")
	for name, body := range map[string]io.Reader{"empty": strings.NewReader(""), "broken": broken{}} {
		r := httptest.NewRequest("PUT", "/jobCollections/demo/jobs/report", body)
		r.Header.Set("Content-Type", "application/json")
		if got := serve(api, r); got.Code != 400 || problemCode(t, got) != "syntax" {
			t.Errorf("%s: got %d %s, want 400 syntax", name, got.Code, got.Body)
		}
	}
	if backend.calls != 0 {
		t.Errorf("the store was called %d times", backend.calls)
	}
}

func TestADeepBodyIsRefused(t *testing.T) {
	api, _ := newTestAPI(t, Options{}, "demo")
	for name, body := range map[string]string{
		"arrays":    strings.Repeat("[", 90_000),
		"objects":   strings.Repeat(`{"a":`, 18_000),
		"a payload": `{"action": {"type": "job", "job": {"name": "a", "payload": ` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}}}`,
	} {
		for _, target := range []string{"/jobCollections/other", "/jobCollections/demo/jobs/report"} {
			if got := send(api, "PUT", target, body); got.Code != 400 {
				t.Errorf("%s to %s: got %d, want 400: %.200s", name, target, got.Code, got.Body)
			}
		}
	}
}
