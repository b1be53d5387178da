package output_test

import (
	"strings"
	"testing"

	"github.com/chimejobs/chime/cmd/chime/internal/output"
)

func printed(t *testing.T, width int, l output.List) string {
	t.Helper()
	var b strings.Builder
	if err := (output.Printer{Out: &b, Format: output.Table, Width: width}).List(l); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestColumnsGiveWayFromTheRight(t *testing.T) {
	l := output.List{
		Columns: []output.Column{{Title: "NAME"}, {Title: "RULE", Most: 10}, {Title: "N", Right: true}, {Title: "ERROR"}},
		Items:   []output.Item{{Cells: []string{"a\x1b[2J", "every day at nine", "7", "connection refused"}}, {Cells: []string{"漢字", "", "12"}}},
	}
	for width, want := range map[int]string{
		0:  "NAME      RULE                N  ERROR\na\\x1b[2J  every day at nine   7  connection refused\n漢字                         12\n",
		51: "NAME      RULE                N  ERROR\na\\x1b[2J  every day at nine   7  connection refused\n漢字                         12\n",
		50: "NAME      RULE               N  ERROR\na\\x1b[2J  every day at ni…   7  connection refused\n漢字                        12\n",
		46: "NAME      RULE           N  ERROR\na\\x1b[2J  every day a…   7  connection refused\n漢字                    12\n",
		36: "NAME      RULE         N  ERROR\na\\x1b[2J  every day…   7  connectio…\n漢字                  12\n",
		30: "NAME      RULE         N\na\\x1b[2J  every day…   7\n漢字                  12\n",
		5:  "NAME\na\\x1…\n漢字\n",
	} {
		if got := printed(t, width, l); got != want {
			t.Errorf("%d columns: got\n%swant\n%s", width, got, want)
		}
	}
}

func TestAListSaysInWhichZoneItIsAndHowToGoOn(t *testing.T) {
	l := output.List{Header: "times are UTC\x07", Columns: []output.Column{{Title: "NAME"}}, Items: []output.Item{{Name: "it's", Cells: []string{"it's"}}}, Next: "it's"}
	if got, want := printed(t, 0, l), "times are UTC\\x07\nNAME\nit's\n\nThere are more: add --after 'it'\\''s'\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestColumnsWithoutTitlesHaveNoLineForThem(t *testing.T) {
	l := output.List{Columns: make([]output.Column, 2), Items: []output.Item{{Cells: []string{"report", "paused"}}, {Cells: []string{"a", "b"}}}}
	if got, want := printed(t, 0, l), "report  paused\na       b\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := printed(t, 0, output.List{Columns: make([]output.Column, 2)}); got != "" {
		t.Errorf("without items: got %q", got)
	}
}
