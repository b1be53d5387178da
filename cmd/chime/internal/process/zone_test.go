package process

import (
	"os"
	"path/filepath"
	"testing"
	"time"
	_ "time/tzdata"
)

func TestTheZoneOfTheMachineHasItsName(t *testing.T) {
	folder, link := t.TempDir(), filepath.Join(t.TempDir(), "localtime")
	for file, want := range map[string]string{
		"zoneinfo/Europe/Berlin": "Europe/Berlin", "zoneinfo/Etc/UTC": "Etc/UTC", "zoneinfo/Nowhere/Such": time.Local.String(), "berlin": time.Local.String(),
	} {
		file = filepath.Join(folder, file)
		_ = os.Remove(link)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(file, link); err != nil {
			t.Fatal(err)
		}
		if got := zoneOfLink(link).String(); got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
	if got := zoneOfLink(filepath.Join(folder, "none")); got != time.Local {
		t.Errorf("without a link: got %s", got)
	}
}
