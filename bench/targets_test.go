package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestATargetIsComparedWithThePeerThatIsHardestToBeat(t *testing.T) {
	all := samples{
		sampleOf("m", "jobs/s", "1/s", false, "chime", 1, 90), sampleOf("m", "jobs/s", "1/s", false, "chime", 2, 100), sampleOf("m", "jobs/s", "1/s", false, "chime", 3, 500),
		sampleOf("m", "jobs/s", "1/s", false, "asynq defaults", 2, 10), sampleOf("m", "jobs/s", "1/s", false, "asynq tuned", 2, 20),
		sampleOf("m", "jobs/s", "1/s", false, "gocraft tuned", 1, 45), sampleOf("m", "jobs/s", "1/s", false, "gocraft tuned", 3, 250),
		sampleOf("m", "p99", "ms", true, "chime", 1, 2), sampleOf("m", "p99", "ms", true, "asynq defaults", 1, 900), sampleOf("m", "p99", "ms", true, "asynq tuned", 1, 8),
	}
	for _, c := range []struct {
		name string
		target
		want result
	}{
		{"five times the better setting", target{measure: "m", figure: "jobs/s", against: []string{"asynq"}, factor: 5}, met},
		{"a little more than that", target{measure: "m", figure: "jobs/s", against: []string{"asynq"}, factor: 5.01}, missed},
		{"ten times one setting", target{measure: "m", figure: "jobs/s", against: []string{"asynq defaults"}, factor: 10}, met},
		{"twice the best of all", target{measure: "m", figure: "jobs/s", factor: 2}, met},
		{"three times the best of all", target{measure: "m", figure: "jobs/s", factor: 3}, missed},
		{"a quarter of the better setting's latency", target{measure: "m", figure: "p99", less: true, against: []string{"asynq"}, factor: 4}, met},
		{"a fifth of it", target{measure: "m", figure: "p99", less: true, against: []string{"asynq"}, factor: 5}, missed},
		{"at the limit", target{measure: "m", figure: "p99", limit: 2}, met},
		{"above the limit", target{measure: "m", figure: "p99", limit: 1.9}, missed},
		{"at least as much", target{measure: "m", figure: "jobs/s", least: 100}, met},
		{"less than at least", target{measure: "m", figure: "jobs/s", least: 101}, missed},
		{"a peer that was not measured", target{measure: "m", figure: "jobs/s", against: []string{"river"}, factor: 1}, notMeasured},
		{"a figure that was not measured", target{measure: "m", figure: "max", limit: 1}, notMeasured},
	} {
		if wanted, reached, got := c.evaluate(all); got != c.want {
			t.Errorf("%s: %s (%s, %s), want %s", c.name, got, wanted, reached, c.want)
		}
	}
}

// A script with a short median that took long once is not reported as a plain success.
func TestTheLongestCallIsShownWithTheResult(t *testing.T) {
	limit := target{measure: "m", figure: "median", unit: "ms", limit: 5, longest: "longest"}
	for _, c := range []struct {
		median, longest float64
		reached         string
		want            result
	}{
		{1, 4, "1, longest 4", met},
		{1, 6.4, "1, longest 6.40", "met, longest 6.40 ms"},
		{5.5, 6.4, "5.50, longest 6.40", "missed, longest 6.40 ms"},
	} {
		all := samples{
			sampleOf("m", "median", "ms", true, "chime", 1, c.median),
			sampleOf("m", "longest", "ms", true, "chime", 1, 2), sampleOf("m", "longest", "ms", true, "chime", 2, c.longest), sampleOf("m", "longest", "ms", true, "chime", 3, 2),
		}
		if _, reached, got := limit.evaluate(all); got != c.want || reached != c.reached {
			t.Errorf("median %v, longest %v: got %q, %q, want %q, %q", c.median, c.longest, reached, got, c.reached, c.want)
		}
	}
}

