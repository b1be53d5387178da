package work

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"
)

// records are structs that are passed from part to part and guard nothing: every part may use their fields.
var records = map[string]bool{
	"Config": true, "Drained": true, "Handler": true, "Many": true, "Job": true, "Outcome": true, // exchanged with the root package
	"claim":   true, // it does not change once its job is admitted
	"arrival": true, "extension": true, "collected": true, "reply": true, "request": true, "tally": true,
	"share": true, "stake": true, // used by one function, divide
}

// Each part is a type whose fields only its own file touches; other parts call its methods.
func TestNoPartReachesIntoAnother(t *testing.T) {
	fset := token.NewFileSet()
	folder, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range folder.GoFiles {
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	if _, err := config.Check("work", fset, files, info); err != nil {
		t.Fatal(err)
	}
	uses := 0
	for selector, selection := range info.Selections {
		field, ok := selection.Obj().(*types.Var)
		if !ok || !field.Pos().IsValid() || field.Pkg().Name() != "work" {
			continue
		}
		uses++
		home, here := fset.Position(field.Pos()), fset.Position(selector.Pos())
		if home.Filename != here.Filename && !records[owner(files, field)] {
			t.Errorf("%s:%d uses the field %s of %s, which is in %s: give it a method", here.Filename, here.Line, field.Name(), owner(files, field), home.Filename)
		}
	}
	if uses < 500 {
		t.Errorf("%d uses of fields were found: this test searches in the wrong place", uses)
	}
}

// owner is the struct type that has the field.
func owner(files []*ast.File, field *types.Var) string {
	name := "?"
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && spec.Pos() <= field.Pos() && field.Pos() < spec.End() {
				name = spec.Name.Name
			}
			return true
		})
	}
	return name
}

// A method is in the file of its type, so a reader finds everything that a part does in one file.
func TestEveryMethodIsInTheFileOfItsType(t *testing.T) {
	fset := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	home, methods := map[string]string{}, map[string][]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						home[spec.Name.Name] = name
					}
				}
			case *ast.FuncDecl:
				if decl.Recv != nil {
					receiver := decl.Recv.List[0].Type
					if star, ok := receiver.(*ast.StarExpr); ok {
						receiver = star.X
					}
					methods[receiver.(*ast.Ident).Name] = append(methods[receiver.(*ast.Ident).Name], name)
				}
			}
		}
	}
	for receiver, files := range methods {
		for _, file := range files {
			if file != home[receiver] {
				t.Errorf("%s has a method of %s, which is in %s", file, receiver, home[receiver])
			}
		}
	}
	if len(methods) < 10 {
		t.Errorf("methods of %d types were found: this test searches in the wrong place", len(methods))
	}
}
