package command_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime/cmd/chime/internal/command"
	"github.com/chimejobs/chime/cmd/chime/internal/process"
)

// A served is a running chime dashboard.
type served struct {
	line   string // that it has printed
	url    string // with the slash
	stderr func() string
	opened string // in the browser
	stop   func() int
}

// serveDashboard starts chime dashboard on a free port of this machine, on the store of a shop.
func (s *shop) serveDashboard(t *testing.T, args ...string) *served {
	t.Helper()
	reader, writer := io.Pipe()
	var stderr lockedBuffer
	started := &served{stderr: stderr.String}
	p := &process.Process{
		Args: append([]string{"dashboard", "--listen", "127.0.0.1:0"}, args...), Env: func(name string) string { return s.Env[name] }, In: strings.NewReader(""),
		Out: writer, Err: &stderr, Now: time.Now, Local: time.UTC, Width: func() int { return 80 },
		Open: func(url string) error { started.opened = url; return nil },
	}
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- command.Run(ctx, p)
		writer.Close()
	}()
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		t.Fatalf("it has printed no line: exit %d, %s", <-ended, stderr.String())
	}
	started.line = line
	started.url, _, _ = strings.Cut(line, " ")
	started.stop = sync.OnceValue(func() int { interrupt(); return <-ended })
	t.Cleanup(func() { started.stop() })
	return started
}

