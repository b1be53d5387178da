package httpapi_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// The job of the article: every Monday at 10:00 and 22:00.
const article = `{"startTime": "2027-03-01T00:00Z", "action": {"type": "https", "request": {"uri": "https://example.com/r", "method": "POST", "body": "hello"}},
	"recurrence": {"frequency": "Week", "schedule": {"weekDays": ["Monday"], "hours": [10, 22]}}}`

// A client sends requests to an API within the process.
type client struct {
	t   *testing.T
	api http.Handler
}

// send sends JSON, or nothing, with headers as "Name: value", and checks the status.
func (c client) send(status int, method, target, body string, headers ...string) (map[string]any, http.Header) {
	c.t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.RemoteAddr, r.Host = "127.0.0.1:50000", "localhost:8080"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	c.api.ServeHTTP(w, r)
	if w.Code != status {
		c.t.Fatalf("%s %s: got %d, want %d: %s", method, target, w.Code, status, w.Body)
	}
	got := map[string]any{}
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			c.t.Fatalf("%s %s: %v: %s", method, target, err, w.Body)
		}
	}
	return got, w.Header()
}

// at returns the value at a path of keys.
func at(v any, keys ...string) any {
	for _, key := range keys {
		object, _ := v.(map[string]any)
		v = object[key]
	}
	return v
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Some mistakes are found after the body is read. They have the path of the client's body too.
func TestAMistakeHasItsPathInTheForm(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		on := client{t, httpapi.New(c.Store(), httpapi.Options{Authenticate: httpapi.Loopback(), Logger: quiet()})}
		on.send(201, "PUT", "/jobCollections/demo", "{}")
		on.send(201, "PUT", "/jobCollections/demo/jobs/there", article)
		const sound, bad = `"action": {"type": "https", "request": {"uri": "https://example.com/"}}`, `"action": {"type": "https", "request": {"uri": "ftp://example.com/"}}`
		for _, c := range []struct{ method, path, properties, field string }{
			{"PUT", "/jobCollections/demo/jobs/a", bad, "action.request.uri"},
			{"POST", "/jobCollections/demo/jobs", bad, "action.request.uri"},
			{"PATCH", "/jobCollections/demo/jobs/there", bad, "action.request.uri"},
			{"POST", "/preview", bad, "action.request.uri"},
			{"PUT", "/jobCollections/demo/jobs/a", sound + `, "state": "completed"`, "state"},
			{"PUT", "/jobCollections/demo/jobs/a", sound + `, "recurrence": {"frequency": "minute", "interval": 5000}`, "recurrence.interval"},
			{"PUT", "/jobCollections/demo/jobs/a", sound + `, "recurrence": {"cron": "0 0 31 2 *"}`, "recurrence.cron"},
			{"PUT", "/jobCollections/demo", `"chime": {"queue": "none"}`, "chime.queue"},
			{"PUT", "/jobCollections/demo", `"state": "Deleted"`, "state"},
		} {
			for form, want := range map[string]string{`{` + c.properties + `}`: c.field, `{"properties": {` + c.properties + `}}`: "properties." + c.field} {
				refused, _ := on.send(400, c.method, c.path, form)
				if mistakes, _ := refused["errors"].([]any); len(mistakes) != 1 || at(mistakes[0], "field") != want {
					t.Errorf("%s %s %s: got %v, want one of %s", c.method, c.path, form, refused["errors"], want)
				}
			}
		}
	})
}

// Repeating the request does not help if the store has answered and the program cannot read the answer.
func TestAJobOfANewerProgramIsNoTroubleOfTheStore(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		on := client{t, httpapi.New(c.Store(), httpapi.Options{Authenticate: httpapi.Loopback(), Logger: quiet()})}
		on.send(201, "PUT", "/jobCollections/demo", "{}")
		on.send(201, "PUT", "/jobCollections/demo/jobs/report", article)
		schedules := chime.NewSchedules(c.Store())
		s, err := schedules.Get(t.Context(), "demo:report")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := schedules.Put(t.Context(), s.Name, s.Recurrence, append(s.Options(), chime.Args(json.RawMessage(`{"form": 2}`)))...); err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{"GET", "PUT", "PATCH"} {
			body := map[string]string{"PUT": article, "PATCH": "{}"}[method]
			if refused, _ := on.send(500, method, "/jobCollections/demo/jobs/report", body); refused["code"] != "internal" {
				t.Errorf("%s: got %v, want internal", method, refused)
			}
		}
		on.send(200, "DELETE", "/jobCollections/demo/jobs/report", "")
	})
}

