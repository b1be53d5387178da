package main

import (
	"os"
	"strings"
	"testing"
)

func TestAFileWithSecretsIsRefusedIfOthersHaveAccess(t *testing.T) {
	const keys = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	token := command(t, []string{"token", "anna"})
	_, line, _ := strings.Cut(token.out, "\n")
	export := written(t, "export.json", "[]")
	for flag, c := range map[string]struct{ text, args string }{
		"secret-keys": {keys, "-listen :0 -secret-keys FILE"}, // :0 is refused, so that no server starts
		"tokens":      {line, "-redis redis://127.0.0.1:1 -listen 127.0.0.1:1x -tokens FILE"},
		"token-file":  {"chm_x", "import -url http://127.0.0.1:1 -token-file FILE " + export},
		"parameters":  {`{"parameters": {"password": {"value": "canary"}}}`, "import -url http://127.0.0.1:1 -parameters FILE " + export},
		"secrets":     {"{}", "import -url http://127.0.0.1:1 -secrets FILE " + export},
	} {
		for mode, refused := range map[os.FileMode]bool{0o600: false, 0o440: false, 0o644: true, 0o604: true, 0o602: true} {
			file := written(t, "secret", c.text)
			if err := os.Chmod(file, mode); err != nil {
				t.Fatal(err)
			}
			got := command(t, strings.Fields(strings.Replace(c.args, "FILE", file, 1)))
			if strings.Contains(got.err, "chmod o=") != refused || strings.Contains(got.err, "canary") {
				t.Errorf("-%s with mode %#o: got exit %d, %q, want it refused: %v", flag, mode, got.code, got.err, refused)
			}
		}
	}
}

func TestTheKeyOfACertificateIsRefusedIfOthersHaveAccess(t *testing.T) {
	key := written(t, "key.pem", "")
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := newCredentials(&settings{tlsCert: key, tlsKey: key})
	if err == nil || !strings.Contains(err.Error(), "-tls-key: every user") {
		t.Errorf("%v", err)
	}
}
