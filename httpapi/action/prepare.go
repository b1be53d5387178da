package action

import (
	"bytes"
	"context"
	"crypto/sha1" // #nosec: Azure's thumbprint
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
	"time"
)

// An OpenPFX converts PKCS #12 to PEM: the chain, the client's certificate first, and the private key. The creator of the file decides how long that
// takes, without a bound: open files from strangers in a process that can be killed. Package pfx opens them in the calling process.
type OpenPFX func(ctx context.Context, file []byte, password string) (certificate, key []byte, err error)

const maxPFX = 32 << 10 // bytes

// Unopened is the OpenPFX for an action that is checked and not stored: only the form of a PKCS #12 file is checked, and Validate accepts the file.
func Unopened(context.Context, []byte, string) (certificate, key []byte, err error) {
	return nil, nil, errUnopened
}

var errUnopened = errors.New("it was not opened")

// Prepare converts a client's action to the stored form: it sets methods in upper case and defaults that depend on other fields, moves headers with secret
// names to the secret headers, and opens a PFX. It returns mistakes of certificates; Validate finds the others.
func (a *Action) Prepare(ctx context.Context, open OpenPFX) []Problem {
	return a.prepare(ctx, mainPath, open)
}

func (a *Action) prepare(ctx context.Context, path string, open OpenPFX) []Problem {
	var problems []Problem
	if r := a.Request; r != nil {
		r.prepare()
		if auth := r.Authentication; auth != nil {
			problems = auth.prepare(ctx, path+".request.authentication", open)
		}
	}
	if a.QueueMessage != nil {
		a.QueueMessage.prepare()
	}
	if a.RetryPolicy != nil {
		a.RetryPolicy.prepare()
	}
	if a.Job != nil && len(a.Job.Payload) > 0 {
		var compact bytes.Buffer
		if json.Compact(&compact, a.Job.Payload) == nil {
			a.Job.Payload = compact.Bytes()
		}
	}
	if a.ErrorAction != nil {
		problems = append(problems, a.ErrorAction.prepare(ctx, path+".errorAction", open)...)
	}
	return problems
}

// prepare converts a PFX to PEM, and sets the fields that describe the certificate.
func (a *Authentication) prepare(ctx context.Context, path string, open OpenPFX) []Problem {
	a.Thumbprint, a.Subject, a.Expires = "", "", ""
	if a.Type != ClientCertificate {
		return nil
	}
	if a.PFX.plain() {
		if problem, bad := a.openPFX(ctx, path, open); bad {
			return []Problem{problem}
		}
	}
	if a.Certificate == "" {
		return nil // Keep may restore one
	}
	leaf, err := readCertificate(a.Certificate)
	if err != nil {
		return []Problem{{"pfx", path + ".certificate", "", err.Error()}}
	}
	sum := sha1.Sum(leaf.Raw) // #nosec: it identifies the certificate and protects nothing
	a.Thumbprint, a.Subject, a.Expires = strings.ToUpper(hex.EncodeToString(sum[:])), leaf.Subject.String(), leaf.NotAfter.UTC().Format(time.RFC3339)
	if a.Key.plain() {
		if _, err := tls.X509KeyPair([]byte(a.Certificate), []byte(a.Key.text)); err != nil {
			return []Problem{{"pfx", path + ".key", shownSecret, "want the private key of the certificate, in PEM and not encrypted"}}
		}
	}
	return nil
}

const makePEM = "openssl pkcs12 -in client.pfx -nodes -out client.pem converts it to PEM for `certificate` and `key`"

func (a *Authentication) openPFX(ctx context.Context, path string, open OpenPFX) (problem Problem, bad bool) {
	wrong := func(detail string) (Problem, bool) { return Problem{"pfx", path + ".pfx", shownSecret, detail}, true }
	if open == nil {
		return wrong("this server does not read PKCS #12; " + makePEM)
	}
	if a.Certificate != "" || !a.Key.IsZero() && !a.Key.sealed {
		return Problem{"conflict", path + ".pfx", shownSecret, "give either pfx, or certificate and key"}, true
	}
	file, err := base64.StdEncoding.DecodeString(a.PFX.text)
	if err != nil || len(file) > maxPFX {
		return wrong("want base64 of at most 32 KiB of PKCS #12")
	}
	certificate, key, err := open(ctx, file, a.Password.text)
	if a.unopened = errors.Is(err, errUnopened); a.unopened {
		return Problem{}, false
	}
	if err != nil {
		return wrong("the password does not open it as PKCS #12 within the time limit; " + makePEM) // err may contain parts of the file
	}
	a.Certificate, a.Key = string(certificate), Plain(string(key))
	a.PFX, a.Password = Secret{}, Secret{}
	return Problem{}, false
}

// readCertificate returns the first certificate of a chain in PEM. Other content is an error.
func readCertificate(chain string) (*x509.Certificate, error) {
	var all []*x509.Certificate
	rest := []byte(chain)
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, errors.New("want certificates in PEM and nothing else; the key belongs in `key`")
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, errors.New("one of the certificates cannot be read")
		}
		all = append(all, certificate)
	}
	if len(all) == 0 || len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("want certificates in PEM and nothing else")
	}
	return slices.Clip(all)[0], nil
}
