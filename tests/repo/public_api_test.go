package repo_test

import (
	"go/ast"
	"testing"
)

// `go doc .` is the reference: each name, each method and each field has a comment.
func TestThePublicAPIIsDocumented(t *testing.T) {
	t.Chdir(root)
	names := 0
	for _, s := range sources(t) {
		if s.folder != "." || s.test {
			continue
		}
		name := func(id *ast.Ident, comments ...*ast.CommentGroup) {
			if !id.IsExported() {
				return
			}
			names++
			for _, c := range comments {
				if c.Text() != "" {
					return
				}
			}
			t.Errorf("%s: %s has no comment", s.path, id.Name)
		}
		for _, decl := range s.file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil {
					name(decl.Name, decl.Doc)
				} else if decl.Name.IsExported() && decl.Doc.Text() == "" && exportedReceiver(decl) {
					t.Errorf("%s: the method %s has no comment", s.path, decl.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						name(spec.Name, spec.Doc, decl.Doc)
						if body, ok := spec.Type.(*ast.StructType); ok && spec.Name.IsExported() {
							for _, field := range body.Fields.List {
								if len(field.Names) > 0 && field.Names[0].IsExported() && field.Doc.Text()+field.Comment.Text() == "" {
									t.Errorf("%s: the field %s.%s has no comment", s.path, spec.Name.Name, field.Names[0].Name)
								}
							}
						}
					case *ast.ValueSpec:
						for _, id := range spec.Names {
							name(id, spec.Doc, spec.Comment, decl.Doc)
						}
					}
				}
			}
		}
	}
	if names < 40 {
		t.Errorf("%d exported names were found: this test searches in the wrong place", names)
	}
}

func exportedReceiver(decl *ast.FuncDecl) bool {
	receiver := decl.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if index, ok := receiver.(*ast.IndexExpr); ok {
		receiver = index.X
	}
	id, ok := receiver.(*ast.Ident)
	return ok && id.IsExported()
}
