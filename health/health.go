// Package health answers the two questions of a process manager, such as Kubernetes: is the process alive, and is it ready for work?
//
//	healthy, err := health.New(health.Options{Store: store, Roles: []health.Role{worker, scheduler}})
//	if err != nil {
//		return err
//	}
//	http.HandleFunc("GET /livez", healthy.Livez)
//	http.HandleFunc("GET /readyz", healthy.Readyz)
//
// /livez shows whether a restart would help: it returns 503 only if a loop of a role is stuck. It does no I/O, so a Redis that is down never
// causes a restart. /readyz also returns 503 while Redis does not answer, before the roles run, and while they drain.
//
// A paused queue, a worker with no free slot, and a scheduler that is not the leader are healthy.
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
	// Pulses returns the time of the last turn of each loop of the role. The map is empty if the role does not run.
	Pulses() map[string]time.Time
	// Draining reports whether the role is ending.
	Draining() bool
}

// Options are the options of New.
type Options struct {
	// Store is the roles' store.
	Store chime.Store
	// Roles are the roles of this process. Without roles /livez always returns 200, and /readyz depends on the store.
	Roles []Role
	// MaxSilence is the time without a new turn (iteration) of a loop after which the loop counts as stuck. It is 10 s or more; zero means 30 s. A
	// healthy loop turns at least every 5 s.
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

// A Health reports the state of a process. Create one with New; it is safe for concurrent use.
type Health struct {
	roles      []Role
	maxSilence time.Duration
	store      *storeCheck
	draining   atomic.Bool
}

// New returns the health of a process. It does no I/O. It returns an error for invalid options.
func New(options Options) (*Health, error) {
	options.MaxSilence = cmp.Or(options.MaxSilence, defaultMaxSilence)
	if err := options.validate(); err != nil {
		return nil, err
	}
	return &Health{roles: slices.Clone(options.Roles), maxSilence: options.MaxSilence, store: newStoreCheck(options.Store)}, nil
}

// Drain makes Readyz return 503 from now on. A role that drains has this effect without Drain. Call Drain if the process stops accepting requests
// before its roles end, or if it has no roles.
func (h *Health) Drain() { h.draining.Store(true) }

// Alive returns nil, or an error that lists the loops that are stuck. It does no I/O.
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

// Ready returns nil, or an error with the reason why the process must receive no work. For all callers together it calls the store at most once a
// second. It waits at most 1 s for the answer.
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

// Livez returns 200 "alive", or 503 with the loops that are stuck.
func (h *Health) Livez(w http.ResponseWriter, _ *http.Request) { say(w, "alive", h.Alive()) }

// Readyz returns 200 "ready", or 503 with the reason. The reason contains neither the store's address nor its error, because anybody may call it.
func (h *Health) Readyz(w http.ResponseWriter, r *http.Request) {
	say(w, "ready", h.Ready(r.Context()))
}

func say(w http.ResponseWriter, fine string, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, "not %s: %v\n", fine, err) // if the client is gone, nobody reads it
		return
	}
	_, _ = fmt.Fprintln(w, fine)
}
