package repo_test

import (
	"bytes"
	"go/ast"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// These tests hold for the whole source: which files there are, which package may import which, and what no file contains.

const modulePath = "github.com/chimejobs/chime"

// mayImport says for each folder what its own code, tests aside, may import besides the standard library: folders of this
// module by their path ("." is the root), other modules by their name. A folder that is not listed follows its parent.
var mayImport = map[string][]string{
	"recurrence":        {},
	"internal/protocol": {},
	"internal/wire":     {"internal/protocol", "github.com/vmihailenco/msgpack/v5"},
	"internal/schedule": {"recurrence", "internal/protocol", "internal/wire"},
	"internal/recent":   {},
	"internal/retry":    {"internal/protocol"},
	"internal/reap":     {"internal/protocol", "internal/retry"},
	"internal/carry":    {"internal/protocol", "internal/retry"},
	"internal/batch":    {"internal/protocol", "internal/wire", "internal/retry", "internal/carry"},
	"internal/observe":  {"internal/protocol"},
	"internal/guardlog": {},
	"internal/seal":     {"internal/protocol", "internal/wire", "internal/schedule"},
	"internal/enqueue":  {"internal/batch", "internal/protocol", "internal/wire", "internal/retry", "internal/recent", "internal/observe", "golang.org/x/sync"},
	"internal/work":     {"internal/protocol", "internal/wire", "internal/schedule", "internal/shape", "internal/retry", "internal/reap", "internal/carry", "internal/batch", "internal/observe"},
	"internal/tick":     {"internal/protocol", "internal/schedule", "internal/retry", "internal/reap", "internal/carry", "internal/batch", "internal/observe"},
	"internal/keyring":  {},
	"chimeseal":         {"internal/keyring"},
	"internal/format":   {},
	"internal/shape":    {},
	"internal/plain":    {".", "internal/format"},
	"internal/svg":      {"internal/format"},
	"internal/testjob":  {}, // through which chimetest reaches into the root
	".": {
		"recurrence", "internal/protocol", "internal/wire", "internal/schedule", "internal/seal",
		"internal/retry", "internal/observe", "internal/batch", "internal/enqueue", "internal/work", "internal/tick", "internal/testjob", "internal/format", "internal/guardlog", "internal/shape",
	},
	"health":                     {"."},
	"internal/loopback":          {},
	"internal/browser":           {"any"}, // a module of its own, for tests and pictures
	"internal/login":             {"dashboard", "internal/loopback"},
	"dashboard":                  {".", "internal/guardlog", "internal/loopback", "internal/rights", "dashboard/internal/guard", "dashboard/internal/live", "dashboard/internal/render", "dashboard/internal/pages", "dashboard/internal/change"},
	"dashboard/internal/guard":   {},
	"dashboard/internal/live":    {"internal/format"},
	"dashboard/internal/visit":   {"github.com/redis/go-redis/v9"},    // for tests
	"dashboard/internal/render":  {"internal/format", "internal/svg"}, // it is given models, and knows no store
	"dashboard/internal/pages":   {".", "recurrence", "internal/format", "internal/overview", "internal/plain", "internal/jobfind", "internal/history", "internal/blocked", "internal/rights", "internal/shape", "internal/svg", "internal/wire", "internal/protocol", "dashboard/internal/render"},
	"dashboard/internal/change":  {".", "recurrence", "internal/format", "internal/plain", "internal/jobfind", "internal/shape", "internal/rules", "internal/times", "internal/definition", "dashboard/internal/builder", "dashboard/internal/render"},
	"internal/jobfind":           {".", "internal/protocol", "internal/shape", "internal/times", "internal/wire"}, // these eight are for the command and the dashboard
	"internal/overview":          {".", "internal/protocol", "internal/plain", "internal/rights", "internal/shape"},
	"internal/rights":            {},
	"internal/history":           {".", "internal/schedule"},
	"internal/blocked":           {".", "internal/protocol", "internal/rights", "internal/plain"},
	"redisstore":                 {"internal/protocol", "internal/guardlog", "internal/recent", "redisstore/internal/sample", "redisstore/internal/script", "github.com/redis/go-redis/v9"},
	"redisstore/internal/sample": {"internal/protocol", "github.com/redis/go-redis/v9"},
	"redisstore/internal/script": {},
	"redisstore/embedded":        {"redisstore", "internal/simredis", "github.com/redis/go-redis/v9"},
	"chimetest":                  {".", "internal/protocol", "internal/wire", "internal/schedule", "internal/testjob", "redisstore/embedded", "github.com/redis/go-redis/v9"},
	"internal/long":              {},
	"tests":                      {"any"}, // these ten serve tests
	"internal/childproc":         {"any"},
	"internal/faketime":          {},
	"internal/simredis":          {"github.com/alicebob/miniredis/v2", "github.com/redis/go-redis/v9", "github.com/yuin/gopher-lua"},
	"internal/faultproxy":        {"any"},
	"internal/redistest":         {"any"},
	"internal/storesuite":        {"internal/protocol", "internal/long"},
	"internal/groupmodel":        {},
	"internal/batchmodel":        {"internal/protocol"},
	"internal/incident":          {"any"},
	"internal/sim":               {"any"},
	"examples":                   {"any"},
	"cmd":                        {"any"},
	"bench":                      {"any"}, // a module of its own, as those of httpapi, chimeotel and chimeprom are
	"chimeprom":                  {".", "recurrence", "github.com/prometheus/client_golang", "github.com/prometheus/client_model"},
	"chimeotel":                  {".", "go.opentelemetry.io/otel"},
	"dashboard/internal/builder": {"recurrence"},
	"internal/rules":             {"recurrence"},
	"internal/times":             {"recurrence"},
	"internal/definition":        {".", "recurrence", "internal/rules"},
	"httpapi": {
		".", "recurrence", "httpapi/action", "httpapi/internal/pattern", "httpapi/internal/problem", "httpapi/internal/resource", "httpapi/internal/service", "internal/guardlog", "internal/loopback", "golang.org/x/time",
	},
	"httpapi/action": {
		".", "httpapi/internal/egress", "httpapi/internal/pattern", "httpapi/internal/taskid", "internal/keyring", "golang.org/x/oauth2",
	},
	"httpapi/action/pfx":          {"software.sslmate.com/src/go-pkcs12"},
	"httpapi/arm":                 {},
	"httpapi/cmd":                 {"any"},
	"httpapi/contract":            {"any"}, // a module of its own, for tests
	"httpapi/internal/body":       {"httpapi/internal/problem"},
	"httpapi/internal/collection": {".", "internal/protocol", "internal/retry"},
	"httpapi/internal/egress":     {"code.dny.dev/ssrf"},
	"httpapi/internal/pattern":    {},
	"httpapi/internal/problem":    {"httpapi/action"},
	"httpapi/internal/resource":   {".", "recurrence", "httpapi/action", "httpapi/internal/body", "httpapi/internal/problem", "httpapi/internal/taskid", "internal/protocol"},
	"httpapi/internal/runs":       {".", "internal/protocol"},
	"httpapi/internal/taskid":     {},
	"httpapi/internal/service": {
		".", "recurrence", "httpapi/action", "httpapi/internal/collection", "httpapi/internal/problem", "httpapi/internal/resource", "httpapi/internal/runs", "httpapi/internal/taskid", "internal/jobfind", "internal/wire",
	},
}

func TestImportsRunOneWay(t *testing.T) {
	t.Chdir(root)
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		allowed := mayImport[layer(t, s.folder)]
		if slices.Contains(allowed, "any") {
			continue
		}
		for _, imported := range s.imports() {
			if !standard(imported) && !slices.ContainsFunc(allowed, func(a string) bool { return covers(a, imported) }) {
				t.Errorf("%s imports %s; %s may import the standard library and %q only", s.path, imported, layer(t, s.folder), allowed)
			}
		}
	}
}

