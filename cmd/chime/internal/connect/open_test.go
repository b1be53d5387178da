package connect

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// open opens a store by arguments, as the command does.
func open(t *testing.T, url string, args ...string) (*Connection, error) {
	t.Helper()
	env := func(name string) string { return map[string]string{"REDIS_URL": url}[name] }
	var f Flags
	flags := pflag.NewFlagSet("chime", pflag.ContinueOnError)
	f.Declare(flags, env)
	if err := flags.Parse(append([]string{"--timeout", "5s"}, args...)); err != nil {
		t.Fatal(err)
	}
	c, err := f.Open(env)
	if c != nil {
		t.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFlagsThatContradictEachOtherAreRefused(t *testing.T) {
	noPEM := file(t, "ca.pem", "nothing")
	for _, c := range []struct {
		url  string
		args []string
		want string
	}{
		{"", []string{"--cluster", "--sentinel-master", "m", "--sentinel", "s:1"}, "--cluster and --sentinel-master: want one of them"},
		{"", []string{"--sentinel-master", "m"}, "--sentinel-master and --sentinel: want both or none"},
		{"", []string{"--sentinel", "s:1"}, "--sentinel-master and --sentinel: want both or none"},
		{"", []string{"--tls-cert", noPEM}, "--tls-cert and --tls-key: want both or none"},
		{"", []string{"--tls-ca", noPEM}, "has no certificate in PEM"},
		{"", []string{"--tls-ca", noPEM + ".none"}, "--tls-ca: "},
		{"", []string{"--password-file", noPEM + ".none"}, "--password-file: "},
		{"", []string{"--timeout", "1ms"}, "--timeout 1ms: want 100ms to 10m0s"},
		{"", []string{"--redis", "http://anna:canary-7@host"}, "--redis: want redis://"},
		{"redis://anna:canary-7@host/one/two", nil, "REDIS_URL: want redis://"},
	} {
		_, err := open(t, c.url, c.args...)
		var flag *FlagError
		if !errors.As(err, &flag) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary-7") {
			t.Errorf("%q %q: got %v, want %q", c.url, c.args, err, c.want)
		}
	}
}

// A certificate is verified by the name of the server that is connected, not by the name in the URL.
func TestTheURLsHostIsNotTheNameOfAllServers(t *testing.T) {
	sentinels := Flags{Master: "billing", Sentinels: []string{"s1:26379"}}
	for _, c := range []struct {
		flags Flags
		url   string
		want  string
	}{
		{Flags{}, "rediss://redis:6379", "redis"},
		{Flags{Cluster: true}, "rediss://redis:6379", ""},
		{sentinels, "rediss://redis:6379", ""},
		{Flags{Cluster: true, TLSServerName: "other"}, "rediss://redis:6379", "other"},
		{Flags{Master: "billing", Sentinels: []string{"s1:26379"}, TLSServerName: "other"}, "rediss://redis:6379", "other"},
	} {
		c.flags.Timeout = time.Second
		options, err := c.flags.options(func(string) string { return c.url })
		if err != nil || options.TLSConfig == nil || options.TLSConfig.ServerName != c.want {
			t.Errorf("%+v: %v, %+v, want the name %q", c.flags, err, options, c.want)
		}
	}
}

// With Sentinel the URL has only user and password: a socket in it does not lead to a master.
func TestASocketIsNotWhereSentinelsAre(t *testing.T) {
	f := Flags{Master: "billing", Sentinels: []string{"s1:26379"}, Timeout: time.Second}
	options, err := f.options(func(string) string { return "unix:///run/redis.sock" })
	if err != nil || options.Dialer != nil {
		t.Errorf("%v: a dialer is left: %t", err, options != nil && options.Dialer != nil)
	}
}
