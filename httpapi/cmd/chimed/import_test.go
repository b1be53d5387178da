package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/redisstore/embedded"
)

const exported = `{
  "parameters": {"jobCollections_old_name": {"defaultValue": "old.mail", "type": "String"}, "password": {"type": "SecureString"}},
  "resources": [
    {"type": "Microsoft.Scheduler/jobCollections", "name": "[parameters('jobCollections_old_name')]", "properties": {"sku": {"name": "Standard"}, "state": "Enabled"}},
    {"type": "Microsoft.Scheduler/jobCollections/jobs", "name": "[concat(parameters('jobCollections_old_name'), '/nightly')]", "properties": {
      "startTime": "2017-02-07T00:00:00Z", "state": "Enabled", "status": {"nextExecutionTime": "2017-03-12T02:30:00Z", "executionCount": 33},
      "recurrence": {"frequency": "Day", "interval": 1, "schedule": {"minutes": [30], "hours": [2]}},
      "action": {"type": "Https", "request": {"uri": "https://example.com/", "method": "POST",
        "authentication": {"type": "Basic", "username": "robot", "password": "[parameters('password')]"}}}}},
    {"type": "Microsoft.Scheduler/jobCollections/jobs", "name": "old.mail/stopped", "properties": {
      "state": "Disabled", "recurrence": {"frequency": "Week", "schedule": {"weekDays": ["Monday"], "hours": [8], "minutes": [0]}},
      "action": {"type": "Http", "request": {"uri": "http://example.com/"}}}},
    {"type": "Microsoft.Scheduler/jobCollections/jobs", "name": "old.mail/private", "properties": {
      "recurrence": {"frequency": "Day"}, "action": {"type": "Http", "request": {"uri": "http://127.0.0.1/"}}}},
    {"type": "Microsoft.Scheduler/jobCollections/jobs", "name": "old.mail/ended", "properties": {"state": "Completed", "action": {"type": "Http"}}},
    {"type": "Microsoft.Web/sites", "name": "shop"}
  ]
}`

// A service is an API in this process, with the requests that it received.
type service struct {
	url string

	mu      sync.Mutex
	changes []string // method and path of requests that change something
}

func serveAPI(t testing.TB, authenticate httpapi.Authenticator) *service {
	t.Helper()
	store, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	ring, err := throwAwayRing()
	if err != nil {
		t.Fatal(err)
	}
	api := httpapi.New(store.Store(), httpapi.Options{Authenticate: authenticate, Secrets: ring, Logger: slog.New(slog.DiscardHandler)})
	var s service
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.URL.Path != "/preview" {
			s.mu.Lock()
			s.changes = append(s.changes, r.Method+" "+r.URL.Path)
			s.mu.Unlock()
		}
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return &s
}

