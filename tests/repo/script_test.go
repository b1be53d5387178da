package repo_test

import (
	"go/ast"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A package that test.sh runs without the race detector has no goroutines that could race; or it is a folder of tests, examples or docs, which are made of
// packages that have the detector in their own tests.
func TestPackagesWithoutTheRaceDetectorStartNoGoroutines(t *testing.T) {
	t.Chdir(root)
	script, err := os.ReadFile("test.sh")
	if err != nil {
		t.Fatal(err)
	}
	pattern := ""
	for _, line := range regexp.MustCompile(`(?m)^plain=(?:'(.*)'|"\$plain(.*)")$`).FindAllStringSubmatch(string(script), -1) {
		pattern += line[1] + line[2]
	}
	plain := regexp.MustCompile(pattern)
	found := 0
	for _, s := range sources(t) {
		if pattern == "" || s.test || servesTests(s.folder) || s.under("examples") || !plain.MatchString(modulePath+"/"+s.folder) {
			continue
		}
		found++
		ast.Inspect(s.file, func(n ast.Node) bool {
			starts := false
			switch n := n.(type) {
			case *ast.GoStmt:
				starts = true
			case *ast.SelectorExpr: // as of sync.WaitGroup
				starts = n.Sel.Name == "Go"
			}
			if starts {
				t.Errorf("%s starts a goroutine, and test.sh runs its tests without the race detector", s.set.Position(n.Pos()))
			}
			return true
		})
	}
	if found < 50 || !strings.Contains(pattern, "/recurrence$") {
		t.Errorf("%d files are of packages without the race detector: this test does not find them in test.sh", found)
	}
}

// A part of the packages that no commit chooses would never have the race detector.
func TestEachPartOfThePackagesHasItsTurn(t *testing.T) {
	t.Chdir(root)
	script, err := os.ReadFile("test.sh")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^parts='(.*)'$`).FindSubmatch(script)
	// eight numbers in a row take all seeds (internal/long): a part of the same remainder would have the detector with some seeds only
	number := regexp.MustCompile(`CHIME_SEEDS / 8 % (\d+) \+ 1`).FindSubmatch(script)
	if list == nil || number == nil {
		t.Fatal("this test does not find the parts in test.sh")
	}
	parts := strings.Fields(string(list[1]))
	if string(number[1]) != strconv.Itoa(len(parts)) {
		t.Errorf("test.sh chooses one of %s parts, but has %d", number[1], len(parts))
	}
	partOf := map[string]int{}
	for i, part := range parts {
		of, found := regexp.MustCompile(part), false
		for _, s := range sources(t) {
			if !s.test || !of.MatchString("/"+s.folder) {
				continue
			}
			found = true
			if other, known := partOf[s.folder]; known && other != i {
				t.Errorf("%s belongs to the parts %s and %s of test.sh", s.folder, parts[other], part)
			}
			partOf[s.folder] = i
		}
		if !found {
			t.Errorf("no folder of tests belongs to the part %s of test.sh", part)
		}
	}
}

// Whoever wants to know how the tests run reads the script.
func TestTheScriptIsShort(t *testing.T) {
	t.Chdir(root)
	script, err := os.ReadFile("test.sh")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(script), "\n"); n > 80 {
		t.Errorf("test.sh has %d lines, want at most 80", n)
	}
}

// A module that no step of test.sh names is tested by nobody.
func TestEveryModuleIsTestedByTheScript(t *testing.T) {
	t.Chdir(root)
	script, err := os.ReadFile("test.sh")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, list := range regexp.MustCompile(`for module in ([^;]+); do`).FindAllSubmatch(script, -1) {
		for module := range strings.FieldsSeq(string(list[1])) {
			named["./"+module] = true
		}
	}
	for _, use := range readModuleFile(t, "work", "go.work").Use {
		if use.DiskPath != "." && !named[use.DiskPath] {
			t.Errorf("test.sh does not run the tests of the module %s", use.DiskPath)
		}
		delete(named, use.DiskPath)
	}
	for module := range named {
		t.Errorf("test.sh names %s, which go.work does not use", module)
	}
}
