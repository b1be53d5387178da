//go:build real && !generated

package contract_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chimejobs/chime/httpapi/contract"
)

// The test with that name in client_test.go runs with a client that is generated here. The file is visible to the compiler
// only.
func TestAGeneratedClientWorks(t *testing.T) {
	source, err := contract.Client(read(t, "../openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	place, err := filepath.Abs("client/client.go")
	if err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(t.TempDir(), "client.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {place: made}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "overlay.json")
	for path, text := range map[string][]byte{made: source, list: overlay} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", "test", "-tags", "generated", "-overlay", list, "-count=1", "-v", "-run", "^"+t.Name()+"$", ".").CombinedOutput()
	if err != nil {
		t.Errorf("with the client generated from openapi.yaml: %v\n%s", err, out)
	}
	if ran := []byte("--- PASS: " + t.Name() + " "); err == nil && !bytes.Contains(out, ran) {
		t.Errorf("the test of the client did not run:\n%s", out)
	}
}
