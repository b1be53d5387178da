package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/httpapi/internal/resource"
)

const oneTask = `{"job": {"name": "mail.send"}, "id": "order-42"}`

func TestTasksAreAnsweredInTheFormOfTheRequest(t *testing.T) {
	api, backend := newTestAPI(t, Options{PublicURL: "https://jobs.example.com"}, "demo")
	one := answered(t, send(api, "POST", "/jobCollections/demo/tasks", oneTask))
	if one["id"] != "order-42" || one["queue"] != "default" || one["existing"] != nil || one["location"] != "https://jobs.example.com/jobCollections/demo/tasks/order-42?queue=default" {
		t.Errorf("one task: %v", one)
	}
	several := answered(t, send(api, "POST", "/jobCollections/demo/tasks", `{"value": [`+oneTask+`]}`))
	if value := several["value"].([]any); len(value) != 1 || value[0].(map[string]any)["existing"] != true {
		t.Errorf("several tasks: %v", several)
	}
	old := answered(t, send(api, "POST", "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/demo/tasks?api-version=2016-03-01", oneTask))
	if want := "https://jobs.example.com/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/demo/tasks/order-42?api-version=2016-03-01&queue=default"; old["location"] != want {
		t.Errorf("the location of an old client is %v, want %s", old["location"], want)
	}
	send(api, "POST", "/jobCollections/demo/tasks", `{"job": {"name": "mail.send"}}`, "Idempotency-Key: a")
	if backend.key != "a" {
		t.Errorf("the key is %q, want a", backend.key)
	}
	for status, target := range map[int]string{200: "/jobCollections/demo/tasks/order-42", 204: "/jobCollections/demo/tasks/none", 404: "/jobCollections/demo/tasks/-", 400: "/jobCollections/demo/tasks/order-42?queue=/"} {
		if got := send(api, "DELETE", target, ""); got.Code != status {
			t.Errorf("DELETE %s: got %d, want %d: %s", target, got.Code, status, got.Body)
		}
	}
}

// Several tasks may have a longer body than a job.
func TestABodyOfTasksMayBeFourTimesAsLong(t *testing.T) {
	api, _ := newTestAPI(t, Options{}, "demo")
	limit := 4 * int(api.options.maxBody())
	pad := func(n int) string { return oneTask + strings.Repeat(" ", n-len(oneTask)) }
	for n, want := range map[int]int{limit: 200, limit + 1: 413} {
		if got := send(api, "POST", "/jobCollections/demo/tasks", pad(n)); got.Code != want {
			t.Errorf("%d bytes: got %d, want %d: %.200s", n, got.Code, want, got.Body)
		}
	}
	if got := send(api, "PUT", "/jobCollections/demo/jobs/report", pad(limit)); got.Code != 413 {
		t.Errorf("a job with %d bytes: got %d, want 413", limit, got.Code)
	}
}

// A request with many tasks costs as much as several writes, and counts as such.
func TestManyTasksCountAsSeveralWrites(t *testing.T) {
	for name, c := range map[string]struct {
		body  string
		first int // requests until one is refused, of ten writes
	}{
		"one task":           {oneTask, 10},
		"50 tasks":           {`{"value": [` + strings.Repeat(oneTask+",", 49) + oneTask + `]}`, 10},
		"51 tasks":           {`{"value": [` + strings.Repeat(oneTask+",", 50) + oneTask + `]}`, 5},
		"500 tasks":          {`{"value": [` + strings.Repeat(oneTask+",", 499) + oneTask + `]}`, 1},
		"four long parts":    {oneTask + strings.Repeat(" ", 3*98_304), 2},
		"a long invalid one": {`{"x": "` + strings.Repeat("x", 3*98_304) + `"}`, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			api, _ := newTestAPI(t, Options{Rates: Rates{Writes: 1}}, "demo")
			passed := 0
			for send(api, "POST", "/jobCollections/demo/tasks", c.body).Code != 429 {
				passed++
			}
			if passed != c.first {
				t.Errorf("%s: %d requests pass, want %d", name, passed, c.first)
			}
			time.Sleep(10 * time.Second)
			if got := send(api, "POST", "/jobCollections/demo/tasks", c.body); got.Code == 429 {
				t.Errorf("%s: refused after a pause: %s", name, got.Body)
			}
		})
	}
}