// words are the results of the resources: "imported job mail/nightly".
func words(t testing.TB, out string) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(out) {
		var one result
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%q is no JSON: %v", line, err)
		}
		all = append(all, strings.TrimSpace(one.Result+" "+one.Kind+" "+one.Name))
	}
	return all
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s: got\n  %s\nwant\n  %s", what, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestAnImportPutsEachThingOnce(t *testing.T) {
	s := serveAPI(t, httpapi.Loopback())
	file := written(t, "export.json", exported)
	secrets := written(t, "secrets.json", `{"old.mail/nightly/action.request.authentication.password": "canary", "old.mail/nightly/action.request.body": "x"}`)
	with := func(more ...string) ran {
		return command(t, append([]string{"import", "-url", s.url, "-json", "-collection", "old.mail=mail", file}, more...))
	}

	tried := with("-dry-run", "-secrets", secrets)
	want := []string{"imported collection mail", "imported job mail/nightly", "imported job mail/stopped", "refused job mail/private", "skipped job mail/ended"}
	same(t, "dry", words(t, tried.out), want)
	if len(s.changes) > 0 || tried.code != exitFailed {
		t.Errorf("dry: exit %d, changes %q; want %d and none", tried.code, s.changes, exitFailed)
	}

	open := with()
	same(t, "without the secret", words(t, open.out), []string{want[0], "refused job mail/nightly", want[2], want[3], want[4]})
	if !strings.Contains(open.out, `"missingSecrets":["old.mail/nightly/action.request.authentication.password"]`) {
		t.Errorf("without the secret: got %s, want the key of the missing secret", open.out)
	}

	first := with("-secrets", secrets)
	same(t, "with it", words(t, first.out), []string{"exists collection mail", "imported job mail/nightly", "exists job mail/stopped", want[3], want[4]})
	var nightly result
	if err := json.Unmarshal([]byte(strings.Split(first.out, "\n")[1]), &nightly); err != nil {
		t.Fatal(err)
	}
	if len(nightly.Next) != 3 || nightly.Next[0].Format("15:04") != "02:30" || nightly.Was == nil || nightly.Was.Format(time.RFC3339) != "2017-03-12T02:30:00Z" {
		t.Errorf("nightly: got next %v beside %v, want three at 02:30 beside 2017-03-12T02:30:00Z", nightly.Next, nightly.Was)
	}
	if !strings.Contains(first.err, `no job in the files uses "old.mail/nightly/action.request.body"`) || !strings.Contains(first.err, "Microsoft.Web/sites") {
		t.Errorf("got %s, want the unused inputs", first.err)
	}
	for _, job := range []string{"nightly", "stopped"} {
		if _, body := ask(t, http.DefaultClient, "GET", s.url+"/jobCollections/mail/jobs/"+job, ""); !strings.Contains(body, `"state":"disabled"`) {
			t.Errorf("%s: got %s, want it disabled", job, body)
		}
	}

	_, before := ask(t, http.DefaultClient, "GET", s.url+"/jobCollections/mail/jobs", "")
	for _, again := range []ran{with("-secrets", secrets), with()} {
		same(t, "again", words(t, again.out), []string{"exists collection mail", "exists job mail/nightly", "exists job mail/stopped", want[3], want[4]})
	}
	if _, after := ask(t, http.DefaultClient, "GET", s.url+"/jobCollections/mail/jobs", ""); after != before {
		t.Errorf("an import that was run again has changed\n%s\nto\n%s", before, after)
	}
	if all := tried.out + open.out + first.out + first.err; strings.Contains(all, "canary") {
		t.Errorf("the output contains a secret: %s", all)
	}
}

func TestAnImportIsReadable(t *testing.T) {
	s := serveAPI(t, httpapi.Loopback())
	file := written(t, "export.json", exported)
	parameters := written(t, "parameters.json", `{"parameters": {"jobCollections_old_name": {"value": "old.mail"}, "password": {"value": "canary"}}}`)
	got := command(t, []string{"import", file, "-enable", "-parameters", parameters, "-collection=old.mail=mail"}, "CHIMED_URL", s.url)
	lines := strings.Split(got.out, "\n")
	for i, want := range []string{
		"imported collection mail",
		"imported job mail/nightly enabled: next 20",
		"imported job mail/stopped disabled: next 20",
		"refused job mail/private: 400 destination_blocked: ",
		"skipped job mail/ended: completed",
	} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d: got %q, want it to begin with %q", i+1, lines[min(i, len(lines)-1)], want)
		}
	}
	if !strings.HasSuffix(lines[1], " [export: 2017-03-12T02:30:00Z]") || !strings.HasSuffix(lines[3], "("+file+", resources[3])") {
		t.Errorf("got %q and %q, want the export's next run and the place in the file", lines[1], lines[3])
	}
	if want := "chimed import: 3 imported, 0 exists, 1 skipped, 1 refused\n"; got.code != exitFailed || !strings.HasSuffix(got.err, want) {
		t.Errorf("got exit %d, %q; want %d and %q", got.code, got.err, exitFailed, want)
	}
}

func TestAnImportNeedsNoAdminWhereTheCollectionIsThere(t *testing.T) {
	admin, adminLine, _ := httpapi.NewToken("admin", httpapi.Admin)
	writer, writerLine, _ := httpapi.NewToken("writer", httpapi.Write, "mail")
	tokens, err := httpapi.Tokens(adminLine + "\n" + writerLine)
	if err != nil {
		t.Fatal(err)
	}
	s := serveAPI(t, tokens)
	file := written(t, "export.json", `{"value": [{"type": "Microsoft.Scheduler/jobCollections", "name": "mail"},
		{"type": "Microsoft.Scheduler/jobCollections/jobs", "name": "mail/a", "properties": {"action": {"type": "http", "request": {"uri": "http://example.com/"}}, "recurrence": {"frequency": "day"}}}]}`)
	args := []string{"import", "-json", "-url", s.url, "-token-file", written(t, "token", writer+"\n"), file}
	same(t, "before the collection is created", words(t, command(t, args).out), []string{"refused collection mail", "refused job mail/a"})
	if status, body := ask(t, http.DefaultClient, "PUT", s.url+"/jobCollections/mail", "{}", "Authorization", "Bearer "+admin); status != http.StatusCreated {
		t.Fatalf("create the collection: %d %s", status, body)
	}
	got := command(t, args)
	same(t, "after it", words(t, got.out), []string{"exists collection mail", "imported job mail/a"})
	if got.code != 0 {
		t.Errorf("got exit %d, want 0", got.code)
	}

	wrong := command(t, []string{"import", "-url", s.url, file}, "CHIMED_TOKEN", "chm_wrong")
	if wrong.code != exitFailed || wrong.out != "" || !strings.Contains(wrong.err, "the token is not accepted") {
		t.Errorf("with a wrong token: got exit %d, %q, %q", wrong.code, wrong.out, wrong.err)
	}
}

