// Package httpapi is an HTTP API for job collections and jobs, in the JSON of Azure Scheduler. A job defines when it runs and which request it sends.
//
//	api := httpapi.New(store, httpapi.Options{Authenticate: httpapi.Loopback()})
//	worker := chime.NewWorker(store, chime.WorkerOptions{})
//	api.Register(worker)
//	http.Handle("/", api)
//	err := chime.Run(ctx, scheduler, worker, api)
//
// A collection is a quota, a state and a set of names. Its job "report" is the schedule "collection:report" of the store. A task is a job of a queue that
// a client adds at once, without a schedule. GET / lists the routes, and /openapi.json describes them. Command chimed is this package with flags.
//
// Every request is authenticated, except requests for the document, see [Options]. The permission for a collection is checked before anything is
// read, so no caller learns which other collections exist. A change is answered after it is stored. If the answer is 503, it is unknown whether
// the change was stored: repeat it. PUT, PATCH and DELETE can be repeated unchanged, POST …/run and …/tasks with an
// Idempotency-Key.
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

// An API is an http.Handler and a chime.Role. Any number of processes may each have one on the same store.
type API struct {
	options Options
	bad     error // the mistakes of the options; nil: none
	mux     *http.ServeMux
	service backend
	sender  *action.Sender
	reads   *limiters
	writes  *limiters
	waiters *waiters

	strangers strangers
}

// New returns an API on a store. It does no I/O. Run returns the errors of invalid options; until they are corrected, every request gets 500.
func New(store chime.Store, options Options) *API {
	options = options.withDefaults()
	of, sending := service.New(options.service(store)), options.sender()
	sending.Owner = of.ShareOf
	a := &API{
		options: options,
		bad:     options.validate(store),
		service: of,
		sender:  action.NewSender(sending),
		reads:   newLimiters(options.Rates.Reads),
		writes:  newLimiters(options.Rates.Writes),
		waiters: newWaiters(),
	}
	a.mux = a.newMux()
	return a
}

// Register makes a worker send the requests of jobs: the worker handles action.JobName. Jobs go to the queues that [Options] names, so a worker
// needs at least one of these queues to send anything. Like Worker.Handle it panics if the worker runs, or has a handler of that name.
func (a *API) Register(worker *chime.Worker) { worker.Handle(action.JobName, a.sender.Handle) }

// Run finishes the enabling, disabling and deleting of collections, also after a crash of another process. It also sweeps: it repairs what crashes
// have left, and deletes jobs whose retention is over. One process is enough for that; more do no harm. It returns nil when ctx ends, and the
// errors of invalid options at once.
func (a *API) Run(ctx context.Context) error {
	if a.bad != nil {
		return a.bad
	}
	if err := a.service.Run(ctx); err != nil && !errors.Is(err, context.Cause(ctx)) {
		return fmt.Errorf("httpapi: %w", err)
	}
	return nil
}

// A Rekeyed is the result of [API.Rekey].
type Rekeyed = service.Rekeyed

// Rekey seals the secrets of all jobs with the first key of Options.Secrets, in version 2, see [action.Ring]. From then on all processes on the store seal
// version 2, which a release that does not know it cannot open: call Rekey when all processes have been replaced. Processes may work meanwhile.
//
// Runs that have begun, and tasks, keep their sealed secrets, so keep the old keys in the ring, and Options.Sealed at 1, until a call returns that no run waits
// with them. Rekey can be called again at any time.
func (a *API) Rekey(ctx context.Context) (Rekeyed, error) {
	if a.bad != nil {
		return Rekeyed{}, a.bad
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

// Server returns a server of the API that limits slow and large clients: it reads headers of at most 16 KiB within 5 s and a whole request within
// 15 s, writes an answer within 30 s, and closes a connection that has been idle for 2 min. The caller sets Addr and TLSConfig. Its Shutdown ends the
// requests that wait for tasks: they are answered at once, now and later.
func (a *API) Server() *http.Server {
	server := &http.Server{
		Handler: a, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(a.options.Logger.Handler(), slog.LevelWarn),
	}
	server.RegisterOnShutdown(a.waiters.close)
	return server
}