func TestARequestWaitsForATask(t *testing.T) {
	for _, c := range []struct {
		query string
		took  time.Duration
		code  int
	}{
		{"", 0, 200}, {"?wait=0s", 0, 200}, {"?wait=1s", time.Second, 200}, {"?wait=25s", 25 * time.Second, 200}, {"?wait=5s&queue=other", 5 * time.Second, 404},
		{"?wait=26s", 0, 400}, {"?wait=-1s", 0, 400}, {"?wait=1", 0, 400}, {"?wait=1m", 0, 400}, {"?wait=01s", 0, 400}, {"?wait=1s&wait=1s", 0, 400}, {"?queue=%7B", 0, 400},
	} {
		synctest.Test(t, func(t *testing.T) {
			api, backend := newTestAPI(t, Options{}, "demo")
			backend.addTask("demo", "order-42")
			backend.wait = func(ctx context.Context) { <-ctx.Done() }
			before := time.Now()
			got := send(api, "GET", "/jobCollections/demo/tasks/order-42"+c.query, "")
			if took := time.Since(before); took != c.took || got.Code != c.code {
				t.Errorf("%s: got %d after %v, want %d after %v: %s", c.query, got.Code, took, c.code, c.took, got.Body)
			}
		})
	}
}

// The answer of the longest wait is written in time, also if the store then needs all the time that it may have.
func TestTheLongestWaitIsAnsweredInTime(t *testing.T) {
	if maxWait+lastRead >= writeTimeout {
		t.Errorf("a wait of %v and a read of %v are longer than the %v for an answer", maxWait, lastRead, writeTimeout)
	}
	synctest.Test(t, func(t *testing.T) {
		api, backend := newTestAPI(t, Options{}, "demo")
		backend.wait = func(ctx context.Context) { <-ctx.Done() }
		backend.hook = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		before := time.Now()
		got := send(api, "GET", "/jobCollections/demo/tasks/order-42?wait=25s", "")
		if took := time.Since(before); got.Code != 503 || took != maxWait+lastRead {
			t.Errorf("got %d after %v, want 503 after %v", got.Code, took, maxWait+lastRead)
		}
	})
}

// A principal cannot take all connections of the server by waiting.
func TestTheNumberOfWaitingRequestsIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, backend := newTestAPI(t, Options{Authenticate: func(r *http.Request) (Principal, error) {
			return Principal{Name: r.Header.Get("Name"), Allows: func(Permission, string) bool { return true }}, nil
		}}, "demo")
		backend.addTask("demo", "order-42")
		backend.wait = func(ctx context.Context) { <-ctx.Done() }
		const target = "/jobCollections/demo/tasks/order-42?wait=25s"
		codes := make(chan int)
		for range maxWaiters {
			go func() { codes <- send(api, "GET", target, "", "Name: greedy").Code }()
		}
		synctest.Wait()
		refused := send(api, "GET", target, "", "Name: greedy")
		if refused.Code != 429 || refused.Header().Get("Retry-After") != "1" {
			t.Errorf("one more: got %d, Retry-After %q, want 429 and 1: %s", refused.Code, refused.Header().Get("Retry-After"), refused.Body)
		}
		if got := send(api, "GET", "/jobCollections/demo/tasks/order-42", "", "Name: greedy"); got.Code != 200 {
			t.Errorf("one that does not wait: got %d, want 200", got.Code)
		}
		if got := send(api, "GET", target, "", "Name: other"); got.Code != 200 {
			t.Errorf("another principal: got %d, want 200", got.Code)
		}
		for range maxWaiters {
			if code := <-codes; code != 200 {
				t.Errorf("a waiting one: got %d, want 200", code)
			}
		}
		if len(api.waiters.of) > 0 {
			t.Errorf("waiting are still %v", api.waiters.of)
		}
	})
}

