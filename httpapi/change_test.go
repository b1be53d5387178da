package httpapi

import (
	"regexp"
	"strings"
	"testing"
)

const (
	sampleJob = `{"action": {"type": "https", "request": {"uri": "https://example.com/r"}}}`
	armMount  = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler"
)

func TestChangesAreAnsweredWithWhatTheyMade(t *testing.T) {
	const demo, report = "/jobCollections/demo", "/jobCollections/demo/jobs/report"
	for _, c := range []struct {
		name, method, target, body string
		unfinished                 bool
		status                     int
		location, etag, id         string
	}{
		{"a collection is created", "PUT", "/jobCollections/new", `{}`, false, 201, "http://example.com/jobCollections/new", `"3"`, "/jobCollections/new"},
		{"and changed", "PUT", demo, `{}`, false, 200, "", `"3"`, demo},
		{"and patched", "PATCH", demo, `{"properties": {"chime": {"description": "d"}}}`, false, 200, "", `"3"`, demo},
		{"and disabled", "POST", demo + "/disable", "", false, 200, "", `"3"`, demo},
		{"and disabled, which takes long", "POST", demo + "/disable", "", true, 202, "http://example.com" + demo, `"3"`, demo},
		{"and enabled", "POST", demo + "/enable", "", false, 200, "", `"3"`, demo},
		{"and deleted", "DELETE", demo, "", false, 200, "", "", demo},
		{"and deleted, which takes long", "DELETE", demo, "", true, 202, "http://example.com" + demo, "", demo},
		{"there is nothing to delete", "DELETE", "/jobCollections/none", "", false, 204, "", "", ""},
		{"a job is created", "PUT", demo + "/jobs/new", sampleJob, false, 201, "http://example.com" + demo + "/jobs/new", `"3"`, demo + "/jobs/new"},
		{"and changed", "PUT", report, sampleJob, false, 200, "", `"3"`, report},
		{"and deleted", "DELETE", report, "", false, 200, "", "", report},
		{"no job is deleted", "DELETE", demo + "/jobs/none", "", false, 204, "", "", ""},
		{"and run", "POST", report + "/run", "", false, 200, "", "", "demo:report#1"},
		{"as Azure's clients do", "PUT", armMount + demo + "/jobs/new?api-version=2016-03-01", sampleJob, false, 201,
			"http://example.com" + armMount + demo + "/jobs/new?api-version=2016-03-01", `"3"`, armMount + demo + "/jobs/new"},
		{"as Azure's clients delete", "DELETE", armMount + demo + "?api-version=2016-03-01", "", true, 202,
			"http://example.com" + armMount + demo + "?api-version=2016-03-01", "", armMount + demo},
	} {
		api, backend := newTestAPI(t, Options{}, "demo")
		backend.addJob("demo", "report")
		backend.unfinished = c.unfinished
		got := send(api, c.method, c.target, c.body)
		if got.Code != c.status || got.Header().Get("Location") != c.location || got.Header().Get("ETag") != c.etag {
			t.Errorf("%s: got %d, Location %q, ETag %q; want %d, %q, %q: %s", c.name, got.Code, got.Header().Get("Location"), got.Header().Get("ETag"), c.status, c.location, c.etag, got.Body)
			continue
		}
		if c.status == 204 {
			if got.Body.Len() != 0 || got.Header().Get("Content-Type") != "" {
				t.Errorf("%s: 204 with a body: %q", c.name, got.Body)
			}
			continue
		}
		if id := answered(t, got)["id"]; id != c.id {
			t.Errorf("%s: got the id %v, want %s", c.name, id, c.id)
		}
		if wait := got.Header().Get("Retry-After"); (wait != "") != (c.status == 202) {
			t.Errorf("%s: Retry-After is %q", c.name, wait)
		}
	}
}

func TestAPostMakesAJobWithANameOfItsOwn(t *testing.T) {
	api, backend := newTestAPI(t, Options{}, "demo")
	made := map[string]bool{}
	for range 3 {
		got := send(api, "POST", "/jobCollections/demo/jobs", sampleJob)
		name, _ := answered(t, got)["name"].(string)
		_, job, _ := strings.Cut(name, "/")
		if got.Code != 201 || !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(job) {
			t.Fatalf("got %d and the name %q, want 201 and a GUID: %s", got.Code, name, got.Body)
		}
		if want := "http://example.com/jobCollections/demo/jobs/" + job; got.Header().Get("Location") != want {
			t.Errorf("got the Location %s, want %s", got.Header().Get("Location"), want)
		}
		if !backend.when.None {
			t.Error("a POST may change a job that is there")
		}
		made[job] = true
	}
	if len(made) != 3 || len(backend.jobs) != 3 {
		t.Errorf("three POSTs made %d names and %d jobs, want three of each", len(made), len(backend.jobs))
	}
}

// A client that does not know whether its job was stored has to get its name.
func TestAPostOfUnknownOutcomeNamesTheJob(t *testing.T) {
	api, backend := newTestAPI(t, Options{}, "demo")
	backend.err = errDown
	got := send(api, "POST", "/jobCollections/demo/jobs", sampleJob)
	detail, _ := answered(t, got)["detail"].(string)
	if got.Code != 503 || !regexp.MustCompile(`GET http://example.com/jobCollections/demo/jobs/[0-9a-f-]{36};`).MatchString(detail) {
		t.Errorf("got %d %q, want 503 and where the job would be", got.Code, detail)
	}
}

func TestAnIdempotencyKeyGoesToTheRun(t *testing.T) {
	for _, c := range []struct {
		name    string
		headers []string
		status  int
		key     string
	}{
		{"none", nil, 200, ""},
		{"one", []string{"abc-1"}, 200, "abc-1"},
		{"one in quotes", []string{`"abc 1"`}, 200, `"abc 1"`},
		{"the longest", []string{strings.Repeat("a", maxKey)}, 200, strings.Repeat("a", maxKey)},
		{"too long", []string{strings.Repeat("a", maxKey+1)}, 400, ""},
		{"empty", []string{""}, 400, ""},
		{"two", []string{"a", "b"}, 400, ""},
		{"no ASCII", []string{"ä"}, 400, ""},
	} {
		api, backend := newTestAPI(t, Options{}, "demo")
		backend.addJob("demo", "report")
		r := newRequest("POST", "/jobCollections/demo/jobs/report/run")
		if c.headers != nil {
			r.Header["Idempotency-Key"] = c.headers
		}
		got := serve(api, r)
		if got.Code != c.status || backend.key != c.key {
			t.Errorf("%s: got %d, key %q; want %d, %q: %s", c.name, got.Code, backend.key, c.status, c.key, got.Body)
		}
		if c.status == 400 && problemCode(t, got) != "header_value" {
			t.Errorf("%s: got the code %s, want header_value", c.name, problemCode(t, got))
		}
	}
}
