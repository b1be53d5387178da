//go:build unix

package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// These lines of a document enclose the figures of the last run.
const (
	blockBegins = "<!-- chaos: written by make chaos, held by TestTheDocsShowTheLastRun -->\n"
	blockEnds   = "<!-- /chaos -->\n"
)

// Record writes the figures into a JSON file, and into the block of a document.
func Record(f Figures, file, document string) error {
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		return err
	}
	whole, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	begin, end, err := block(whole)
	if err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	written := append(append(bytes.Clone(whole[:begin]), f.Table()...), whole[end:]...)
	return os.WriteFile(document, written, 0o644)
}

// Recorded reads the figures that Record has written.
func Recorded(file string) (Figures, error) {
	var f Figures
	text, err := os.ReadFile(file)
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(text, &f)
}

// block returns the positions where the figures of a document begin and end.
func block(document []byte) (begin, end int, err error) {
	begin, end = bytes.Index(document, []byte(blockBegins)), bytes.Index(document, []byte(blockEnds))
	if begin < 0 || end < begin {
		return 0, 0, fmt.Errorf("no lines %q and %q", blockBegins, blockEnds)
	}
	return begin + len(blockBegins), end, nil
}
