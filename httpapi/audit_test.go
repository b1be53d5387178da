package httpapi

import (
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// lines are the entries of a log in JSON.
func logged(t *testing.T, text string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(text) {
		var one map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, one)
	}
	return all
}

func TestEveryChangeAndEveryRefusalIsLogged(t *testing.T) {
	token, line, _ := NewToken("ci", Write, "demo", "read-only")
	tokens, err := Tokens(line)
	if err != nil {
		t.Fatal(err)
	}
	authenticate := func(r *http.Request) (Principal, error) {
		p, err := tokens(r)
		if err == nil {
			all := p.Allows
			p.Allows = func(permission Permission, name string) bool {
				return all(permission, name) && (name != "read-only" || permission == Read)
			}
		}
		return p, err
	}
	const canary = "canary-in-the-body"
	job := `{"action": {"type": "https", "request": {"uri": "https://example.com/r", "body": "` + canary + `"}}}`
	known := "Authorization: Bearer " + token
	for _, c := range []struct {
		name, method, target, body, header string
		level, message                     string // of the one line; empty: none
		want                               map[string]any
	}{
		{"a job is created", "PUT", "/jobCollections/demo/jobs/report", job, known, "INFO", "httpapi: put job",
			map[string]any{"principal": "ci", "op": "put job", "collection": "demo", "job": "report", "status": 201.0, "etag": `"3"`, "request": "here", "remote": "192.0.2.1:1234"}},
		{"a job is run", "POST", "/jobCollections/demo/jobs/there/run", "", known, "INFO", "httpapi: run job", map[string]any{"job": "there", "status": 200.0}},
		{"a refused change", "DELETE", "/jobCollections/demo/jobs/there", "", known + "\nIf-Match: \"1\"", "INFO", "httpapi: delete job",
			map[string]any{"status": 412.0, "if_match": `"1"`, "code": "changed"}},
		{"a look", "GET", "/jobCollections/demo/jobs/there", "", known, "", "", nil},
		{"a preview", "POST", "/preview", job, known, "", "", nil},
		{"no token", "PUT", "/jobCollections/demo/jobs/report", job, "", "WARN", "httpapi: a request was not allowed",
			map[string]any{"principal": "", "status": 401.0, "code": "unauthenticated", "count": 1.0, "method": "PUT", "path": `"/jobCollections/demo/jobs/report"`, "request": "here"}},
		{"no permission", "DELETE", "/jobCollections/read-only/jobs/report", "", known, "WARN", "httpapi: a request was not allowed",
			map[string]any{"principal": "ci", "status": 403.0, "code": "forbidden"}},
		{"a path with a newline", "GET", "/a%0Ab%1B%5B2J", "", "", "WARN", "httpapi: a request was not allowed", map[string]any{"path": `"/a%0Ab%1B%5B2J"`}},
		{"a long path", "GET", "/" + strings.Repeat("a", 5000), "", "", "WARN", "httpapi: a request was not allowed", map[string]any{"path": `"/` + strings.Repeat("a", 199) + `"`}},
	} {
		var log strings.Builder
		api, backend := newTestAPI(t, Options{Authenticate: authenticate, Logger: slog.New(slog.NewJSONHandler(&log, nil))}, "demo")
		backend.addJob("demo", "there")
		headers := append(strings.Split(c.header, "\n"), "X-Request-Id: here")
		got := send(api, c.method, c.target, c.body, headers...)
		if strings.Contains(log.String(), canary) || strings.Contains(log.String(), strings.TrimPrefix(token, tokenPrefix)) {
			t.Errorf("%s: the log has the body or the token: %s", c.name, log.String())
		}
		all := logged(t, log.String())
		if c.level == "" {
			if len(all) != 0 {
				t.Errorf("%s: got %d lines, want none: %s", c.name, len(all), log.String())
			}
			continue
		}
		if len(all) != 1 || all[0]["level"] != c.level || all[0]["msg"] != c.message {
			t.Errorf("%s: want one line, %s %q; got %d: %s (answer %d %s)", c.name, c.level, c.message, len(all), log.String(), got.Code, got.Body)
			continue
		}
		if event := map[string]string{"INFO": "api.action", "WARN": "api.denied"}[c.level]; all[0]["event"] != event {
			t.Errorf("%s: the event is %v, want %s", c.name, all[0]["event"], event)
		}
		for key, want := range c.want {
			if all[0][key] != want {
				t.Errorf("%s: %s is %v, want %v", c.name, key, all[0][key], want)
			}
		}
	}
}

// A lockedLog is a log that timers write to while a test reads it.
type lockedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lockedLog) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}

// One address that guesses tokens does not fill the log, and does not hide how often it guessed, or the others.
func TestAnAddressWithoutATokenIsLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedLog
		failing := func(*http.Request) (Principal, error) {
			return Principal{}, errors.New("the directory does not know it")
		}
		api, _ := newTestAPI(t, Options{Authenticate: failing, Logger: slog.New(slog.NewJSONHandler(&log, nil))})
		from := func(remote string, times int) {
			for range times {
				r := httptest.NewRequest("GET", "/jobCollections", nil)
				r.RemoteAddr = remote
				api.ServeHTTP(httptest.NewRecorder(), r)
			}
		}
		want := func(what string, counts map[string]float64) {
			t.Helper()
			synctest.Wait()
			got, reasons := map[string]float64{}, 0
			for _, line := range logged(t, log.String()) {
				if line["event"] == "api.unauthenticated" {
					reasons++
					continue
				}
				remote, _ := line["remote"].(string)
				if _, twice := got[remote]; twice {
					t.Errorf("%s: %s is logged twice", what, remote)
				}
				got[remote], _ = line["count"].(float64)
			}
			if log.Reset(); !maps.Equal(got, counts) || reasons != len(counts) {
				t.Errorf("%s: logged %v, with %d reasons; want %v", what, got, reasons, counts)
			}
		}
		from("192.0.2.1:1000", 50)
		from("192.0.2.1:1001", 1)
		from("192.0.2.2:1000", 1)
		from("[2001:db8::1]:1000", 2)
		from("[2001:db8::ffff:2]:1000", 1) // of the same network
		want("at once", map[string]float64{"192.0.2.1:1000": 1, "192.0.2.2:1000": 1, "[2001:db8::1]:1000": 1})
		time.Sleep(strangerInterval) // fake time
		want("after a minute", map[string]float64{"192.0.2.1:1001": 50, "[2001:db8::ffff:2]:1000": 2})
		from("192.0.2.1:1002", 3)
		from("192.0.2.2:1000", 1)
		want("later", map[string]float64{"192.0.2.2:1000": 1})
		time.Sleep(strangerInterval) // fake time
		want("after two minutes", map[string]float64{"192.0.2.1:1002": 3})
		time.Sleep(2 * strangerInterval) // fake time
		want("in quiet minutes", map[string]float64{})
		if n := len(api.strangers.of); n != 0 {
			t.Errorf("%d addresses are remembered, want none", n)
		}
		for i := range maxStrangers + 500 {
			from(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 1000).String(), 1)
		}
		synctest.Wait()
		if n := len(logged(t, log.String())) / 2; n != maxStrangers+1 {
			t.Errorf("%d addresses got %d lines, want %d", maxStrangers+500, n, maxStrangers+1)
		}
		time.Sleep(2 * strangerInterval) // fake time
	})
}
