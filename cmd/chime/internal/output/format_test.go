package output_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chimejobs/chime/cmd/chime/internal/output"
)

// Other programs read names and lines of JSON, so the hint that there are more goes to standard error.
func TestNamesAndLinesOfJSONSayThatThereAreMore(t *testing.T) {
	l := output.List{Items: []output.Item{{Name: "a", Value: 1}}, Next: "it's"}
	for format, want := range map[output.Format]string{output.Name: "a\n", output.JSONL: "1\n"} {
		var out, stderr strings.Builder
		if err := (output.Printer{Out: &out, Err: &stderr, Format: format}).List(l); err != nil {
			t.Fatal(err)
		}
		if out.String() != want || stderr.String() != "chime: there are more: add --after 'it'\\''s'\n" {
			t.Errorf("%s: printed %q, stderr %q", format, out.String(), stderr.String())
		}
	}
	var stderr strings.Builder
	if err := (output.Printer{Out: &strings.Builder{}, Err: &stderr, Format: output.Name}).List(output.List{Items: l.Items}); err != nil || stderr.Len() > 0 {
		t.Errorf("at the end: %v, stderr %q", err, stderr.String())
	}
}

// Characters that move the cursor or hide text are escaped in JSON too, with the same meaning.
func TestJSONHasNoCharacterThatATerminalObeys(t *testing.T) {
	const hostile = "a\x1b[2J\x7f\u009b2J\u202eb\u200b\u2028\U000e0041é漢<"
	raw := json.RawMessage("\"\u202e\x9b\"") // as a payload may be: not even UTF-8
	for _, format := range []output.Format{output.JSON, output.JSONL} {
		var out strings.Builder
		p := output.Printer{Out: &out, Format: format}
		if err := p.Item("", map[string]any{"text": hostile, hostile: raw}, ""); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimSuffix(line, "\n"); output.Printable(line) != line {
				t.Errorf("%s: %q", format, line)
			}
		}
		var back map[string]string
		if err := json.Unmarshal([]byte(out.String()), &back); err != nil || back["text"] != hostile || back[hostile] != "\u202e\ufffd" {
			t.Errorf("%s: %v, %q", format, err, back)
		}
	}
}