func TestAnImportWithAWrongNameChangesNothing(t *testing.T) {
	s := serveAPI(t, httpapi.Loopback())
	file := written(t, "export.json", exported)
	for _, args := range [][]string{
		{"-collection", "mial=mail", file},
		{file, written(t, "broken.json", `{"value": [}`)},
		{"-secrets", written(t, "secrets.json", `[]`), file},
		{"-parameters", written(t, "parameters.json", `{}`), file},
		{"-token-file", "/missing/token", file},
	} {
		if got := command(t, append([]string{"import", "-url", s.url}, args...)); got.code != exitUsage || got.out != "" || len(s.changes) > 0 {
			t.Errorf("%q: got exit %d, %q, changes %q; want %d and nothing", args, got.code, got.out, s.changes, exitUsage)
		}
	}
}

// A busy service gets the request again after its wait; a token is not sent to another host.
func TestARemoteRepeatsWhatMayBeRepeated(t *testing.T) {
	var asked int
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		case asked == 1:
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		case asked == 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.Header.Get("Authorization") != "Bearer t", r.Header.Get("If-None-Match") != "*":
			w.WriteHeader(http.StatusBadRequest)
		default:
			w.WriteHeader(http.StatusCreated)
		}
	}))
	defer busy.Close()
	remote, err := newRemote(busy.URL+"/", "t")
	if err != nil {
		t.Fatal(err)
	}
	var waits []string
	remote.wait = func(_ context.Context, d time.Duration) error { waits = append(waits, d.String()); return nil }
	if got, err := remote.send(t.Context(), http.MethodPut, "/x", []byte("{}"), true); err != nil || got.status != http.StatusCreated {
		t.Errorf("got %v, %v; want 201", got, err)
	}
	same(t, "waits", waits, []string{"7s", "1s"})
	if got, err := remote.send(t.Context(), http.MethodPut, "/moved", []byte("{}"), true); err != nil || got.status != http.StatusTemporaryRedirect {
		t.Errorf("got %v, %v; want the redirect itself", got, err)
	}
}

// The service returned long lists in pages, and one page is not the whole collection.
func TestAnImportPrintsWhereAListContinues(t *testing.T) {
	api := serveAPI(t, httpapi.Loopback())
	file := written(t, "page.json", `{"value": [{"type": "Microsoft.Scheduler/jobCollections", "name": "demo", "properties": {}}], "nextLink": "https://example.com/jobs?$skip=1\u001b"}`)
	got := command(t, []string{"import", "-url", api.url, file})
	if got.code != 0 || !strings.Contains(got.err, "page.json: the list continues at https://example.com/jobs?$skip=1 , which is not in the file") {
		t.Errorf("got exit %d, %q; want 0, and where the list continues", got.code, got.err)
	}
}

// The answers of a service are printed to a terminal.
func TestAnAnswerCannotMoveTheCursor(t *testing.T) {
	r := reply{status: 400, body: fmt.Appendf(nil, `{"code": "uri\u001b[2J", "errors": [{"field": "a", "detail": "x\u001b[31m\n"}, {"detail": "y"}]}`)}
	if got, want := r.why(), "400 uri [2J: a: x [31m ; y"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnImportSendsNoTokenWithoutEncryption(t *testing.T) {
	for url, refused := range map[string]bool{
		"http://jobs.example.com": true, "http://10.0.0.1:8080": true, "http://127.0.0.1.example.com": true, "http://[2001:db8::1]": true,
		"https://jobs.example.com": false, "http://127.0.0.1:8080": false, "http://localhost:8080": false, "http://[::1]:8080": false,
	} {
		if _, err := newRemote(url, "chm_canary"); (err != nil) != refused || err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%s with a token: %v, want it refused: %v", url, err, refused)
		}
		if _, err := newRemote(url, ""); err != nil {
			t.Errorf("%s without a token: %v", url, err)
		}
	}
}
