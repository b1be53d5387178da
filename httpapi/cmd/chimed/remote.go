package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	maxTries  = 5
	maxWait   = time.Minute
	maxAnswer = 4 << 20
)

// A remote is a chimed that is used over HTTP.
type remote struct {
	base  string
	token string // empty: none is sent
	http  *http.Client
	wait  func(ctx context.Context, d time.Duration) error
}

func newRemote(base, token string) (*remote, error) {
	at, err := url.Parse(base)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil || at.RawQuery != "" || at.Fragment != "" {
		return nil, badUsage("-url: want an absolute http or https URL without user, query and fragment, such as http://127.0.0.1:8080")
	}
	if token != "" && at.Scheme == "http" && !loopback(at.Hostname()) {
		return nil, badUsage("-url: the token would be sent without encryption: want an https URL, or an address of this machine such as http://127.0.0.1:8080")
	}
	return &remote{
		base: strings.TrimSuffix(base, "/"), token: token, wait: wait,
		http: &http.Client{
			Timeout:       time.Minute,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the token is for this host
		},
	}, nil
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A reply is an answer of the API.
type reply struct {
	status int
	body   []byte
}

// errLogin means that every further request would be refused too.
var errLogin = errors.New("the token is not accepted")

// send sends a request, and repeats it if the API allows that: after 429, and after 503, which leaves open whether the request took effect, so the request
// must be repeatable. The error is one that stops the import: there is no answer, or the token is wrong.
func (r *remote) send(ctx context.Context, method, path string, body []byte, create bool) (*reply, error) {
	for try := 1; ; try++ {
		request, err := http.NewRequestWithContext(ctx, method, r.base+path, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		request.Header.Set("User-Agent", "chimed")
		request.Header.Set("Accept", "application/json")
		if body != nil {
			request.Header.Set("Content-Type", "application/json")
		}
		if r.token != "" {
			request.Header.Set("Authorization", "Bearer "+r.token)
		}
		if create {
			request.Header.Set("If-None-Match", "*")
		}
		answer, err := r.http.Do(request)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
		answer.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, r.base+path, err)
		}
		got := &reply{status: answer.StatusCode, body: text}
		again := got.status == http.StatusTooManyRequests || got.status == http.StatusServiceUnavailable
		switch {
		case got.status == http.StatusUnauthorized:
			return nil, fmt.Errorf("%w: %s", errLogin, got.why())
		case !again || try == maxTries:
			return got, nil
		}
		if err := r.wait(ctx, after(answer.Header.Get("Retry-After"))); err != nil {
			return nil, err
		}
	}
}

// after is the wait in Retry-After, 1 s without that header.
func after(seconds string) time.Duration {
	n, err := strconv.Atoi(seconds)
	if err != nil || n < 1 {
		return time.Second
	}
	return min(time.Duration(min(n, 3600))*time.Second, maxWait)
}

// why is the error in an answer, on one line.
func (r *reply) why() string {
	var problem struct {
		Title, Detail, Code string
		Errors              []struct{ Field, Detail string }
	}
	_ = json.Unmarshal(r.body, &problem) // an answer that is not JSON has no detail
	var all []string
	for _, wrong := range problem.Errors {
		all = append(all, strings.TrimPrefix(wrong.Field+": "+wrong.Detail, ": "))
	}
	text := cmp.Or(strings.Join(all, "; "), problem.Detail, problem.Title, http.StatusText(r.status))
	text = printable(text)
	if problem.Code != "" {
		return fmt.Sprintf("%d %s: %s", r.status, printable(problem.Code), text)
	}
	return fmt.Sprintf("%d: %s", r.status, text)
}

// printable removes the characters that would move a terminal's cursor.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 {
			return ' '
		}
		return c
	}, text)
}

// runs are the instants in an answer of …/next and /preview.
func (r *reply) runs() []time.Time {
	var next struct{ Value []time.Time }
	_ = json.Unmarshal(r.body, &next) // an invalid answer has no runs
	return next.Value
}
