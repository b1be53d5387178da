package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// These tests send requests to the real handler on the embedded store. After their bubble, they compare the traffic with the document.

// inBubble runs a part of the suite under fake time, with its own store, and returns the wires with their traffic.
func inBubble(t *testing.T, part func(t *testing.T, server *embedded.Server) []*wire) []*exchange {
	t.Helper()
	var all []*exchange
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2027, 2, 27, 0, 0, 0, 0, time.UTC)))
		server := embedded.StartInMemory()
		for _, w := range part(t, server) {
			all = append(all, w.exchanges...)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return all
}

func newRing(t *testing.T) *action.Ring {
	t.Helper()
	ring, err := action.ParseRing("k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

const (
	demo   = "/jobCollections/demo"
	report = demo + "/jobs/report"
	tasks  = demo + "/tasks"
	task   = `{"job": {"name": "mail.send", "payload": {"to": "anna"}}, "in": "PT1H", "id": "order-42", "once": "P1D"}`
	weekly = `{"startTime": "2027-03-01T00:00Z", "action": {"type": "https", "request": {"uri": "https://example.com/r", "method": "POST"}},
		"recurrence": {"frequency": "Week", "schedule": {"weekDays": ["Monday"], "hours": [10, 22]}}}`
)

// ordinaryLife has the usual requests of clients, and their usual mistakes.
func ordinaryLife(t *testing.T, server *embedded.Server) []*wire {
	w := &wire{api: httpapi.New(server.Store(), httpapi.Options{Authenticate: httpapi.Loopback(), Logger: quiet(), Secrets: newRing(t), Queues: []string{"default", "mail"}})}
	ok := func(status int, method, target, body string, headers ...string) {
		t.Helper()
		w.want(t, status, "", method, target, body, headers...)
	}
	const arm = "/subscriptions/12ab/resourceGroups/old/providers/Microsoft.Scheduler"
	const plain, patch = "Content-Type: application/json", "Content-Type: application/merge-patch+json"

	ok(200, "GET", "/", "")
	ok(200, "GET", "/openapi.json", "")
	ok(200, "GET", "/openapi.yaml", "")
	ok(201, "PUT", demo, `{}`)
	ok(200, "PUT", demo, `{"location": "South Central US", "tags": {"team": "billing"}, "properties": {"sku": {"name": "Standard"}, "state": "Enabled", "quota": {"maxJobCount": 20, "maxRecurrence": {"frequency": "Minute", "interval": 5}}}}`)
	ok(200, "PATCH", demo, `{"properties": {"quota": {"maxJobCount": 40}}}`, patch)
	ok(200, "PATCH", demo, `{"chime": {"queue": "mail", "jobs": ["mail.*"], "description": "letters"}}`, plain)
	ok(200, "GET", demo, "")
	ok(200, "HEAD", demo, "")
	ok(201, "PUT", report, weekly)
	ok(200, "PUT", report, weekly)
	ok(200, "GET", report, "")
	ok(200, "GET", arm+report+"?api-version=2016-03-01", "")
	ok(200, "PATCH", report, `{"recurrence": {"frequency": "Day", "schedule": null}}`, patch)
	ok(200, "PATCH", report, `{"properties": {"state": "disabled"}}`, plain)
	ok(200, "GET", report, "")
	ok(200, "GET", report+"/next?count=3", "")
	ok(200, "GET", report+"/history", "")
	ok(201, "POST", demo+"/jobs", weekly)
	ok(200, "POST", report+"/run", "", "Idempotency-Key: once")
	ok(200, "POST", "/preview?count=2", weekly)
	ok(200, "GET", "/jobCollections?$top=1&$skip=0&$filter=state%20eq%20'Enabled'", "")
	ok(200, "GET", demo+"/jobs?$top=1", "") // and a nextLink
	ok(200, "GET", arm+demo+"/jobs?$top=1&api-version=2016-03-01", "")
	ok(200, "POST", demo+"/disable", "")
	ok(200, "POST", demo+"/enable", "")

	const grouped = "/jobCollections/acme"
	ok(201, "PUT", grouped, `{"chime": {"group": "acme", "jobs": ["mail.*"]}}`)
	ok(200, "PATCH", grouped, `{"properties": {"quota": {"maxJobCount": 40}}}`)
	ok(201, "PUT", grouped+"/jobs/report", weekly)
	for at, want := range map[string]string{grouped: `"group":"acme"`, grouped + "/jobs/report": `"effectiveGroup":"acme"`} {
		if x := w.send(t, "GET", at, ""); !strings.Contains(string(x.got), want) {
			t.Errorf("%v\nwant %s", x, want)
		} else {
			revision := x.answer.Header.Get("ETag")
			if x = w.send(t, "PUT", at, string(x.got)); x.answer.StatusCode != 200 || x.answer.Header.Get("ETag") != revision {
				t.Errorf("%v\nwant no change by the PUT of what GET has returned", x)
			}
		}
	}
	ok(200, "PATCH", grouped+"/jobs/report", `{"chime": {"group": "acme"}}`)
	ok(200, "PATCH", grouped+"/jobs/report", `{"chime": {"group": null}}`)
	ok(200, "POST", grouped+"/tasks", `{"job": {"name": "mail.send"}, "group": "acme", "id": "letter"}`)
	if x := w.send(t, "GET", grouped+"/tasks/letter", ""); !strings.Contains(string(x.got), `"group":"acme"`) {
		t.Errorf("%v\nwant the group", x)
	}
	w.want(t, 400, "group_value", "PUT", grouped, `{"chime": {"group": " "}}`)
	w.want(t, 400, "group_value", "POST", grouped+"/tasks", `{"job": {"name": "mail.send"}, "group": "a\tb"}`)
	w.want(t, 403, "group_forbidden", "PATCH", grouped+"/jobs/report", `{"chime": {"group": "other"}}`)
	w.want(t, 403, "group_forbidden", "POST", grouped+"/tasks", `{"job": {"name": "mail.send"}, "group": "other"}`)
	ok(200, "DELETE", grouped, "")

	ok(200, "POST", tasks, task)
	ok(200, "POST", tasks, task) // it exists
	ok(200, "GET", tasks+"/order-42?wait=1s&queue=mail", "")
	ok(200, "POST", tasks, `{"value": [`+task+`, {"action": {"type": "https", "request": {"uri": "https://example.com/"}}, "at": "2027-03-01T10:00:00Z", "keep": "PT1H", "expire": "PT5M"}]}`)
	ok(200, "POST", tasks, `{"job": {"name": "mail.send", "payload": [1]}, "headers": {"tenant": "acme"}}`, "Idempotency-Key: once")
	ok(200, "GET", tasks+"?queue=mail&filter=state:waiting&$top=1", "")
	ok(200, "GET", tasks+"?order=newest&filter=state:delayed%20group:acme", "")
	w.want(t, 400, "filter", "GET", tasks+"?filter=state:odd", "")
	w.want(t, 400, "order", "GET", tasks+"?order=up", "")
	ok(200, "DELETE", tasks+"/order-42", "")
	ok(204, "DELETE", tasks+"/order-42", "")
	w.want(t, 404, "not_found", "GET", tasks+"/order-42", "")
	w.want(t, 400, "required", "POST", tasks, `{}`)
	w.want(t, 400, "task_count", "POST", tasks, `{"value": []}`)
	w.want(t, 400, "delay_range", "POST", tasks, `{"job": {"name": "mail.send"}, "in": "soon"}`)
	w.want(t, 400, "wait_range", "GET", tasks+"/order-42?wait=1m", "")
	w.want(t, 400, "queue", "DELETE", tasks+"/order-42?queue=/", "")
	w.want(t, 403, "target_forbidden", "POST", tasks, `{"job": {"name": "invoice"}}`)

	ok(200, "GET", demo+"/acknowledgements", "")
	ok(204, "DELETE", report+"/acknowledge", "")
	w.want(t, 409, "job_not_failing", "POST", report+"/acknowledge", `{}`)
	w.want(t, 400, "time_syntax", "POST", report+"/acknowledge", `{"until": "soon"}`)
	w.want(t, 404, "not_found", "POST", demo+"/jobs/none/acknowledge", `{}`)
	const batches, batch = demo + "/batches", `{"id": "import-7", "note": "by anna", "keep": "P2D", "doneWithoutCancelled": true, "done": {"name": "mail.send"}, "ended": {"name": "mail.send"},
		"value": [{"job": {"name": "mail.send"}, "in": "PT1H", "id": "first"}, {"action": {"type": "https", "request": {"uri": "https://example.com/"}}, "in": "PT1H"}]}`
	ok(200, "POST", batches, batch)
	ok(200, "POST", batches, batch) // it exists
	ok(200, "GET", tasks+"/first", "")
	ok(200, "GET", batches+"/import-7", "")
	ok(200, "GET", batches+"?$top=1&$filter=state%20eq%20'Running'", "")
	w.want(t, 409, "batch_state", "POST", batches, `{"id": "import-7", "value": [{"job": {"name": "mail.send"}}]}`)
	w.want(t, 409, "batch_state", "DELETE", batches+"/import-7", "")
	ok(200, "POST", batches+"/import-7/cancel", "")
	ok(200, "DELETE", batches+"/import-7", "")
	ok(204, "DELETE", batches+"/import-7", "")
	w.want(t, 404, "not_found", "GET", batches+"/import-7", "")
	w.want(t, 404, "not_found", "POST", batches+"/import-7/cancel", "")
	w.want(t, 400, "note_size", "POST", batches, `{"note": "`+strings.Repeat("x", 1025)+`", "value": [`+task+`]}`)
	w.want(t, 400, "filter", "GET", batches+"?$filter=odd", "")
	w.want(t, 403, "target_forbidden", "POST", batches, `{"value": [`+task+`], "done": {"name": "invoice"}}`)

	w.want(t, 400, "unknown_field", "PUT", report, `{"actions": {}}`)
	w.want(t, 400, "time_syntax", "PUT", report, `{"startTime": "soon", "action": {"type": "http", "request": {"uri": "http://example.com"}}}`)
	w.want(t, 400, "destination_blocked", "PUT", report, `{"action": {"type": "http", "request": {"uri": "http://127.0.0.1/"}}}`)
	w.want(t, 400, "top", "GET", demo+"/jobs?$top=101", "")
	w.want(t, 400, "filter", "GET", demo+"/jobs?$filter=name%20eq%20'x'", "")
	w.want(t, 400, "filter", "GET", report+"/history?$filter=state%20eq%20'x'", "")
	w.want(t, 400, "skip", "GET", "/jobCollections?$skip=-1", "")
	w.want(t, 400, "count", "GET", report+"/next?count=101", "")
	w.want(t, 400, "header_value", "POST", report+"/run", "", "Idempotency-Key: "+strings.Repeat("k", 256))
	w.want(t, 400, "api_version", "GET", arm+report+"?api-version=2030-01-01", "")
	w.want(t, 400, "name", "PUT", demo+"/jobs/-", weekly)
	w.want(t, 403, "target_forbidden", "PUT", demo+"/jobs/own", `{"action": {"type": "job", "job": {"name": "invoice"}}}`)
	w.want(t, 403, "forbidden", "POST", report+"/run", "", "Sec-Fetch-Site: cross-site")
	w.want(t, 403, "loopback_only", "GET", report, "", "X-Forwarded-For: 192.0.2.1")
	w.want(t, 409, "quota_recurrence", "PUT", demo+"/jobs/often", `{"recurrence": {"frequency": "minute"}, "action": {"type": "http", "request": {"uri": "http://example.com"}}}`)
	w.want(t, 412, "changed", "PUT", report, weekly, `If-Match: "1"`)
	w.want(t, 412, "changed", "PATCH", report, `{"state": "enabled"}`, `If-Match: "1"`)
	w.want(t, 412, "changed", "DELETE", report, "", `If-Match: "1"`)
	w.want(t, 412, "exists", "PUT", demo, `{}`, "If-None-Match: *")
	w.want(t, 412, "changed", "PATCH", demo, `{"tags": {"a": "b"}}`, `If-Match: "1"`)
	w.want(t, 412, "changed", "DELETE", demo, "", `If-Match: "1"`)
	w.want(t, 413, "too_large", "PUT", report, `{"x": "`+strings.Repeat("x", 98_304)+`"}`)
	w.want(t, 415, "content_type", "PUT", report, weekly, "Content-Type: application/x-www-form-urlencoded")
	w.want(t, 405, "method_not_allowed", "POST", report, "")
	w.want(t, 404, "not_found", "GET", "/jobs", "")

	// Quotas, states and secrets.
	ok(201, "PUT", "/jobCollections/free", `{"sku": {"name": "Free"}, "quota": {"maxJobCount": 1, "maxJobOccurrence": 3}}`)
	ok(201, "PUT", "/jobCollections/free/jobs/one", `{"action": {"type": "http", "request": {"uri": "http://example.com"}}}`)
	w.want(t, 409, "quota_jobs", "PUT", "/jobCollections/free/jobs/two", `{"action": {"type": "http", "request": {"uri": "http://example.com"}}}`)
	w.want(t, 409, "quota_occurrences", "PATCH", "/jobCollections/free/jobs/one", `{"recurrence": {"frequency": "day"}}`)
	w.want(t, 409, "quota_jobs", "POST", "/jobCollections/free/jobs", `{"action": {"type": "http", "request": {"uri": "http://example.com"}}}`)
	w.want(t, 409, "quota_authentication", "PUT", "/jobCollections/free/jobs/one", secret)
	ok(200, "POST", "/jobCollections/free/disable", "")
	w.want(t, 409, "collection_disabled", "POST", "/jobCollections/free/jobs/one/run", "")
	w.want(t, 409, "collection_disabled", "POST", "/jobCollections/free/tasks", task)
	ok(201, "PUT", demo+"/jobs/secret", secret)
	ok(200, "GET", demo+"/jobs/secret", "")
	schedules := chime.NewSchedules(server.Store())
	if _, err := schedules.Put(t.Context(), "demo:mine", recurrence.Recurrence{Frequency: recurrence.Day}); err != nil {
		t.Fatal(err)
	}
	w.want(t, 409, "name_taken", "PUT", demo+"/jobs/mine", weekly)

	bare := &wire{api: httpapi.New(server.Store(), httpapi.Options{Authenticate: httpapi.Loopback(), Logger: quiet()})} // without keys
	bare.want(t, 409, "secret_keys_missing", "PUT", demo+"/jobs/secret", strings.Replace(secret, "correct horse", "battery", 1))
	bare.want(t, 409, "secret_keys_missing", "POST", "/preview", secret)

	ok(200, "DELETE", report, "")
	ok(204, "DELETE", report, "")
	ok(200, "DELETE", demo, "")
	ok(204, "DELETE", demo, "")
	return []*wire{w, bare}
}

const secret = `{"action": {"type": "https", "request": {"uri": "https://example.com/", "secretHeaders": {"X-Api-Key": "staple"}, "authentication": {"type": "Basic", "username": "scheduler", "password": "correct horse"}}}}`

// runs produces executions: one that succeeds, and one that fails and is dead, with its error action.
func runs(t *testing.T, server *embedded.Server) []*wire {
	api := httpapi.New(server.Store(), httpapi.Options{Authenticate: httpapi.Loopback(), Logger: quiet()})
	w := &wire{api: api}
	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{Logger: quiet()})
	worker.Handle(action.JobName, refused)
	worker.Handle("mail.send", sent)
	scheduler := chime.NewScheduler(server.Store(), chime.SchedulerOptions{Logger: quiet()})
	stop := start(t, scheduler, worker, api)
	w.want(t, 201, "", "PUT", demo, `{"chime": {"jobs": "mail.*"}}`)
	w.want(t, 200, "", "POST", tasks, `{"job": {"name": "mail.send"}, "in": "PT5S", "id": "order-42", "keep": "PT1H"}`)
	for _, want := range []string{`"state":"done"`, `"outcome":"done"`, `"result":{"sent":[1,2]}`, `"endTime":`, `"keptUntil":`} {
		if x := w.send(t, "GET", tasks+"/order-42?wait=25s", ""); !strings.Contains(string(x.got), want) {
			t.Errorf("%v\nwant %s", x, want)
		}
	}
	w.want(t, 200, "", "POST", tasks, `{"action": {"type": "http", "request": {"uri": "http://chime.invalid/"}, "retryPolicy": {"retryType": "none"}}, "id": "failing"}`)
	if x := w.send(t, "GET", tasks+"/failing?wait=25s", ""); !strings.Contains(string(x.got), `"state":"dead"`) {
		t.Errorf("%v\nwant a dead task", x)
	}
	w.want(t, 201, "", "PUT", report, `{"action": {"type": "http", "request": {"uri": "http://chime.invalid/"}, "retryPolicy": {"retryType": "fixed", "retryCount": 1},
		"errorAction": {"type": "http", "request": {"uri": "http://chime.invalid/failed"}, "retryPolicy": {"retryType": "none"}}}, "chime": {"disableAfter": 3, "history": {"keep": 5, "body": "always"}}}`)
	const fails = demo + "/jobs/fails"
	w.want(t, 201, "", "PUT", fails, `{"recurrence": {"frequency": "minute"}, "action": {"type": "http", "request": {"uri": "http://chime.invalid/"}, "retryPolicy": {"retryType": "none"}}}`)
	w.want(t, 200, "", "POST", demo+"/batches", `{"id": "import", "value": [{"job": {"name": "mail.send"}}], "done": {"name": "mail.send"}}`)
	time.Sleep(2 * time.Minute)
	synctest.Wait()
	if x := w.send(t, "GET", demo+"/batches/import", ""); !strings.Contains(string(x.got), `"state":"done"`) || !strings.Contains(string(x.got), `"doneTime":`) {
		t.Errorf("%v\nwant a batch that is done", x)
	}
	w.want(t, 409, "batch_state", "POST", demo+"/batches/import/cancel", "")
	w.want(t, 200, "", "POST", fails+"/acknowledge", `{"note": "the bank repairs it", "until": "2199-01-01T00:00:00Z"}`)
	w.want(t, 200, "", "GET", demo+"/acknowledgements", "")
	w.want(t, 200, "", "DELETE", fails+"/acknowledge", "")
	if err := chime.NewSchedules(server.Store()).Pause(t.Context(), "demo:fails", chime.Note{Until: time.Now().Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	if x := w.send(t, "GET", fails, ""); !strings.Contains(string(x.got), `"held":"operator","heldUntil":"`) {
		t.Errorf("%v\nwant the end of the pause", x)
	}
	x := w.send(t, "GET", report+"/history", "")
	var history struct {
		Value []struct {
			Properties struct{ ActionName, Status string }
		}
	}
	if err := json.Unmarshal(x.got, &history); err != nil || len(history.Value) != 3 || history.Value[0].Properties.ActionName != "ErrorAction" {
		t.Errorf("%v\nwant two attempts of the action and one of its error action", x)
	}
	w.want(t, 200, "", "GET", report+"/history?$filter=status%20eq%20'Failed'&$top=1", "")
	w.want(t, 200, "", "GET", report, "")
	w.want(t, 409, "job_final", "PATCH", report, `{"chime": {"grace": "PT2M"}}`)
	w.want(t, 409, "job_final", "POST", report+"/run", "")
	stop()
	return []*wire{w}
}

// refused simulates a sender with a failing receiver, without a network.
func refused(_ context.Context, job *chime.Job) error {
	job.Note("Http Action - Response from host 'chime.invalid': 'InternalServerError' Response Headers: Content-Type: text/plain Body: out of paper")
	return errors.New("InternalServerError")
}

// sent simulates a handler with a result.
func sent(_ context.Context, job *chime.Job) error {
	return job.Return(map[string][]int{"sent": {1, 2}})
}

// start runs roles until stop is called.
func start(t *testing.T, roles ...chime.Role) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- chime.Run(ctx, roles...) }()
	synctest.Wait()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// troubles are answers that do not depend on the requested resource.
func troubles(all []operation) func(t *testing.T, server *embedded.Server) []*wire {
	return func(t *testing.T, server *embedded.Server) []*wire {
		var wires []*wire
		try := func(status int, w *wire, of []operation, query string, headers ...string) {
			t.Helper()
			wires = append(wires, w)
			for _, x := range w.everywhere(t, of, query, headers...) {
				if x.answer.StatusCode != status {
					t.Errorf("%v\nwant %d", x, status)
				}
			}
		}
		which := func(keep func(operation) bool) []operation {
			var kept []operation
			for _, o := range all {
				if keep(o) {
					kept = append(kept, o)
				}
			}
			return kept
		}
		closed := which(func(o operation) bool { return o.Security == nil })
		named := which(func(o operation) bool { return strings.Contains(o.path, "{collection}") })
		withBody := which(func(o operation) bool { return o.RequestBody != nil })
		loopback := func(o httpapi.Options) *wire {
			o.Authenticate, o.Logger = httpapi.Loopback(), quiet()
			return &wire{api: httpapi.New(server.Store(), o)}
		}
		token, line, err := httpapi.NewToken("ci", httpapi.Admin, "other")
		if err != nil {
			t.Fatal(err)
		}
		tokens, err := httpapi.Tokens(line)
		if err != nil {
			t.Fatal(err)
		}
		guarded := func(o httpapi.Options) *wire {
			o.Authenticate, o.Logger = tokens, quiet()
			return &wire{api: httpapi.New(server.Store(), o)}
		}
		bearer := "Authorization: Bearer " + token

		try(400, loopback(httpapi.Options{}), all, "?%zz")
		try(401, guarded(httpapi.Options{}), closed, "")
		far := loopback(httpapi.Options{})
		far.peer = "192.0.2.1:50000"
		try(403, far, closed, "")
		try(404, guarded(httpapi.Options{}), named, "", bearer)
		try(415, loopback(httpapi.Options{}), withBody, "", "Content-Type: text/plain")
		large := loopback(httpapi.Options{})
		wires = append(wires, large)
		for _, o := range withBody {
			large.want(t, 413, "too_large", o.method, strings.TrimPrefix(o.url(), mount), `{"x": "`+strings.Repeat("x", 393_216)+`"}`)
		}
		busy := guarded(httpapi.Options{Rates: httpapi.Rates{Reads: 1, Writes: 1}})
		for range 10 { // one request a second, and ten after a pause
			busy.send(t, "GET", "/", "", bearer)
			busy.send(t, "POST", "/preview", weekly, bearer)
		}
		try(429, busy, closed, "", bearer)
		try(500, &wire{api: httpapi.New(server.Store(), httpapi.Options{Logger: quiet()})}, all, "")

		gone := embedded.StartInMemory()
		down := &wire{api: httpapi.New(gone.Store(), httpapi.Options{Authenticate: httpapi.Loopback(), Logger: quiet()})}
		if err := gone.Close(); err != nil {
			t.Fatal(err)
		}
		wires = append(wires, down)
		for _, o := range closed {
			if o.path == "/" || o.path == "/preview" {
				continue // they do not use the store
			}
			down.want(t, 503, "store_unavailable", o.method, strings.TrimPrefix(o.url(), mount), o.body())
		}
		return wires
	}
}

// All traffic matches the document, and each answer of the document occurs in the traffic.
func TestTheHandlerKeepsToTheDocument(t *testing.T) {
	b := newBook(t)
	for _, part := range []func(*testing.T, *embedded.Server) []*wire{ordinaryLife, runs, troubles(b.operations)} {
		for _, x := range inBubble(t, part) {
			b.hold(t, x)
		}
	}
	unseen := map[string]string{
		"preview 503":           "it does not use the store",
		"deleteCollection 202":  "two seconds of work",
		"enableCollection 202":  "two seconds of work",
		"disableCollection 202": "two seconds of work",
		"putCollection 409":     "10,000 collections, or one that is being deleted",
		"patchCollection 409":   "one that is being deleted",
		"deleteCollection 409":  "needs writers that keep changing it",
		"enableCollection 409":  "one that is being deleted",
		"disableCollection 409": "one that is being deleted",
		"deleteJob 409":         "needs writers that keep changing it",
	}
	for _, o := range b.operations {
		for status := range o.Responses.Codes.FromOldest() {
			pair := fmt.Sprintf("%s %s", o.OperationId, status)
			if _, excused := unseen[pair]; b.seen[pair] == excused {
				t.Errorf("%s was seen: %v; excused: %v", pair, b.seen[pair], excused)
			}
			delete(unseen, pair)
		}
	}
	for _, pair := range slices.Sorted(maps.Keys(unseen)) {
		t.Errorf("%s is excused but not in the document", pair)
	}
}
