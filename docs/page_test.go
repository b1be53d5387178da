// Package docs_test holds the pages of this folder: all code that they show is compiled and run here.
package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
)

// blocks returns the pieces of code of one language that a page shows, in order.
func blocks(t *testing.T, page, language string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, rest := range strings.Split(string(text), "\n```"+language+"\n")[1:] {
		code, _, ended := strings.Cut(rest, "```")
		if !ended {
			t.Fatalf("%s: a piece of code does not end", page)
		}
		found = append(found, code)
	}
	return found
}

// shows fails unless every piece of Go on a page is in a source file, or in one of those that run it, as it stands; each function of the source
// that is no method is on the page; and each of them is used somewhere in these files.
func shows(t *testing.T, page, source string, runs ...string) {
	t.Helper()
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	all := string(text)
	for _, name := range runs {
		more, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all += string(more)
	}
	shown := blocks(t, page, "go")
	for _, code := range shown {
		if !strings.Contains(all, "\n"+code) {
			t.Errorf("%s shows what neither %s nor %s has:\n%s", page, source, runs, code)
		}
	}
	if len(shown) == 0 {
		t.Fatalf("%s shows no Go: this test reads it wrongly", page)
	}
	file, err := parser.ParseFile(token.NewFileSet(), source, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	onPage := strings.Join(shown, "\n")
	for _, declaration := range file.Decls {
		f, ok := declaration.(*ast.FuncDecl)
		if !ok || f.Recv != nil {
			continue
		}
		name := f.Name.Name
		if !strings.Contains(onPage, "func "+name+"(") {
			t.Errorf("%s has %s, which %s does not show", source, name, page)
		}
		if len(regexp.MustCompile(`\b`+name+`\b`).FindAllString(all, 2)) < 2 {
			t.Errorf("%s shows %s, which nothing runs", page, name)
		}
	}
}

// Each page of this folder that another one links to is there.
func TestLinksBetweenPagesLeadSomewhere(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`\]\(([^)#:"]+)(#[^)]*)?\)`)
	code := regexp.MustCompile("(?s)\n```.*?\n```")
	found := 0
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".md") {
			continue
		}
		text, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			found++
			if _, err := os.Stat(match[1]); err != nil {
				t.Errorf("%s links to %s, which is not there", file.Name(), match[1])
			}
		}
	}
	if found == 0 {
		t.Error("no link was found: this test reads the pages wrongly")
	}
}
