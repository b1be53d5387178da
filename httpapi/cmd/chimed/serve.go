package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeprom"
	"github.com/chimejobs/chime/health"
	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/internal/login"
	"github.com/chimejobs/chime/redisstore"
)

// httpDrain is the time for open requests when the process ends.
const httpDrain = 10 * time.Second

// serve runs until a signal ends it, in this order: it is no longer ready; open requests are answered and no new ones accepted; running jobs are finished by
// chime.Run. A second signal ends it at once.
func (p process) serve(ctx context.Context) error {
	s, err := p.serveSettings()
	if err != nil {
		return err
	}
	log := s.logger(p)
	slog.SetDefault(log)
	redis.SetLogger(redisstore.ClientLogger(log))
	known, err := newCredentials(s)
	if err != nil {
		return usageError{err}
	}
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return fmt.Errorf("-listen: %w", err)
	}
	defer listener.Close()
	store, closeStore, err := s.open(log)
	if err != nil {
		return err
	}
	defer closeStore() // its error could only be that it is already closed
	server, err := newServer(s, known, store, listener, log)
	if err != nil {
		return err
	}
	token, err := server.announceLocal(p)
	if err != nil {
		return err
	}
	defer token.Remove()
	return server.run(ctx, p)
}

// A server is the HTTP side and the roles of one process.
type server struct {
	settings *settings
	known    *credentials
	listener net.Listener
	log      *slog.Logger
	http     *http.Server
	health   *health.Health
	roles    []chime.Role
	export   string // the line for a shell that sets TOKEN; empty: there is a file of tokens
}

func newServer(s *settings, known *credentials, store chime.Store, listener net.Listener, log *slog.Logger) (*server, error) {
	options := httpapi.Options{
		Authenticate: known.authenticate, Secrets: s.ring, Sealed: s.sealed, Egress: s.egress, Queues: s.names, PublicURL: s.publicURL, Logger: log,
		Slots: s.slots(), Quota: known.quota,
	}
	if program, err := thisProgram(); err == nil {
		options.OpenPFX = newPFXOpener(program, pfxTimeout)
	}
	api := httpapi.New(store, options)
	made := &server{settings: s, known: known, listener: listener, log: log, http: api.Server()}
	handler := http.Handler(http.NotFoundHandler())
	var looped []health.Role
	metrics := chimeprom.New(chimeprom.Options{})
	if s.hasRole(roleScheduler) {
		scheduler := chime.NewScheduler(store, chime.SchedulerOptions{Logger: log, Observers: []*chime.Observer{metrics.Observer()}})
		made.roles, looped = append(made.roles, scheduler), append(looped, scheduler)
	}
	if s.hasRole(roleWorker) {
		for _, worker := range newWorkers(s, store, metrics.Observer(), log) {
			api.Register(worker)
			made.roles, looped = append(made.roles, worker), append(looped, worker)
		}
	}
	if s.hasRole(roleAPI) {
		made.roles = append(made.roles, api)
		handler = api
	}
	if s.hasRole(roleDashboard) {
		pages, guarded := newDashboard(s, known, store, api, log)
		made.http.RegisterOnShutdown(pages.Close)
		handler = withDashboard(guarded, handler)
	}
	metrics.Know(made.roles...)
	handler = withMetrics(known, metricsPage(store, metrics), handler)
	var err error
	if made.health, err = health.New(health.Options{Store: store, Roles: looped}); err != nil {
		return nil, err
	}
	made.http.Handler = withHealth(made.health, handler)
	made.http.TLSConfig = known.tls()
	made.http.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug) // errors in requests from strangers
	return made, nil
}

// newWorkers returns a worker for the queues that share slots, and one for each queue that has its own.
func newWorkers(s *settings, store chime.Store, observer *chime.Observer, log *slog.Logger) []*chime.Worker {
	var workers []*chime.Worker
	add := func(queues map[string]int, concurrency int) {
		workers = append(workers, chime.NewWorker(store, chime.WorkerOptions{
			Queues: queues, Concurrency: concurrency, Logger: log, Observers: []*chime.Observer{observer},
		}))
	}
	if len(s.weights) > 0 {
		add(s.weights, s.concurrency)
	}
	for _, name := range s.names {
		if n, own := s.own[name]; own {
			add(map[string]int{name: 1}, n)
		}
	}
	return workers
}

