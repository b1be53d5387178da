//go:build real && unix

package ablation_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// switches replaces files of the source, so that one build has a switch for each guard, which an environment variable sets:
//
//	a script          its text is changed when it is read
//	a file of Go      each function that contains the guard exists twice, and begins with a choice between the two
//
// With no variable set, all guards are on.
type switches struct {
	root  string
	files map[string]string // the path of a file in the repository → its text, with switches
}

// scriptReader is the file that reads the scripts.
const scriptReader = "redisstore/internal/script/script.go"

func newSwitches(t *testing.T, root string) *switches {
	t.Helper()
	s := &switches{root: root, files: map[string]string{}}
	switched := strings.NewReplacer(
		"\treturn string(text)\n", "\tif file == os.Getenv(\"CHIME_GUARD_FILE\") {\n"+
			"\t\treturn strings.ReplaceAll(string(text), os.Getenv(\"CHIME_GUARD_ON\"), os.Getenv(\"CHIME_GUARD_OFF\"))\n\t}\n\treturn string(text)\n",
		"\t\"io/fs\"\n", "\t\"io/fs\"\n\t\"os\"\n",
	).Replace(s.source(t, scriptReader))
	if strings.Count(switched, "os.Getenv") != 3 || !strings.Contains(switched, "\"os\"") {
		t.Fatalf("%s no longer reads the scripts as this test expects: change the replacement here", scriptReader)
	}
	s.files[scriptReader] = switched
	return s
}

// environment returns the variables that switch a guard off.
func (g guard) environment() []string {
	if filepath.Ext(g.file) == ".lua" {
		return []string{"CHIME_GUARD_FILE=" + strings.TrimPrefix(g.file, "redisstore/scripts/"), "CHIME_GUARD_ON=" + g.on, "CHIME_GUARD_OFF=" + g.off}
	}
	return []string{"CHIME_GUARD=" + g.name}
}

// source returns the text of a file of the repository.
func (s *switches) source(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// addGo adds the switch of a guard that is in a file of Go. It reports whether it could.
func (s *switches) addGo(t *testing.T, g guard) bool {
	t.Helper()
	on := s.source(t, g.file)
	off := strings.ReplaceAll(on, g.on, g.off)
	before, after := functions(t, on), functions(t, off)
	if _, known := s.files[g.file]; !known {
		s.files[g.file] = on
	}
	changed := 0
	for _, key := range slices.Sorted(maps.Keys(before)) {
		was, is := before[key], after[key]
		if is.whole == was.whole {
			continue
		}
		changed++
		other := fmt.Sprintf("%sGuardOff%d", was.name, strings.Count(s.files[g.file], "GuardOff"))
		choice := fmt.Sprintf("if guardIsOff(%q) {\n\t\t%s\n\t}\n\t", g.name, was.call(other))
		s.files[g.file] = strings.Replace(s.files[g.file], was.head+"{", was.head+"{\n\t"+choice, 1) + "\n" + strings.Replace(is.whole, was.name+"(", other+"(", 1) + "\n"
	}
	if changed == 0 || len(before) != len(after) || without(on, before) != without(off, after) {
		t.Errorf("%s: no single function of %s contains %q: change the table so that the guard can be switched off", g.name, g.file, g.on)
		return false
	}
	folder := path.Dir(g.file)
	name := path.Base(folder)
	if folder == "." {
		name = "chime"
	}
	s.files[folder+"/guard_is_off.go"] = "package " + name + "\n\nimport \"os\"\n\nvar guardOff = os.Getenv(\"CHIME_GUARD\")\n\n" +
		"func guardIsOff(name string) bool { return guardOff == name }\n"
	return true
}

// A function is one declaration of a file of Go.
type function struct {
	name, receiver, head, whole string // head ends before the body's brace
	arguments                   []string
	returns                     bool
}

// call returns the statements that end a function with what another one returns, which has the same parameters.
func (f function) call(other string) string {
	if f.receiver != "" {
		other = f.receiver + "." + other
	}
	call := other + "(" + strings.Join(f.arguments, ", ") + ")"
	if f.returns {
		return "return " + call
	}
	return call + "\n\t\treturn"
}

// functions returns the functions of a file of Go, by what is before their bodies.
func functions(t *testing.T, text string) map[string]function {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	at := func(p token.Pos) int { return files.Position(p).Offset }
	found := map[string]function{}
	for _, d := range file.Decls {
		d, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		f := function{name: d.Name.Name, head: text[at(d.Pos()):at(d.Body.Lbrace)], whole: text[at(d.Pos()):at(d.End())], returns: d.Type.Results != nil}
		if d.Recv != nil && len(d.Recv.List[0].Names) > 0 {
			f.receiver = d.Recv.List[0].Names[0].Name
		}
		for _, field := range d.Type.Params.List {
			for _, name := range field.Names {
				argument := name.Name
				if _, variadic := field.Type.(*ast.Ellipsis); variadic {
					argument += "..."
				}
				f.arguments = append(f.arguments, argument)
			}
		}
		found[f.head] = f
	}
	return found
}

// without returns a file without its functions.
func without(text string, functions map[string]function) string {
	for _, f := range functions {
		text = strings.Replace(text, f.whole, "", 1)
	}
	return text
}

// build builds the tests of packages with all switches, and returns the binary of each.
func (s *switches) build(t *testing.T, packages []string) map[string]string {
	t.Helper()
	folder := t.TempDir()
	replace := map[string]string{}
	for file, text := range s.files {
		copied := filepath.Join(folder, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(s.root, filepath.FromSlash(file))] = copied
	}
	overlay := filepath.Join(folder, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"test", "-c", "-tags", "real", "-vet=off", "-ldflags", "-s -w", "-overlay", overlay, "-o", folder + "/"}
	binaries := map[string]string{}
	for _, where := range packages {
		args, binaries[where] = append(args, "./"+where), filepath.Join(folder, path.Base(where)+".test")
	}
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir = s.root
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, output)
	}
	return binaries
}
