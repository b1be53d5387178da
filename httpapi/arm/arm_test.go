package arm_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/chimejobs/chime/httpapi/arm"
)

var write = flag.Bool("write", false, "write the reports in testdata again")

// report prints an export for people.
func report(export *arm.Export) string {
	var b strings.Builder
	for _, c := range export.Collections {
		fmt.Fprintf(&b, "collection %s, of %s\n  %s\n", c.Name, c.Place, c.Body)
	}
	for _, j := range export.Jobs {
		fmt.Fprintf(&b, "job %s/%s, of %s: was %q, ended %v, enabled %v", j.Collection, j.Name, j.Place, j.State, j.Ended(), j.Enabled)
		if !j.Next.IsZero() {
			fmt.Fprintf(&b, ", next %s", j.Next.Format(time.RFC3339))
		}
		b.WriteByte('\n')
		if j.Body != nil {
			fmt.Fprintf(&b, "  %s\n", j.Body)
		}
		for _, path := range j.Missing {
			fmt.Fprintf(&b, "  missing %s\n", path)
		}
	}
	for _, r := range export.Refused {
		fmt.Fprintf(&b, "refused %s\n", r)
	}
	fmt.Fprintf(&b, "others %q\nused %q\n", export.Others, export.Used)
	return b.String()
}

