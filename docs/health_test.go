package docs_test

import (
	"net/http"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/health"
)

// docs/health.md shows the code of this file; health_run_test.go runs it.

func healthPages(store chime.Store, worker *chime.Worker, scheduler *chime.Scheduler) (http.Handler, error) {
	healthy, err := health.New(health.Options{Store: store, Roles: []health.Role{worker, scheduler}})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", healthy.Livez)
	mux.HandleFunc("GET /readyz", healthy.Readyz)
	return mux, nil
}