func TestTargetsShowTheRoundsRange(t *testing.T) {
	all := samples{
		sampleOf("m", "jobs/s", "1/s", false, "chime", 1, 400), sampleOf("m", "jobs/s", "1/s", false, "asynq", 1, 100),
		sampleOf("m", "jobs/s", "1/s", false, "chime", 2, 300), sampleOf("m", "jobs/s", "1/s", false, "asynq", 2, 100),
		sampleOf("m", "jobs/s", "1/s", false, "chime", 3, 200), sampleOf("m", "jobs/s", "1/s", false, "asynq", 3, 100),
	}
	if _, reached, _ := (target{measure: "m", figure: "jobs/s", factor: 2}).evaluate(all); reached != "3.00 × (2.00–4.00) asynq, 300 to 100" {
		t.Errorf("a ratio: %q", reached)
	}
	if _, reached, _ := (target{measure: "m", figure: "jobs/s", limit: 2}).evaluate(all); reached != "300 (200–400)" {
		t.Errorf("a limit: %q", reached)
	}
}

func TestTargetsShowWhatAnAppendOnlyFileCosts(t *testing.T) {
	one := targets[0]
	aof := samples{
		sampleOf(one.measure, one.figure, "1/s", false, "chime", 1, 80), sampleOf(one.measure, one.figure, "1/s", false, "asynq tuned", 1, 10),
	}
	plain := targetTable(aof)
	if slices.Contains(plain.heading, "with AOF") {
		t.Errorf("heading %q without such a recording", plain.heading)
	}
	with := targetTable(aof, aof...)
	column := slices.Index(with.heading, "with AOF")
	if column < 0 || with.rows[0][column] != "8.00 × asynq tuned" || with.rows[len(with.rows)-1][column] != "–" {
		t.Errorf("heading %q, first row %q, last row %q", with.heading, with.rows[0], with.rows[len(with.rows)-1])
	}
}

// A row whose measure does not exist, or whose figure was renamed, would always be "not measured".
func TestEveryRowHasItsFigure(t *testing.T) {
	rec, err := readRecording("results/long.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var rows []source
	for _, one := range targets {
		rows = append(rows, source{one.measure, one.figure})
		if one.longest != "" {
			rows = append(rows, source{one.measure, one.longest})
		}
	}
	for _, one := range slices.Concat(headlines, details, []headline{slowHandlers}) {
		rows = append(rows, source{one.measure, one.figure})
	}
	for _, one := range plan {
		rows = append(rows, one.from...)
	}
	named := figureNames(t)
	for _, row := range rows {
		if !slices.Contains(measureNames(), row.measure) {
			t.Errorf("no measure is called %q", row.measure)
		}
		if !slices.ContainsFunc(named, func(name string) bool {
			return name == row.figure || name+pageTime == row.figure || strings.HasSuffix(name, " ") && strings.HasPrefix(row.figure, name)
		}) {
			t.Errorf("%s: the program has no figure %q", row.measure, row.figure)
		}
	}
	for _, one := range targets {
		of := func(s sample) bool { return s.Measure == one.measure }
		if slices.ContainsFunc(rec.samples, of) && !slices.ContainsFunc(rec.samples, func(s sample) bool { return of(s) && s.Figure == one.figure }) {
			t.Errorf("%s was recorded and has no %q", one.measure, one.figure)
		}
	}
}

// figureNames returns the names of figures, and of kinds of pages, in the source; a name ends with a space if the code appends to it.
func figureNames(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			field, ok := n.(*ast.KeyValueExpr)
			if key, named := keyOf(field); !ok || !named || key != "name" {
				return true
			}
			ast.Inspect(field.Value, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
					name, err := strconv.Unquote(text.Value)
					if err != nil {
						t.Fatal(err)
					}
					names = append(names, name)
					return false
				}
				_, sum := n.(*ast.BinaryExpr)
				return sum // "an occurrence " + …, not the arguments of a call
			})
			return true
		})
	}
	return names
}

func keyOf(field *ast.KeyValueExpr) (string, bool) {
	if field == nil {
		return "", false
	}
	key, ok := field.Key.(*ast.Ident)
	if !ok {
		return "", false
	}
	return key.Name, true
}

func TestNamesAreGivenOnce(t *testing.T) {
	names := append(measureNames(), peerNames()...)
	slices.Sort(names)
	if once := slices.Compact(slices.Clone(names)); len(once) != len(names) {
		t.Errorf("a name is given twice in %q", names)
	}
}
