//go:build real

package connect

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/internal/rights"
)

// works writes to a store and reads from it.
func works(c *Connection, t *testing.T) error {
	ctx := t.Context()
	if _, err := chime.NewEnqueuer(c.Store, chime.EnqueuerOptions{}).Enqueue(ctx, "report", nil, chime.ID("j1")); err != nil {
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
