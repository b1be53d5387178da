// Tenants is an HTTP service in which each tenant has its own schedules, written in the JSON of Azure Scheduler. It stores them in a
// Redis in the process, which loses its data at exit; with redisstore.New instead it is a service for production.
//
//	go run ./examples/tenants
//	go run ./examples/tenants -flood   # one tenant floods the queue of messages, with and without groups
//
// api.go has its requests, view.go its answers, problem.go its errors. messages.go has the queue that the tenants share, each as a group.
// testdata/output.txt has the output of -flood.
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

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

func main() {
	addr := flag.String("addr", "localhost:8080", "address to listen on")
	flooding := flag.Bool("flood", false, "show how groups keep one tenant from delaying the others, and exit")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if *flooding {
		err = flood(ctx, os.Stdout)
	} else {
		var listener net.Listener
		if listener, err = net.Listen("tcp", *addr); err == nil {
			err = run(ctx, listener, os.Stdout)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tenants:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. Then open requests and the notices in progress are finished.
func run(ctx context.Context, listener net.Listener, out io.Writer) error {
	server, err := embedded.Start()
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	errorsOnly := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	scheduler := chime.NewScheduler(server.Store(), chime.SchedulerOptions{Logger: errorsOnly})
	fmt.Fprintf(out, usage, listener.Addr())
	return chime.Run(ctx, scheduler, newWorker(server.Store(), errorsOnly, out), &web{listener, newAPI(server.Store())})
}

const usage = `Listening on http://%[1]s. Try:

  curl -i -X PUT http://%[1]s/tenants/acme/schedules/report -d '{
    "startTime": "2026-03-08T09:00Z", "action": {"message": "the report is due"},
    "recurrence": {"frequency": "week", "schedule": {"weekDays": ["monday", "friday"], "hours": [9, 17]}}}'
  curl    http://%[1]s/tenants/acme/schedules
  curl    'http://%[1]s/tenants/acme/schedules/report/upcoming?n=3'
  curl -X POST http://%[1]s/tenants/acme/schedules/report/run
  curl    http://%[1]s/tenants/acme/schedules/report/runs
  curl -X POST http://%[1]s/tenants/acme/messages -d '{"text": "hello", "to": ["anna", "ben"]}'

`

// An action is the work of a schedule: it sends a notice. Another service would call a URL here, or put a message on a queue.
type action struct {
	Message string `json:"message"`
}

var notice = chime.Define[action]("notice", chime.MaxAttempts(3), chime.Timeout(time.Minute))

// newWorker returns the worker that sends the notices and the messages of all tenants. The header of a notice contains its tenant.
func newWorker(store chime.Store, log *slog.Logger, out io.Writer) *chime.Worker {
	worker := chime.NewWorker(store, chime.WorkerOptions{Logger: log, Queues: map[string]int{"default": 1, messages: 1}})
	handleMessages(worker, out)
	notice.Handle(worker, func(_ context.Context, job *chime.Job, args action) error {
		fmt.Fprintf(out, "%s: %s\n", job.Header["tenant"], args.Message)
		job.Note("sent to " + job.Header["tenant"])
		return nil
	})
	return worker
}

// A web is the HTTP server as a role, so that chime.Run starts and stops it with the others.
type web struct {
	listener net.Listener
	handler  http.Handler
}

// Run serves until ctx ends and open requests are answered, for at most ten seconds.
func (w *web) Run(ctx context.Context) error {
	server := &http.Server{Handler: w.handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second}
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
