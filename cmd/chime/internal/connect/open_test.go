package connect

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/internal/rights"
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

// works writes to a store and reads from it.
func works(c *Connection, t *testing.T) error {
	ctx := t.Context()
	if _, err := chime.NewEnqueuer(c.Store, chime.EnqueuerOptions{SendTimeout: time.Second}).Enqueue(ctx, "report", nil, chime.ID("j1")); err != nil {
		return err
	}
	_, err := chime.NewJobs(c.Store).Get(ctx, "default", "j1")
	return err
}

// must opens a store that has to work.
func must(t *testing.T, url string, args ...string) *Connection {
	t.Helper()
	c, err := open(t, url, args...)
	if err == nil {
		err = works(c, t)
	}
	if err != nil {
		t.Fatalf("%s %q: %v", url, args, err)
	}
	return c
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAServerIsReached(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	c := must(t, "redis://"+server.Addr()+"/3", "--namespace", "billing")
	if want := "billing @ " + server.Addr(); c.Address != want {
		t.Errorf("the address is %q, want %q", c.Address, want)
	}
	other := must(t, "redis://192.0.2.1:1", "--redis", "redis://"+server.Addr()+"/3")
	if n := other.Client.Exists(t.Context(), "billing:queues", "chime:queues").Val(); n != 2 {
		t.Errorf("%d of the two namespaces are in database 3", n)
	}
}

func TestAUserIsNamedByAFlagAndItsPasswordByAFile(t *testing.T) {
	server := redistest.Start(t, redistest.Options{Users: []string{"default off", "operator on >right ~* &* +@all", "reader on >right ~* &* +@read +@connection +info +eval_ro +evalsha_ro"}})
	url := "redis://" + server.Addr()
	password := file(t, "password", "right\n")
	if c := must(t, url, "--user", "operator", "--password-file", password); c.User != "operator" {
		t.Errorf("the user is %q", c.User)
	}
	must(t, "redis://reader:wrong@"+server.Addr(), "--user", "operator", "--password-file", password)
	must(t, "redis://operator:right@"+server.Addr())

	for _, c := range []struct {
		what string
		url  string
		args []string
	}{
		{"no user", url, nil},
		{"a wrong password", "redis://operator:canary-7@" + server.Addr(), nil},
		{"a user with too few rights", url, []string{"--user", "reader", "--password-file", password}},
	} {
		connection, err := open(t, c.url, c.args...)
		if err == nil {
			_, err = chime.NewQueues(connection.Store).List(t.Context())
			if err == nil {
				err = chime.NewQueues(connection.Store).Pause(t.Context(), "default")
			}
		}
		if !rights.Missing(err) || Unreachable(err) {
			t.Errorf("%s: got %v, want that it is denied", c.what, err)
		}
		if err != nil && strings.Contains(err.Error(), "canary-7") {
			t.Errorf("%s: the error has the password: %v", c.what, err)
		}
	}
}

func TestTLSIsCheckedAndAClientHasItsCertificate(t *testing.T) {
	server := redistest.Start(t, redistest.Options{TLS: true, TLSClients: true})
	ca := filepath.Join(server.Dir(), "ca.pem")
	pair := server.TLSConfig().Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert := file(t, "client.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})))
	key := file(t, "client.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	must(t, "rediss://"+server.Addr(), "--tls-ca", ca, "--tls-cert", cert, "--tls-key", key)
	must(t, "redis://"+server.Addr(), "--tls-ca", ca, "--tls-cert", cert, "--tls-key", key) // the flags ask for TLS
	_, port, _ := strings.Cut(server.Addr(), ":")
	must(t, "rediss://localhost:"+port, "--tls-ca", ca, "--tls-cert", cert, "--tls-key", key, "--tls-server-name", "127.0.0.1")

	for what, args := range map[string][]string{
		"an authority that is not known": {"--tls-cert", cert, "--tls-key", key},
		"no certificate of its own":      {"--tls-ca", ca},
		"another name":                   {"--tls-ca", ca, "--tls-cert", cert, "--tls-key", key, "--tls-server-name", "redis.example"},
	} {
		c, err := open(t, "rediss://"+server.Addr(), args...)
		if err == nil {
			_, err = chime.NewQueues(c.Store).List(t.Context())
		}
		if err == nil {
			t.Errorf("%s: it was accepted", what)
		}
	}
}

func TestAClusterIsReachedByOneOfItsNodes(t *testing.T) {
	cluster := redistest.StartCluster(t, 3, redistest.Options{})
	must(t, "redis://"+cluster.Nodes[1].Addr(), "--cluster")
}

func TestASocketIsReached(t *testing.T) {
	folder, err := os.MkdirTemp("", "chime") // short: a socket's path has 107 bytes at most
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	socket := filepath.Join(folder, "redis.sock")
	redistest.Start(t, redistest.Options{Config: []string{"unixsocket " + socket}})
	must(t, "unix://"+socket)
}

func TestWhereNobodyListensTheStoreIsUnreachable(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	server.Kill()
	for _, args := range [][]string{nil, {"--cluster"}} {
		c, err := open(t, "redis://anna:canary-7@"+server.Addr(), args...)
		if err != nil {
			t.Fatal(err)
		}
		_, err = chime.NewQueues(c.Store).List(t.Context())
		if !Unreachable(err) || rights.Missing(err) {
			t.Errorf("%q: got %v, want that it cannot be reached", args, err)
		}
		if err != nil && strings.Contains(err.Error(), "canary-7") {
			t.Errorf("the error has the password: %v", err)
		}
	}
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

// The name that a certificate is checked against is that of each server which is reached, not that of the one in the URL.
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

// With Sentinel the URL has user and password only: a socket in it is not where masters are.
func TestASocketIsNotWhereSentinelsAre(t *testing.T) {
	f := Flags{Master: "billing", Sentinels: []string{"s1:26379"}, Timeout: time.Second}
	options, err := f.options(func(string) string { return "unix:///run/redis.sock" })
	if err != nil || options.Dialer != nil {
		t.Errorf("%v: a dialer is left: %t", err, options != nil && options.Dialer != nil)
	}
}
