package login

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// ownFolder returns a new folder to which only this user can write, whatever the umask is.
func ownFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

// environment returns the values of variables.
func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func newLocal(t *testing.T, env ...string) *Local {
	t.Helper()
	local, err := NewLocal(environment(env...))
	if err != nil {
		t.Fatal(err)
	}
	return local
}

var at = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}

func TestEachStartHasALocalTokenOfItsOwn(t *testing.T) {
	one, other := newLocal(t), newLocal(t)
	if one.token == other.token || !tokenForm.MatchString(one.token) || one.Given() {
		t.Errorf("got %q and %q, want two tokens", one.token, other.token)
	}
	given := newLocal(t, LocalVariable, one.token)
	if given.token != one.token || !given.Given() || given.Export() != `export TOKEN="$CHIMED_LOCAL_TOKEN"` {
		t.Errorf("got %q, export %q, want the token of the variable, which is not printed", given.token, given.Export())
	}
	if got, want := one.Export(), "export TOKEN="+one.token; got != want {
		t.Errorf("export: got %q, want %q", got, want)
	}
	for _, wrong := range []string{"canary", "chm_canary", one.token + "a", " " + one.token, one.token + "\n"} {
		if _, err := NewLocal(environment(LocalVariable, wrong)); err == nil || !strings.HasPrefix(err.Error(), "CHIMED_LOCAL_TOKEN: want chm_ and 43") || strings.Contains(err.Error(), wrong) {
			t.Errorf("%q: got %v, want an error without the value", wrong, err)
		}
	}
}

// A local token is a password and a bearer token. Neither a bare request of this machine nor another token is served.
func TestALocalTokenIsProvedNotGuessed(t *testing.T) {
	local := newLocal(t)
	var logged strings.Builder
	gate := New(local.Check, slog.New(slog.NewTextHandler(&logged, nil))).WrapLocal(behind)
	users, err := ReadUsers(local.Line("view"))
	if err != nil {
		t.Fatal(err)
	}
	if viewer, ok := users.Check(LocalUser, local.token); !ok || viewer.Name != LocalUser {
		t.Error("its line does not have its SHA-256")
	}
	const proxied = "X-Forwarded-For"
	for _, c := range []struct {
		what, name, token, bearer, host, header string
		want                                    int
	}{
		{"the password", "local", local.token, "", "localhost:8080", "", 200},
		{"the bearer token", "", "", "Bearer " + local.token, "127.0.0.1:8080", "", 200},
		{"in small letters", "", "", "bearer " + local.token, "127.0.0.1:8080", "", 200},
		{"a proxy with the token", "local", local.token, "", "localhost:8080", proxied, 200},

		{"a program of this machine", "", "", "", "localhost:8080", "", 401},
		{"a proxy", "", "", "", "localhost:8080", proxied, 401},
		{"another name", "anna", local.token, "", "localhost:8080", "", 401},
		{"another token", "local", newLocal(t).token, "", "localhost:8080", "", 401},
		{"another bearer token", "", "", "Bearer " + newLocal(t).token, "localhost:8080", "", 401},
		{"another scheme", "", "", "Digest " + local.token, "localhost:8080", "", 401},

		{"a host that was rebound", "local", local.token, "", "evil.example", "", 403},
		{"a job", "local", local.token, "", "localhost:8080", "Chime-Fence", 403},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr, r.Host = "127.0.0.1:50000", c.host
		if c.name != "" {
			r.SetBasicAuth(c.name, c.token)
		}
		if c.bearer != "" {
			r.Header.Set("Authorization", c.bearer)
		}
		if c.header != "" {
			r.Header.Set(c.header, "7")
		}
		w := httptest.NewRecorder()
		gate.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s: got %d %q, want %d", c.what, w.Code, w.Body, c.want)
		}
		if c.want == 200 && w.Body.String() != "local view, operate, edit, delete, reveal <nil>\n" {
			t.Errorf("%s: got the viewer %q", c.what, w.Body)
		}
	}
	if strings.Contains(logged.String(), "chm_") || strings.Count(logged.String(), "event=dashboard.denied") != 5 {
		t.Errorf("logged, want the wrong tokens and the wrong hosts, without a token:\n%s", &logged)
	}
}

