// Package docs_test checks the pages of this folder: all code on them is compiled and run here.
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

// blocks returns the code blocks of one language on a page, in order.
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
			t.Fatalf("%s: a code block does not end", page)
		}
		found = append(found, code)
	}
	return found
}

// shows fails unless three things hold: each Go block of the page is, unchanged, in the source file or in a file that runs it; each function of the
// source that is not a method is on the page; and these files use each of them.
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
			t.Errorf("%s shows code that is in neither %s nor %s:\n%s", page, source, runs, code)
		}
	}
	if len(shown) == 0 {
		t.Fatalf("%s shows no Go code: this test reads the page wrongly", page)
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
			t.Errorf("%s shows %s, which no test runs", page, name)
		}
	}
}

// Each Go block of a page is, line by line, in a test file, at any indentation. So it is compiled, and because no function of a test file is
// unused, it also runs.
func TestThePagesShowCodeThatIsRun(t *testing.T) {
	for page, pieces := range map[string]int{"schedules": 23, "from-cron": 6} {
		source := sourceOf(t, strings.ReplaceAll(page, "-", "_"))
		blocks := strings.Split(readText(t, page+".md"), "```go\n")[1:]
		for _, block := range blocks {
			code, _, ended := strings.Cut(block, "```")
			if !ended || !showsPart(source, code) {
				t.Errorf("docs/%s.md shows code that is not in its test file:\n%s", page, code)
			}
		}
		if len(blocks) < pieces {
			t.Errorf("docs/%s.md has %d code blocks, want %d: this test searches in the wrong place", page, len(blocks), pieces)
		}
	}
}

// sourceOf returns the text of the test files of a page.
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

// showsPart reports whether source contains all lines of code in sequence, each indented by the same additional tabs.
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

// Every link on a page of this folder has a target, and so has every link to a heading.
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
				t.Errorf("%s links to %s, which does not exist", page, file)
			} else if match[2] != "" && !has(file, match[2]) {
				t.Errorf("%s links to %s#%s, a heading that does not exist", page, file, match[2])
			}
		}
	}
	if found < 40 {
		t.Errorf("%d links were found: this test reads the pages wrongly", found)
	}
}