// Each form of an exported resource or group is read, with and without the values that no export contains.
func TestExportsOfEveryFormBecomeBodies(t *testing.T) {
	secrets := map[string]string{
		"billing/billing-nightly/action.request.authentication.password":   "p<&ss",
		"billing/billing-nightly/action.errorAction.queueMessage.sasToken": "sv=1&sig=[x]",
		"mail/digest/action.serviceBusQueueMessage.authentication.sasKey":  "key",
		"crawl/fetch/action.request.authentication.pfx":                    "MIIK",
		"crawl/fetch/action.request.authentication.password":               "pfx's",
		"crawl/fetch/action.errorAction.request.authentication.secret":     "app's",
		`crawl/image/action.request.secretHeaders["X-Api-Key"]`:            "header's",
		"crawl/image/action.request.authentication.password":               "of a missing field",
		"billing/of-another-file/action.request.authentication.password":   "of another file",
	}
	for _, c := range []struct {
		file, golden string
		options      arm.Options
	}{
		{"template", "template", arm.Options{}},
		{"template", "template-filled", arm.Options{Secrets: secrets, Enable: true, Rename: map[string]string{"billing": "money"},
			Parameters: map[string]any{"HOST": "[example.net]", "port": json.Number("443")}}},
		{"nested", "nested", arm.Options{}},
		{"nested", "nested-filled", arm.Options{Secrets: secrets, Enable: true, Rename: map[string]string{"my.old.collection": "my-old-collection"}}},
		{"list", "list", arm.Options{}},
		{"list", "list-filled", arm.Options{Secrets: secrets, Enable: true}},
		{"one", "one", arm.Options{}},
	} {
		t.Run(c.golden, func(t *testing.T) {
			export, err := arm.Read(read(t, c.file+".json"), c.options)
			if err != nil {
				t.Fatal(err)
			}
			got := report(export)
			golden := filepath.Join("testdata", c.golden+".golden")
			if *write {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(read(t, c.golden+".golden")); got != want {
				t.Errorf("%s.json gave\n%s\nwant %s.golden\n%s", c.file, got, c.golden, want)
			}
		})
	}
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAFileOfWindowsToolsIsRead(t *testing.T) {
	text := read(t, "one.json")
	want, err := arm.Read(text, arm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	units := utf16.Encode([]rune(string(text)))
	little, big := []byte{0xff, 0xfe}, []byte{0xfe, 0xff}
	for _, u := range units {
		little = append(little, byte(u), byte(u>>8))
		big = append(big, byte(u>>8), byte(u))
	}
	for name, file := range map[string][]byte{
		"UTF-8 with a mark": append([]byte{0xef, 0xbb, 0xbf}, text...), "UTF-16, little": little, "UTF-16, big": big,
	} {
		got, err := arm.Read(file, arm.Options{})
		if err != nil || report(got) != report(want) {
			t.Errorf("%s: got %v, %v; want the same result as in UTF-8", name, got, err)
		}
	}
}

func TestAFileThatIsNoExportIsRefusedByItsPlace(t *testing.T) {
	for file, want := range map[string]string{
		``:                    "arm: the file is empty",
		`{"value": [`:         "arm: line 1, column 12: the file ends within the JSON",
		"{\n  \"value\": [},": "arm: line 2, column 13: invalid character '}' looking for beginning of value",
		`{"value": []} {}`:    "arm: line 1, column 14: there is more text after the JSON value",
		`[]`:                  `arm: want a JSON object: a template, a list {"value": […]} or one resource`,
		`{"a": 1}`:            `arm: want a template with "resources", a list {"value": […]} or one resource with its "type"`,
		"{\"a\": \"\xff\"}":   "arm: the file is not UTF-8",
	} {
		if _, err := arm.Read([]byte(file), arm.Options{}); err == nil || err.Error() != want {
			t.Errorf("%q: got error %v, want %s", file, err, want)
		}
	}
}

func TestAnExpressionBeyondParametersAndConcatIsRefusedByItsText(t *testing.T) {
	const template = `{"parameters": {"a": {"defaultValue": "[parameters('b')]"}, "b": {"defaultValue": "[parameters('A')]"}, "list": {"defaultValue": [1]},
		"none": {"type": "string"}, "text": {"defaultValue": "T"}}, "resources": [{"type": "Microsoft.Scheduler/jobCollections", "name": "c", "location": %s}]}`
	for _, c := range []struct{ expression, made, why string }{
		{`literal`, `literal`, ``},
		{`[half`, `[half`, ``},
		{`half]`, `half]`, ``},
		{`[[text]`, `[text]`, ``},
		{`[ Concat( 'a''b' , parameters( 'TEXT' ), 12, concat('x') ) ]`, `a'bT12x`, ``},
		{`[variables('x')]`, ``, `the expression [variables('x')] is not supported: use only parameters('name') and concat(…), or replace it by its value`},
		{`[resourceGroup().location]`, ``, `the expression [resourceGroup().location] is not supported: use only parameters('name') and concat(…), or replace it by its value`},
		{`[parameters('text').x]`, ``, `the expression [parameters('text').x] is not supported: use only parameters('name') and concat(…), or replace it by its value`},
		{`[concat('a'`, `[concat('a'`, ``},
		{`[concat('a']`, ``, `the expression [concat('a'] is not supported: use only parameters('name') and concat(…), or replace it by its value`},
		{`[concat('a, 'b')]`, ``, `the expression [concat('a, 'b')] is not supported: use only parameters('name') and concat(…), or replace it by its value`},
		{`[concat(parameters('list'))]`, ``, `the expression [concat(parameters('list'))] joins a value that is not a text`},
		{`[parameters('none')]`, ``, `parameter "none" has no default and no given value`},
		{`[parameters('other')]`, ``, `the template has no parameter "other", and no value for it is given`},
		{`[parameters('a')]`, ``, `the default of parameter "A" refers to itself`},
		{`[]`, ``, `the expression [] is not supported: use only parameters('name') and concat(…), or replace it by its value`},
	} {
		quoted, _ := json.Marshal(c.expression)
		export, err := arm.Read(fmt.Appendf(nil, template, quoted), arm.Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.expression, err)
		}
		if c.why == "" {
			var body struct{ Location string }
			if len(export.Collections) != 1 || json.Unmarshal(export.Collections[0].Body, &body) != nil || body.Location != c.made {
				t.Errorf("%s: got %q, refused %v; want %q", c.expression, body.Location, export.Refused, c.made)
			}
		} else if len(export.Refused) != 1 || export.Refused[0].Why != c.why {
			t.Errorf("%s: got %v, want refused: %s", c.expression, export.Refused, c.why)
		}
	}
}

func TestAnExpressionCannotGrowWithoutBound(t *testing.T) {
	for _, first := range []string{"x", ""} {
		parameters := object{"p0": object{"defaultValue": first}}
		for i := range 40 {
			parameters[fmt.Sprintf("p%d", i+1)] = object{"defaultValue": fmt.Sprintf("[concat(parameters('p%d'), parameters('p%d'))]", i, i)}
		}
		file, _ := json.Marshal(object{"parameters": parameters, "resources": []any{object{"type": "Microsoft.Scheduler/jobCollections", "name": "[parameters('p40')]"}}})
		export, err := arm.Read(file, arm.Options{})
		if err != nil || len(export.Refused) != 1 {
			t.Fatalf("40 parameters that double %q: got %v, %v; want one refusal", first, export, err)
		}
	}
}

type object = map[string]any

func TestFilesOfValuesAreRead(t *testing.T) {
	parameters, err := arm.ReadParameters([]byte(`{"$schema": "x", "parameters": {"a": {"value": "1"}, "b": {"Value": [2]}}}`))
	if err != nil || fmt.Sprint(parameters) != "map[a:1 b:[2]]" {
		t.Errorf("parameters: got %v, %v", parameters, err)
	}
	secrets, err := arm.ReadSecrets([]byte(`{"c/j/action.request.authentication.password": "x"}`))
	if err != nil || len(secrets) != 1 {
		t.Errorf("secrets: got %v, %v", secrets, err)
	}
	for file, want := range map[string]string{
		`{"a": "1"}`: `arm: parameters: want {"parameters": {"name": {"value": …}}}`,
		`{"parameters": {"a": {"reference": {"keyVault": {"id": "…"}, "secretName": "s"}}}}`: `arm: parameters.a: want {"value": …}`,
	} {
		if _, err := arm.ReadParameters([]byte(file)); err == nil || err.Error() != want {
			t.Errorf("parameters %s: got error %v, want %s", file, err, want)
		}
	}
	if _, err := arm.ReadSecrets([]byte(`{"a": {"canary": 1}}`)); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("a secret that is not a text: got error %v, want an error without the value", err)
	}
}

// For any file, reading ends, each body is JSON, and no job is enabled that should not be.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"template", "nested", "list", "one"} {
		f.Add(read(f, name+".json"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		export, err := arm.Read(data, arm.Options{Parameters: map[string]any{"p": "[concat('x')]"}})
		if err != nil {
			return
		}
		for _, c := range export.Collections {
			if !json.Valid(c.Body) {
				t.Errorf("collection %s: %s is not JSON", c.Name, c.Body)
			}
		}
		for _, j := range export.Jobs {
			if j.Ended() {
				continue
			}
			if !json.Valid(j.Body) || j.Enabled || !bytes.Contains(j.Body, []byte(`"state":"disabled"`)) {
				t.Errorf("job %s: %s, enabled %v", j.Name, j.Body, j.Enabled)
			}
		}
	})
}
