package chimeseal

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func text(name string, fill byte) string {
	return name + ":" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{fill}, keySize))
}

func parse(t testing.TB, keys ...string) *Ring {
	t.Helper()
	ring, err := Parse(strings.Join(keys, ","))
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func seal(t testing.TB, ring *Ring, plain, aad string) []byte {
	t.Helper()
	sealed, err := ring.Seal([]byte(plain), []byte(aad))
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func TestASealedValueOpensOnlyWithItsKeyAndItsData(t *testing.T) {
	ring := parse(t, text("k1", 1))
	sealed := seal(t, ring, "canary", "here")
	if plain, err := ring.Open(sealed, []byte("here")); err != nil || string(plain) != "canary" {
		t.Fatalf("%q, %v", plain, err)
	}
	if bytes.Contains(sealed, []byte("canary")) || len(sealed) != len("canary")+44 || ring.Key(sealed) != "k1" {
		t.Errorf("%d bytes with key %q, want %d with k1 and no plain text", len(sealed), ring.Key(sealed), len("canary")+44)
	}
	if _, err := ring.Open(sealed, []byte("there")); err == nil {
		t.Error("it was opened with other data")
	}
	if _, err := parse(t, text("k1", 2)).Open(sealed, []byte("here")); err == nil {
		t.Error("another key with the same name has opened it")
	}
	if _, err := parse(t, text("k2", 1)).Open(sealed, []byte("here")); err == nil || !strings.Contains(err.Error(), `no key "k1"`) {
		t.Errorf("without the key: %v, want its name", err)
	}
	for i := range sealed {
		for _, bit := range []byte{1, 128} {
			changed := bytes.Clone(sealed)
			changed[i] ^= bit
			if plain, err := ring.Open(changed, []byte("here")); err == nil {
				t.Errorf("with byte %d changed it was opened as %q", i, plain)
			}
		}
		if _, err := ring.Open(sealed[:i], []byte("here")); err == nil {
			t.Errorf("its first %d bytes were opened", i)
		}
	}
}

func TestTwoSealsOfATextDiffer(t *testing.T) {
	ring := parse(t, text("k1", 1))
	if bytes.Equal(seal(t, ring, "a", ""), seal(t, ring, "a", "")) {
		t.Error("equal texts have equal seals")
	}
}

func TestARingOpensWhatItsOlderKeysHaveSealed(t *testing.T) {
	k1, k2 := text("k1", 1), text("k2", 2)
	old := seal(t, parse(t, k1), "canary", "")
	for what, ring := range map[string]*Ring{"the new key opens only": parse(t, k1, k2), "the new key seals": parse(t, k2, k1)} {
		if plain, err := ring.Open(old, nil); err != nil || string(plain) != "canary" {
			t.Errorf("%s: %q, %v", what, plain, err)
		}
		again := seal(t, ring, "canary", "")
		if got := ring.Key(again); got != ring.Names()[0] {
			t.Errorf("%s: %s seals, want %s", what, got, ring.Names()[0])
		}
	}
}

func TestIDsNeedAKeyOfTheirOwn(t *testing.T) {
	if _, ok := parse(t, text("k1", 1)).ArgsID([]byte("a")); ok {
		t.Error("a ring without a key of IDs makes IDs")
	}
	id, ok := parse(t, text("k1", 1), text("@ids", 9)).ArgsID([]byte("a"))
	rotated, _ := parse(t, text("k2", 2), text("k1", 1), text("@ids", 9)).ArgsID([]byte("a"))
	other, _ := parse(t, text("k1", 1), text("@ids", 8)).ArgsID([]byte("a"))
	if !ok || !bytes.Equal(id, rotated) || bytes.Equal(id, other) || len(id) != 32 {
		t.Errorf("%x; after a rotation %x, want the same; with another key %x, want another", id, rotated, other)
	}
}

func TestARingIsPrintedWithoutKeys(t *testing.T) {
	ring := parse(t, text("k2", 'x'), text("k1", 'y'), text("@ids", 'z'))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		if got := fmt.Sprintf(verb, ring); got != "keys k2, k1" {
			t.Errorf("%s prints %s", verb, got)
		}
	}
}

func TestAFileThatEveryUserCanReadIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(text("k1", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, good := range map[os.FileMode]bool{0o600: true, 0o640: true, 0o604: false, 0o644: false, 0o602: false} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(file); (err == nil) != good {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
	if _, err := ReadFile(file + ".not"); err == nil {
		t.Error("a file that does not exist was read")
	}
}

func FuzzOpen(f *testing.F) {
	ring := parse(f, text("k1", 1))
	f.Add(seal(f, ring, "canary", "aad"))
	f.Add([]byte{version, 2, 'k', '1'})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, sealed []byte) {
		ring.Key(sealed)
		if plain, err := ring.Open(sealed, []byte("other")); err == nil {
			t.Errorf("% x was opened as %q", sealed, plain)
		}
	})
}

func BenchmarkSeal1KiB(b *testing.B) {
	ring, plain, aad := parse(b, text("k1", 1)), make([]byte, 1024), make([]byte, 60)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ring.Seal(plain, aad); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen1KiB(b *testing.B) {
	ring, aad := parse(b, text("k1", 1)), make([]byte, 60)
	sealed, err := ring.Seal(make([]byte, 1024), aad)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ring.Open(sealed, aad); err != nil {
			b.Fatal(err)
		}
	}
}
