package main

import (
	"net/http"

	"github.com/chimejobs/chime/health"
)

// withHealth answers /livez and /readyz, which need no token, and passes all other requests to next.
func withHealth(h *health.Health, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		switch request.URL.Path {
		case "/livez":
			h.Livez(w, request)
		case "/readyz":
			h.Readyz(w, request)
		default:
			next.ServeHTTP(w, request)
		}
	})
}
