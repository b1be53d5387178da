package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// A tour sends one request after the other, and prints each as a curl line with its answer.
type tour struct {
	out              io.Writer
	server, receiver string // addresses
	token            string
}

func (t *tour) walk(ctx context.Context) error {
	for _, step := range []struct {
		says, method, path, body string
		until                    string // the request is repeated until the answer contains this text
	}{
		{"A collection", "PUT", "/jobCollections/demo", `{}`, ""},
		{"A job for Mondays at 10:00 and 22:00, as Azure's article has it", "PUT", "/jobCollections/demo/jobs/report", `{
  "startTime": "2030-01-07T00:00Z",
  "action": {"type": "http", "request": {"uri": "http://RECEIVER/report", "method": "POST", "body": "weekly"}},
  "recurrence": {"frequency": "Week", "schedule": {"weekDays": ["Monday"], "hours": [10, 22]}}
}`, ""},
		{"When it runs", "GET", "/jobCollections/demo/jobs/report/next?count=3", "", ""},
		{"Run it now", "POST", "/jobCollections/demo/jobs/report/run", "", ""},
		{"A job whose receiver fails twice: without recurrence and startTime it runs once, now", "PUT", "/jobCollections/demo/jobs/flaky", `{
  "action": {"type": "http", "request": {"uri": "http://RECEIVER/flaky"},
    "retryPolicy": {"retryType": "fixed", "retryInterval": "PT15S", "retryCount": 4}}
}`, ""},
		{"A job whose receiver always fails, with an error action", "PUT", "/jobCollections/demo/jobs/broken", `{
  "action": {"type": "http", "request": {"uri": "http://RECEIVER/broken"}, "retryPolicy": {"retryType": "none"},
    "errorAction": {"type": "http", "request": {"uri": "http://RECEIVER/alert", "method": "POST", "body": "look at it"}}}
}`, ""},
		{"The history of the first one", "GET", "/jobCollections/demo/jobs/report/history", "", `"status":"Completed"`},
		{"The last one is dead, and its error action is done", "GET", "/jobCollections/demo/jobs/broken/history", "", "ErrorAction"},
		{"It is faulted now", "GET", "/jobCollections/demo/jobs/broken", "", `"state":"faulted"`},
		{"The third attempt succeeds, 30 seconds after the first", "GET", "/jobCollections/demo/jobs/flaky/history", "", `"status":"Completed"`},
		{"Delete everything", "DELETE", "/jobCollections/demo", "", ""},
	} {
		if err := t.step(ctx, step.says, step.method, step.path, strings.ReplaceAll(step.body, "RECEIVER", t.receiver), step.until); err != nil {
			return fmt.Errorf("%s: %w", step.says, err)
		}
	}
	return nil
}

// step prints a step, its curl line, and the answer.
func (t *tour) step(ctx context.Context, says, method, path, body, until string) error {
	url := "http://" + t.server + path
	fmt.Fprintf(t.out, "\n%s:\n\n  %s\n", says, strings.ReplaceAll(curl(method, url, body), "\n", "\n  "))
	answer, err := t.await(ctx, method, url, body, until)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.out, "\n  %d %s\n", answer.status, http.StatusText(answer.status))
	if len(answer.body) > 0 {
		var shown bytes.Buffer
		if err := json.Indent(&shown, bytes.TrimSpace(answer.body), "  ", "  "); err != nil {
			return err
		}
		fmt.Fprintf(t.out, "  %s\n", shown.String())
	}
	if answer.status >= 300 {
		return fmt.Errorf("status %d", answer.status)
	}
	return nil
}

// await repeats the request until the answer contains a text.
func (t *tour) await(ctx context.Context, method, url, body, until string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		got, err := send(ctx, method, url, body, t.token)
		if err != nil || strings.Contains(string(got.body), until) || got.status >= 300 {
			return got, err
		}
		select {
		case <-ctx.Done():
			return got, fmt.Errorf("no answer with %s: %w", until, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// curl is the command line for the same request.
func curl(method, url, body string) string {
	line := `curl -H "Authorization: Bearer $TOKEN"`
	if method != "GET" {
		line += " -X " + method
	}
	line += " '" + url + "'"
	if body != "" {
		line += " --json '" + body + "'"
	}
	return line
}

// An answer is the response to a request.
type answer struct {
	status int
	body   []byte
}

func send(ctx context.Context, method, url, body, token string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, text}, err
}
