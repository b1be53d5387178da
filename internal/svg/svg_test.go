package svg

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestTheChartsAreThoseOfTheGoldenFiles(t *testing.T) {
	charts := story(t)
	for _, name := range names(charts) {
		got := strings.ReplaceAll(string(charts[name].SVG()), "><", ">\n<") + "\n"
		golden := filepath.Join("testdata", name+".svg")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(golden); err != nil || got != string(want) {
			t.Errorf("%s differs from %s (go test -update rewrites it) %v", name, golden, err)
		}
	}
	files, err := filepath.Glob("testdata/*.svg")
	if err != nil || len(files) != len(charts) {
		t.Errorf("testdata has %d pictures, want %d (%v)", len(files), len(charts), err)
	}
}

func TestTheTablesAreThoseOfTheGoldenFile(t *testing.T) {
	charts := story(t)
	var b strings.Builder
	for _, name := range names(charts) {
		table := charts[name].Table()
		fmt.Fprintf(&b, "%s: %q\n%s\n", name, table.Caption, strings.Join(table.Header, "; "))
		for i, row := range table.Rows {
			if len(row) != len(table.Header) {
				t.Errorf("%s: row %d has %d texts, the header has %d", name, i, len(row), len(table.Header))
			}
			if i < 5 || i >= len(table.Rows)-5 || strings.HasPrefix(name, "hours") {
				fmt.Fprintf(&b, "  %s\n", strings.Join(row, "; "))
			}
		}
		fmt.Fprintf(&b, "  (%d rows)\n", len(table.Rows))
	}
	golden := "testdata/tables.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || b.String() != string(want) {
		t.Errorf("the tables differ from %s (go test -update rewrites it) %v", golden, err)
	}
}

func TestEveryChartIsSafeMarkup(t *testing.T) {
	charts := story(t)
	for _, name := range names(charts) {
		if err := check(charts[name].SVG()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if charts[name].SVG() != story(t)[name].SVG() {
			t.Errorf("%s: drawing it twice gives different results", name)
		}
	}
}

func TestEveryClassHasARule(t *testing.T) {
	kinds := []string{"chart", "lines", "spark", "ticks", "hours", "weeks", "bars", "timeline", "shares", "series"}
	rules := map[string]bool{}
	for _, m := range regexp.MustCompile(`\.([a-z][a-z0-9-]*)`).FindAllStringSubmatch(CSS+timelineCSS, -1) {
		rules[m[1]] = true
	}
	var all strings.Builder
	for _, chart := range story(t) {
		all.WriteString(string(chart.SVG()))
	}
	for level := range 7 { // the story does not have every level
		fmt.Fprintf(&all, ` class="h%d n%d paused"`, level, 1+level/3)
	}
	written := map[string]bool{}
	for _, m := range regexp.MustCompile(` class="([^"]*)"`).FindAllStringSubmatch(all.String(), -1) {
		for class := range strings.FieldsSeq(m[1]) {
			written[class] = true
			if !rules[class] && !slices.Contains(kinds, class) {
				t.Errorf("class %s has no rule in chart.css", class)
			}
		}
	}
	for class := range rules {
		if !written[class] && class != "css" {
			t.Errorf("chart.css has a rule for %s, which no chart writes", class)
		}
	}
}

func TestAFileHasItsOwnStyle(t *testing.T) {
	file := string(File(Ticks{}.SVG(), ":root { --accent: #00f; } /* <&> */"))
	if err := wellFormed(file); err != nil {
		t.Error(err)
	}
	if !strings.Contains(file, "--accent: #00f") || !strings.Contains(file, ".chart .line") {
		t.Errorf("the style is missing: %s", file)
	}
}

// check returns the error in a chart's markup.
func check(chart template.HTML) error {
	if err := wellFormed(string(chart)); err != nil {
		return err
	}
	decoder := xml.NewDecoder(strings.NewReader(string(chart)))
	first := true
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if !slices.Contains([]string{"svg", "g", "path", "text"}, element.Name.Local) {
			return fmt.Errorf("element %s", element.Name.Local)
		}
		attrs := map[string]string{}
		for _, a := range element.Attr {
			attrs[a.Name.Local] = a.Value
			if err := checkAttr(a.Name.Local, a.Value); err != nil {
				return err
			}
		}
		if first && (attrs["role"] != "img" || attrs["aria-label"] == "") {
			return fmt.Errorf("role %q, aria-label %q", attrs["role"], attrs["aria-label"])
		}
		first = false
	}
}

var (
	decimal = regexp.MustCompile(`^(-?\d+(\.\d)? ?)+$`)
	class   = regexp.MustCompile(`^/?[a-z0-9 -]+$`)
	fine    = regexp.MustCompile(`\.\d\d`) // finer than a tenth of a pixel
)

// geometry reports whether a path has only commands and coordinates of one decimal.
func geometry(d string) bool {
	other := func(r rune) bool { return !strings.ContainsRune("MLHVhvalz0123456789.- ", r) }
	return !strings.ContainsFunc(d, other) && !fine.MatchString(d)
}

func checkAttr(name, value string) error {
	ok := false
	switch name {
	case "xmlns", "role", "aria-label", "data-name":
		ok = true
	case "class", "text-anchor", "data-unit":
		ok = class.MatchString(value)
	case "d":
		ok = geometry(value)
	case "data-t", "data-v":
		var numbers []*float64
		ok = json.Unmarshal([]byte(value), &numbers) == nil
	case "width", "height", "viewBox", "font-size", "x", "y", "data-plot", "data-from", "data-to", "data-step":
		ok = decimal.MatchString(value)
	case "data-height":
		number, err := strconv.ParseFloat(value, 64)
		ok = err == nil && number > 0 && number <= 2*maxValue
	}
	if !ok {
		return fmt.Errorf("attribute %s=%.200q", name, value)
	}
	return nil
}

func wellFormed(text string) error {
	for decoder := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
