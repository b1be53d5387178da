package redisstore

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// suiteTests is a pattern of the tests that call onEveryServer, themselves or through others: the suite that a run on another kind of server
// repeats. The other tests start servers of their own, or none, and would find there what they find anyway. It has those
// whose names the pattern only finds and skip does not: with -test.skip beside it, the package testing compiles this long pattern again
// for every test.
func suiteTests(t *testing.T, only, skip string) string {
	t.Helper()
	names, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	uses := map[string][]string{} // function → the names that it mentions
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range file.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok {
				ast.Inspect(f, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						uses[f.Name.Name] = append(uses[f.Name.Name], id.Name)
					}
					return true
				})
			}
		}
	}
	found := map[string]bool{"onEveryServer": true}
	for before := 0; before < len(found); {
		before = len(found)
		for function, mentioned := range uses {
			if !found[function] && slices.ContainsFunc(mentioned, func(name string) bool { return found[name] }) {
				found[function] = true
			}
		}
	}
	wanted := regexp.MustCompile(only)
	skipped := regexp.MustCompile(skip)
	var tests []string
	for function := range found {
		if strings.HasPrefix(function, "Test") && wanted.MatchString(function) && !skipped.MatchString(function) {
			tests = append(tests, function)
		}
	}
	slices.Sort(tests)
	return "^(" + strings.Join(tests, "|") + ")$"
}
