package repo_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// moduleFile is what go mod edit -json says of a go.mod, and go work edit -json of a go.work.
type moduleFile struct {
	Module struct{ Path string }
	Use    []struct{ DiskPath string }

	Require []struct{ Path, Version string }
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

// readModuleFile reads a file with go mod edit or go work edit.
func readModuleFile(t *testing.T, kind, name string) moduleFile {
	t.Helper()
	out, err := exec.Command("go", kind, "edit", "-json", name).Output()
	if err != nil {
		t.Fatalf("go %s edit -json %s: %v", kind, name, err)
	}
	var f moduleFile
	if err := json.Unmarshal(out, &f); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return f
}

// The modules of this repository find each other in a clone because of go.work alone: go install of a command by its version refuses a module
// whose go.mod has a replace.
func TestTheModulesFindEachOtherInTheWorkspace(t *testing.T) {
	t.Chdir(root)
	modules := map[string]moduleFile{} // by folder, as go.work writes it
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == ".git") {
			return filepath.SkipDir
		}
		if err == nil && entry.Name() == "go.mod" {
			folder := "./" + filepath.ToSlash(filepath.Dir(path))
			modules[strings.TrimSuffix(folder, "/.")] = readModuleFile(t, "mod", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(modules) < 8 {
		t.Fatalf("%d modules: this test does not find them", len(modules))
	}

	work := readModuleFile(t, "work", "go.work")
	var used []string
	for _, use := range work.Use {
		used = append(used, use.DiskPath)
	}
	slices.Sort(used)
	if want := slices.Sorted(maps.Keys(modules)); !slices.Equal(used, want) {
		t.Errorf("go.work uses %q, want %q", used, want)
	}

	required := map[string]bool{}
	for folder, module := range modules {
		if want := strings.TrimSuffix(modulePath+"/"+strings.TrimPrefix(folder, "./"), "/."); module.Module.Path != want {
			t.Errorf("%s/go.mod is that of %s, want %s", folder, module.Module.Path, want)
		}
		if len(module.Replace) != 0 {
			t.Errorf("%s/go.mod has a replace, want none: it belongs in go.work", folder)
		}
		for _, r := range module.Require {
			if r.Path != modulePath && !strings.HasPrefix(r.Path, modulePath+"/") {
				continue
			}
			if r.Version != "v0.0.0" {
				t.Errorf("%s/go.mod requires %s in version %s, want v0.0.0, which go.work has", folder, r.Path, r.Version)
			}
			required[r.Path] = true
		}
	}

	replaced := map[string]bool{}
	for _, r := range work.Replace {
		folder := strings.TrimSuffix(r.New.Path, "/")
		if r.Old.Version != "v0.0.0" || modules[folder].Module.Path != r.Old.Path {
			t.Errorf("go.work replaces %s %s by %s, want version v0.0.0 and the module's folder", r.Old.Path, r.Old.Version, r.New.Path)
		}
		replaced[r.Old.Path] = true
	}
	if !maps.Equal(replaced, required) {
		t.Errorf("go.work replaces %v, want each module that another one requires: %v", replaced, required)
	}
}

// With other versions in the workspace, all packages that import what has them are compiled twice.
func TestTheWorkspaceHasTheLibrarysVersions(t *testing.T) {
	t.Chdir(root)
	want := map[string]string{}
	args := []string{"list", "-m", "-f", "{{.Path}} {{.Version}}"}
	for _, r := range readModuleFile(t, "mod", "go.mod").Require {
		want[r.Path] = r.Version
		args = append(args, r.Path)
	}
	list := exec.Command("go", args...)
	list.Env = append(os.Environ(), "GOWORK=") // a test of the library runs without it
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list -m in the workspace: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		path, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		if version != want[path] {
			t.Errorf("go.work has %s %s, go.mod %s: require %s there, and run ./check.sh tidy", path, version, want[path], version)
		}
		delete(want, path)
	}
	if len(want) > 0 {
		t.Errorf("no version of %v", slices.Sorted(maps.Keys(want)))
	}
}
