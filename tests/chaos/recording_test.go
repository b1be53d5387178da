//go:build unix

package chaos

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	recordedFile = "testdata/last.json"
	document     = "../../docs/reliability.md"
)

func TestTheDocsShowTheLastRun(t *testing.T) {
	figures, err := Recorded(recordedFile)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	begin, end, err := block(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text[begin:end]); got != figures.Table() {
		t.Errorf("%s shows\n%s\nand %s contains\n%s\nmake chaos writes both", document, got, recordedFile, figures.Table())
	}
}

func TestARecordingReplacesTheBlockAlone(t *testing.T) {
	folder := t.TempDir()
	file, document := filepath.Join(folder, "last.json"), filepath.Join(folder, "doc.md")
	if err := os.WriteFile(document, []byte("before\n"+blockBegins+"old\n"+blockEnds+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := Figures{Seed: 7, Date: "2026-03-08", Length: "10m0s", Jobs: 1234567, Recovery: 1.25}
	if err := Record(want, file, document); err != nil {
		t.Fatal(err)
	}
	got, err := Recorded(file)
	if err != nil || got != want {
		t.Errorf("recorded %+v, %v; want %+v", got, err, want)
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != "before\n"+blockBegins+want.Table()+blockEnds+"after\n" || !strings.Contains(want.Table(), "1,234,567") {
		t.Errorf("the document is\n%s", text)
	}
	if err := os.WriteFile(document, []byte("no block\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Record(want, file, document); err == nil {
		t.Error("no error for a document without a block")
	}
}
