package main

import (
	_ "embed"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeotel"
	"github.com/chimejobs/chime/chimeprom"
	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/health"
	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/httpapi/action"
)

//go:embed home.html
var home []byte

// An app is the HTTP handler of the process, and the roles that it needs.
type app struct {
	mux   *http.ServeMux
	pages *dashboard.Dashboard
	roles []chime.Role
}

// newApp creates the roles, and mounts their pages.
func newApp(store chime.Store, address string, out io.Writer, traces bool) (*app, error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	metrics := chimeprom.New(chimeprom.Options{Jobs: []string{fax.Name()}})
	heard := []*chime.Observer{metrics.Observer()}
	worker := chime.NewWorker(store, chime.WorkerOptions{
		Queues: map[string]int{"default": 3, "mail": 2, "exports": 1, "media": 1, "archive": 1}, Concurrency: 20, DrainTimeout: 2 * time.Second, Observers: heard, Logger: log,
	})
	scheduler := chime.NewScheduler(store, chime.SchedulerOptions{Observers: heard, Logger: log})
	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{Observers: heard, Logger: log})
	if traces {
		telemetry := chimeotel.New(chimeotel.Options{TracerProvider: tracing(out)})
		enqueuer.Use(telemetry.Enqueue())
		worker.Use(telemetry.Handle())
	}
	handle(worker)
	if err := declare(scheduler); err != nil {
		return nil, err
	}

	itself, err := action.ParseNet(address) // the only address of this machine that jobs of the API may call
	if err != nil {
		return nil, err
	}
	api := httpapi.New(store, httpapi.Options{
		Authenticate: httpapi.Loopback(), PublicURL: "http://" + address + "/api", Egress: action.Egress{AllowNets: []action.Net{itself}}, Logger: log,
	})
	api.Register(worker)

	metrics.Know(worker, scheduler)
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics, metrics.Store(store))
	healthy, err := health.New(health.Options{Store: store, Roles: []health.Role{worker, scheduler}})
	if err != nil {
		return nil, err
	}

	a := &app{
		mux: http.NewServeMux(),
		pages: dashboard.New(store, dashboard.Options{ // Loopback is for a program on your own machine: behind a proxy, everybody would be the owner
			Prefix: "/chime", Title: "webapp", Authorize: dashboard.Loopback, Write: true, Redact: hideCards, Logger: log,
		}),
		roles: []chime.Role{scheduler, worker, api, &demonstration{store, enqueuer, address}},
	}
	a.mux.Handle("/chime/", a.pages)
	a.mux.Handle("/api/", http.StripPrefix("/api", api))
	a.mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	a.mux.HandleFunc("GET /livez", healthy.Livez)
	a.mux.HandleFunc("GET /readyz", healthy.Readyz)
	a.mux.HandleFunc("POST /ping", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "pong\n") }) // called by a job of the API
	a.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(home)
	})
	return a, nil
}

// hideCards replaces a job's arguments in the dashboard by a form without the numbers of cards.
func hideCards(_ *chime.JobInfo, payload any) any {
	if fields, ok := payload.(map[string]any); ok && fields["Card"] != nil {
		fields["Card"] = "hidden"
	}
	return payload
}
