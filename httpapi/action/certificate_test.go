package action

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/chimejobs/chime/httpapi/action/pfx"
)

// clientCertificate creates a self-signed certificate with its key, in PEM.
func clientCertificate(t testing.TB, expires time.Time) (certificate, key string, leaf *x509.Certificate, private *ecdsa.PrivateKey) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client"}, NotBefore: expires.Add(-48 * time.Hour), NotAfter: expires,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	if leaf, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return certificate, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})), leaf, private
}

func withCertificate(auth Authentication) *Action {
	auth.Type = ClientCertificate
	return &Action{Type: HTTPS, Request: &Request{URI: "https://example.com/", Authentication: &auth}}
}

func TestAPFXIsOpenedOnceAndKeptAsPEM(t *testing.T) {
	expires := time.Now().Add(24 * time.Hour)
	want, _, leaf, private := clientCertificate(t, expires)
	for name, encoder := range map[string]*pkcs12.Encoder{"modern": pkcs12.Modern, "legacy": pkcs12.Legacy} {
		file, err := encoder.Encode(private, leaf, nil, "pass")
		if err != nil {
			t.Fatal(err)
		}
		a := withCertificate(Authentication{PFX: Plain(base64.StdEncoding.EncodeToString(file)), Password: Plain("pass")})
		if problems := a.Prepare(t.Context(), pfx.Open); problems != nil {
			t.Fatalf("%s: %v", name, problems)
		}
		auth := a.Request.Authentication
		if !auth.PFX.IsZero() || !auth.Password.IsZero() || auth.Certificate != want || auth.Key.IsZero() {
			t.Errorf("%s: the file is not replaced by its certificate and key", name)
		}
		if auth.Subject != "CN=client" || len(auth.Thumbprint) != 40 || auth.Expires != expires.UTC().Format(time.RFC3339) {
			t.Errorf("%s: thumbprint %q, subject %q, expires %q", name, auth.Thumbprint, auth.Subject, auth.Expires)
		}
		if problems := a.Validate(Rules{Now: expires.Add(-time.Minute)}); problems != nil {
			t.Errorf("%s: %v", name, problems)
		}
		if problems := a.Validate(Rules{Now: expires.Add(time.Minute)}); len(problems) != 1 || problems[0].Code != "certificate_expired" {
			t.Errorf("%s: after its expiry: %v", name, problems)
		}
		// A client that changes another field omits the file, and has never seen the certificate.
		ring := testRing(t)
		if err := a.Seal(ring, Place{"c", "j"}, nil); err != nil {
			t.Fatal(err)
		}
		again := withCertificate(Authentication{})
		again.Request.Body = "changed"
		problems := append(again.Prepare(t.Context(), pfx.Open), again.Keep(a)...)
		if problems = append(problems, again.Validate(Rules{})...); problems != nil || again.Request.Authentication.Key != a.Request.Authentication.Key {
			t.Errorf("%s: a change of the body: %v", name, problems)
		}
	}
}

// An action that is checked and not stored is checked without opening its file: nobody waits for what the file's creator has put into it.
func TestAnUnopenedPFXIsCheckedByItsForm(t *testing.T) {
	for name, c := range map[string]struct {
		auth Authentication
		code string // of the only problem; empty: none
	}{
		"a file":        {Authentication{PFX: Plain(base64.StdEncoding.EncodeToString([]byte("any bytes"))), Password: Plain("pass")}, ""},
		"no base64":     {Authentication{PFX: Plain("***")}, "pfx"},
		"too large":     {Authentication{PFX: Plain(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, maxPFX+1)))}, "pfx"},
		"with a key":    {Authentication{PFX: Plain("AAAA"), Key: Plain("key")}, "conflict"},
		"with a tenant": {Authentication{PFX: Plain("AAAA"), Tenant: "example.com"}, "conflict"},
	} {
		a := withCertificate(c.auth)
		problems := a.Prepare(t.Context(), Unopened)
		if problems == nil {
			problems = append(a.Keep(nil), a.Validate(Rules{})...)
		}
		if c.code == "" && len(problems) == 0 || len(problems) == 1 && problems[0].Code == c.code {
			continue
		}
		t.Errorf("%s: %v, want %q", name, problems, c.code)
	}
	if problems := withCertificate(Authentication{PFX: Plain("AAAA")}).Validate(Rules{}); len(problems) != 1 || problems[0].Code != "pfx" {
		t.Errorf("an action that was not prepared: %v, want pfx", problems)
	}
}

func TestInvalidCertificatesAreRefused(t *testing.T) {
	certificate, key, leaf, private := clientCertificate(t, time.Now().Add(time.Hour))
	_, otherKey, _, _ := clientCertificate(t, time.Now().Add(time.Hour))
	file, err := pkcs12.Modern.Encode(private, leaf, nil, "pass")
	if err != nil {
		t.Fatal(err)
	}
	encoded := Plain(base64.StdEncoding.EncodeToString(file))
	for name, c := range map[string]struct {
		auth Authentication
		open OpenPFX
		code string
	}{
		"another password":   {Authentication{PFX: encoded, Password: Plain("wrong")}, pfx.Open, "pfx"},
		"no OpenPFX":         {Authentication{PFX: encoded, Password: Plain("pass")}, nil, "pfx"},
		"no base64":          {Authentication{PFX: Plain("***")}, pfx.Open, "pfx"},
		"too large":          {Authentication{PFX: Plain(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, maxPFX+1)))}, pfx.Open, "pfx"},
		"both forms":         {Authentication{PFX: encoded, Certificate: certificate, Key: Plain(key)}, pfx.Open, "conflict"},
		"another key":        {Authentication{Certificate: certificate, Key: Plain(otherKey)}, nil, "pfx"},
		"the key beside it":  {Authentication{Certificate: certificate + key, Key: Plain(key)}, nil, "pfx"},
		"no certificate":     {Authentication{Certificate: "hello", Key: Plain(key)}, nil, "pfx"},
		"something after it": {Authentication{Certificate: certificate + "hello", Key: Plain(key)}, nil, "pfx"},
	} {
		problems := withCertificate(c.auth).Prepare(t.Context(), c.open)
		if len(problems) != 1 || problems[0].Code != c.code {
			t.Errorf("%s: %v, want one problem %s", name, problems, c.code)
		}
		for _, p := range problems {
			if strings.Contains(p.Error()+p.Value, "PRIVATE") || strings.Contains(p.Error()+p.Value, encoded.text) {
				t.Errorf("%s: %v shows a secret", name, p)
			}
		}
	}
}
