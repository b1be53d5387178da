package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// Every request gets an answer in JSON, never an internal error, and neither shows nor changes a collection that its principal may not read.
func FuzzRequest(f *testing.F) {
	f.Add("GET", "/jobCollections/demo/jobs?$top=5&$filter=state eq 'Enabled'", `"5", W/"7"`, "")
	f.Add("PUT", "/jobCollections/demo/jobs/report", `*`, sampleJob)
	f.Add("PATCH", "/jobCollections/demo/jobs/report?api-version=1", "", `{"properties": {"state": "disabled"}}`)
	f.Add("DELETE", "/jobCollections/secret", "", "")
	f.Add("GET", armMount+"/jobCollections/secret/jobs/report/history?api-version=2016-03-01&$skiptoken=Nw", "", "")
	f.Add("POST", "/preview?count=100", "", sampleJob)
	f.Fuzz(func(t *testing.T, method, target, match, body string) {
		at, err := url.ParseRequestURI(target)
		if err != nil || at.Host != "" {
			return
		}
		api, backend := newTestAPI(t, Options{Authenticate: func(*http.Request) (Principal, error) {
			return Principal{Name: "p", Allows: func(_ Permission, name string) bool { return name != "secret" }}, nil
		}}, "demo", "secret")
		backend.addJob("demo", "report")
		backend.addJob("secret", "canary")
		secret := *backend.collections["secret"]
		r := httptest.NewRequest("GET", "/", strings.NewReader(body))
		r.Method, r.URL, r.RequestURI = method, at, target
		r.Header.Set("Content-Type", "application/json")
		if match != "" {
			r.Header.Set("If-Match", match)
		}
		got := serve(api, r)
		if got.Code >= 500 {
			t.Fatalf("%s %s: got %d: %s", method, target, got.Code, got.Body)
		}
		answer := got.Body.String()
		if answer != "" && (!json.Valid([]byte(answer)) && at.Path != "/openapi.yaml" || !strings.HasSuffix(answer, "\n")) {
			t.Fatalf("%s %s: the answer is not JSON with a newline at its end: %q", method, target, answer)
		}
		if strings.Contains(answer, "secret/canary") || backend.collections["secret"] == nil || backend.collections["secret"].Revision != secret.Revision || len(backend.jobs) == 0 {
			t.Fatalf("%s %s: the foreign collection was shown or changed: %d %s", method, target, got.Code, answer)
		}
	})
}
