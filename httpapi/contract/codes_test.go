package contract_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// documented are the codes of the document with their statuses.
func documented(t *testing.T) map[string]int {
	t.Helper()
	all := map[string]int{}
	m := model(t)
	statuses := map[string]string{}
	for _, o := range operations(m) {
		for status, answer := range o.Responses.Codes.FromOldest() {
			for _, code := range codesOf(t, answer) {
				if before := statuses[code]; before != "" && before != status {
					t.Errorf("%s has the statuses %s and %s", code, before, status)
				}
				statuses[code] = status
			}
		}
	}
	for _, code := range codesOf(t, m.Components.Responses.GetOrZero("MethodNotAllowed")) { // it belongs to paths, not to operations
		statuses[code] = "405"
	}
	for code, status := range statuses {
		all[code], _ = strconv.Atoi(status)
	}
	return all
}

// parsed are the files of a folder, without its tests.
func parsed(t *testing.T, folder string) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s has no files: %v", folder, err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

func literal(e ast.Expr) string {
	text := ""
	if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
		text, _ = strconv.Unquote(l.Value)
	}
	return text
}

// constants are the values of the constants of type Code in a folder.
func constants(t *testing.T, folder string) []string {
	t.Helper()
	var all []string
	for _, file := range parsed(t, folder) {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
				if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Code" {
					all = append(all, literal(spec.Values[0]))
				}
			}
			return true
		})
	}
	return all
}

var codeForm = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

// codeAt is the index of the argument with a mistake's code, by function.
var codeAt = map[string]int{"wrong": 0, "Wrong": 1, "mistake": 0, "Whole": 3, "interval": 2, "number": 2, "one": 2, "span": 2}

// mistakes are the codes in a folder's calls that create a mistake.
func mistakes(t *testing.T, folder string) []string {
	t.Helper()
	var all []string
	found := func(e ast.Expr) {
		if code := literal(e); codeForm.MatchString(code) {
			all = append(all, code)
		}
	}
	for _, file := range parsed(t, folder) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				name := called(n)
				if at, ok := codeAt[name]; ok && at < len(n.Args) {
					found(n.Args[at])
				}
				if name == "oneOf" { // the code is built from the field's name
					all = append(all, literal(n.Args[1])+"_value")
				}
			case *ast.CompositeLit:
				if name := typeName(n.Type); name != "Problem" && name != "Mistake" || len(n.Elts) == 0 {
					return true
				}
				found(n.Elts[0])
				for _, e := range n.Elts {
					if pair, ok := e.(*ast.KeyValueExpr); ok && pair.Key.(*ast.Ident).Name == "Code" {
						found(pair.Value)
					}
				}
			}
			return true
		})
	}
	return all
}

func called(call *ast.CallExpr) string { return typeName(call.Fun) }

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// A program branches on codes, so the document must list exactly the codes that the program uses.
func TestTheDocumentHasTheCodesOfTheProgram(t *testing.T) {
	got := documented(t)
	want := map[string]int{}
	for _, code := range constants(t, "../internal/problem") {
		want[code] = problem.Code(code).Status()
	}
	others := []string{"rrule_syntax", "no_recurrence", "no_rrule"} // of texts that are not in a body
	for _, code := range constants(t, "../../recurrence") {
		if !slices.Contains(others, code) {
			want[code] = 400
		}
	}
	for _, folder := range []string{"..", "../action", "../internal/body", "../internal/resource", "../internal/service"} {
		for _, code := range mistakes(t, folder) {
			want[code] = problem.Code(code).Status()
		}
	}
	for _, code := range slices.Sorted(maps.Keys(want)) {
		if got[code] != want[code] {
			t.Errorf("%s has the status %d in the program and %d in the document (0: missing)", code, want[code], got[code])
		}
	}
	for _, code := range slices.Sorted(maps.Keys(got)) {
		if _, known := want[code]; !known {
			t.Errorf("the document has %s, %d, which the program never uses", code, got[code])
		}
	}
	if len(want) < 100 {
		t.Errorf("%d codes were found: this test searches in the wrong place", len(want))
	}
}

// The type of a problem is a link to the code's place on this page.
func TestThePageOfProblemsExplainsEveryCode(t *testing.T) {
	page := string(read(t, "../../docs/http-problems.md"))
	places := map[string]bool{}
	for _, place := range regexp.MustCompile(`<a id="([a-z_]+)"></a>`).FindAllStringSubmatch(page, -1) {
		if places[place[1]] {
			t.Errorf("docs/http-problems.md has %s twice", place[1])
		}
		places[place[1]] = true
	}
	want := documented(t)
	for _, code := range slices.Sorted(maps.Keys(want)) {
		if !places[code] {
			t.Errorf("docs/http-problems.md lacks %s", code)
		}
		if status := strconv.Itoa(want[code]); status != "400" && !strings.Contains(page, "| "+status+` | <a id="`+code+`"></a>`) {
			t.Errorf("docs/http-problems.md does not show for %s the status %s", code, status)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(places)) {
		if _, known := want[code]; !known {
			t.Errorf("docs/http-problems.md has %s, which is not a code", code)
		}
	}
}

func TestThePageOfProblemsShowsOneAsItIs(t *testing.T) {
	_, after, _ := strings.Cut(string(read(t, "../../docs/http-problems.md")), "```json\n")
	shown, _, _ := strings.Cut(after, "```")
	server := embedded.StartInMemory()
	defer func() { _ = server.Close() }()
	w := &wire{api: httpapi.New(server.Store(), httpapi.Options{Authenticate: httpapi.Loopback(), Logger: quiet()})}
	x := w.send(t, "PUT", report, strings.Replace(weekly, "22", "24", 1))
	var got, want any
	if err := errors.Join(json.Unmarshal(x.got, &got), json.Unmarshal([]byte(shown), &want)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("docs/http-problems.md shows\n%s\nbut the answer is\n%s", shown, x.got)
	}
}
