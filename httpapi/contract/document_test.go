package contract_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/chimejobs/chime/httpapi/contract"
)

// read reads a file of the repository.
func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestWhatIsMadeOfTheDocumentIsUpToDate(t *testing.T) {
	document := read(t, "../openapi.yaml")
	want, err := contract.JSON(document)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, "../openapi.json"); !bytes.Equal(got, want) {
		t.Error("openapi.json does not match openapi.yaml: cd httpapi/contract && go generate")
	}
}