func TestTheArticlesJobLivesThroughEveryRoute(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		time.Sleep(time.Until(time.Date(2027, 2, 27, 0, 0, 0, 0, time.UTC))) // of the bubble
		api := httpapi.New(c.Store(), httpapi.Options{Authenticate: httpapi.Loopback(), Logger: quiet()})
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
		worker.Handle(action.JobName, func(_ context.Context, job *chime.Job) error {
			job.Note("Http Action - Response from host 'example.com': 'OK' Response Headers:") // as action.Sender notes it
			return nil
		})
		c.Start(worker, chime.NewScheduler(c.Store(), chime.SchedulerOptions{}), api)
		on := client{t, api}
		const demo, report = "/jobCollections/demo", "/jobCollections/demo/jobs/report"

		on.send(404, "PUT", report, article)
		made, _ := on.send(201, "PUT", demo, "{}")
		if at(made, "properties", "state") != "Enabled" {
			t.Errorf("the collection is %v, want Enabled", made)
		}
		job, header := on.send(201, "PUT", report, article)
		if job["id"] != report || job["name"] != "demo/report" || at(job, "properties", "status", "nextExecutionTime") != "2027-03-01T10:00:00Z" {
			t.Errorf("the job is %v, want demo/report, next at 2027-03-01T10:00:00Z", job)
		}
		if header.Get("Location") != "http://localhost:8080"+report {
			t.Errorf("its Location is %q", header.Get("Location"))
		}
		again, second := on.send(200, "PUT", report, article)
		if second.Get("ETag") != header.Get("ETag") || header.Get("ETag") == "" {
			t.Errorf("the same PUT changed the ETag from %q to %q: %v", header.Get("ETag"), second.Get("ETag"), again)
		}
		got, _ := on.send(200, "GET", report, "")
		shown, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if _, third := on.send(200, "PUT", report, string(shown)); third.Get("ETag") != header.Get("ETag") {
			t.Errorf("GET then PUT changed the ETag from %q to %q", header.Get("ETag"), third.Get("ETag"))
		}
		list, _ := on.send(200, "GET", demo+"/jobs?$filter=state+eq+'Enabled'", "")
		if entries := list["value"].([]any); len(entries) != 1 || at(entries[0], "name") != "demo/report" {
			t.Errorf("the list is %v, want the one job", list)
		}
		next, _ := on.send(200, "GET", report+"/next?count=3", "")
		if got, _ := json.Marshal(next["value"]); string(got) != `["2027-03-01T10:00:00Z","2027-03-01T22:00:00Z","2027-03-08T10:00:00Z"]` || next["text"] == "" {
			t.Errorf("next are %v", next)
		}
		preview, _ := on.send(200, "POST", "/preview?count=3", article)
		if a, b := at(preview, "value").([]any), next["value"].([]any); len(a) != 3 || a[0] != b[0] || a[2] != b[2] || preview["text"] != next["text"] {
			t.Errorf("the preview %v is not what is next: %v", preview, next)
		}
		if same, _ := on.send(200, "POST", "/preview?count=3", string(shown)); !reflect.DeepEqual(same, preview) {
			t.Errorf("the preview of what GET shows is %v, want %v", same, preview)
		}

		on.send(412, "PATCH", report, `{"state": "disabled"}`, `If-Match: "1"`)
		ran, _ := on.send(200, "POST", report+"/run", "", "Idempotency-Key: once")
		same, _ := on.send(200, "POST", report+"/run", "", "Idempotency-Key: once")
		if ran["id"] != same["id"] || !strings.HasPrefix(ran["id"].(string), "demo:report#") {
			t.Errorf("two runs with one key are %v and %v, want one of demo:report", ran["id"], same["id"])
		}
		c.Advance(time.Minute)
		history, _ := on.send(200, "GET", report+"/history", "")
		entries := history["value"].([]any)
		if len(entries) != 1 || at(entries[0], "properties", "status") != "Completed" || at(entries[0], "properties", "chime", "manual") != true || at(entries[0], "properties", "chime", "httpStatus") != 200.0 {
			t.Errorf("after one manual run the history is %v", history)
		}
		c.Advance(4 * 24 * time.Hour) // past Monday's two runs
		after, _ := on.send(200, "GET", report, "")
		if n := at(after, "properties", "status", "executionCount"); n != 2.0 || at(after, "properties", "status", "nextExecutionTime") != "2027-03-08T10:00:00Z" {
			t.Errorf("after Monday the status is %v, want 2 executions, without the manual one, and next on 2027-03-08 at 10:00", at(after, "properties", "status"))
		}

		disabled, _ := on.send(200, "POST", demo+"/disable", "")
		held, _ := on.send(200, "GET", report, "")
		if at(disabled, "properties", "state") != "Disabled" || at(held, "properties", "state") != "disabled" || at(held, "properties", "chime", "held") != "collection" {
			t.Errorf("disabled, the collection is %v and the job %v", at(disabled, "properties", "state"), held)
		}
		on.send(409, "POST", report+"/run", "")
		on.send(200, "POST", demo+"/enable", "")
		on.send(200, "DELETE", report, "")
		on.send(204, "DELETE", report, "")
		on.send(404, "GET", report, "")
		on.send(200, "DELETE", demo, "")
		on.send(204, "DELETE", demo, "")
		on.send(404, "GET", demo, "")
	})
}

