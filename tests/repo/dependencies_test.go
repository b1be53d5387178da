package repo_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// licences are what each licence has in its text and the others do not.
var licences = map[string]func(text string) bool{
	"MIT": func(text string) bool { return strings.Contains(text, "Permission is hereby granted, free of charge") },
	"BSD-2-Clause": func(text string) bool {
		return strings.Contains(text, "Redistributions of source code") && !strings.Contains(text, "Neither the name")
	},
	"BSD-3-Clause": func(text string) bool {
		return strings.Contains(text, "Redistributions of source code") && strings.Contains(text, "Neither the name")
	},
}

// goList returns the lines of a go list.
func goList(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	return strings.Fields(string(out))
}

func TestTheLicenceOfEveryDependencyIsListed(t *testing.T) {
	t.Chdir(root)
	file, err := os.ReadFile("docs/licences.md")
	if err != nil {
		t.Fatal(err)
	}
	type row struct{ licence, part string }
	listed := map[string]row{}
	for _, cells := range regexp.MustCompile(`(?m)^\| (\S+\.\S+/\S+) \| (\S+) \| (.+) \|$`).FindAllStringSubmatch(string(file), -1) {
		listed[cells[1]] = row{cells[2], cells[3]}
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	inEveryProgram := goList(t, "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".", "./redisstore")
	required := regexp.MustCompile(`(?m)^\s+(\S+) v\S+`).FindAllStringSubmatch(string(mod), -1)
	for _, line := range required {
		module := line[1]
		r, ok := listed[module]
		if !ok {
			t.Errorf("go.mod names %s, docs/licences.md does not", module)
			continue
		}
		delete(listed, module)
		files, _ := filepath.Glob(filepath.Join(goList(t, "-m", "-f", "{{.Dir}}", module)[0], "LICENSE*"))
		if len(files) == 0 {
			t.Errorf("%s has no licence file", module)
			continue
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if says := licences[r.licence]; says == nil || !says(string(text)) {
			t.Errorf("%s is listed with the licence %s, which %s is not", module, r.licence, files[0])
		}
		if strings.HasPrefix(r.part, "every program") != slices.Contains(inEveryProgram, module) {
			t.Errorf("%s is listed as part of %s; in every program: %v", module, r.part, slices.Contains(inEveryProgram, module))
		}
	}
	for module := range listed {
		t.Errorf("docs/licences.md names %s, go.mod does not", module)
	}
	if len(required) < 5 {
		t.Errorf("go.mod names %d modules: this test reads it wrongly", len(required))
	}
}

// Package recurrence is a library of its own: a program that imports it gets no other module, no other package of this one, and no large package of
// the standard library. driver is small, and needs no database.
func TestRecurrenceIsALibraryOfItsOwn(t *testing.T) {
	t.Chdir(root)
	deps := goList(t, "-deps", "-f", "{{.ImportPath}}", "./recurrence")
	large := []string{"bufio", "crypto", "database/sql", "flag", "html", "log", "mime", "net", "os/exec", "os/signal", "regexp", "testing", "text", "time/tzdata"}
	for _, imported := range deps {
		if !standard(imported) && imported != modulePath+"/recurrence" {
			t.Errorf("recurrence needs %s, want the standard library only", imported)
		}
		for _, name := range large {
			if (imported == name || strings.HasPrefix(imported, name+"/")) && imported != "database/sql/driver" {
				t.Errorf("recurrence needs %s, which is large: take a smaller one", imported)
			}
		}
	}
	if !slices.Contains(deps, "encoding/json") || !slices.Contains(deps, modulePath+"/recurrence") {
		t.Errorf("go list found %q: this test reads it wrongly", deps)
	}
}

// fileLicences are what the licences of files have in their texts.
var fileLicences = map[string]string{
	"0BSD":    "with or without fee is hereby granted.",
	"ISC":     "provided that the above\ncopyright notice and this permission notice appear in all copies.",
	"OFL-1.1": "SIL OPEN FONT LICENSE Version 1.1",
}

func TestTheLicenceOfEveryFileOfOthersIsListed(t *testing.T) {
	t.Chdir(root)
	const folder = "dashboard/internal/render/"
	document, err := os.ReadFile("docs/licences.md")
	if err != nil {
		t.Fatal(err)
	}
	listed, texts := map[string]bool{}, map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| [^|]+ \\| (\\S+) \\| `(\\S+)` \\| `(\\S+)` \\|$").FindAllStringSubmatch(string(document), -1) {
		files, err := filepath.Glob(folder + row[2])
		if err != nil || len(files) == 0 {
			t.Errorf("docs/licences.md names %s, which there is not: %v", row[2], err)
		}
		for _, file := range files {
			listed[filepath.ToSlash(file)] = true
		}
		texts[folder+row[3]] = true
		text, err := os.ReadFile(folder + row[3])
		if err != nil {
			t.Error(err)
		} else if says := fileLicences[row[1]]; says == "" || !strings.Contains(string(text), says) {
			t.Errorf("%s is listed with the licence %s, which %s is not", row[2], row[1], row[3])
		}
	}
	for _, pattern := range []string{"assets/*.woff2", "assets/idiomorph*", "icons/*"} {
		files, _ := filepath.Glob(folder + pattern)
		if len(files) == 0 {
			t.Errorf("there is no %s: this test searches in the wrong place", pattern)
		}
		for _, file := range files {
			if !listed[filepath.ToSlash(file)] {
				t.Errorf("docs/licences.md does not name %s", file)
			}
		}
	}
	written, _ := filepath.Glob(folder + "assets/licence-*.txt")
	if len(written) != len(texts) {
		t.Errorf("there are %d texts of licences, docs/licences.md names %d", len(written), len(texts))
	}
}

func TestTheToolsOfTheCheckArePinned(t *testing.T) {
	t.Chdir(root)
	script, err := os.ReadFile("check.sh")
	if err != nil {
		t.Fatal(err)
	}
	tools := regexp.MustCompile(`(?m)^\w+=(\S+/\S+)@(\S+)$`).FindAllStringSubmatch(string(script), -1)
	for _, tool := range tools {
		if !regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(tool[2]) {
			t.Errorf("check.sh takes %s at %s, want a version", tool[1], tool[2])
		}
	}
	if len(tools) != 2 || strings.Contains(string(script), "@latest") {
		t.Errorf("check.sh has %d tools with a version, want staticcheck and govulncheck", len(tools))
	}
}

// SECURITY.md answers who may do what, which versions get fixes, on which server, and where to report: by GitHub's form, since an
// address that nobody reads is worse than none.
func TestTheSecurityPolicySaysWhatIsPromisedToWhom(t *testing.T) {
	t.Chdir(root)
	file, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(file)
	for _, who := range []string{"application", "operator", "producer", "another program", "network", "dashboard", "`chime dashboard`", "`chimed`", "caller", "no token"} {
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^\| [^|]*\*\*%s\*\*[^|]*\|[^|]*\|[^|]*\|[^|]*\|$`, who)).MatchString(text) {
			t.Errorf("SECURITY.md does not say in its table what is promised to the %s", who)
		}
	}
	for _, want := range []string{"private vulnerability reporting", "## Supported versions", "CVE-2025-49844", "| 7.2 | 7.2.11 | 7.2.11 |", "docs/licences.md",
		"`View`", "`Operate`", "`Edit`", "`Delete`", "`Reveal`", "`Forwarded`, `Via`, `X-Real-Ip`, `X-Forwarded-…`", "`embedded.Start`"} {
		if !strings.Contains(text, want) {
			t.Errorf("SECURITY.md does not say %q", want)
		}
	}
	if address := regexp.MustCompile(`\S+@\S+\.\S+`).FindString(text); address != "" {
		t.Errorf("SECURITY.md names the address %s", address)
	}
}
