package contract_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pb33f/go-yaml"
	"github.com/pb33f/libopenapi/datamodel/high/base"
	"github.com/pb33f/libopenapi/orderedmap"
)

const mount = "https://jobs.example.com"

// url is a URL for an operation.
func (o operation) url() string {
	return mount + strings.NewReplacer("{collection}", "demo", "{job}", "report", "{task}", "order-42", "{batch}", "import-7").Replace(o.path)
}

// request builds a request without sending it.
func request(method, url, body string) *http.Request {
	r := httptest.NewRequest(method, url, strings.NewReader(body))
	if body == "" {
		r.Body = http.NoBody
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// inJSON are the examples of a body by their names.
func inJSON(t *testing.T, examples *orderedmap.Map[string, *base.Example]) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for name, example := range examples.FromOldest() {
		var value any
		err := example.Value.Decode(&value)
		if err == nil {
			all[name], err = json.Marshal(value)
		}
		if err != nil {
			t.Fatalf("example %s: %v", name, err)
		}
	}
	return all
}

// An example has to match the document, because users copy it.
func TestExamplesFitTheDocument(t *testing.T) {
	v := newValidator(t)
	requests, answers := 0, 0
	for _, o := range operations(model(t)) {
		if o.RequestBody != nil {
			for kind, media := range o.RequestBody.Content.FromOldest() {
				for name, body := range inJSON(t, media.Examples) {
					requests++
					r := request(o.method, o.url(), string(body))
					r.Header.Set("Content-Type", kind)
					if ok, wrong := v.ValidateHttpRequest(r); !ok {
						t.Errorf("%v, example %s %s\n%s", o, name, body, explain(wrong))
					}
				}
			}
		}
		for status, answer := range o.Responses.Codes.FromOldest() {
			for kind, media := range answer.Content.FromOldest() {
				for name, body := range inJSON(t, media.Examples) {
					answers++
					schema := media.Schema.Schema()
					r := request(o.method, o.url(), "")
					w := recorded(status, kind, body)
					for header := range answer.Headers.FromOldest() {
						w.Header.Set(header, headerSample[header])
					}
					if ok, wrong := v.ValidateHttpResponse(r, w); !ok {
						t.Errorf("%v %s, example %s of %v %s\n%s", o, status, name, schema.Type, body, explain(wrong))
					}
				}
			}
		}
	}
	if requests < 15 || answers < 15 {
		t.Errorf("%d examples of requests and %d of answers were found: this test searches in the wrong place", requests, answers)
	}
}

// headerSample has a valid value for each header of an answer.
var headerSample = map[string]string{
	"X-Request-Id": "9f1c", "x-ms-request-id": "9f1c", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "ETag": `"7"`,
	"Location": mount + "/jobCollections/demo", "Retry-After": "5", "WWW-Authenticate": "Bearer", "Allow": "GET, HEAD",
}

func recorded(status, kind string, body []byte) *http.Response {
	code, _ := json.Number(status).Int64()
	return &http.Response{StatusCode: int(code), Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(bytes.NewReader(body))}
}

// ordinary is an answer with the headers that every answer has.
func ordinary(status, kind, body string, more ...string) *http.Response {
	w := recorded(status, kind, []byte(body))
	for _, name := range append([]string{"X-Request-Id", "x-ms-request-id", "Cache-Control", "X-Content-Type-Options"}, more...) {
		w.Header.Set(name, headerSample[name])
	}
	return w
}

// A validator that never finds a mistake would be useless.
func TestTheValidatorFindsWhatIsWrong(t *testing.T) {
	v := newValidator(t)
	job := mount + "/jobCollections/demo/jobs/report"
	for what, body := range map[string]string{
		"no action":               `{"startTime": "2027-03-01T00:00Z"}`,
		"an unknown field":        `{"action": {"type": "http", "request": {"uri": "http://example.com"}}, "startTimes": "2027-03-01"}`,
		"an unknown nested field": `{"action": {"type": "http", "request": {"uri": "http://example.com", "bodi": ""}}}`,
		"both forms":              `{"properties": {"action": {"type": "http"}}, "startTime": "2027-03-01"}`,
		"a number as a text":      `{"action": {"type": "http"}, "recurrence": {"frequency": "day", "interval": "5"}}`,
		"a minute of 60":          `{"action": {"type": "http"}, "recurrence": {"frequency": "day", "schedule": {"minutes": [60]}}}`,
		"a uri with user":         `{"action": {"type": "http", "request": {"uri": "ftp://example.com"}}}`,
		"21 success codes":        `{"action": {"type": "http", "request": {"uri": "http://example.com", "successCodes": ["200"` + strings.Repeat(`, "201"`, 20) + `]}}}`,
		"a body of 8193":          `{"action": {"type": "http", "request": {"uri": "http://example.com", "body": "` + strings.Repeat("x", 8193) + `"}}}`,
		"a wrong storage name":    `{"action": {"type": "storageQueue", "queueMessage": {"storageAccount": "Example", "queueName": "failures"}}}`,
	} {
		if ok, _ := v.ValidateHttpRequest(request("PUT", job, body)); ok {
			t.Errorf("%s passes: %s", what, cut([]byte(body)))
		}
	}
	const good = `{"id": "/jobCollections/demo/jobs/report", "type": "Microsoft.Scheduler/jobCollections/jobs", "name": "demo/report", "properties": {"startTime": "2027-03-01T00:00:00Z", ` +
		`"action": {"type": "job", "job": {"name": "mail.send"}}, "state": "enabled", "status": {"executionCount": 0, "failureCount": 0, "faultedCount": 0}}}`
	if ok, wrong := v.ValidateHttpResponse(request("GET", job, ""), ordinary("200", "application/json", good, "ETag")); !ok {
		t.Fatalf("the valid answer does not pass: %s", explain(wrong))
	}
	for what, w := range map[string]*http.Response{
		"no ETag":                ordinary("200", "application/json", good),
		"another type":           ordinary("200", "text/plain", good, "ETag"),
		"an unknown state":       ordinary("200", "application/json", strings.Replace(good, "enabled", "Enabled", 1), "ETag"),
		"a time without offset":  ordinary("200", "application/json", strings.Replace(good, "00Z", "00", 1), "ETag"),
		"a field that is secret": ordinary("200", "application/json", strings.Replace(good, `"state"`, `"$secret": "k1", "state"`, 1), "ETag"),
		"no status":              ordinary("200", "application/json", strings.Replace(good, `"status"`, `"statuses"`, 1), "ETag"),
		"an unknown status":      ordinary("418", "application/json", good, "ETag"),
		"a problem without code": ordinary("404", "application/problem+json", `{"type": "/docs", "title": "Not Found", "status": 404, "detail": "", "instance": "/", "error": {"code": "ResourceNotFound", "message": ""}}`),
	} {
		if ok, _ := v.ValidateHttpResponse(request("GET", job, ""), w); ok {
			t.Errorf("an answer with %s passes", what)
		}
	}
}

// The book checks what the validator does not.
func TestTheBookFindsWhatIsWrong(t *testing.T) {
	b := newBook(t)
	problem := func(status, code string) string {
		return `{"type": "https://example.com/problems#x", "title": "x", "status": ` + status + `, "detail": "x", "instance": "/", "code": "` + code + `", "error": {"code": "x", "message": "x"}}` + "\n"
	}
	one := func(w *http.Response, body string) *exchange {
		return &exchange{request: request("DELETE", mount+"/jobCollections/demo/jobs/report", ""), answer: w, got: []byte(body)}
	}
	const kind = "application/problem+json"
	good := one(ordinary("404", kind, ""), problem("404", "not_found"))
	if wrong := b.wrong(good); len(wrong) > 0 {
		t.Fatalf("the valid exchange does not pass: %v", wrong)
	}
	for what, x := range map[string]*exchange{
		"an undocumented header":        one(ordinary("404", kind, "", "Location"), problem("404", "not_found")),
		"a code of another status":      one(ordinary("404", kind, ""), problem("404", "busy")),
		"a status that is another":      one(ordinary("404", kind, ""), problem("400", "not_found")),
		"no newline":                    one(ordinary("404", kind, ""), strings.TrimSpace(problem("404", "not_found"))),
		"a status that it never has":    one(ordinary("415", kind, ""), problem("415", "content_type")),
		"an operation that nobody has":  {request: request("GET", mount+"/jobs", ""), answer: ordinary("200", "application/json", ""), got: []byte("{}\n")},
		"a body where there is nothing": one(ordinary("200", "application/json", ""), "{}\n"),
	} {
		if wrong := b.wrong(x); len(wrong) == 0 {
			t.Errorf("an exchange with %s passes", what)
		}
	}
}

// The recurrences of published examples are valid in the document, and those with a wrong form are not.
func TestPublishedRecurrencesFitTheDocument(t *testing.T) {
	v := newValidator(t)
	var good, bad []struct {
		ID, Code string
		Job      map[string]any
	}
	for file, to := range map[string]any{"testdata/seed_cases.json": &good, "testdata/invalid_cases.json": &bad} {
		if err := yaml.Unmarshal(read(t, file), to); err != nil {
			t.Fatal(err)
		}
	}
	whole := func(job map[string]any) string {
		job["action"] = map[string]any{"type": "http", "request": map[string]any{"uri": "http://example.com/"}}
		text, err := json.Marshal(job)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, c := range good {
		body := whole(c.Job)
		for _, form := range []string{body, `{"properties":` + body + `}`} {
			if ok, wrong := v.ValidateHttpRequest(request("PUT", mount+"/jobCollections/seeds/jobs/"+c.ID, form)); !ok {
				t.Errorf("%s: %s\n%s", c.ID, form, explain(wrong))
			}
		}
	}
	// A schema can express forms and ranges, but not rules between fields.
	formal := map[string]bool{"unknown_field": true, "interval_type": true, "count_type": true, "minutes_type": true, "minutes_range": true, "hours_range": true, "hours_type": true, "monthdays_type": true, "occurrences_type": true}
	refused := 0
	for _, c := range bad {
		if formal[c.Code] {
			refused++
			body := whole(c.Job)
			if ok, _ := v.ValidateHttpRequest(request("PUT", mount+"/jobCollections/seeds/jobs/"+c.ID, body)); ok {
				t.Errorf("%s (%s) is valid in the document: %s", c.ID, c.Code, body)
			}
		}
	}
	if len(good) < 60 || refused < 10 {
		t.Errorf("%d good and %d bad recurrences were found: this test searches in the wrong place", len(good), refused)
	}
}
