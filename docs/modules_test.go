package docs_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A goMod is the part of the output of go mod edit -json that this test needs.
type goMod struct {
	Module  struct{ Path string }
	Require []struct{ Path, Version string }
	Replace []struct {
		Old, New struct{ Path string }
	}
}

func readGoMod(t *testing.T, folder string) (m goMod) {
	t.Helper()
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = folder
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &m)
	}
	if err != nil {
		t.Fatalf("%s: %v", folder, err)
	}
	return m
}

// A page about a separate module shows how a program gets it while chime is in no index. After the page's go mod edit, the program requires all
// modules of this repository that it needs and finds them in a clone beside it.
func TestThePagesOnModulesShowHowAProgramGetsThem(t *testing.T) {
	const library = "github.com/chimejobs/chime"
	for page, module := range map[string]string{"monitoring.md": "chimeprom", "traces.md": "chimeotel"} {
		shell := strings.Join(blocks(t, page, "sh"), "\n")
		if strings.Contains(shell, "go get") {
			t.Errorf("%s uses go get, which finds nothing:\n%s", page, shell)
			continue
		}
		beside := t.TempDir()
		program := filepath.Join(beside, "program")
		if err := os.MkdirAll(program, 0o755); err != nil {
			t.Fatal(err)
		}
		root, err := filepath.Abs("..")
		if err == nil {
			err = os.Symlink(root, filepath.Join(beside, "chime"))
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(program, "go.mod"), []byte("module example\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		edits, _, _ := strings.Cut(shell, "go mod tidy")
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", edits)
		cmd.Dir = program
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s\n%s", page, err, edits, out)
		}
		got, found := readGoMod(t, program), map[string]bool{}
		for _, r := range got.Replace {
			if is := readGoMod(t, filepath.Join(program, r.New.Path)).Module.Path; is != r.Old.Path {
				t.Errorf("%s replaces %s with the folder of %s", page, r.Old.Path, is)
			}
			found[r.Old.Path] = true
		}
		required := map[string]bool{}
		for _, r := range got.Require {
			required[r.Path] = r.Version == "v0.0.0"
		}
		needs := []string{library + "/" + module}
		for _, r := range readGoMod(t, filepath.Join("..", module)).Require {
			if r.Path == library || strings.HasPrefix(r.Path, library+"/") {
				needs = append(needs, r.Path)
			}
		}
		for _, path := range needs {
			if !found[path] || !required[path] {
				t.Errorf("%s: after its go mod edit %s is required: %v, and found: %v", page, path, required[path], found[path])
			}
		}
	}
}
