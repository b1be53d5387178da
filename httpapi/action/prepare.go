package action

import (
	"bytes"
	"context"
	"crypto/sha1" // #nosec: what Azure calls a thumbprint
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

// An OpenPFX makes PEM of PKCS #12: the chain, the client's certificate first, and the private key. How long that takes is up to who made
// the file, and nothing bounds it: where files come from strangers it belongs in a process that can be killed. Package pfx has one without that.
type OpenPFX func(ctx context.Context, file []byte, password string) (certificate, key []byte, err error)

const maxPFX = 32 << 10 // bytes

// Prepare brings an action from a client into the form that is stored: methods in upper case, defaults that depend on other fields, headers that are
// secrets by their name among the secret ones, a PFX opened. It returns what is wrong with certificates; the rest is found by Validate.
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

// prepare makes PEM of a PFX, and says in the other fields what the certificate says.
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
		return nil // Keep may find one
	}
	leaf, err := readCertificate(a.Certificate)
	if err != nil {
		return []Problem{{"pfx", path + ".certificate", "", err.Error()}}
	}
	sum := sha1.Sum(leaf.Raw) // #nosec: it identifies, and protects nothing
	a.Thumbprint, a.Subject, a.Expires = strings.ToUpper(hex.EncodeToString(sum[:])), leaf.Subject.String(), leaf.NotAfter.UTC().Format(time.RFC3339)
	if a.Key.plain() {
		if _, err := tls.X509KeyPair([]byte(a.Certificate), []byte(a.Key.text)); err != nil {
			return []Problem{{"pfx", path + ".key", shownSecret, "want the private key of the certificate, in PEM and not encrypted"}}
		}
	}
	return nil
}

const makePEM = "openssl pkcs12 -in client.pfx -nodes -out client.pem makes PEM of it, for `certificate` and `key`"

func (a *Authentication) openPFX(ctx context.Context, path string, open OpenPFX) (problem Problem, bad bool) {
	wrong := func(detail string) (Problem, bool) { return Problem{"pfx", path + ".pfx", shownSecret, detail}, true }
	if open == nil {
		return wrong("PKCS #12 is not read here; " + makePEM)
	}
	if a.Certificate != "" || !a.Key.IsZero() && !a.Key.sealed {
		return Problem{"conflict", path + ".pfx", shownSecret, "give either a pfx, or certificate and key"}, true
	}
	file, err := base64.StdEncoding.DecodeString(a.PFX.text)
	if err != nil || len(file) > maxPFX {
		return wrong("want base64 of at most 32 KiB of PKCS #12")
	}
	certificate, key, err := open(ctx, file, a.Password.text)
	if err != nil {
		return wrong("it is no PKCS #12 that this password opens within the time; " + makePEM) // err may have been made of what is in it
	}
	a.Certificate, a.Key = string(certificate), Plain(string(key))
	a.PFX, a.Password = Secret{}, Secret{}
	return Problem{}, false
}

// readCertificate returns the first certificate of a chain in PEM, which has nothing else.
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
