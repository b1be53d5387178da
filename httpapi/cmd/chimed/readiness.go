package main

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chimejobs/chime"
)

const (
	storeTimeout = 2 * time.Second  // of the question whether the store answers
	storeEvery   = time.Second      // how often it is asked at most: nobody needs a token for it
	pulseWithin  = 10 * time.Second // a loop that has not turned for so long is stuck
)

// A readiness says whether requests should come here: the store answers, the roles run, and the process does not end.
//
//	starting   the roles have not begun, or wait for the store: not ready
//	ready
//	draining   it has been told to end: not ready, for good
type readiness struct {
	ask      func(context.Context) error   // the store
	loops    []func() map[string]time.Time // Pulses of each role
	draining atomic.Bool

	mu    sync.Mutex
	asked time.Time
	fine  bool
}

// newReadiness asks a store by the cheapest question that it has.
func newReadiness(store chime.Store) *readiness {
	schedules := chime.NewSchedules(store)
	return &readiness{ask: func(ctx context.Context) error {
		_, err := schedules.Get(ctx, "readyz")
		if errors.Is(err, chime.ErrNotFound) {
			return nil
		}
		return err
	}}
}

// why says what it waits for; empty: it is ready.
func (r *readiness) why(ctx context.Context) string {
	switch {
	case r.draining.Load():
		return "draining"
	case !r.stored(ctx):
		return "the store does not answer"
	case !r.running():
		return "the roles do not run"
	}
	return ""
}

func (r *readiness) stored(ctx context.Context) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.asked) >= storeEvery {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout) // the answer is for others too
		defer cancel()
		r.fine = r.ask(ctx) == nil
		r.asked = time.Now()
	}
	return r.fine
}

func (r *readiness) running() bool {
	for _, pulses := range r.loops {
		loops := pulses()
		if len(loops) == 0 {
			return false
		}
		for _, last := range loops {
			if time.Since(last) > pulseWithin {
				return false
			}
		}
	}
	return true
}

// wrap answers /livez and /readyz, which need no token, and leaves all else to next.
func (r *readiness) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		switch request.URL.Path {
		case "/livez":
			say(w, http.StatusOK, "alive")
		case "/readyz":
			if why := r.why(request.Context()); why != "" {
				say(w, http.StatusServiceUnavailable, "not ready: "+why)
				return
			}
			say(w, http.StatusOK, "ready")
		default:
			next.ServeHTTP(w, request)
		}
	})
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n")) // if the client has gone, nobody reads it
}
