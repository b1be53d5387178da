// Http starts chimed, with everything in its memory, and goes through jobs over HTTP: a collection, a weekly job, a run by hand, a receiver that fails
// twice, a job that is given up with its error action, and their history. Before each answer stands the curl line that gets it, to be pasted
// into another terminal while the program runs. It takes half a minute, for that long the waits between attempts are.
//
//	go run .          goes through all of it, and ends
//	go run . -stay    keeps chimed and the receiver until Control-C
package main

import (
	"context"
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
	stay := flag.Bool("stay", false, "keep the server at the end, until Control-C")
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
	fmt.Fprintf(out, "chimed serves on %s, and may call %s, where a receiver of this program listens.\n", server.address, receiver.address())

	if err := (&tour{out: out, server: server.address, receiver: receiver.address()}).walk(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nWhat the receiver got:\n\n%s", receiver.log())
	if stay {
		fmt.Fprintf(out, "\nBoth go on until Control-C. All routes: curl http://%s/\n", server.address)
		<-ctx.Done()
	}
	return nil
}

// A chimed is a process of the command chimed.
type chimed struct {
	address string
	command *exec.Cmd
	folder  string // where the program is
}

// startChimed builds chimed, starts it on a free port of this machine, and waits until it is ready. It may call one address.
func startChimed(ctx context.Context, mayCall string) (*chimed, error) {
	folder, err := os.MkdirTemp("", "chimed")
	if err != nil {
		return nil, err
	}
	c := &chimed{folder: folder}
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

// freeAddress is one of this machine on which nobody listens.
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
		answer, err := send(ctx, "GET", "http://"+c.address+"/readyz", "")
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

// stop lets chimed end what it does, and removes the program.
func (c *chimed) stop() {
	if c.command != nil {
		_ = c.command.Process.Signal(syscall.SIGTERM)
		_ = c.command.Wait()
	}
	_ = os.RemoveAll(c.folder)
}
