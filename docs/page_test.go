// Package docs_test holds the pages of this folder: all code that they show is compiled and run here.
package docs_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
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

// The code that a page shows is in a test file, line by line, at whatever depth: what is shown is compiled, and as no function of a test
// file is unused, it is run.
func TestThePagesShowCodeThatIsRun(t *testing.T) {
	for page, pieces := range map[string]int{"schedules": 23, "from-cron": 6} {
		source := sourceOf(t, strings.ReplaceAll(page, "-", "_"))
		blocks := strings.Split(readText(t, page+".md"), "```go\n")[1:]
		for _, block := range blocks {
			code, _, ended := strings.Cut(block, "```")
			if !ended || !showsPart(source, code) {
				t.Errorf("docs/%s.md shows what its test file does not have:\n%s", page, code)
			}
		}
		if len(blocks) < pieces {
			t.Errorf("docs/%s.md has %d pieces of code, want %d: this test searches in the wrong place", page, len(blocks), pieces)
		}
	}
}

// sourceOf is the text of the test files of a page.
func sourceOf(t *testing.T, page string) string {
	t.Helper()
	files, err := filepath.Glob(page + "*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, file := range files {
		source.WriteString(readText(t, file))
	}
	return source.String()
}

// showsPart reports whether source has all lines of code, one after the other, each with the same further tabs in front.
func showsPart(source, code string) bool {
	for indent := range 5 {
		tabs := strings.Repeat("\t", indent)
		var deeper strings.Builder
		for line := range strings.Lines(code) {
			if line != "\n" {
				deeper.WriteString(tabs)
			}
			deeper.WriteString(line)
		}
		if strings.Contains(source, "\n"+deeper.String()) {
			return true
		}
	}
	return false
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What a page of this folder links to is there, the heading too.
func TestLinksBetweenPagesLeadSomewhere(t *testing.T) {
	code := regexp.MustCompile("(?s)\n```.*?\n```")
	prose := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("a page links to %s: %v", file, err)
		}
		return code.ReplaceAllString(string(text), "")
	}
	heading, mark := regexp.MustCompile(`(?m)^#+ (.*)$`), regexp.MustCompile(`[^a-z0-9 _-]`)
	has := func(file, anchor string) bool {
		for _, h := range heading.FindAllStringSubmatch(prose(file), -1) {
			if strings.ReplaceAll(mark.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") == anchor {
				return true
			}
		}
		return false
	}
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	link, words := regexp.MustCompile(`\]\(([^)#:]*)#?([^)]*)\)`), regexp.MustCompile("`[^`\n]*`")
	found := 0
	for _, page := range pages {
		for _, match := range link.FindAllStringSubmatch(words.ReplaceAllString(prose(page), ""), -1) {
			if strings.Contains(match[0], "://") {
				continue
			}
			found++
			file := cmp.Or(match[1], page)
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s, which is not there", page, file)
			} else if match[2] != "" && !has(file, match[2]) {
				t.Errorf("%s links to %s#%s, and there is no such heading", page, file, match[2])
			}
		}
	}
	if found < 40 {
		t.Errorf("%d links were found: this test reads the pages wrongly", found)
	}
}
