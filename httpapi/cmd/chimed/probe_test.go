package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/health"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A loop is a role with one loop, which turned last at a given time.
type loop struct{ turned time.Time }

func (l loop) Pulses() map[string]time.Time { return map[string]time.Time{"processor": l.turned} }
func (l loop) Draining() bool               { return false }

// serving is the address of a server with the health pages of a process, and the health.
func serving(t *testing.T, certificate *tls.Certificate, roles ...health.Role) (string, *health.Health) {
	t.Helper()
	store := embedded.StartInMemory()
	t.Cleanup(func() { _ = store.Close() })
	h, err := health.New(health.Options{Store: store.Store(), Roles: roles})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(withHealth(h, http.NotFoundHandler()))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if certificate != nil {
		server.TLS = &tls.Config{Certificates: []tls.Certificate{*certificate}}
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), h
}

func TestHealthHasTheDefaultOfTheServer(t *testing.T) {
	s, err := process{env: func(string) string { return "" }}.serveSettings()
	if err != nil || s.listen != defaultListen {
		t.Errorf("chimed listens on %s, chimed health expects it on %s: %v", s.listen, defaultListen, err)
	}
}

func TestHealthExitsByTheStateOfTheProcess(t *testing.T) {
	working, _ := serving(t, nil, loop{time.Now()})
	stuck, _ := serving(t, nil, loop{time.Now().Add(-time.Hour)})
	stopping, h := serving(t, nil, loop{time.Now()})
	h.Drain()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	_, port, _ := net.SplitHostPort(working)
	for _, c := range []struct {
		name string
		args string
		env  []string
		code int
		want string // part of the output or of the error
	}{
		{"working", "-listen " + working, nil, 0, "alive\n"},
		{"working", "-listen " + working + " -ready", nil, 0, "ready\n"},
		{"working, by its variable", "", []string{"CHIMED_LISTEN", working}, 0, "alive\n"},
		{"working, without a host", "-listen :" + port, nil, 0, "alive\n"},
		{"working, all addresses", "-ready -listen 0.0.0.0:" + port, nil, 0, "ready\n"},
		{"stuck", "-listen " + stuck, nil, exitFailed, "chimed: 503 Service Unavailable: \"not alive: the loop processor of a main.loop has not turned"},
		{"stopping", "-listen " + stopping, nil, 0, "alive\n"},
		{"stopping", "-listen " + stopping + " -ready", nil, exitFailed, `chimed: 503 Service Unavailable: "not ready: draining"`},
		{"another program", "-listen " + other.Listener.Addr().String(), nil, exitFailed, "chimed: 404 Not Found"},
		{"no process", "-listen " + closed.Addr().String(), nil, exitFailed, "connection refused"},
	} {
		got := command(t, append([]string{"health"}, strings.Fields(c.args)...), c.env...)
		if got.code != c.code || !strings.Contains(got.out+got.err, c.want) {
			t.Errorf("%s: chimed health %s: got exit %d, %q, %q; want %d and %q", c.name, c.args, got.code, got.out, got.err, c.code, c.want)
		}
	}
}

// A container's check connects to an address that is in no certificate, and may outlive the certificate.
func TestHealthTrustsTheCertificateOfTheProcess(t *testing.T) {
	day := 24 * time.Hour
	for _, c := range []struct {
		name     string
		template x509.Certificate
	}{
		{"of another host", x509.Certificate{DNSNames: []string{"jobs.example.com"}, NotBefore: time.Now().Add(-day), NotAfter: time.Now().Add(day)}},
		{"of many hosts", x509.Certificate{DNSNames: []string{"*.example.com"}, NotBefore: time.Now().Add(-day), NotAfter: time.Now().Add(day)}},
		{"of an address", x509.Certificate{IPAddresses: []net.IP{net.IPv4(192, 0, 2, 1)}, NotBefore: time.Now().Add(-day), NotAfter: time.Now().Add(day)}},
		{"expired", x509.Certificate{DNSNames: []string{"jobs.example.com"}, NotBefore: time.Now().Add(-2 * day), NotAfter: time.Now().Add(-day)}},
	} {
		certificate, file := selfSigned(t, c.template)
		address, _ := serving(t, &certificate, loop{time.Now()})
		if got := command(t, []string{"health", "-listen", address}, "CHIMED_TLS_CERT", file); got.code != 0 || got.out != "alive\n" {
			t.Errorf("%s: got exit %d, %q, %q; want 0", c.name, got.code, got.out, got.err)
		}
	}
}

func TestHealthTrustsNoOtherCertificate(t *testing.T) {
	template := x509.Certificate{DNSNames: []string{"localhost"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	certificate, _ := selfSigned(t, template)
	_, renewed := selfSigned(t, template)
	address, _ := serving(t, &certificate, loop{time.Now()})
	nameless := template
	nameless.DNSNames = nil
	_, unnamed := selfSigned(t, nameless)
	for file, want := range map[string]string{
		renewed:                         "uses another certificate than -tls-cert " + renewed + ": it reads the file again on SIGHUP",
		unnamed:                         "the certificate has neither a DNS name nor an address",
		written(t, "none.pem", "text"):  "contains no certificate in PEM",
		"/missing/certificate":          "-tls-cert: open /missing/certificate",
		"":                              "400 Bad Request", // http to a server with TLS
		written(t, "bad.pem", badBlock): "-tls-cert: ",
	} {
		got := command(t, []string{"health", "-listen", address, "-tls-cert", file})
		if got.code != exitFailed || !strings.Contains(got.err, want) {
			t.Errorf("%q: got exit %d, %q; want %d and %q", file, got.code, got.err, exitFailed, want)
		}
	}
}

const badBlock = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

// selfSigned is a certificate of a server, and the path of its file; as in other files, another block is before it.
func selfSigned(t *testing.T, template x509.Certificate) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.Subject = big.NewInt(1), pkix.Name{CommonName: "test"}
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6, 8}})
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, written(t, "certificate.pem", string(text))
}
