package repo_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A source is one Go file of this repository.
type source struct {
	path   string // from the root, with slashes
	folder string // "." is the root
	test   bool
	text   []byte
	file   *ast.File
	set    *token.FileSet
}

// sources returns all Go files but those of testdata. They are read and parsed once.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := readSources()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var readSources = sync.OnceValues(func() (all []source, err error) {
	err = filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && file != "." && (strings.HasPrefix(name, ".") || name == "testdata") {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		s := source{path: filepath.ToSlash(file), text: text, set: token.NewFileSet()}
		s.folder, s.test = path.Dir(s.path), strings.HasSuffix(name, "_test.go")
		s.file, err = parser.ParseFile(s.set, s.path, text, parser.ParseComments|parser.SkipObjectResolution)
		all = append(all, s)
		return err
	})
	return all, err
})

func (s source) under(folder string) bool { return strings.HasPrefix(s.path, folder+"/") }

func (s source) imports() []string {
	var paths []string
	for _, spec := range s.file.Imports {
		paths = append(paths, strings.Trim(spec.Path.Value, `"`))
	}
	return paths
}

// eachCall visits the calls that have a receiver, or a package, that is a plain name.
func (s source) eachCall(visit func(receiver, name string, line int)) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
				if receiver, ok := selector.X.(*ast.Ident); ok {
					visit(receiver.Name, selector.Sel.Name, s.set.Position(call.Pos()).Line)
				}
			}
		}
		return true
	})
}

// commented reports whether a comment ends on the line or on the one before.
func (s source) commented(line int) bool {
	return slices.ContainsFunc(s.file.Comments, func(c *ast.CommentGroup) bool {
		end := s.set.Position(c.End()).Line
		return end == line || end == line-1
	})
}
