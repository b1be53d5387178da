package repo_test

import (
	"go/ast"
	"os"
	"regexp"
	"testing"
)

var testName = regexp.MustCompile("`(Test[A-Za-z0-9]+)`")

// A promise that names a test which does not exist is held by nothing.
func TestEveryTestThatDocumentsNameExists(t *testing.T) {
	t.Chdir(root)
	defined := definedTests(t)
	for document, least := range map[string]int{"docs/reliability.md": 30, "docs/faults.md": 30, "docs/keys.md": 60} {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		named := testName.FindAllStringSubmatch(string(text), -1)
		for _, name := range named {
			if !defined[name[1]] {
				t.Errorf("%s names %s, which no test file defines", document, name[1])
			}
		}
		if len(named) < least {
			t.Errorf("%s names %d tests: this test searches in the wrong place", document, len(named))
		}
	}
}

// definedTests returns the names of all functions of test files, and of the suite of the stores.
func definedTests(t *testing.T) map[string]bool {
	defined := map[string]bool{}
	for _, s := range sources(t) {
		for _, declaration := range s.file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && (s.test && f.Recv == nil || s.folder == "internal/storesuite") {
				defined[f.Name.Name] = true
			}
		}
	}
	return defined
}

// Before 9.7.3 a client whose call timed out could hand its reply to the next caller (CVE-2025-29923).
func TestTheRedisClientKeepsRepliesInOrder(t *testing.T) {
	t.Chdir(root)
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`github.com/redis/go-redis/v9 v9\.(\d+)\.(\d+)`).FindStringSubmatch(string(text))
	if version == nil {
		t.Fatal("go.mod does not name a version of go-redis")
	}
	minor, patch := version[1], version[2]
	if len(minor) == 1 && (minor < "7" || minor == "7" && len(patch) == 1 && patch < "3") {
		t.Errorf("go.mod has go-redis 9.%s.%s, want 9.7.3 or later", minor, patch)
	}
}
