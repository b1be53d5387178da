//go:build real

package startup_test

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
)

// A master with a replica may be replaced while it is cut off. A role that starts on it logs a warning, once for each store, unless the master
// refuses writes without replicas.
func TestAWarningIsLoggedForAMasterThatWritesWithoutItsReplicas(t *testing.T) {
	for _, c := range []struct {
		what     string
		replicas bool
		min      string
		want     int
	}{
		{"no replica", false, "0", 0},
		{"a replica", true, "0", 1},
		{"a required replica", true, "1", 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			master := redistest.Start(t, redistest.Options{Config: []string{"repl-diskless-sync-delay 0", "min-replicas-to-write " + c.min}})
			client := master.Client(nil)
			if c.replicas {
				host, port, err := net.SplitHostPort(master.Addr())
				if err != nil {
					t.Fatal(err)
				}
				redistest.Start(t, redistest.Options{Config: []string{"replicaof " + host + " " + port}})
				for deadline := time.After(20 * time.Second); client.InfoMap(t.Context(), "replication").Item("Replication", "connected_slaves") != "1"; {
					select {
					case <-deadline:
						t.Fatal("the replica is not connected after 20 s")
					case <-time.After(20 * time.Millisecond):
					}
				}
			}
			var log bytes.Buffer
			store := redisstore.New(client, redisstore.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}).Protocol()
			for range 2 {
				if err := store.Check(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if n := strings.Count(log.String(), "min-replicas-to-write"); n != c.want {
				t.Errorf("%d warnings, want %d: %s", n, c.want, log.String())
			}
		})
	}
}
