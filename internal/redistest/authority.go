//go:build unix

package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An authority is a certificate authority for one test. It has signed the certificates of one server and of its clients.
type authority struct {
	pool          *x509.CertPool
	ca, cert, key string          // paths of the server's files
	client        tls.Certificate // of its clients
}

func newAuthority(t testing.TB, dir string) *authority {
	t.Helper()
	now := time.Now()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "chime's tests"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "127.0.0.1"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	client := &x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "a client"}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	caKey, serverKey, clientKey := newKey(t), newKey(t), newKey(t)
	a := &authority{
		pool: x509.NewCertPool(),
		ca:   filepath.Join(dir, "ca.pem"), cert: filepath.Join(dir, "server.pem"), key: filepath.Join(dir, "server.key"),
	}
	signed := sign(t, ca, ca, caKey, caKey)
	parsed, err := x509.ParseCertificate(signed)
	if err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(parsed)
	a.client = tls.Certificate{Certificate: [][]byte{sign(t, client, ca, clientKey, caKey)}, PrivateKey: clientKey}
	private, err := x509.MarshalPKCS8PrivateKey(serverKey)
	if err != nil {
		t.Fatal(err)
	}
	write(t, a.ca, "CERTIFICATE", signed)
	write(t, a.cert, "CERTIFICATE", sign(t, server, ca, serverKey, caKey))
	write(t, a.key, "PRIVATE KEY", private)
	return a
}

// config returns the lines of redis.conf for the certificates; clients sets whether clients need a certificate too.
func (a *authority) config(clients bool) string {
	auth := "no"
	if clients {
		auth = "yes"
	}
	return fmt.Sprintf("tls-auth-clients %s\ntls-cert-file %s\ntls-key-file %s\ntls-ca-cert-file %s", auth, a.cert, a.key, a.ca)
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t testing.TB, cert, by *x509.Certificate, key, byKey *ecdsa.PrivateKey) []byte {
	t.Helper()
	signed, err := x509.CreateCertificate(rand.Reader, cert, by, &key.PublicKey, byKey)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func write(t testing.TB, file, kind string, bytes []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
		t.Fatal(err)
	}
}
