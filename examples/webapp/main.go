// Webapp is a small web application with everything of chime that a program can mount: the dashboard, the HTTP API, metrics, health and traces.
// Its schedules succeed, fail, are late, are retried, or are paused, so every page has something to show within ten seconds.
//
//	go run ./examples/webapp                 # with a Redis inside the process, which loses its data at exit
//	REDIS_URL=redis://localhost:6379/0 go run ./examples/webapp
//	go run ./examples/webapp -traces         # prints each span that has ended
//
// work.go has the jobs, schedule.go the schedules, mount.go the HTTP handlers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // time zones, even on a system without them

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/redisstore/embedded"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8000", "address to listen on; the dashboard and the API serve this machine only")
	traces := flag.Bool("traces", false, "print spans")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", *addr)
	if err == nil {
		err = run(ctx, listener, os.Stdout, *traces)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "webapp:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. Then open requests and running jobs are finished.
func run(ctx context.Context, listener net.Listener, out io.Writer, traces bool) error {
	store, where, closeStore, err := open()
	if err != nil {
		return err
	}
	defer func() { _ = closeStore() }()
	app, err := newApp(store, listener.Addr().String(), out, traces)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "http://%s/ has links to everything; the store is %s. Control-C ends it.\n", listener.Addr(), where)
	err = chime.Run(ctx, append(app.roles, &web{listener, app})...)
	if cut := (*chime.DrainTimeoutError)(nil); errors.As(err, &cut) {
		return nil // a thumbnail takes a minute; it was put back, and begins again at the next start
	}
	return err
}

// open returns a store on the Redis of REDIS_URL. If that is not set, it starts a Redis inside the process.
func open() (store chime.Store, where string, closeStore func() error, err error) {
	errorsOnly := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	if url := os.Getenv("REDIS_URL"); url != "" {
		options, err := redis.ParseURL(url)
		if err != nil { // without the error itself, which may contain a password
			return nil, "", nil, errors.New("REDIS_URL must be written like redis://localhost:6379/0")
		}
		client := redis.NewClient(options)
		return redisstore.New(client, redisstore.Options{Namespace: "chime-webapp", Logger: errorsOnly}), options.Addr + ", keys chime-webapp:*", client.Close, nil
	}
	server, err := embedded.Start()
	if err != nil {
		return nil, "", nil, err
	}
	return server.Store(), "in this process", server.Close, nil
}

// A web is the HTTP server as a role, so that chime.Run starts and stops it with the others.
type web struct {
	listener net.Listener
	app      *app
}

// Run serves until ctx ends and open requests are answered, for at most ten seconds. Open pages of the dashboard are closed.
func (w *web) Run(ctx context.Context) error {
	server := &http.Server{Handler: w.app.mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: 15 * time.Second}
	server.RegisterOnShutdown(w.app.pages.Close)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(w.listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		return err
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
