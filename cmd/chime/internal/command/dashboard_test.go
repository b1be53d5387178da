package command_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime/cmd/chime/internal/command"
	"github.com/chimejobs/chime/cmd/chime/internal/process"
	"github.com/chimejobs/chime/internal/login"
)

// givenToken is the local token of most tests.
const givenToken = "chm_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// A served is a running chime dashboard.
type served struct {
	line   string // that it has printed, with the hint for a terminal
	url    string // with the slash
	stderr func() string
	opened string // in the browser
	token  string // the local one
	stop   func() int
}

// serveDashboard starts chime dashboard on a free port of this machine, on the store of a shop.
func (s *shop) serveDashboard(t *testing.T, args ...string) *served {
	t.Helper()
	reader, writer := io.Pipe()
	var stderr lockedBuffer
	opened := make(chan string, 1)
	started := &served{stderr: stderr.String, token: givenToken}
	if s.Env[login.LocalVariable] == "" && s.Env["XDG_RUNTIME_DIR"] == "" {
		s.Env[login.LocalVariable] = givenToken
	}
	p := &process.Process{
		Args: append([]string{"dashboard", "--listen", "127.0.0.1:0"}, args...), Env: func(name string) string { return s.Env[name] }, In: strings.NewReader(""),
		Out: writer, Err: &stderr, Now: time.Now, Local: time.UTC, Width: func() int { return 80 }, ShowsOn: s.Width > 0,
		Open: func(url string) error { opened <- url; return nil },
	}
	if slices.Contains(args, "--open") {
		defer func() { started.opened = <-opened }()
	}
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- command.Run(ctx, p)
		writer.Close()
	}()
	text := make([]byte, 4096) // it prints everything at once
	n, err := reader.Read(text)
	if err != nil {
		t.Fatalf("it has printed nothing: exit %d, %s", <-ended, stderr.String())
	}
	started.line = string(text[:n])
	started.url, _, _ = strings.Cut(started.line, " ")
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

func TestTheDashboardIsServedToThoseWithItsToken(t *testing.T) {
	shop := newShop(t)
	for _, c := range []struct {
		args   []string
		says   string
		status int // of a pause
	}{
		{nil, "read-only, to those with its token; Ctrl-C ends it\n", 403},
		{[]string{"--write"}, "and changes it, to those with its token; Ctrl-C ends it\n", 200}, // it asks first
		{[]string{"--write", "--read-only"}, "read-only, to those with its token; Ctrl-C ends it\n", 403},
	} {
		s := shop.serveDashboard(t, c.args...)
		if !strings.HasPrefix(s.line, "http://127.0.0.1:") || !strings.Contains(s.line, "/ shows chime @ 127.0.0.1:") || !strings.HasSuffix(s.line, c.says) {
			t.Errorf("%q: printed %q, want address, store and %q", c.args, s.line, c.says)
		}
		if status, page := s.ask(t, "GET", "workers", "", ""); status != 401 || !strings.Contains(page, "needs a name") {
			t.Errorf("%q: without the token: got %d:\n%s", c.args, status, page)
		}
		if status, page := s.ask(t, "GET", "workers", "local", s.token); status != 200 || !strings.Contains(page, "<h1>Workers</h1>") {
			t.Errorf("%q: workers: got %d:\n%s", c.args, status, page)
		}
		if status, page := s.ask(t, "POST", "schedules/none/pause", "local", s.token); status != c.status {
			t.Errorf("%q: a pause: got %d, want %d:\n%s", c.args, status, c.status, page)
		}
		if code := s.stop(); code != 0 {
			t.Errorf("%q: Ctrl-C: exit %d, want 0; %s", c.args, code, s.stderr())
		}
	}
}

// privateFolder is a new folder of this user only, and XDG_RUNTIME_DIR of the shop.
func (s *shop) privateFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	s.Env["XDG_RUNTIME_DIR"] = folder
	return folder
}

// The token is on the terminal, or else in a file whose name is logged. A later start has another one.
func TestALocalTokenIsForTheUserWhoStartedTheDashboard(t *testing.T) {
	shop := newShop(t)
	folder := shop.privateFolder(t)
	exported := regexp.MustCompile(`\n  export TOKEN=(chm_\S{43})\n$`)

	shop.Width = 80
	s := shop.serveDashboard(t)
	found := exported.FindStringSubmatch(s.line)
	if found == nil || strings.Contains(s.stderr(), "server.token") {
		t.Fatalf("on a terminal: printed %q, logged %q, want the token on the terminal only", s.line, s.stderr())
	}
	if status, _ := s.ask(t, "GET", "workers", "local", found[1]); status != 200 {
		t.Errorf("on a terminal: got %d, want 200", status)
	}
	s.stop()

	shop.Width = 0
	s = shop.serveDashboard(t, "--open")
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != 2 { // the page too
		t.Fatalf("got the files %v, %v", files, err)
	}
	token := fileOf(t, folder, ".token")
	text, err := os.ReadFile(token)
	if err != nil || strings.TrimSpace(string(text)) == found[1] {
		t.Fatalf("got %q, %v, want a new token", text, err)
	}
	secret := strings.TrimSpace(string(text))
	if !strings.Contains(s.stderr(), "event=server.token path="+token) || strings.Contains(s.line+s.stderr()+s.opened, "chm_") {
		t.Errorf("printed %q, logged %q, opened %q, want the name of %s and not its content", s.line, s.stderr(), s.opened, token)
	}
	if info, err := os.Stat(token); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v, %v", info.Mode(), err)
	}
	for given, want := range map[string]int{secret: 200, found[1]: 401} {
		if status, _ := s.ask(t, "GET", "workers", "local", given); status != want {
			t.Errorf("got %d, want %d", status, want)
		}
	}
	page := fileOf(t, folder, ".html")
	if content, err := os.ReadFile(page); err != nil || s.opened != "file://"+page || !strings.Contains(string(content), "local:"+secret+"@") {
		t.Errorf("the browser got %q, want the file %s", s.opened, page)
	}
	if status, _ := s.ask(t, "GET", "open", "local", secret); status != 200 { // after a redirect
		t.Errorf("where the page leads: got %d, want 200", status)
	}
	s.stop()
	if files, err := os.ReadDir(folder); err != nil || len(files) > 0 {
		t.Errorf("after the end there are %v, %v, want no files", files, err)
	}
}

// fileOf is the path of the file with an extension in a folder.
func fileOf(t *testing.T, folder, extension string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, "*"+extension))
	if err != nil || len(found) != 1 {
		t.Fatalf("got %q, %v, want one file", found, err)
	}
	return found[0]
}

// Ctrl-C does not wait for pages that are open.
func TestCtrlCEndsTheStreamsOfOpenPages(t *testing.T) {
	s := newShop(t).serveDashboard(t)
	request, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"events?page=workers", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	answer, err := http.DefaultClient.Do(request)
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
	shop.Env[login.LocalVariable] = "canary"
	if got := shop.Run(t, "dashboard", "--listen", "127.0.0.1:0"); got.Code != 2 || !strings.Contains(got.Err, "CHIMED_LOCAL_TOKEN: want chm_") || strings.Contains(got.Err, "canary") {
		t.Errorf("with a token of another form: %+v, want exit 2", got)
	}
	delete(shop.Env, login.LocalVariable)
	shop.Env["REDIS_URL"] = "redis://127.0.0.1:1"
	if got := shop.Run(t, "dashboard", "--listen", "127.0.0.1:0"); got.Code != 5 || !strings.Contains(got.Err, "does Redis run there") {
		t.Errorf("without a store: %+v, want exit 5", got)
	}
}
