// Package httpapi is an HTTP API for job collections and jobs, in the JSON of Azure Scheduler: what runs when, and which request is sent then.
//
//	api := httpapi.New(store, httpapi.Options{Authenticate: httpapi.Loopback()})
//	worker := chime.NewWorker(store, chime.WorkerOptions{})
//	api.Register(worker)
//	http.Handle("/", api)
//	err := chime.Run(ctx, scheduler, worker, api)
//
// A collection is a quota, a state and a set of names; its job "report" is the schedule "collection:report" of the store. GET / lists the routes, and
// /openapi.json describes them. Command chimed is this package with flags.
//
// Every request but those for the document is authenticated, see [Options]. What a principal may do with a collection is asked before anything is
// looked up, so nobody learns which collections there are besides his own. A change is answered after it is stored. One that was answered
// with 503 may be stored or not: repeat it, which PUT, PATCH and DELETE allow as they are, POST …/run with an Idempotency-Key.
package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/service"
)

// An API is an http.Handler, and a chime.Role. Any number of processes may have one on the same store.
type API struct {
	options Options
	bad     error // what is wrong with the options; nil: nothing
	mux     *http.ServeMux
	service backend
	sender  *action.Sender
	reads   *limiters
	writes  *limiters
}

// New makes an API of a store. It does no I/O. Bad options come back from Run, and until they are mended every request gets 500.
func New(store chime.Store, options Options) *API {
	options = options.withDefaults()
	a := &API{
		options: options,
		bad:     options.validate(store),
		service: service.New(options.service(store)),
		sender:  action.NewSender(options.sender()),
		reads:   newLimiters(options.Rates.Reads),
		writes:  newLimiters(options.Rates.Writes),
	}
	a.mux = a.newMux()
	return a
}

// Register makes a worker send what jobs are to send: it handles action.JobName. Jobs go to the queues that [Options] names, so a worker that takes
// from none of these has nothing to send. Like Worker.Handle it panics if the worker runs, or has a handler of that name.
func (a *API) Register(worker *chime.Worker) { worker.Handle(action.JobName, a.sender.Handle) }

// Run finishes what enabling, disabling and deleting collections began, after a crash of another process too, and sweeps: it mends what crashes have
// left, and deletes jobs whose retention is over. One process of many is enough for that; more do no harm. It returns nil when ctx
// ends, and the errors of bad options at once.
func (a *API) Run(ctx context.Context) error {
	if a.bad != nil {
		return a.bad
	}
	if err := a.service.Run(ctx); err != nil && !errors.Is(err, context.Cause(ctx)) {
		return fmt.Errorf("httpapi: %w", err)
	}
	return nil
}

// Rekey seals the secrets of all jobs with the first key of Options.Secrets, and returns how many jobs it has changed. After an error it may be
// repeated. Jobs that wait for a retry keep what they have, so old keys stay in the ring until those are through.
func (a *API) Rekey(ctx context.Context) (changed int, err error) {
	if a.bad != nil {
		return 0, a.bad
	}
	return a.service.Rekey(ctx)
}

// The defaults of Server.
const (
	headerTimeout  = 5 * time.Second
	readTimeout    = 15 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 16 << 10
)

// Server returns a server of the API that slow and large clients do not hold up: it reads headers of at most 16 KiB within 5 s and a whole request within
// 15 s, writes an answer within 30 s, and closes a connection that has been idle for 2 min. Its Addr and TLSConfig are the caller's.
func (a *API) Server() *http.Server {
	return &http.Server{
		Handler: a, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(a.options.Logger.Handler(), slog.LevelWarn),
	}
}
