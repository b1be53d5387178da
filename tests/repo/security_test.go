package repo_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var securityTest = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`")

// docs/security-model.md has a test for each attack and for each promise of SECURITY.md, and each of these tests exists. A promise that is not in the
// table of promises, or that SECURITY.md no longer contains, is found here.
func TestEachAttackAndEachPromiseHasATest(t *testing.T) {
	t.Chdir(root)
	defined := definedTests(t)
	policy, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	model, err := os.ReadFile("docs/security-model.md")
	if err != nil {
		t.Fatal(err)
	}
	attacks, promises, found := strings.Cut(string(model), "\n## Promises\n")
	_, attacks, begun := strings.Cut(attacks, "\n## Attacks\n")
	if !found || !begun {
		t.Fatal("docs/security-model.md has no attacks and promises")
	}
	var promised []string
	for part, most := range map[string]int{attacks: 50, promises: 20} {
		rows := 0
		for line := range strings.Lines(part) {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
			if len(cells) != 3 || strings.HasSuffix(cells[2], "tests ") {
				continue
			}
			rows++
			named := securityTest.FindAllStringSubmatch(cells[2], -1)
			if len(named) == 0 {
				t.Errorf("docs/security-model.md has no test of %q", cells[0])
			}
			for _, name := range named {
				if !defined[name[1]] {
					t.Errorf("docs/security-model.md names %s, which no test file defines", name[1])
				}
			}
			if part == promises {
				if promised = append(promised, cells[1]); !strings.Contains(string(policy), cells[1]) {
					t.Errorf("SECURITY.md does not promise %q", cells[1])
				}
			}
		}
		if rows < most {
			t.Errorf("docs/security-model.md has a table of %d lines: this test searches in the wrong place", rows)
		}
	}
	clauses := 0
	for _, row := range regexp.MustCompile(`(?m)^\| [^|]*\*\*[^|]*\|[^|]*\|([^|]*)\|[^|]*\|$`).FindAllStringSubmatch(string(policy), -1) {
		for clause := range strings.SplitSeq(row[1], "; ") {
			clauses++
			if clause = strings.TrimSpace(clause); clause != "the same as above" && !slices.ContainsFunc(promised, func(promise string) bool { return strings.Contains(clause, promise) }) {
				t.Errorf("docs/security-model.md has no test of the promise %q", clause)
			}
		}
	}
	if clauses < 20 {
		t.Errorf("SECURITY.md makes %d promises: this test searches in the wrong place", clauses)
	}
}
