package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

const healthUsage = `chimed health sends a request to the chimed of this machine, and exits with 0 if it is alive. It is the HEALTHCHECK of a
container, which has neither a shell nor curl.

  -listen ADDR          see chimed -h
  -tls-cert FILE        see chimed -h
  -ready                exits with 0 only if the process is ready: the store answers, its roles run, and it is not stopping.
                        Without -ready it exits with 1 only if a restart may help, so not because the store is down

-listen and -tls-cert are environment variables too. If chimed gets them from there, chimed health needs no flags.
`

const (
	defaultListen = "127.0.0.1:8080" // as of chimed itself

	probeTimeout = 5 * time.Second // /readyz waits 1 s for the store
	probeBody    = 4 << 10         // bytes of an answer that are read
)

// health is the command that sends a probe.
func (p process) health(ctx context.Context) error {
	probe, ready := probe{}, false
	f := newFlags("health")
	f.StringVar(&probe.listen, "listen", defaultListen, "")
	f.StringVar(&probe.cert, "tls-cert", "", "")
	f.BoolVar(&ready, "ready", false, "")
	rest, err := f.parse(p, healthUsage, "listen", "tls-cert")
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return badUsage("health accepts flags only, got %.40q", rest[0])
	}
	if _, _, err := net.SplitHostPort(probe.listen); err != nil {
		return badUsage("-listen: %.80q: want host:port, such as %s", probe.listen, defaultListen)
	}
	path := "/livez"
	if ready {
		path = "/readyz"
	}
	answer, err := probe.send(ctx, path)
	if err != nil {
		return err
	}
	fmt.Fprintln(p.out, answer)
	return nil
}

// A probe is a request to the chimed of this machine, with the values of its flags.
type probe struct{ listen, cert string }

// send returns the body of an answer with status 200. It returns an error with the body of any other answer.
func (p probe) send(ctx context.Context, path string) (string, error) {
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", p.listen) // without a host, or with 0.0.0.0, this is the own machine
		},
	}
	url := "http://localhost" + path
	if p.cert != "" {
		config, err := trustOnly(p.cert)
		if err != nil {
			return "", fmt.Errorf("-tls-cert: %w", err)
		}
		transport.TLSClientConfig, url = config, "https://localhost"+path
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := transport.RoundTrip(request)
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		return "", fmt.Errorf("the process at %s uses another certificate than -tls-cert %s: it reads the file again on SIGHUP", p.listen, p.cert)
	} else if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, probeBody))
	body := strings.TrimSpace(string(text))
	switch {
	case err != nil:
		return "", err
	case answer.StatusCode != http.StatusOK:
		return "", fmt.Errorf("%s: %q", answer.Status, body)
	}
	return body, nil
}

// trustOnly is the configuration of a client that trusts the first certificate of a file and no other one. Its name need not be that of this machine, and it
// may have expired: a restart would help against neither.
func trustOnly(file string) (*tls.Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, rest := pem.Decode(text)
	for block != nil && block.Type != "CERTIFICATE" {
		block, rest = pem.Decode(rest)
	}
	if block == nil {
		return nil, fmt.Errorf("%s contains no certificate in PEM", file)
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	name := ""
	switch {
	case len(leaf.DNSNames) > 0:
		name = strings.Replace(leaf.DNSNames[0], "*", "health", 1)
	case len(leaf.IPAddresses) > 0:
		name = leaf.IPAddresses[0].String()
	default:
		return nil, fmt.Errorf("%s: the certificate has neither a DNS name nor an address, so no client accepts it", file)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: name, Time: func() time.Time { return leaf.NotBefore }}, nil
}