// modeOf returns the mode of a file.
func modeOf(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheTokenIsInAFileOfItsUser(t *testing.T) {
	local, runtimeDir, session, home := newLocal(t), ownFolder(t), ownFolder(t), ownFolder(t)
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("LocalAppData", home)
	for _, c := range []struct {
		what string
		env  []string
		in   string // the folder, or the beginning of its path
	}{
		{"systemd", []string{"RUNTIME_DIRECTORY", runtimeDir, "XDG_RUNTIME_DIR", session}, runtimeDir},
		{"systemd with two folders", []string{"RUNTIME_DIRECTORY", runtimeDir + string(os.PathListSeparator) + session}, runtimeDir},
		{"a session", []string{"XDG_RUNTIME_DIR", session}, session},
		{"a session that has ended", []string{"XDG_RUNTIME_DIR", filepath.Join(session, "none")}, home},
		{"neither", nil, home},
	} {
		file, err := local.WriteToken(environment(c.env...), "chimed", at)
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if !strings.HasPrefix(file.Path, c.in) || filepath.Base(file.Path) != "chimed-127.0.0.1-8080.token" || read(t, file.Path) != local.token+"\n" {
			t.Errorf("%s: got %s with %q, want it in %s", c.what, file.Path, read(t, file.Path), c.in)
		}
		if runtime.GOOS != "windows" && (modeOf(t, file.Path).Perm() != 0o600 || c.in == home && modeOf(t, filepath.Dir(file.Path)).Perm() != 0o700) {
			t.Errorf("%s: the file has the mode %v, its folder %v", c.what, modeOf(t, file.Path), modeOf(t, filepath.Dir(file.Path)))
		}
		file.Remove()
		if _, err := os.Stat(file.Path); !os.IsNotExist(err) {
			t.Errorf("%s: it is still there after the end: %v", c.what, err)
		}
	}
	if names, err := os.ReadDir(session); err != nil || len(names) > 0 {
		t.Errorf("the session's folder has %v, %v, want nothing", names, err)
	}
}

// A start replaces the file that a crash has left, also if that is a link, which it does not follow. It leaves the files of other processes.
func TestAFileOfACrashIsReplaced(t *testing.T) {
	folder, elsewhere := ownFolder(t), filepath.Join(t.TempDir(), "elsewhere")
	env := environment("XDG_RUNTIME_DIR", folder)
	crashed, other, next := newLocal(t), newLocal(t), newLocal(t)
	write := func(local *Local, program string, at net.Addr) *PrivateFile {
		t.Helper()
		file, err := local.WriteToken(env, program, at)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	old := write(crashed, "chimed", at)
	beside := []*PrivateFile{write(other, "chimed", &net.TCPAddr{IP: at.IP, Port: 8081}), write(other, "chimed", &net.TCPAddr{IP: net.IPv6loopback, Port: 8080}), write(other, "chime-dashboard", at)}
	if err := os.Chmod(old.Path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old.Path+".new", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	file := write(next, "chimed", at)
	if file.Path != old.Path || read(t, file.Path) != next.token+"\n" || runtime.GOOS != "windows" && modeOf(t, file.Path) != 0o600 {
		t.Errorf("got %s, %q with the mode %v", file.Path, read(t, file.Path), modeOf(t, file.Path))
	}
	old.Remove() // the end of a process whose file was replaced
	for _, file := range append(beside, file) {
		if len(read(t, file.Path)) < 40 {
			t.Errorf("%s is not whole", file.Path)
		}
	}
	file.Remove()
	if err := os.WriteFile(elsewhere, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, file.Path); err != nil {
		t.Fatal(err)
	}
	file = write(next, "chimed", at)
	if read(t, elsewhere) != "kept" || !modeOf(t, file.Path).IsRegular() {
		t.Error("a link was followed")
	}
	if names, err := os.ReadDir(folder); err != nil || len(names) != 4 {
		t.Errorf("the folder has %v, %v, want one file for each process", names, err)
	}
}

func TestAFolderOfEverybodyHasNoToken(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // rights of folders have another form there
	}
	open, home := ownFolder(t), ownFolder(t)
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	local := newLocal(t)
	_, err := local.WriteToken(environment("XDG_RUNTIME_DIR", open), "chimed", at)
	if err == nil || strings.Contains(err.Error(), local.token) {
		t.Fatalf("got %v, want an error without the token", err)
	}
	for _, want := range []string{"XDG_RUNTIME_DIR: other users can write to " + open + ": its mode is 0777", "the cache of this user: ", "set XDG_RUNTIME_DIR, or with systemd RuntimeDirectory=", LocalVariable} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	t.Setenv("HOME", home)
	if file, err := local.WriteToken(environment("XDG_RUNTIME_DIR", open), "chimed", at); err != nil || !strings.HasPrefix(file.Path, home) {
		t.Errorf("with a home: got %v, %v", file, err)
	}
}

// Arguments of a process are public, so a browser gets the name of a file, which leads it past the login.
func TestAPageOfItsUserLeadsABrowserPastTheLogin(t *testing.T) {
	folder, local := ownFolder(t), newLocal(t)
	server := httptest.NewServer(nil)
	defer server.Close()
	to, err := url.Parse(server.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = New(local.Check, slog.New(slog.DiscardHandler)).WrapLocal(Land(to, behind))
	file, err := local.WritePage(environment("XDG_RUNTIME_DIR", folder), "chime-dashboard", server.Listener.Addr(), to)
	if err != nil {
		t.Fatal(err)
	}
	page := read(t, file.Path)
	if strings.Contains(file.URL(), local.token) || file.URL() != "file://"+filepath.ToSlash(file.Path) || runtime.GOOS != "windows" && modeOf(t, file.Path) != 0o600 {
		t.Errorf("got %s with the mode %v", file.URL(), modeOf(t, file.Path))
	}
	_, after, _ := strings.Cut(page, `content="0; url=`)
	target, _, found := strings.Cut(after, `"`)
	if !found {
		t.Fatalf("the page leads nowhere:\n%s", page)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Get(target)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != to.String() {
		t.Errorf("%d to %q, want a redirect to an address without the token", answer.StatusCode, answer.Header.Get("Location"))
	}
	if bare, err := client.Get(server.URL + "/open"); err != nil || bare.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the token: got %v, %v, want 401", bare, err)
	}
	file.Remove()
}