func TestTheFirstErrorsOfANewcomerSayWhatToDo(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		token, line, err := httpapi.NewToken("me", httpapi.Admin)
		if err != nil {
			t.Fatal(err)
		}
		tokens, err := httpapi.Tokens(line)
		if err != nil {
			t.Fatal(err)
		}
		on := client{t, httpapi.New(c.Store(), httpapi.Options{Authenticate: tokens, Logger: quiet()})}
		bearer := "Authorization: Bearer " + token
		on.send(201, "PUT", "/jobCollections/demo", "{}", bearer)
		for _, e := range []struct {
			name, target, body string
			headers            []string
			status             int
			code, says         string
		}{
			{"no token", "/jobCollections/demo/jobs/report", article, nil, 401, "unauthenticated", "Authorization: Bearer chm_"},
			{"curl -d", "/jobCollections/demo/jobs/report", article, []string{bearer, "Content-Type: application/x-www-form-urlencoded"}, 415, "content_type", "curl --json"},
			{"no collection", "/jobCollections/mine/jobs/report", article, []string{bearer}, 404, "not_found", "PUT /jobCollections/mine with {} creates it"},
			{"a job for localhost", "/jobCollections/demo/jobs/report", strings.Replace(article, "https://example.com", "http://localhost:9000", 1), []string{bearer}, 400, "destination_blocked", "AllowNets"},
		} {
			got, _ := on.send(e.status, "PUT", e.target, e.body, e.headers...)
			detail, _ := got["detail"].(string)
			if got["code"] != e.code || !strings.Contains(detail, e.says) {
				t.Errorf("%s: got %v %q, want %s with %q", e.name, got["code"], detail, e.code, e.says)
			}
		}
	})
}

// The text for a collection that the caller may not read is the same as for a missing one.
func TestNobodyLearnsOfACollectionThatHeMayNotRead(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		blind := "secret"
		api := httpapi.New(c.Store(), httpapi.Options{Logger: quiet(), Authenticate: func(*http.Request) (httpapi.Principal, error) {
			return httpapi.Principal{Name: "p", Allows: func(_ httpapi.Permission, name string) bool { return name != blind }}, nil
		}})
		on := client{t, api}
		blind = ""
		on.send(201, "PUT", "/jobCollections/secret", "{}")
		on.send(201, "PUT", "/jobCollections/secret/jobs/report", article)
		blind = "secret"
		for _, e := range []struct{ method, path, body string }{
			{"GET", "", ""},
			{"PATCH", "", "{}"},
			{"POST", "/enable", ""},
			{"POST", "/disable", ""},
			{"GET", "/jobs", ""},
			{"POST", "/jobs", article},
			{"GET", "/jobs/report", ""},
			{"PUT", "/jobs/report", article},
			{"PATCH", "/jobs/report", article},
			{"POST", "/jobs/report/run", ""},
			{"GET", "/jobs/report/history", ""},
			{"GET", "/jobs/report/next", ""},
		} {
			asked := func(name string) string {
				got, _ := on.send(404, e.method, "/jobCollections/"+name+e.path, e.body)
				text, err := json.Marshal(got)
				if err != nil {
					t.Fatal(err)
				}
				return strings.ReplaceAll(string(text), name, "NAME")
			}
			if foreign, none := asked("secret"), asked("nosuch"); foreign != none {
				t.Errorf("%s %s:\nforeign %s\nnone    %s", e.method, e.path, foreign, none)
			}
		}
	})
}

