// Package health answers the two questions that a process manager asks: is the process alive, and should work come here?
//
//	healthy, err := health.New(health.Options{Store: store, Roles: []health.Role{worker, scheduler}})
//	if err != nil {
//		return err
//	}
//	http.HandleFunc("GET /livez", healthy.Livez)
//	http.HandleFunc("GET /readyz", healthy.Readyz)
//
// /livez says whether a restart would help: it is 503 only if a loop of a role is stuck. It does no I/O, so a Redis that is down has no
// process restarted. /readyz is 503 besides while Redis does not answer, before the roles run, and once they drain.
//
// A queue that is paused, a worker whose slots are all busy and a scheduler that does not lead are healthy.
package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chimejobs/chime"
)

const (
	defaultMaxSilence = 30 * time.Second
	minMaxSilence     = 10 * time.Second // a loop turns at least every 5 s
)

// A Role is a *[chime.Worker] or a *[chime.Scheduler].
type Role interface {
	// Pulses says when each loop of the role turned last; empty: it does not run.
	Pulses() map[string]time.Time
	// Draining reports whether the role was told to end.
	Draining() bool
}

// Options are the options of New.
type Options struct {
	// Store is the one that the roles work on.
	Store chime.Store
	// Roles are those of this process; none: /livez is always 200, and /readyz goes by the store.
	Roles []Role
	// MaxSilence is after how long a loop that has not turned is stuck, 10 s or more. Zero means 30 s. Loops turn at least every 5 s.
	MaxSilence time.Duration
}

func (o Options) validate() error {
	var bad []error
	if o.Store == nil {
		bad = append(bad, errors.New("health: Options.Store is nil"))
	}
	if slices.Contains(o.Roles, nil) {
		bad = append(bad, errors.New("health: Options.Roles has a nil role"))
	}
	if o.MaxSilence < minMaxSilence {
		bad = append(bad, fmt.Errorf("health: Options.MaxSilence is %v, want %v or more: loops turn every 5 s", o.MaxSilence, minMaxSilence))
	}
	return errors.Join(bad...)
}

// A Health knows how a process is. New makes one; it is safe for concurrent use.
type Health struct {
	roles      []Role
	maxSilence time.Duration
	store      *question
	draining   atomic.Bool
}

// New returns the health of a process. It does no I/O. The error is one of bad options.
func New(options Options) (*Health, error) {
	options.MaxSilence = cmp.Or(options.MaxSilence, defaultMaxSilence)
	if err := options.validate(); err != nil {
		return nil, err
	}
	return &Health{roles: slices.Clone(options.Roles), maxSilence: options.MaxSilence, store: newQuestion(options.Store)}, nil
}

// Drain has Readyz answer 503 from now on. Roles say by themselves that they drain; a process calls it that stops taking requests
// before its roles are told to end, or that has none.
func (h *Health) Drain() { h.draining.Store(true) }

// Alive returns nil, or an error that names the loops that are stuck. It does no I/O.
func (h *Health) Alive() error {
	var stuck []string
	for _, role := range h.roles {
		pulses := role.Pulses()
		for _, loop := range slices.Sorted(maps.Keys(pulses)) {
			if silent := time.Since(pulses[loop]); silent > h.maxSilence {
				stuck = append(stuck, fmt.Sprintf("the loop %s of a %T has not turned for %v", loop, role, silent.Truncate(time.Second)))
			}
		}
	}
	if len(stuck) > 0 {
		return errors.New(strings.Join(stuck, "; "))
	}
	return nil
}

// Ready returns nil, or an error that says why no work should come here. It asks the store, at most once a second whoever calls, and waits
// for its answer 1 s at most.
func (h *Health) Ready(ctx context.Context) error {
	if h.draining.Load() || slices.ContainsFunc(h.roles, Role.Draining) {
		return errors.New("draining")
	}
	if err := h.Alive(); err != nil {
		return err
	}
	if !h.store.answers(ctx) {
		return errors.New("the store does not answer")
	}
	for _, role := range h.roles {
		if len(role.Pulses()) == 0 {
			return fmt.Errorf("a %T does not run", role)
		}
	}
	return nil
}

// Livez answers 200 "alive", or 503 with what is stuck.
func (h *Health) Livez(w http.ResponseWriter, _ *http.Request) { say(w, "alive", h.Alive()) }

// Readyz answers 200 "ready", or 503 with what it waits for. It names neither the store's address nor its error, for anybody may call it.
func (h *Health) Readyz(w http.ResponseWriter, r *http.Request) {
	say(w, "ready", h.Ready(r.Context()))
}

func say(w http.ResponseWriter, fine string, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, "not %s: %v\n", fine, err) // if the client has gone, nobody reads it
		return
	}
	_, _ = fmt.Fprintln(w, fine)
}
