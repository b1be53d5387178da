package docs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
	"github.com/chimejobs/chime/recurrence"
)

//go:generate go test -run TheThirtyRules . -update

const (
	rulesBegin = "<!-- rules: go generate ./docs -->\n"
	rulesEnd   = "<!-- /rules -->\n"
)

// docs/calendar.md shows each rule as it is: its Go code compiles, and its JSON, its description and its runs come from the rule itself.
func TestTheThirtyRulesOfTheCalendar(t *testing.T) {
	if len(calendarRules) != 30 {
		t.Errorf("there are %d rules, the page promises 30", len(calendarRules))
	}
	sources := ruleSources(t)
	if len(sources) != len(calendarRules) {
		t.Fatalf("%d rules are read from the source, want %d", len(sources), len(calendarRules))
	}
	var page strings.Builder
	texts := map[string]string{}
	for i, r := range calendarRules {
		page.WriteString(section(t, i+1, &r, sources[i]))
		if other, twice := texts[r.rule.String()]; twice {
			t.Errorf("%q and %q have the same text", r.wish, other)
		}
		texts[r.rule.String()] = r.wish
	}
	const name = "calendar.md"
	text := readText(t, name)
	before, rest, begins := strings.Cut(text, rulesBegin)
	shown, after, ends := strings.Cut(rest, rulesEnd)
	if !begins || !ends {
		t.Fatalf("%s does not contain the lines %q and %q for the rules", name, rulesBegin, rulesEnd)
	}
	if shown == page.String() {
		return
	}
	if !*update {
		t.Fatalf("%s differs from the rules in the source: run go generate ./docs", name)
	}
	if err := os.WriteFile(name, []byte(before+rulesBegin+page.String()+rulesEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The page names how many of its rules run when they are created: a reader who takes one has to know.
func TestTheRulesThatRunWhenTheyAreCreated(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		schedules, n := chime.NewSchedules(c.Store()), 0
		for _, r := range calendarRules {
			s, err := schedules.Put(t.Context(), r.wish, r.rule, chime.JobName("rule"))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(s.String(), "once when created") {
				n++
			}
		}
		if want := fmt.Sprintf("**%d of the thirty rules below do so.**", n); !strings.Contains(readText(t, "calendar.md"), want) {
			t.Errorf("calendar.md does not have %q", want)
		}
	})
}

// section is one rule on the page.
func section(t *testing.T, n int, r *calendarRule, source string) string {
	t.Helper()
	data, err := json.Marshal(r.rule)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := recurrence.Parse(data)
	if err != nil || !parsed.Equal(r.rule) {
		t.Fatalf("%s: %s: %v", r.wish, data, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %d. %s\n\n%s\n\n", n, r.wish, r.rule)
	if r.note != "" {
		fmt.Fprintf(&b, "%s\n\n", r.note)
	}
	fmt.Fprintf(&b, "```json\n%s\n```\n\n```go\n%s\n```\n\n", lines(t, data), source)
	fmt.Fprintf(&b, "Next: %s\n", strings.Join(nextRuns(t, r), " · "))
	return b.String()
}

// nextRuns returns the first five runs since the beginning of 2026.
func nextRuns(t *testing.T, r *calendarRule) (runs []string) {
	t.Helper()
	from := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	series, err := r.rule.Series(from)
	if err != nil {
		t.Fatalf("%s: %v", r.wish, err)
	}
	for at := range series.Between(from, from.AddDate(40, 0, 0)) {
		if runs = append(runs, at.Format("Mon 2 Jan 2006 15:04:05 MST")); len(runs) == 5 {
			break
		}
	}
	for i := range runs {
		runs[i] = strings.Replace(runs[i], ":00 ", " ", 1)
	}
	return runs
}

// lines puts each key of an object on its own line.
func lines(t *testing.T, data []byte) string {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	if _, err := decoder.Token(); err != nil {
		t.Fatal(err)
	}
	var members []string
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			t.Fatal(err)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			t.Fatal(err)
		}
		members = append(members, fmt.Sprintf("  %q: %s", key, spaced(value)))
	}
	return "{\n" + strings.Join(members, ",\n") + "\n}"
}

// spaced adds a blank after each comma and colon outside strings.
func spaced(value []byte) string {
	var b strings.Builder
	quoted := false
	for _, c := range string(value) {
		if c == '"' {
			quoted = !quoted
		}
		b.WriteRune(c)
		if !quoted && (c == ',' || c == ':') {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// ruleSources returns the Go code of each rule, without its indentation.
func ruleSources(t *testing.T) (sources []string) {
	t.Helper()
	const name = "calendar_rules_test.go"
	text := readText(t, name)
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		pair, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		if key, ok := pair.Key.(*ast.Ident); !ok || key.Name != "rule" {
			return true
		}
		source := text[files.Position(pair.Value.Pos()).Offset:files.Position(pair.Value.End()).Offset]
		sources = append(sources, strings.ReplaceAll(strings.ReplaceAll(source, "\n\t\t", "\n"), "\t", "    "))
		return true
	})
	return sources
}
