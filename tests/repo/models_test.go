package repo_test

import (
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A modelSource is a line in the list of sources at the top of a model: a macro, the file that it stands for, and the function if that is a Go file.
type modelSource struct{ model, macro, file, function string }

var (
	sourceLine = regexp.MustCompile(`(?m)^   ([A-Z][A-Z_0-9]*): (\S+\.(?:lua|go))(?: \((\w+)\))?(?: \*/)?$`)
	modelLine  = regexp.MustCompile(`(?m)^(?://|--) Model: (.*)\.$`)
	modelName  = regexp.MustCompile(`^((?:[A-Z][A-Z_0-9]*(?: and )?)+) in models/(\w+)\.pml$`)
)

// Each macro that a model lists exists there, each source that it lists exists, and that source names the model and the macro; and nothing else names a model.
func TestModelsAndSourcesNameEachOther(t *testing.T) {
	t.Chdir(root)
	listed := map[modelSource]bool{}
	models, err := filepath.Glob("models/*.pml")
	if err != nil {
		t.Fatal(err)
	}
	steps := read(t, "models/steps.inc") // a part of home.pml
	for _, path := range models {
		text, model := read(t, path), strings.TrimSuffix(filepath.Base(path), ".pml")
		lines := sourceLine.FindAllStringSubmatch(text, -1)
		if len(lines) == 0 || strings.Count(text, "/* Sources:") != 1 {
			t.Errorf("%s does not list its sources", path)
		}
		if model == "home" {
			text += steps
		}
		for _, line := range lines {
			if !regexp.MustCompile(`(?m)^(?:#define|inline) ` + line[1] + `\b`).MatchString(text) {
				t.Errorf("%s lists %s, which it does not define", path, line[1])
			}
			listed[modelSource{model, line[1], line[2], line[3]}] = true
		}
	}
	named := map[modelSource]bool{}
	add := func(file, function, comment string) {
		for _, line := range modelLine.FindAllStringSubmatch(comment, -1) {
			for _, part := range strings.Split(line[1], ", ") {
				name := modelName.FindStringSubmatch(part)
				if name == nil {
					t.Errorf("%s: %q, want <macro> in models/<model>.pml", file, part)
					continue
				}
				for _, macro := range strings.Split(name[1], " and ") {
					named[modelSource{name[2], macro, file, function}] = true
				}
			}
		}
	}
	for _, s := range sources(t) {
		for _, declaration := range s.file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Doc != nil && !s.test {
				for _, line := range f.Doc.List {
					add(s.path, f.Name.Name, line.Text)
				}
			}
		}
	}
	err = filepath.WalkDir("redisstore/scripts", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".lua") {
			add(filepath.ToSlash(path), "", read(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for l := range listed {
		if !named[l] {
			t.Errorf("models/%s.pml lists %s %s as the source of %s: it does not exist, or has no line Model that names this macro", l.model, l.file, l.function, l.macro)
		}
	}
	for n := range named {
		if !listed[n] {
			t.Errorf("%s %s names %s in models/%s.pml, which does not list it", n.file, n.function, n.macro, n.model)
		}
	}
	if len(listed) < 40 {
		t.Errorf("the models list %d sources: this test searches in the wrong place", len(listed))
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
