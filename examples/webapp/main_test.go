package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// A screen collects the program's output.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// start runs the program on a free port, and returns its address. It ends with the test.
func start(t *testing.T) (url string, out *screen) {
	t.Helper()
	t.Setenv("REDIS_URL", "")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	out = new(screen)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, listener, out, true) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("run ended with %v", err)
		}
	})
	return "http://" + listener.Addr().String(), out
}

// get returns the status and the body of an answer.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// Everything that is mounted answers, and has content.
func TestEverythingThatIsMountedShowsSomething(t *testing.T) {
	url, out := start(t)
	waits, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // it takes five seconds; after the timeout the test reports what is missing
	defer cancel()
	for _, c := range []struct {
		path  string
		wants []string
	}{
		{"/", []string{`href="chime/"`, `href="api/"`, `href="metrics"`, `href="livez"`, `href="readyz"`}},
		{"/livez", []string{"alive"}},
		{"/readyz", []string{"ready"}},
		{"/chime/workers", []string{"<h1>Workers</h1>", "1 worker", "exports"}},
		{"/chime/", []string{"report", "payment"}},
		{"/chime/schedules", []string{"report", "invoices", "export stock", "until the move is over"}},
		{"/chime/schedules/report", []string{"Every 2 seconds", "done"}},
		{"/chime/queues", []string{"archive", "exports", "the printer is being repaired"}},
		{"/chime/queues/exports", []string{"export"}},
		{"/chime/jobs?state=dead", []string{"payment", "limit exceeded"}},
		{"/chime/jobs?state=parked", []string{"fax-1", "fax-2"}},
		{"/chime/jobs/default/order-100", []string{"payment", "limit exceeded", "order-100"}},
		{"/chime/failures", []string{"payment", "limit exceeded", "invoice", "connection refused"}},
		{"/chime/batches", []string{"newsletter-november", "sent by anna"}},
		{"/chime/batches/newsletter-november", []string{"3 of 4 members have ended", "1 member has not ended", "archive", "paused"}},
		{"/chime/calendar", []string{"Next 24 hours", "Next 7 days", "Busiest instants"}},
		{"/api/jobCollections/demo/jobs/ping/history", []string{`"status":"Completed"`}},
		{"/metrics", []string{
			`chime_queue_jobs{queue="archive",state="waiting"} 3`, `chime_queue_jobs{queue="default",state="parked"} 2`,
			`chime_queue_jobs{queue="mail",state="dead"} 2`, `chime_queue_jobs{queue="media",state="running"} 1`, `chime_queue_paused{queue="archive"} 1`,
			`chime_schedules{state="paused"} 1`, `chime_schedule_occurrences_total{event="started",schedule="report"}`,
			`chime_jobs_ended_total{job="payment",outcome="dead",queue="default"} 12`, `chime_jobs_ended_total{job="weather",outcome="done",queue="default"}`,
			`chime_jobs_ended_total{job="invoice",outcome="dead",queue="default"}`,
		}},
	} {
		missing := func() string {
			status, text := get(t, url+c.path)
			if status != http.StatusOK {
				return "the status 200"
			}
			for _, want := range c.wants {
				if !strings.Contains(text, want) {
					return want
				}
			}
			return ""
		}
		for missing() != "" {
			if waits.Err() != nil {
				t.Fatalf("%s: it never showed %s", c.path, missing())
			}
			time.Sleep(100 * time.Millisecond) // polls again: the dashboard answers twenty times a second
		}
	}
	for _, want := range []string{url + "/ has links to everything", "process default", "retried"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it did not print %q, but\n%s", want, out)
		}
	}
}

// The links of the home page are mounted.
func TestTheHomePageLinksToWhatIsThere(t *testing.T) {
	url, _ := start(t)
	links := 0
	for _, part := range strings.Split(string(home), `href="`)[1:] {
		path, _, _ := strings.Cut(part, `"`)
		links++
		if status, text := get(t, url+"/"+path); strings.Contains(text, "404 page not found") { // the text of the mux
			t.Errorf("%s: got %d", path, status)
		}
	}
	if links < 10 {
		t.Errorf("the home page has %d links", links)
	}
}

func TestTheNumbersOfCardsAreHidden(t *testing.T) {
	shown := hideCards(nil, map[string]any{"Customer": "ada", "Card": "4111"}).(map[string]any)
	if shown["Card"] != "hidden" || shown["Customer"] != "ada" {
		t.Errorf("got %v", shown)
	}
	if shown := hideCards(nil, "text"); shown != "text" {
		t.Errorf("got %v", shown)
	}
}
