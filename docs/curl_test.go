package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// curlLine is a command of curl in a code block.
var curlLine = regexp.MustCompile(`^\s*(?:\$ )?curl .*`)

// openRoutes need no token.
var openRoutes = []string{"/livez", "/readyz", "/openapi.yaml", "/openapi.json"}

// chimed demands a token, so a reader's first command would fail without it.
func TestEveryCurlOfTheDocumentsHasTheToken(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, page := range append(pages, "../README.md", "../SECURITY.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		fenced := false
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			if !fenced || !curlLine.MatchString(line) {
				continue
			}
			commands++
			isOpen := false
			for _, path := range openRoutes {
				isOpen = isOpen || strings.Contains(line, path)
			}
			if !isOpen && !strings.Contains(line, `-H "Authorization: Bearer $TOKEN"`) {
				t.Errorf("%s: a command has no token: %s", page, line)
			}
		}
	}
	if commands < 15 {
		t.Errorf("%d commands were found: this test searches in the wrong place", commands)
	}
}
