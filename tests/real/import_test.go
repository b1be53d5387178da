//go:build real && unix

package real_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chimejobs/chime/internal/redistest"
)

// The example of an import: 20,000 lines, a worker that is killed with SIGKILL in the middle, and one summary of all lines. The program itself compares the
// sum with that of the file.
func TestTheImportHasOneSummaryAlthoughItsWorkerIsKilled(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	binary := filepath.Join(t.TempDir(), "import")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./examples/import")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program := exec.CommandContext(t.Context(), binary)
	program.Env = append(os.Environ(), "REDIS_URL=redis://"+server.Addr())
	out, err := program.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text := string(out)
	for _, want := range []string{"20000 lines enqueued", "the first worker is killed", "summary: 20000 payments", "is done: 20000 of 20000 jobs done, 0 dead"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("want %q once in\n%s", want, text)
		}
	}
	if strings.Count(text, "summary:") != 1 {
		t.Errorf("want one summary:\n%s", text)
	}
}
