package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chimejobs/chime/internal/childproc"
)

// TestMain lets this test binary act as chimed: as a child of a test, and as the child that opens a PKCS #12 file.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == pfxCommand {
		main()
	}
	childproc.Main(m, map[string]childproc.Role{"chimed": runChild})
}

// localToken is the local token of the chimeds in tests.
const localToken = "chm_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// A childConfig is the configuration of a child.
type childConfig struct {
	Args     []string
	Env      map[string]string
	Terminal bool
}

func runChild(c *childproc.Child) error {
	var config childConfig
	if err := c.Config(&config); err != nil {
		return err
	}
	p := process{args: config.Args, env: func(name string) string { return config.Env[name] }, out: os.Stdout, err: messages{c}, terminal: config.Terminal}
	if code := run(context.Background(), p); code != 0 {
		return errors.New("chimed failed")
	}
	return nil
}

// messages pass each line of a log to the test, without the time and the level.
type messages struct{ child *childproc.Child }

func (m messages) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		if at := strings.Index(line, `msg=`); at > 0 {
			line = line[at:]
		}
		m.child.Say("%s", strings.TrimSpace(line))
	}
	return len(text), nil
}

// A ran is the result of a command.
type ran struct {
	code     int
	out, err string
}

// command runs a command in this process. env is name, value, name, value …
func command(t testing.TB, args []string, env ...string) ran {
	t.Helper()
	variables := map[string]string{}
	for ; len(env) > 1; env = env[2:] {
		variables[env[0]] = env[1]
	}
	var out, err bytes.Buffer
	code := run(t.Context(), process{args: args, env: func(name string) string { return variables[name] }, in: strings.NewReader(""), out: &out, err: &err})
	return ran{code, out.String(), err.String()}
}

// written is the path of a new file.
func written(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ask sends a request with the local token, and returns status and body. headers are name, value, name, value …
func ask(t testing.TB, client *http.Client, method, url, body string, headers ...string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+localToken)
	for ; len(headers) > 1; headers = headers[2:] {
		request.Header.Set(headers[0], headers[1])
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%s %s: the answer is cut off: %v", method, url, err)
	}
	return answer.StatusCode, string(text)
}
