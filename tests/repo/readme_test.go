package repo_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A front page is read in ten minutes, at 240 words a minute. Lines of any length would say nothing about that.
func TestReadmeIsReadInTenMinutes(t *testing.T) {
	t.Chdir(root)
	if n := len(strings.Fields(readme(t))); n > 2400 {
		t.Errorf("README.md has %d words, want at most 2400: move what is not for the first ten minutes to docs", n)
	}
}

// Every file and folder that the documentation names exists.
func TestFilesNamedInTheDocumentationExist(t *testing.T) {
	t.Chdir(root)
	path := regexp.MustCompile("`([a-z_/]+(?:/[a-z_]+|\\.go|\\.lua|\\.md|\\.sh))`")
	found := 0
	for _, document := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/how-it-works.md", "docs/protocol.md", "docs/source-map.md", "docs/releasing.md", "docs/licences.md", "docs/performance.md", "bench/README.md"} {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range path.FindAllStringSubmatch(string(text), -1) {
			found++
			beside := filepath.Join(filepath.Dir(document), match[1])
			if _, err := os.Stat(match[1]); err != nil {
				if _, err := os.Stat(beside); err != nil {
					t.Errorf("%s names %s, which does not exist", document, match[1])
				}
			}
		}
	}
	if found < 40 {
		t.Errorf("%d files are named: this test searches in the wrong place", found)
	}
}

// The map of the source has every package.
func TestTheSourceMapHasEveryPackage(t *testing.T) {
	t.Chdir(root)
	text, err := os.ReadFile("docs/source-map.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{".": true}
	for _, s := range sources(t) {
		if s.test || found[s.folder] {
			continue
		}
		found[s.folder] = true
		if !strings.Contains(string(text), "`"+s.folder+"`") {
			t.Errorf("docs/source-map.md does not name the package %s", s.folder)
		}
	}
	if len(found) < 80 {
		t.Errorf("%d packages are found: this test searches in the wrong place", len(found))
	}
}