// A lockedBuffer is a buffer that is read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// ask sends a request, with a name and a token unless they are empty, and returns status and body.
func (s *served) ask(t *testing.T, method, path, name, token string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if name != "" {
		request.SetBasicAuth(name, token)
	}
	answer, err := http.DefaultClient.Do(request)
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

// usersFile writes a file with one user, by the lines of chime dashboard token, and returns the token too.
func (s *shop) usersFile(t *testing.T, name, rights string) (file, token string) {
	t.Helper()
	got := s.Run(t, "dashboard", "token", name, "--rights", rights)
	token, line, _ := strings.Cut(got.Out, "\n")
	file = filepath.Join(t.TempDir(), "people")
	if err := os.WriteFile(file, []byte("# people\n"+line), 0o600); err != nil || got.Code != 0 {
		t.Fatalf("dashboard token: %+v, %v", got, err)
	}
	return file, token
}

func TestTheDashboardIsServedToThisMachine(t *testing.T) {
	shop := newShop(t)
	for _, c := range []struct {
		args   []string
		says   string
		status int // of a pause
	}{
		{nil, "read-only, to browsers of this machine; Ctrl-C ends it\n", 403},
		{[]string{"--write", "--open"}, "and changes it, to browsers of this machine; Ctrl-C ends it\n", 200}, // it asks first
		{[]string{"--write", "--read-only"}, "read-only, to browsers of this machine; Ctrl-C ends it\n", 403},
	} {
		s := shop.serveDashboard(t, c.args...)
		if !strings.HasPrefix(s.line, "http://127.0.0.1:") || !strings.Contains(s.line, "/ shows chime @ 127.0.0.1:") || !strings.HasSuffix(s.line, c.says) {
			t.Errorf("%q: printed %q, want address, store and %q", c.args, s.line, c.says)
		}
		if status, page := s.ask(t, "GET", "workers", "", ""); status != 200 || !strings.Contains(page, "<h1>Workers</h1>") {
			t.Errorf("%q: workers: got %d:\n%s", c.args, status, page)
		}
		if status, page := s.ask(t, "POST", "schedules/none/pause", "", ""); status != c.status {
			t.Errorf("%q: a pause: got %d, want %d:\n%s", c.args, status, c.status, page)
		}
		if code := s.stop(); code != 0 {
			t.Errorf("%q: Ctrl-C: exit %d, want 0; %s", c.args, code, s.stderr())
		}
		if opens := len(c.args) > 1 && c.args[1] == "--open"; opens != (s.opened == s.url) {
			t.Errorf("%q: it has opened %q", c.args, s.opened)
		}
	}
}

// Ctrl-C does not wait for pages that are open.
func TestCtrlCEndsTheStreamsOfOpenPages(t *testing.T) {
	s := newShop(t).serveDashboard(t)
	answer, err := http.Get(s.url + "events?page=workers")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	if !lines.Scan() || lines.Text() != "event: hello" {
		t.Fatalf("the stream begins with %q", lines.Text())
	}
	if code := s.stop(); code != 0 {
		t.Errorf("exit %d, %s", code, s.stderr())
	}
	end := false
	for lines.Scan() {
		end = end || lines.Text() == "event: end"
	}
	if !end {
		t.Error("the stream was cut off, want its end")
	}
}

func TestTheDashboardIsForThoseInItsFile(t *testing.T) {
	shop := newShop(t)
	file, token := shop.usersFile(t, "anna", "view")
	s := shop.serveDashboard(t, "--auth-file", file, "--write")
	if !strings.HasSuffix(s.line, "and changes it, to those in "+file+"; Ctrl-C ends it\n") {
		t.Errorf("printed %q", s.line)
	}
	for _, c := range []struct {
		method, path, name, token string
		status                    int
		want                      string
	}{
		{"GET", "workers", "", "", 401, "needs a name"},
		{"GET", "workers", "anna", "chm_wrong", 401, "needs a name"},
		{"GET", "workers", "ben", token, 401, "needs a name"},
		{"GET", "workers", "anna", token, 200, "anna"},
		{"POST", "schedules/none/pause", "anna", token, 403, "Your rights: view"},
	} {
		if status, page := s.ask(t, c.method, c.path, c.name, c.token); status != c.status || !strings.Contains(page, c.want) {
			t.Errorf("%s %s as %q: got %d, want %d and %q:\n%s", c.method, c.path, c.name, status, c.status, c.want, page)
		}
	}
	if stderr := s.stderr(); !strings.Contains(stderr, "event=dashboard.denied") || strings.Contains(stderr, token) {
		t.Errorf("logged:\n%s", stderr)
	}
}

func TestADashboardThatWouldLetStrangersInIsRefused(t *testing.T) {
	shop := emptyShop(t)
	file, _ := shop.usersFile(t, "anna", "view")
	open, wrong := filepath.Join(t.TempDir(), "open"), filepath.Join(t.TempDir(), "wrong")
	for name, text := range map[string]string{open: "", wrong: "anna secret view"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--listen 0.0.0.0:7080": "--listen 0.0.0.0:7080: others can reach it, so it needs --auth-file FILE; chime dashboard token NAME makes its lines",
		"--listen :7080":        "so it needs --auth-file FILE",
		"--listen [::]:7080":    "so it needs --auth-file FILE",
		"--listen example.com:": "so it needs --auth-file FILE",
		"--listen 127.0.0.1":    `--listen "127.0.0.1": want host:port`,
		"--auth-file " + open:   "its mode is 0644, want at most 0640",
		"--auth-file " + wrong:  "line 1: the second field is no SHA-256",
		"--auth-file /nowhere":  "open /nowhere",
		"-o json":               "--output json: dashboard serves pages",
		"token":                 "accepts 1 arg",
		"token a --rights all":  `right "all": want some of view,operate,edit,delete,reveal`,
		"serve":                 `unknown command "serve"`,
		"--listen 0.0.0.0:99999 --auth-file " + file: "",
	} {
		wantCode := 2
		if want == "" {
			wantCode = 1 // the port, which is tried only then
		}
		if got := shop.Run(t, append([]string{"dashboard"}, strings.Fields(args)...)...); got.Code != wantCode || !strings.Contains(got.Err, want) || got.Out != "" {
			t.Errorf("dashboard %s: %+v, want exit %d and %q", args, got, wantCode, want)
		}
	}
	shop.Env["REDIS_URL"] = "redis://127.0.0.1:1"
	if got := shop.Run(t, "dashboard", "--listen", "127.0.0.1:0"); got.Code != 5 || !strings.Contains(got.Err, "does Redis run there") {
		t.Errorf("without a store: %+v, want exit 5", got)
	}
}
