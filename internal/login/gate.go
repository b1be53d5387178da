// Package login requires a name and a token before a handler gets a request. It uses HTTP Basic, which every browser supports. It is for the
// commands that serve the dashboard by themselves. An application has a login of its own, and mounts the dashboard behind it. A command that has no
// file of tokens has a local token, see Local.
package login

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/internal/loopback"
)

const (
	maxWrong     = 10 // wrong attempts of one address that are answered and logged within wrongFor
	maxAddresses = 10_000
	wrongFor     = time.Minute
)

// A Check returns the viewer with a name and a token. The name of a bearer token is empty.
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
	return g.wrap("This needs a name, and a token as its password.", next)
}

// wrap is Wrap with the text of an answer to a request without a valid name and token.
func (g *Gate) wrap(needs string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, token, given := r.BasicAuth()
		if !given {
			token, given = bearer(r)
		}
		if viewer, ok := g.check(name, token); given && ok {
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), viewerKey{}, viewer)))
			return
		}
		header := w.Header()
		setHeaders(header)
		if given && !g.mayTryAgain(r, time.Now()) {
			header.Set("Retry-After", "60")
			http.Error(w, "Too many wrong names and tokens came from this address. Try again in a minute.", http.StatusTooManyRequests)
			return
		}
		header.Set("WWW-Authenticate", `Basic realm="chime", charset="UTF-8"`)
		http.Error(w, needs, http.StatusUnauthorized)
	})
}

// WrapLocal is Wrap for a local token. It also refuses requests that do not name this machine, and requests of jobs.
func (g *Gate) WrapLocal(next http.Handler) http.Handler {
	const needs = "This needs a name, and a token as its password. The name is " + LocalUser + ". The token is on the terminal of this server, in the file that its log names, or in " +
		LocalVariable + "."
	return g.wrap(needs, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		why := loopback.Foreign(r)
		if why == "" {
			next.ServeHTTP(w, r)
			return
		}
		g.log.WarnContext(r.Context(), "dashboard: a request with the local token does not name this machine", "event", "dashboard.denied", "remote", r.RemoteAddr, "reason", why)
		setHeaders(w.Header())
		http.Error(w, "A local token is valid on this machine only, and "+why+". To serve others, start the server with a file of tokens.", http.StatusForbidden)
	}))
}

// setHeaders sets the headers of an answer without a page.
func setHeaders(header http.Header) {
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
}

// bearer returns the bearer token of a request.
func bearer(r *http.Request) (token string, given bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return token, true
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