// Some imports make every program larger or decide something for it, so only examples, commands, tests and what serves tests have them.
func TestSomeImportsAreLeftToPrograms(t *testing.T) {
	t.Chdir(root)
	for _, s := range sources(t) {
		if s.test || s.under("examples") || s.under("cmd") || s.under("httpapi/cmd") || s.under("bench") || s.under("internal/browser") {
			continue
		}
		for _, imported := range s.imports() {
			switch {
			case imported == modulePath+"/redisstore/embedded" && !servesTests(s.folder):
				t.Errorf("%s imports the embedded server: a third of a small binary", s.path)
			case imported == "time/tzdata":
				t.Errorf("%s imports time/tzdata: 450 KiB, for which each program decides itself", s.path)
			case imported == "testing" && !servesTests(s.folder):
				t.Errorf("%s imports testing", s.path)
			case servesTests(strings.TrimPrefix(imported, modulePath+"/")) && !servesTests(s.folder):
				t.Errorf("%s imports %s, which serves tests", s.path, imported)
			}
		}
	}
}

// servesTests reports whether a folder has helpers of tests, which no program needs.
func servesTests(folder string) bool {
	return folder == "tests" || strings.HasPrefix(folder, "tests/") ||
		slices.Contains([]string{"chimetest", "dashboard/internal/visit", "internal/batchmodel", "internal/childproc", "internal/faketime", "internal/faultproxy", "internal/groupmodel", "internal/incident", "internal/long", "internal/redistest", "internal/sim", "internal/storesuite"}, folder)
}

func TestTheTopLevelHasItsFiles(t *testing.T) {
	t.Chdir(root)
	for _, name := range []string{
		"scheduler.go", "enqueuer.go", "worker.go", "recurrence/", "redisstore/", "examples/", "go.mod", "go.sum", "README.md",
		"LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "Makefile", "test.sh", "check.sh", ".ci/run",
		"docs/licences.md",
	} {
		info, err := os.Stat(name)
		if err != nil {
			t.Errorf("%s is missing", name)
		} else if info.IsDir() != strings.HasSuffix(name, "/") {
			t.Errorf("%s: folder %v", name, info.IsDir())
		}
	}
	for _, name := range []string{"test.sh", "check.sh", ".ci/run"} {
		if info, err := os.Stat(name); err == nil && info.Mode()&0o100 == 0 {
			t.Errorf("%s is not executable", name)
		}
	}
}

