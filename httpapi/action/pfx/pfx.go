// Package pfx opens PKCS #12 files inside the process that calls it. Their maker chooses how long that takes, up to hours, and neither a ctx
// nor anything else ends it: open files of strangers in a process that can be killed.
package pfx

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"software.sslmate.com/src/go-pkcs12"
)

// Open returns the certificates of a file, the one of the private key first, and the key, both in PEM. It is an action.OpenPFX. No error has part of
// the key or the password.
func Open(_ context.Context, file []byte, password string) (certificate, key []byte, err error) {
	private, leaf, chain, err := pkcs12.DecodeChain(file, password)
	if err != nil {
		return nil, nil, fmt.Errorf("pfx: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("pfx: a private key of type %T", private)
	}
	var certificates bytes.Buffer
	for _, c := range append([]*x509.Certificate{leaf}, chain...) {
		if err := pem.Encode(&certificates, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}); err != nil {
			return nil, nil, fmt.Errorf("pfx: %w", err)
		}
	}
	return certificates.Bytes(), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
