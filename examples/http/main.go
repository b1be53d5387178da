// Http starts chimed, with everything in its memory, and shows jobs over HTTP: a collection, a weekly job, a manual run, a receiver that fails
// twice, a dead job with its error action, and their history. Each answer comes after the curl line that gets it; you can paste the line
// into another terminal while the program runs. The program takes half a minute, because the retries wait that long.
//
//	go run .          runs all steps and ends
//	go run . -stay    keeps chimed and the receiver until Control-C
package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	stay := flag.Bool("stay", false, "keep the server until Control-C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *stay); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, stay bool) error {
	receiver, err := startReceiver()
	if err != nil {
		return err
	}
	defer receiver.close()
	server, err := startChimed(ctx, receiver.address())
	if err != nil {
		return err
	}
	defer server.stop()
	fmt.Fprintf(out, "chimed serves on %s, and may call %s, the receiver of this program. Every request has its token:\n\n  export TOKEN=%s\n", server.address, receiver.address(), server.token)

	if err := (&tour{out: out, server: server.address, token: server.token, receiver: receiver.address()}).walk(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nWhat the receiver got:\n\n%s", receiver.log())
	if stay {
		fmt.Fprintf(out, "\nBoth run until Control-C. All routes: curl http://%s/openapi.yaml\n", server.address)
		<-ctx.Done()
	}
	return nil
}

// A chimed is a process of the command chimed.
type chimed struct {
	address string
	token   string // for this machine, until the process ends
	command *exec.Cmd
	folder  string // the folder of the program
}

// startChimed builds chimed, starts it on a free port of this machine, and waits until it is ready. It may call one address.
func startChimed(ctx context.Context, mayCall string) (*chimed, error) {
	folder, err := os.MkdirTemp("", "chimed")
	if err != nil {
		return nil, err
	}
	c := &chimed{folder: folder, token: newToken()}
	program := filepath.Join(folder, "chimed")
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/chimejobs/chime/httpapi/cmd/chimed").CombinedOutput(); err != nil {
		c.stop()
		return nil, fmt.Errorf("build chimed: %w: %s", err, text)
	}
	if c.address, err = freeAddress(); err != nil {
		c.stop()
		return nil, err
	}
	c.command = exec.Command(program, "-listen", c.address, "-allow-net", mayCall)
	c.command.Env = append(os.Environ(), "CHIMED_LOCAL_TOKEN="+c.token) // without it chimed makes one, and shows it on its terminal
	if err := c.command.Start(); err != nil {
		c.command = nil
		c.stop()
		return nil, err
	}
	if err := c.awaitReady(ctx); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// newToken returns a token in the form that chimed demands: 32 random bytes.
func newToken() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	return "chm_" + base64.RawURLEncoding.EncodeToString(secret)
}

// freeAddress is an unused address of this machine.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

func (c *chimed) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		answer, err := send(ctx, "GET", "http://"+c.address+"/readyz", "", c.token)
		if err == nil && answer.status == 200 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("chimed is not ready: %w", ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stop lets chimed finish its work, and removes the program.
func (c *chimed) stop() {
	if c.command != nil {
		_ = c.command.Process.Signal(syscall.SIGTERM)
		_ = c.command.Wait()
	}
	_ = os.RemoveAll(c.folder)
}
