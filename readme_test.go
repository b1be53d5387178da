package chime

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/redistest"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The README's program is built as it stands and run on a real server, but for the server's address.
func TestReadmeProgram(t *testing.T) {
	_, rest, _ := strings.Cut(readme(t), "```go\n")
	program, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("README.md has no program")
	}
	address := `"localhost:6379"`
	if strings.Count(program, address) != 1 {
		t.Fatalf("the program does not say %s once", address)
	}
	server := redistest.Start(t, redistest.Options{})
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(strings.Replace(program, address, fmt.Sprintf("%q", server.Addr()), 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
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
		t.Errorf("after Ctrl-C: %v, want it to drain and to end without an error", err)
	}
}

func TestReadmeIsShort(t *testing.T) {
	if n := strings.Count(readme(t), "\n"); n > 200 {
		t.Errorf("README.md has %d lines, want at most 200", n)
	}
}

// Every default in the README's table is the one in defaults.go.
func TestReadmeDefaults(t *testing.T) {
	_, rest, _ := strings.Cut(readme(t), "## Defaults")
	table, _, _ := strings.Cut(rest, "##")
	got := map[string]string{}
	for _, pair := range regexp.MustCompile("`([A-Za-z.]+)` \\| ([^|]+?) \\|").FindAllStringSubmatch(table, -1) {
		got[pair[1]] = strings.Trim(pair[2], "`")
	}
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.0fs", d.Seconds()) }
	power := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[defaultBackoffPower]
	want := map[string]string{
		"MaxAttempts":                 fmt.Sprintf("%d; of an occurrence %d", defaultMaxAttempts, defaultOccurrenceAttempts),
		"Backoff":                     fmt.Sprintf("n%c s × %.2f to %.2f", power, defaultMinBackoffSpread, defaultMaxBackoffSpread),
		"Timeout":                     fmt.Sprintf("%.0fm", defaultTimeout.Minutes()),
		"Queue":                       defaultQueue,
		"Grace":                       seconds(defaultGrace),
		"MisfireCatchUp":              fmt.Sprintf("%.0fh, %d runs", defaultCatchUp.Hours(), defaultMaxCatchUp),
		"WorkerOptions.Concurrency":   fmt.Sprintf("%d × GOMAXPROCS", defaultConcurrency),
		"WorkerOptions.SessionTTL":    seconds(defaultSessionTTL),
		"WorkerOptions.DrainTimeout":  seconds(defaultDrainTimeout),
		"WorkerOptions.MaxCrashes":    fmt.Sprint(defaultMaxCrashes),
		"EnqueuerOptions.Queue":       EnqueuerOptions{}.withDefaults().Queue,
		"EnqueuerOptions.MaxPayload":  fmt.Sprintf("%d MiB", defaultMaxPayload>>20),
		"EnqueuerOptions.SendTimeout": seconds(defaultSendTimeout),
		"SchedulerOptions.LeaderTTL":  seconds(defaultLeaderTTL),
		"SchedulerOptions.SafetyTick": seconds(defaultSafetyTick),
	}
	for option, value := range want {
		if got[option] != value {
			t.Errorf("README.md says %s is %q, the source says %q", option, got[option], value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("README.md has %d defaults, want %d: %v", len(got), len(want), got)
	}
}

// Every file and folder that the documentation names exists.
func TestFilesNamedInTheDocumentationExist(t *testing.T) {
	path := regexp.MustCompile("`([a-z_/]+(?:/[a-z_]+|\\.go|\\.lua|\\.md|\\.sh))`")
	found := 0
	for _, document := range []string{"README.md", "SECURITY.md", "docs/how-it-works.md", "docs/licences.md", "docs/performance.md", "bench/README.md"} {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range path.FindAllStringSubmatch(string(text), -1) {
			found++
			beside := filepath.Join(filepath.Dir(document), match[1])
			if _, err := os.Stat(match[1]); err != nil {
				if _, err := os.Stat(beside); err != nil {
					t.Errorf("%s names %s, which does not exist", document, match[1])
				}
			}
		}
	}
	if found < 40 {
		t.Errorf("%d files are named: this test searches in the wrong place", found)
	}
}
