package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/internal/login"
)

// credentials are read from files, and again on SIGHUP: the tokens with their permissions, and the certificate. A wrong file changes
// nothing. Without a file of tokens there is one local token.
type credentials struct {
	tokens, cert, key string // files; empty: none
	local             *login.Local

	who         atomic.Pointer[httpapi.Authenticator]
	quotas      atomic.Pointer[func(owner string) httpapi.Quota]
	certificate atomic.Pointer[tls.Certificate]
}

func newCredentials(s *settings) (*credentials, error) {
	c := &credentials{tokens: s.tokens, cert: s.tlsCert, key: s.tlsKey, local: s.local}
	c.useLocal()
	return c, c.load()
}

// load reads all files. Each correct file takes effect; the error lists all wrong ones.
func (c *credentials) load() error {
	var bad []error
	if c.tokens != "" {
		text, err := readSecretFile(c.tokens)
		var who httpapi.Authenticator
		var quotas func(string) httpapi.Quota
		if err == nil {
			who, err = httpapi.Tokens(string(text))
		}
		if err == nil {
			quotas, err = httpapi.TokenQuotas(string(text))
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("-tokens: %w", err))
		} else {
			c.who.Store(&who)
			c.quotas.Store(&quotas)
		}
	}
	if c.cert != "" {
		certificate, err := loadCertificate(c.cert, c.key)
		if err != nil {
			bad = append(bad, err)
		} else {
			c.certificate.Store(certificate)
		}
	}
	return errors.Join(bad...)
}

func loadCertificate(certFile, keyFile string) (*tls.Certificate, error) {
	chain, err := os.ReadFile(certFile)
	if err != nil {
		return nil, fmt.Errorf("-tls-cert and -tls-key: %w", err)
	}
	key, err := readSecretFile(keyFile)
	if err != nil {
		return nil, fmt.Errorf("-tls-key: %w", err)
	}
	certificate, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, fmt.Errorf("-tls-cert and -tls-key: %w", err)
	}
	return &certificate, nil
}

// authenticate is the authenticator of the tokens that were read last.
func (c *credentials) authenticate(r *http.Request) (httpapi.Principal, error) {
	if c.local != nil {
		return c.authenticateLocal(r)
	}
	return (*c.who.Load())(r)
}

// quota is the quota of an owner of collections, by the tokens that were read last. Without tokens there is one user, who needs none.
func (c *credentials) quota(owner string) httpapi.Quota {
	if quotas := c.quotas.Load(); quotas != nil {
		return (*quotas)(owner)
	}
	return httpapi.Quota{Collections: -1, UnfinishedBytes: -1, Alone: true}
}

// tls is a server's configuration with the certificate that was read last; nil: none.
func (c *credentials) tls() *tls.Config {
	if c.cert == "" {
		return nil
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.certificate.Load(), nil },
	}
}
