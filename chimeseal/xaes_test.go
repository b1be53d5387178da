package chimeseal

import (
	"crypto/sha3"
	"encoding/hex"
	"strings"
	"testing"
)

// The test vectors of https://c2sp.org/XAES-256-GCM.
func TestTheVectorsOfTheSpecification(t *testing.T) {
	for _, v := range []struct{ key, aad, sealed string }{
		{"\x01", "", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"},
		{"\x03", "c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"},
	} {
		x, err := newXAES([]byte(strings.Repeat(v.key, keySize)))
		if err != nil {
			t.Fatal(err)
		}
		nonce := []byte("ABCDEFGHIJKLMNOPQRSTUVWX")
		sealed, err := x.seal(nil, nonce, []byte("XAES-256-GCM"), []byte(v.aad))
		if err != nil || hex.EncodeToString(sealed) != v.sealed {
			t.Errorf("key %x: sealed %x, %v; want %s", v.key, sealed, err, v.sealed)
		}
		plain, err := x.open(nonce, sealed, []byte(v.aad))
		if err != nil || string(plain) != "XAES-256-GCM" {
			t.Errorf("key %x: opened %q, %v", v.key, plain, err)
		}
	}
}

// The accumulated vectors of the specification: 10,000 random keys, nonces, texts and additional data, and the digest of everything that was sealed.
func TestTheAccumulatedVectorsOfTheSpecification(t *testing.T) {
	source, sum := sha3.NewSHAKE128(), sha3.NewSHAKE128()
	read := func(n int) []byte {
		b := make([]byte, n)
		_, _ = source.Read(b)
		return b
	}
	for i := range 10_000 {
		key, nonce := read(keySize), read(nonceSize)
		plain := read(int(read(1)[0]))
		aad := read(int(read(1)[0]))
		x, err := newXAES(key)
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := x.seal(nil, nonce, plain, aad)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := x.open(nonce, sealed, aad)
		if err != nil || string(opened) != string(plain) {
			t.Fatalf("vector %d: opened %x, %v; want %x", i, opened, err, plain)
		}
		_, _ = sum.Write(sealed)
	}
	got := make([]byte, 32)
	_, _ = sum.Read(got)
	if want := "e6b9edf2df6cec60c8cbd864e2211b597fb69a529160cd040d56c0c210081939"; hex.EncodeToString(got) != want {
		t.Errorf("the digest is %x, want %s", got, want)
	}
}