// Every place of a secret has a canary, in bodies that are stored and in bodies that are refused.
func TestNoAnswerAndNoLineOfTheLogHasASecret(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		ring, err := action.ParseRing("k1:" + strings.Repeat("A", 43) + "=")
		if err != nil {
			t.Fatal(err)
		}
		var output strings.Builder
		api := httpapi.New(c.Store(), httpapi.Options{
			Authenticate: httpapi.Loopback(), Secrets: ring, Logger: slog.New(slog.NewJSONHandler(&output, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		on := client{t, api}
		on.send(201, "PUT", "/jobCollections/demo", "{}")
		const report = "/jobCollections/demo/jobs/report"
		const canary = "canary-4711"
		body := func(uri, password string) string {
			return `{"startTime": "2090-01-01T00:00Z", "action": {"type": "https", "request": {"uri": "` + uri + `", "authentication": {"type": "Basic", "username": "me"` + password + `},
				"secretHeaders": {"X-Key": "` + canary + `"}}, "errorAction": {"type": "storageQueue", "queueMessage": {"storageAccount": "abc", "queueName": "abc", "message": "m", "sasToken": "sig=` + canary + `"}}}}`
		}
		sent := func(status int, method, target, body string, headers ...string) map[string]any {
			t.Helper()
			got, header := on.send(status, method, target, body, headers...)
			text, err := json.Marshal([]any{got, header})
			if err != nil {
				t.Fatal(err)
			}
			output.Write(text)
			return got
		}
		const password = `, "password": "` + canary + `"`
		sent(201, "PUT", report, body("https://example.com/a", password))
		shown := sent(200, "GET", report, "")
		if secrets := at(shown, "properties", "chime", "secrets"); secrets == nil {
			t.Errorf("the answer does not list the secrets: %v", shown)
		}
		sent(200, "PUT", report, body("https://example.com/a", ""))
		sent(400, "PUT", report, body("https://elsewhere.example.com/a", ""))
		sent(400, "PUT", report, body("https://me:"+canary+"@example.com/a", ""))
		sent(400, "PUT", report, body("https://example.com/a", `, "password": ["`+canary+`"]`))
		sent(400, "PUT", report, body("https://example.com/a", password+password))
		sent(400, "PUT", report, body("http://example.com/a", password))
		sent(412, "PUT", report, body("https://example.com/a", password), `If-Match: "1"`)
		sent(200, "GET", "/jobCollections/demo/jobs", "")
		sent(200, "POST", "/preview", body("https://example.com/a", password))
		sent(200, "POST", report+"/run", "")
		sent(200, "GET", report+"/history", "")
		if at := strings.Index(output.String(), canary); at >= 0 {
			t.Errorf("a secret is shown: …%s…", output.String()[max(0, at-300):at+len(canary)])
		}
	})
}

// With Register, a worker sends the request of the job, once a run.
func TestARunSendsTheRequest(t *testing.T) {
	got := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- r.Method + " " + r.URL.Path + " " + r.Header.Get("Chime-Collection") + "/" + r.Header.Get("Chime-Job") + " " + string(body)
		_, _ = io.WriteString(w, "thank you")
	}))
	defer receiver.Close()
	server, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	allowed, err := action.ParseNet(strings.TrimPrefix(receiver.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	api := httpapi.New(server.Store(), httpapi.Options{
		Authenticate: httpapi.Loopback(), Logger: quiet(), Egress: action.Egress{AllowNets: []action.Net{allowed}},
	})
	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{Logger: quiet()})
	api.Register(worker)
	on := client{t, api}
	on.send(201, "PUT", "/jobCollections/demo", "{}")
	on.send(201, "PUT", "/jobCollections/demo/jobs/report", strings.Replace(article, "https://example.com", receiver.URL, 1))
	on.send(200, "POST", "/jobCollections/demo/jobs/report/run", "")

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- chime.Run(ctx, worker, api) }()
	if sent, want := <-got, "POST /r demo/report hello"; sent != want {
		t.Errorf("the receiver got %q, want %q", sent, want)
	}
	stop() // the run in progress ends first
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	history, _ := on.send(200, "GET", "/jobCollections/demo/jobs/report/history", "")
	entries := history["value"].([]any)
	if len(entries) != 1 || at(entries[0], "properties", "chime", "httpStatus") != 200.0 {
		t.Errorf("the history is %v, want one execution with status 200", history)
	}
}
