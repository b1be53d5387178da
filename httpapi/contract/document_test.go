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
	for _, made := range []struct {
		file string
		of   func([]byte) ([]byte, error)
	}{{"../openapi.json", contract.JSON}, {"client/client.go", contract.Client}} {
		want, err := made.of(document)
		if err != nil {
			t.Errorf("%s: %v", made.file, err)
			continue
		}
		if got := read(t, made.file); !bytes.Equal(got, want) {
			t.Errorf("%s is not what openapi.yaml makes of it: cd httpapi/contract && go generate", made.file)
		}
	}
}
