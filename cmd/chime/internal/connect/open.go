package connect

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeseal"
	"github.com/chimejobs/chime/redisstore"
)

const (
	minTimeout = 100 * time.Millisecond
	maxTimeout = 10 * time.Minute
	local      = "redis://127.0.0.1:6379/0"
)

// A FlagError is a wrong flag, not a failed connection.
type FlagError struct{ text string }

func (e *FlagError) Error() string { return e.text }

func wrong(format string, values ...any) error {
	return &FlagError{fmt.Errorf(format, values...).Error()}
}

// A Connection is an open store.
type Connection struct {
	Store   chime.Store
	Bare    chime.Store     // without the codec
	Ring    *chimeseal.Ring // nil: none
	Client  redis.UniversalClient
	Address string // for people: billing @ redis:6379
	User    string // of the server; empty: the default user
}

// Close closes the client.
func (c *Connection) Close() error { return c.Client.Close() }

// Open creates a client from the flags and the environment. It sends nothing yet.
func (f *Flags) Open(env func(string) string) (*Connection, error) {
	options, err := f.options(env)
	if err != nil {
		return nil, err
	}
	var ring *chimeseal.Ring
	if f.Keys != "" {
		if ring, err = chimeseal.ReadFile(f.Keys); err != nil {
			return nil, wrong("--keys: %w", err)
		}
	}
	client := redis.NewUniversalClient(options)
	address := strings.Join(options.Addrs, ",")
	if f.Master != "" {
		address = f.Master + " by " + address
	}
	var store chime.Store = redisstore.New(client, redisstore.Options{Namespace: f.Namespace, Logger: slog.New(slog.DiscardHandler)})
	bare := store
	if ring != nil {
		store = chime.WithCodec(store, ring, chime.CodecOptions{})
	}
	return &Connection{Store: store, Bare: bare, Ring: ring, Client: client, Address: f.Namespace + " @ " + address, User: options.Username}, nil
}

func (f *Flags) options(env func(string) string) (*redis.UniversalOptions, error) {
	switch {
	case f.Cluster && f.Master != "":
		return nil, wrong("--cluster and --sentinel-master: want one of them")
	case (f.Master == "") != (len(f.Sentinels) == 0):
		return nil, wrong("--sentinel-master and --sentinel: want both or none")
	case f.Timeout < minTimeout || f.Timeout > maxTimeout:
		return nil, wrong("--timeout %s: want %s to %s", f.Timeout, minTimeout, maxTimeout)
	case (f.TLSCert == "") != (f.TLSKey == ""):
		return nil, wrong("--tls-cert and --tls-key: want both or none")
	}
	url, err := redis.ParseURL(cmp.Or(f.Redis, env("REDIS_URL"), local))
	if err != nil {
		from := "REDIS_URL" // with Sentinel the URL has only user and password
		if f.Redis != "" {
			from = "--redis"
		}
		return nil, wrong("%s: want redis://host:6379/0, rediss:// for TLS, or unix:///path", from) // the error may contain the password
	}
	options := &redis.UniversalOptions{
		Addrs: []string{url.Addr}, DB: url.DB, Username: url.Username, Password: url.Password, TLSConfig: url.TLSConfig, IsClusterMode: f.Cluster,
		DialTimeout: f.Timeout, ReadTimeout: f.Timeout, WriteTimeout: f.Timeout, ContextTimeoutEnabled: true, MaxRetries: 1,
	}
	if url.Network == "unix" && f.Master == "" {
		options.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: f.Timeout}).DialContext(ctx, "unix", url.Addr)
		}
	}
	if f.Master != "" {
		options.Addrs, options.MasterName = f.Sentinels, f.Master
	}
	options.Username = cmp.Or(f.User, options.Username)
	if f.PasswordFile != "" {
		text, err := os.ReadFile(f.PasswordFile)
		if err != nil {
			return nil, wrong("--password-file: %v", err)
		}
		options.Password = strings.TrimRight(string(text), "\r\n")
	}
	if options.TLSConfig != nil && (f.Master != "" || f.Cluster) {
		options.TLSConfig.ServerName = "" // go-redis then verifies each server by its own host name
	}
	if err := f.addTLS(options); err != nil {
		return nil, err
	}
	return options, nil
}

// addTLS adds the TLS flags to the TLS of the URL. Each of them switches TLS on.
func (f *Flags) addTLS(options *redis.UniversalOptions) error {
	if f.TLSCA == "" && f.TLSCert == "" && f.TLSServerName == "" {
		return nil
	}
	if options.TLSConfig == nil {
		options.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		if host, _, err := net.SplitHostPort(options.Addrs[0]); err == nil && f.Master == "" && !f.Cluster {
			options.TLSConfig.ServerName = host
		}
	}
	options.TLSConfig.ServerName = cmp.Or(f.TLSServerName, options.TLSConfig.ServerName)
	if f.TLSCA != "" {
		text, err := os.ReadFile(f.TLSCA)
		if err != nil {
			return wrong("--tls-ca: %v", err)
		}
		options.TLSConfig.RootCAs = x509.NewCertPool()
		if !options.TLSConfig.RootCAs.AppendCertsFromPEM(text) {
			return wrong("--tls-ca %s: has no certificate in PEM", f.TLSCA)
		}
	}
	if f.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(f.TLSCert, f.TLSKey)
		if err != nil {
			return wrong("--tls-cert, --tls-key: %v", err)
		}
		options.TLSConfig.Certificates = []tls.Certificate{pair}
	}
	return nil
}

// Unreachable reports whether the store does not answer, or is unsuitable.
func Unreachable(err error) bool {
	var network net.Error
	var dial *net.OpError
	return errors.Is(err, chime.ErrUnfit) || errors.Is(err, chime.ErrStoreFull) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &network) || errors.As(err, &dial) || errors.Is(err, redis.ErrClosed) || errors.Is(err, redis.ErrPoolTimeout)
}
