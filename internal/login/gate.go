// Package login asks for a name and a token before a handler gets a request, in the way that every browser knows: HTTP Basic. It is for the
// commands that serve the dashboard by themselves. An application has a login of its own, and mounts the dashboard behind that.
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
	maxWrong     = 10 // wrong tries of one address that are answered and logged within wrongFor
	maxAddresses = 10_000
	wrongFor     = time.Minute
)

// A Check says who has a name and a token.
type Check func(name, token string) (viewer dashboard.Viewer, ok bool)

// A Gate is what stands before a dashboard.
type Gate struct {
	check Check
	log   *slog.Logger

	mu    sync.Mutex
	wrong map[string]int // wrong tries, by address, since begun
	begun time.Time
}

// New returns a gate, which logs wrong tries.
func New(check Check, log *slog.Logger) *Gate {
	return &Gate{check: check, log: log, wrong: map[string]int{}}
}

// viewerKey is where the context of a request has its viewer.
type viewerKey struct{}

// Wrap lets requests through to next that have the name and the token of somebody. Who tries wrong ones again and again is answered 429. Right
// ones are let in all the same: all people behind one proxy have one address, and 32 random bytes are not found by trying.
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

// mayTryAgain counts a wrong try, and logs it unless there were too many.
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
		address = "" // those beyond are counted together
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
