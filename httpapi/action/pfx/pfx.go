// Package pfx opens PKCS #12 files in the calling process. The creator of a file decides how long that takes, up to hours, and nothing can stop it,
// not even a ctx: open files from strangers in a process that can be killed.
package pfx

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"software.sslmate.com/src/go-pkcs12"
)

// Open returns the certificates of a file, the certificate of the private key first, and the key, both in PEM. It is an action.OpenPFX. Its errors contain
// no part of the key or the password.
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