// url is the URL of the server for programs of this machine.
func (s *server) url() string {
	scheme := "http"
	if s.settings.tlsCert != "" {
		scheme = "https"
	}
	host, port, _ := net.SplitHostPort(s.listener.Addr().String())
	if at := net.ParseIP(host); at != nil && at.IsUnspecified() {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

func (s *server) run(ctx context.Context, p process) error {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	roles, served := make(chan error, 1), make(chan error, 1)
	go func() { roles <- chime.Run(working, s.roles...) }()
	go func() { served <- s.serve() }()
	s.log.Info("chimed: serves", "event", "server.started", "url", s.url(), "roles", s.settings.has, "version", version())
	if s.settings.log == "text" {
		fmt.Fprint(p.out, s.banner())
	}
	for {
		select {
		case got := <-signals:
			if got == syscall.SIGHUP {
				s.reload()
				continue
			}
			signal.Reset(syscall.SIGTERM, syscall.SIGINT)
			s.log.Info("chimed: stops: it answers open requests, then finishes running jobs", "event", "server.stopping", "signal", got.String())
		case <-ctx.Done():
		case err := <-roles: // too early: the error has the reason
			s.stop()
			return cmp.Or(err, errors.New("the roles have ended"))
		case err := <-served:
			stop()
			return errors.Join(err, drained(<-roles, s.log))
		}
		s.stop()
		stop()
		return drained(<-roles, s.log)
	}
}

func (s *server) serve() error {
	err := error(nil)
	if s.settings.tlsCert != "" {
		err = s.http.ServeTLS(s.listener, "", "")
	} else {
		err = s.http.Serve(s.listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (s *server) reload() {
	if err := s.known.load(); err != nil {
		s.log.Error("chimed: could not read a file again and keeps its previous content", "event", "server.reload_failed", "error", err)
		return
	}
	s.log.Info("chimed: has read tokens and certificate again", "event", "server.reloaded")
}

// stop answers open requests, and cuts off requests that take longer than httpDrain.
func (s *server) stop() {
	s.health.Drain()
	ctx, cancel := context.WithTimeout(context.Background(), httpDrain)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		s.log.Warn("chimed: cuts off requests", "event", "server.cut_off", "error", err)
		s.http.Close()
	}
}

// drained is the error of roles that were stopped. Jobs that were cut off are put back in their queue, so that is not an error.
func drained(err error, log *slog.Logger) error {
	var cut *chime.DrainTimeoutError
	if errors.As(err, &cut) {
		log.Warn("chimed: has put back jobs that did not end in time", "event", "server.handed_back", "error", err)
		return nil
	}
	return err
}

// banner shows the reader of the terminal the next commands.
func (s *server) banner() string {
	var b strings.Builder
	where := "on Redis"
	if s.settings.client == nil {
		where = "in memory: it forgets everything at exit"
	}
	fmt.Fprintf(&b, "chimed %s on %s, %s\n", version(), s.url(), where)
	if s.export != "" {
		fmt.Fprintf(&b, "\nThe token for this machine, until chimed ends. Paste this line into the terminal of your requests:\n  %s\n", s.export)
	}
	if s.settings.hasRole(roleDashboard) {
		fmt.Fprintf(&b, "\nThe dashboard: %s%s/\n", s.url(), dashboardPrefix)
		if s.export != "" {
			fmt.Fprintf(&b, "Its login: the name is %s, the password is the token\n", login.LocalUser)
		}
	}
	if !s.settings.hasRole(roleAPI) {
		fmt.Fprintf(&b, "Its roles are %s. To see its health:\n  curl %s/readyz\n", strings.Join(s.settings.has, ", "), s.url())
		return b.String()
	}
	const curl = `curl -H "Authorization: Bearer $TOKEN"`
	fmt.Fprintf(&b, "\nCreate a collection, and a job in it:\n  %s -X PUT --json '{}' %s/jobCollections/demo\n", curl, s.url())
	fmt.Fprintf(&b, "  %s -X PUT --json '{\"action\": {\"type\": \"https\", \"request\": {\"uri\": \"https://example.com/\"}},\n    \"recurrence\": {\"frequency\": \"minute\"}}' %s/jobCollections/demo/jobs/first\n", curl, s.url())
	fmt.Fprintf(&b, "\nThe history of the job:\n  %s %s/jobCollections/demo/jobs/first/history\n\nAll routes: curl %s/openapi.yaml. Control-C ends it.\n", curl, s.url(), s.url())
	return b.String()
}
