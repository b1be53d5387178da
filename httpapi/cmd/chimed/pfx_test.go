//go:build real

package main

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"
)

// newCertificate creates a self-signed certificate for 127.0.0.1.
func newCertificate(t testing.TB, serial int64) (leaf *x509.Certificate, private crypto.Signer) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if leaf, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return leaf, key
}

// pemOf is a certificate and its key in the form of files.
func pemOf(t testing.TB, leaf *x509.Certificate, private crypto.Signer) (certificate, key string) {
	t.Helper()
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return block("CERTIFICATE", leaf.Raw), block("PRIVATE KEY", pkcs8)
}

// An endless file needs 2⁴⁰ rounds of hashing: weeks.
func endless(t testing.TB, file []byte) []byte {
	t.Helper()
	var parts struct {
		Version int
		Content asn1.RawValue
		MAC     struct {
			Digest asn1.RawValue
			Salt   []byte
			Rounds int
		}
	}
	if _, err := asn1.Unmarshal(file, &parts); err != nil {
		t.Fatal(err)
	}
	parts.MAC.Rounds = 1 << 40
	changed, err := asn1.Marshal(parts)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func TestAPFXIsOpenedInAProcessThatIsKilled(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	open, openBriefly := newPFXOpener(program, time.Minute), newPFXOpener(program, 100*time.Millisecond) // a busy machine starts a child slowly
	leaf, private := newCertificate(t, 1)
	file, err := pkcs12.Legacy.WithIterations(2048).Encode(private, leaf, nil, "canary")
	if err != nil {
		t.Fatal(err)
	}
	wantCertificate, wantKey := pemOf(t, leaf, private)

	certificate, key, err := open(t.Context(), file, "canary")
	if err != nil || string(certificate) != wantCertificate || string(key) != wantKey {
		t.Errorf("got %s, %d bytes of key, %v; want\n%s", certificate, len(key), err, wantCertificate)
	}
	for what, c := range map[string]struct {
		file     []byte
		password string
		want     string
	}{
		"another password": {file, "canary2", "pfx: "},
		"no PKCS #12":      {[]byte("canary"), "canary", "pfx: "},
	} {
		if _, _, err := open(t.Context(), c.file, c.password); err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: got error %v, want an error that begins with %q", what, err, c.want)
		}
	}
	if _, _, err := openBriefly(t.Context(), endless(t, file), "canary"); err == nil || err.Error() != "opening it takes longer than 100ms" {
		t.Errorf("endless rounds: got error %v, want a timeout after 100ms", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := open(ended, file, "canary"); err == nil {
		t.Error("a request that has ended opens a file")
	}
}
