package main

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeprom"
	"github.com/chimejobs/chime/httpapi"
)

// metricsPath is the path of the metrics, in each process with any roles.
const metricsPath = "/metrics"

// metricsPage is the page for Prometheus: the work of this process, the whole store, and the process itself.
func metricsPage(store chime.Store, metrics *chimeprom.Metrics) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics, metrics.Store(store), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// withMetrics answers requests for the metrics, and passes all other requests to next. The metrics describe the whole store, so a token needs the permission
// to read all collections.
func withMetrics(known *credentials, page, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Path != metricsPath {
			next.ServeHTTP(w, request)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		principal, err := known.authenticate(request)
		switch {
		case err != nil:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the metrics need a token with read for all collections", http.StatusUnauthorized)
		case principal.Allows == nil || !principal.Allows(httpapi.Read, wholeStore):
			http.Error(w, "the token does not have read for all collections", http.StatusForbidden)
		case request.Method != http.MethodGet && request.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "want GET or HEAD", http.StatusMethodNotAllowed)
		default:
			page.ServeHTTP(w, request)
		}
	})
}
