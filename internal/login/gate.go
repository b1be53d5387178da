// Package login requires a name and a token before a handler gets a request. It uses HTTP Basic, which every browser supports. It is for the
// commands that serve the dashboard by themselves. An application has a login of its own, and mounts the dashboard behind it.
package login

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/chimejobs/chime/dashboard"
)

const (
	maxWrong     = 10 // wrong attempts of one address that are answered and logged within wrongFor
	maxAddresses = 10_000
	wrongFor     = time.Minute
)

// A Check returns the viewer with a name and a token.
type Check func(name, token string) (viewer dashboard.Viewer, ok bool)

// A Gate protects a dashboard.
type Gate struct {
	check Check
	log   *slog.Logger

	mu    sync.Mutex
	wrong map[string]int // wrong attempts, by address, since begun
	begun time.Time
}

// New returns a gate, which logs wrong attempts.
func New(check Check, log *slog.Logger) *Gate {
	return &Gate{check: check, log: log, wrong: map[string]int{}}
}

// viewerKey is the key of the viewer in the context of a request.
type viewerKey struct{}

// Wrap passes requests with a valid name and token to next. After many wrong attempts an address gets 429. Valid requests of that address still
// pass: all people behind one proxy have one address, and 32 random bytes cannot be guessed.
func (g *Gate) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, token, given := r.BasicAuth()
		if viewer, ok := g.check(name, token); given && ok {
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), viewerKey{}, viewer)))
			return
		}
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		if given && !g.mayTryAgain(r, time.Now()) {
			header.Set("Retry-After", "60")
			http.Error(w, "Too many wrong names and tokens came from this address. Try again in a minute.", http.StatusTooManyRequests)
			return
		}
		header.Set("WWW-Authenticate", `Basic realm="chime", charset="UTF-8"`)
		http.Error(w, "This needs a name, and a token as its password.", http.StatusUnauthorized)
	})
}

// mayTryAgain counts a wrong attempt, and logs it unless there were too many.
func (g *Gate) mayTryAgain(r *http.Request, now time.Time) bool {
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	g.mu.Lock()
	if now.Sub(g.begun) >= wrongFor {
		clear(g.wrong)
		g.begun = now
	}
	if _, known := g.wrong[address]; !known && len(g.wrong) >= maxAddresses {
		address = "" // addresses above the limit are counted together
	}
	g.wrong[address]++
	few := g.wrong[address] <= maxWrong
	g.mu.Unlock()
	if few { // the name is not logged: people type tokens into the wrong field
		g.log.WarnContext(r.Context(), "dashboard: a wrong name or token", "event", "dashboard.denied", "remote", r.RemoteAddr, "reason", "a wrong name or token")
	}
	return few
}

// Authorize is the Authorize of a dashboard behind a gate.
func Authorize(r *http.Request) (dashboard.Viewer, error) {
	viewer, ok := r.Context().Value(viewerKey{}).(dashboard.Viewer)
	if !ok {
		return dashboard.Viewer{}, errors.New("the request has not come through the login")
	}
	return viewer, nil
}
