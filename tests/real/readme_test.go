//go:build real && unix

package real_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chimejobs/chime/internal/redistest"
)

// The README's program is built and run on a real server. Only the server's address is changed.
func TestReadmeProgram(t *testing.T) {
	_, rest, _ := strings.Cut(readme(t), "```go\n")
	program, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("README.md has no program")
	}
	address := `"localhost:6379"`
	if strings.Count(program, address) != 1 {
		t.Fatalf("the program does not contain %s exactly once", address)
	}
	server := redistest.Start(t, redistest.Options{})
	binary := build(t, strings.Replace(program, address, fmt.Sprintf("%q", server.Addr()), 1))
	cmd := exec.CommandContext(t.Context(), binary)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	lines := bufio.NewScanner(out)
	for _, want := range []string{"report@", "welcome, Ada"} { // the run at creation, then the job enqueued for a second later
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), want) {
			t.Fatalf("the program printed %q, %v; want %s…", lines.Text(), lines.Err(), want)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after Ctrl-C: %v, want a drain and an end without an error", err)
	}
}

// Without a server the program needs one other line, which the README shows.
func TestReadmeProgramInMemory(t *testing.T) {
	const line = "store := embedded.StartInMemory().Store()"
	if !strings.Contains(readme(t), "`"+line+"`") {
		t.Fatalf("README.md does not show %s", line)
	}
	_, rest, _ := strings.Cut(readme(t), "```go\n")
	program, _, _ := strings.Cut(rest, "```")
	before, after, found := strings.Cut(program, "store := redisstore.New(")
	_, after, ended := strings.Cut(after, "\n")
	if !found || !ended {
		t.Fatal("the program does not make a store")
	}
	before = strings.Replace(before, "import (\n", "import (\n\t\"github.com/chimejobs/chime/redisstore/embedded\"\n", 1)
	cmd := exec.CommandContext(t.Context(), build(t, before+line+"\n"+after))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	if lines := bufio.NewScanner(out); !lines.Scan() || !strings.HasPrefix(lines.Text(), "report@") {
		t.Errorf("the program printed %q, %v; want report@…", lines.Text(), lines.Err())
	}
}

// build compiles a program, and returns the path of its binary.
func build(t *testing.T, program string) string {
	t.Helper()
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("go", "build", "-ldflags", "-s -w", "-o", binary, source)
	command.Env = append(os.Environ(), "CGO_ENABLED=0") // then Go has built the packages for other tests; with cgo only those of the race detector are built
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// readme returns the text of the README.
func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
