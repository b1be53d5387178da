//go:build real

package connect

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chimejobs/chime/internal/redistest"
)

// startSentinel starts a Sentinel that watches a server under the name of billing, and returns its address when it answers.
func startSentinel(t *testing.T, server *redistest.Server) string {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		if program, err = exec.LookPath("valkey-server"); err != nil {
			t.Fatal("redis-server is not installed: run ./test.sh, which prints what to install")
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	host, port, _ := net.SplitHostPort(server.Addr())
	folder := t.TempDir()
	config := filepath.Join(folder, "sentinel.conf")
	_, own, _ := net.SplitHostPort(address)
	text := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\nlogfile \"\"\nsentinel monitor billing %s %s 1\n", own, folder, host, port)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, config, "--sentinel")
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "+monitor master billing") {
			go func() {
				for lines.Scan() { // the log must be read, or the process blocks
				}
			}()
			return address
		}
	}
	t.Fatal("the sentinel has ended")
	return ""
}

func TestTheMasterOfSentinelsIsReached(t *testing.T) {
	server := redistest.Start(t, redistest.Options{Users: []string{"default on nopass ~* &* +@all", "operator on >right ~* &* +@all"}})
	sentinel := startSentinel(t, server)
	c := must(t, "redis://192.0.2.1:1", "--sentinel-master", "billing", "--sentinel", sentinel)
	if want := "chime @ billing by " + sentinel; c.Address != want {
		t.Errorf("the address is %q, want %q", c.Address, want)
	}
	must(t, "", "--sentinel-master", "billing", "--sentinel", sentinel, "--user", "operator", "--password-file", file(t, "password", "right"))
}
