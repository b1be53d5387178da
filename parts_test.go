package chime_test

import (
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// test.sh runs the tests of this folder in three processes, each with a -skip of what the others run. A test that all of them skip would never run, and
// nobody would see that.
func TestEveryTestRunsInOnePartOfTheScript(t *testing.T) {
	script, err := os.ReadFile("test.sh")
	if err != nil {
		t.Fatal(err)
	}
	function := regexp.MustCompile(`(?ms)^elsewhere\(\) \{\n.*?^\}\n`).Find(script)
	for _, started := range []string{"for part in ${library:+1 2}; do", `-skip "$(elsewhere "$part")"`, `-skip "$(elsewhere 3)"`} {
		if !strings.Contains(string(script), started) {
			t.Errorf("test.sh has no %s: does it run every part?", started)
		}
	}
	var skips []*regexp.Regexp // of parts 1, 2 and 3
	for part := 1; part <= 3; part++ {
		out, err := exec.Command("sh", "-c", fmt.Sprint(string(function), "elsewhere ", part)).Output()
		if err != nil {
			t.Fatalf("elsewhere %d of test.sh: %v", part, err)
		}
		skips = append(skips, regexp.MustCompile(strings.TrimSpace(string(out))))
	}

	ran := make([]int, len(skips)+1)
	for _, s := range sources(t) {
		for _, declaration := range s.file.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if !ok || !s.test || s.folder != "." || f.Recv != nil || !regexp.MustCompile("^(Test|Example|Fuzz|Benchmark)").MatchString(f.Name.Name) {
				continue
			}
			var parts []int
			for i, skip := range skips {
				if !skip.MatchString(f.Name.Name) {
					parts = append(parts, i+1)
					ran[i+1]++
				}
			}
			days := strings.Contains(f.Name.Name, "Days")
			if len(parts) != 1 || days != slices.Contains(parts, 3) {
				t.Errorf("%s runs in the parts %v of test.sh, want one, and part 3 if its name says Days", f.Name.Name, parts)
			}
		}
	}
	if ran[1] < 100 || ran[2] < 100 || ran[3] == 0 {
		t.Errorf("%v tests are in the parts: this test does not find them", ran[1:])
	}
}
