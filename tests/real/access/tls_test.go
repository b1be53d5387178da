//go:build real

package access_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
	"github.com/redis/go-redis/v9"
)

// Server and client show a certificate of a private authority. A client without one, with one of another authority, or without TLS is refused.
func TestTLSIsChecked(t *testing.T) {
	server := redistest.Start(t, redistest.Options{TLS: true, TLSClients: true, Config: []string{`tls-protocols "TLSv1.2 TLSv1.3"`}})
	other := redistest.Start(t, redistest.Options{TLS: true, TLSClients: true})
	store := redisstore.New(server.Client(nil), redisstore.Options{})
	runOnce(t, store, store, store)

	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	for what, c := range map[string]struct {
		change func(*tls.Config)
		as     any
		text   string
	}{
		"another authority":                  {func(c *tls.Config) { c.RootCAs = other.TLSConfig().RootCAs }, &authority, ""},
		"another name":                       {func(c *tls.Config) { c.ServerName = "redis.example.com" }, &name, ""},
		"no certificate":                     {func(c *tls.Config) { c.Certificates = nil }, nil, ""},
		"a certificate of another authority": {func(c *tls.Config) { c.Certificates = other.TLSConfig().Certificates }, nil, ""},
		"a protocol before TLS 1.2":          {func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }, nil, "protocol version"},
	} {
		config := server.TLSConfig()
		c.change(config)
		err := redisstore.New(server.Client(&redis.Options{TLSConfig: config, MaxRetries: -1, DialerRetries: 1}), redisstore.Options{}).Protocol().Check(t.Context())
		if err == nil || c.as != nil && !errors.As(err, c.as) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want it refused", what, err)
		}
	}
	plain := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, DialerRetries: 1, DialTimeout: time.Second, ReadTimeout: time.Second})
	defer plain.Close()
	if err := redisstore.New(plain, redisstore.Options{}).Protocol().Check(t.Context()); err == nil {
		t.Error("a client without TLS was answered")
	}
}