// A visitor sees the files of the root before the README.
func TestTheRootHasAtMostSixtyFiles(t *testing.T) {
	t.Chdir(root)
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files := slices.DeleteFunc(entries, fs.DirEntry.IsDir)
	if len(files) > 60 || len(files) < 20 {
		t.Errorf("the root has %d files, want at most 60: a test of behaviour goes to tests/, a verb to the file of its noun", len(files))
	}
}

func TestEveryFileIsANoun(t *testing.T) {
	t.Chdir(root)
	vague := []string{"util", "utils", "common", "base", "types", "helpers", "misc"}
	for _, s := range sources(t) {
		for _, part := range strings.Split(strings.TrimSuffix(strings.TrimSuffix(s.path, ".go"), "_test"), "/") {
			if slices.Contains(vague, part) {
				t.Errorf("%s is called %s, which does not say what is in it", s.path, part)
			}
		}
		if lines := bytes.Count(s.text, []byte("\n")); !s.test && lines > 450 && !ast.IsGenerated(s.file) {
			t.Errorf("%s has %d lines, want at most 450: move its second noun to a file of its own", s.path, lines)
		}
	}
}

// A sleep makes a test slow or flaky, and a skip makes it green for the wrong reason. In a file that uses testing/synctest, or chimetest, a
// sleep is how fake time passes; elsewhere a comment on the line, or above it, says why there is no other way.
func TestNoTestSleepsOrSkips(t *testing.T) {
	t.Chdir(root)
	for _, s := range sources(t) {
		if !s.test && !servesTests(s.folder) {
			continue
		}
		fake := s.folder == "chimetest" || slices.Contains(s.imports(), "testing/synctest") || slices.Contains(s.imports(), modulePath+"/chimetest")
		s.eachCall(func(receiver, name string, line int) {
			sleeps := receiver == "time" && name == "Sleep" && !fake
			skips := receiver != "" && (name == "Skip" || name == "Skipf" || name == "SkipNow")
			if (sleeps || skips) && !s.commented(line) {
				t.Errorf("%s:%d: %s.%s without a comment that gives the reason: wait for a condition, and fail where something is missing", s.path, line, receiver, name)
			}
		})
	}
}

// Certificates are checked, always.
func TestNobodySwitchesOffTLSChecks(t *testing.T) {
	t.Chdir(root)
	name := "Insecure" + "SkipVerify"
	for _, s := range sources(t) {
		if bytes.Contains(s.text, []byte(name)) && s.path != "tests/repo/layout_test.go" {
			t.Errorf("%s mentions %s", s.path, name)
		}
	}
}

// go test -fuzz passes if the target does not exist, and a target that check.sh does not run finds nothing.
func TestEveryFuzzTargetIsRun(t *testing.T) {
	t.Chdir(root)
	script, err := os.ReadFile("check.sh")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?s)\nfuzz_targets="\n(.*?)"\n`).FindSubmatch(script)
	if list == nil {
		t.Fatal("check.sh has no list fuzz_targets")
	}
	listed := map[string]bool{}
	for target := range strings.FieldsSeq(string(list[1])) {
		listed[target] = true
	}
	defined := map[string]bool{}
	for _, s := range sources(t) {
		for _, declaration := range s.file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && s.test && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
				defined[s.folder+":"+f.Name.Name] = true
			}
		}
	}
	for _, target := range slices.Sorted(maps.Keys(listed)) {
		if !defined[target] {
			t.Errorf("check.sh lists %s, which no test file defines", target)
		}
	}
	for _, target := range slices.Sorted(maps.Keys(defined)) {
		if !listed[target] {
			t.Errorf("%s is not listed in check.sh", target)
		}
	}
	if len(defined) == 0 {
		t.Error("no fuzz target found: this test searches in the wrong place")
	}
}

// layer is the entry of mayImport that a folder belongs to.
func layer(t *testing.T, folder string) string {
	t.Helper()
	for parent := folder; parent != "."; parent = path.Dir(parent) {
		if _, ok := mayImport[parent]; ok {
			return parent
		}
	}
	if folder != "." {
		t.Errorf("%s/ belongs to no layer: say in mayImport what it may import", folder)
	}
	return "."
}

// covers reports whether an import is the one allowed, or below it for other modules and for internal.
func covers(allowed, imported string) bool {
	switch {
	case allowed == ".":
		return imported == modulePath
	case allowed == "internal":
		return strings.HasPrefix(imported, modulePath+"/internal/")
	case !strings.Contains(strings.Split(allowed, "/")[0], "."):
		return imported == modulePath+"/"+allowed
	}
	return imported == allowed || strings.HasPrefix(imported, allowed+"/")
}

// standard reports whether an import is of the standard library: those of modules begin with a domain.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}
