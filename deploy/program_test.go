//go:build real && linux

package deploy_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// program is the path of chimed, built by the command of README.md.
var program string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "deploy")
	if err == nil {
		program, err = build(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// build runs the command with which README.md builds the program, with another path of the result.
func build(folder string) (string, error) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		return "", err
	}
	const output = "-o ../deploy/chimed "
	command := regexp.MustCompile(`(?m)^\(cd httpapi && .*go build .*\)$`).FindString(string(page))
	if !strings.Contains(command, output) {
		return "", fmt.Errorf("README.md has no go build with %q", output)
	}
	path := filepath.Join(folder, "chimed")
	shell := exec.Command("sh", "-ec", strings.Replace(command, output, "-o "+path+" ", 1))
	shell.Dir = ".."
	if out, err := shell.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	return path, nil
}

// A running is a process of a test, and what it has printed.
type running struct {
	command *exec.Cmd
	ended   chan struct{}

	mu    sync.Mutex
	lines []string
	url   string // of a chimed with -log json
	known chan struct{}
}

// start starts a process that ends with the test.
func start(t testing.TB, command *exec.Cmd) *running {
	t.Helper()
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
	output, input, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = input, input
	if err := command.Start(); err != nil {
		t.Fatalf("%q: %v", command.Args, err)
	}
	_ = input.Close()
	r := &running{command: command, ended: make(chan struct{}), known: make(chan struct{})}
	go r.follow(output)
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-r.ended
		if t.Failed() {
			t.Logf("%q printed\n%s", command.Args, r.output())
		}
	})
	return r
}

// follow reads the output until the process ends.
func (r *running) follow(output io.Reader) {
	for lines := bufio.NewScanner(output); lines.Scan(); {
		var line struct{ Event, URL string }
		_ = json.Unmarshal(lines.Bytes(), &line) // another line remains empty
		r.mu.Lock()
		r.lines = append(r.lines, lines.Text())
		if line.Event == "server.started" && r.url == "" {
			r.url = line.URL
			close(r.known)
		}
		r.mu.Unlock()
	}
	_ = r.command.Wait()
	close(r.ended)
}

func (r *running) output() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, "\n")
}

// await returns the URL of a chimed.
func (r *running) await(t testing.TB) string {
	t.Helper()
	select {
	case <-r.known:
	case <-r.ended:
		t.Fatalf("%q has ended with %v:\n%s", r.command.Args, r.command.ProcessState, r.output())
	}
	return r.url
}

// stop ends a process by SIGTERM, and returns its exit code.
func (r *running) stop(t testing.TB) int {
	t.Helper()
	if err := r.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-r.ended
	return r.command.ProcessState.ExitCode()
}

// ask sends a request with a token, and returns status and body.
func ask(t testing.TB, method, url, token, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
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

// freePort is a port of the loopback interface that no process uses.
func freePort(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

// tokenOf creates a token, and returns it with its line in the file of -tokens.
func tokenOf(t testing.TB, arguments ...string) (token, line string) {
	t.Helper()
	out, err := exec.Command(program, append([]string{"token"}, arguments...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	token, line, _ = strings.Cut(string(out), "\n")
	return token, line
}

// write writes a file that its owner and its group can read.
func write(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o440); err != nil {
		t.Fatal(err)
	}
	return path
}

const ring = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"