// A server that stops answers the waiting requests, so that it need not cut them off.
func TestAShutdownEndsTheWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, backend := newTestAPI(t, Options{}, "demo")
		backend.addTask("demo", "order-42")
		backend.wait = func(ctx context.Context) { <-ctx.Done() }
		server := api.Server()
		before, code := time.Now(), make(chan int)
		go func() { code <- send(api, "GET", "/jobCollections/demo/tasks/order-42?wait=25s", "").Code }()
		time.Sleep(time.Second)
		if err := server.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, took := <-code, time.Since(before); got != 200 || took != time.Second {
			t.Errorf("got %d after %v, want 200 after 1 s", got, took)
		}
	})
}

// A client that stops waiting is no trouble of the store.
func TestADisconnectedClientIsNotLogged(t *testing.T) {
	var log bytes.Buffer
	api, backend := newTestAPI(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, "demo")
	ctx, cancel := context.WithCancel(t.Context())
	backend.wait = func(context.Context) { cancel() }
	serve(api, httptest.NewRequestWithContext(ctx, "GET", "/jobCollections/demo/tasks/order-42?wait=25s", nil))
	if log.Len() > 0 || backend.calls > 0 {
		t.Errorf("after %d calls of the store the log is %s, want neither", backend.calls, &log)
	}
}

func TestTasksAreAudited(t *testing.T) {
	var log bytes.Buffer
	api, _ := newTestAPI(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, "demo")
	for _, c := range []struct{ method, target, body, want string }{
		{"POST", "/jobCollections/demo/tasks", `{"job": {"name": "mail.send", "payload": "canary"}, "id": "order-42"}`, `op="post tasks" collection=demo job="" code="" if_match="" etag="" task=order-42 count=1`},
		{"POST", "/jobCollections/demo/tasks", `{"value": [` + oneTask + "," + oneTask + `]}`, `op="post tasks" collection=demo job="" code="" if_match="" etag="" count=2`},
		{"DELETE", "/jobCollections/demo/tasks/order-42", "", `op="delete task" collection=demo job="" code="" if_match="" etag="" task=order-42`},
		{"POST", "/jobCollections/demo/tasks", `{}`, `code=required`},
	} {
		log.Reset()
		send(api, c.method, c.target, c.body)
		if line := log.String(); !strings.Contains(line, "event=api.action") || !strings.Contains(line, c.want) || strings.Contains(line, "canary") {
			t.Errorf("%s %s: logged %s, want %s", c.method, c.target, line, c.want)
		}
	}
	log.Reset()
	send(api, "GET", "/jobCollections/demo/tasks/order-42", "")
	if log.Len() > 0 {
		t.Errorf("a GET is logged: %s", &log)
	}
}

// The answer to an unknown outcome explains how to repeat the request.
func TestAnUnknownOutcomeOfTasksExplainsHowToRepeat(t *testing.T) {
	api, backend := newTestAPI(t, Options{}, "demo")
	backend.err = errDown
	got := answered(t, send(api, "POST", "/jobCollections/demo/tasks", oneTask))
	if detail := fmt.Sprint(got["detail"]); got["code"] != "store_unavailable" || !strings.Contains(detail, "Idempotency-Key") {
		t.Errorf("got %v: want the detail to name the Idempotency-Key", got)
	}
}

func TestATaskIsShownWithoutItsEmptyFields(t *testing.T) {
	v := resource.TaskView{ID: "order-42", Queue: "default", State: "waiting", Due: time.Date(2027, 3, 1, 12, 0, 0, 1_000_000, time.FixedZone("two hours east", 7200))}
	if got, want := string(v.Append(nil)), `{"id":"order-42","queue":"default","state":"waiting","dueTime":"2027-03-01T10:00:00.001Z"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
