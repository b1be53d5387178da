package retry

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// fitEvery is about how often a worker checks the store again.
const fitEvery = 5 * time.Minute

// A FitWatch checks at intervals whether the store can still be trusted with jobs, because an operator may change its settings. It logs each
// change once. It stops nothing: it is better to run the jobs of an unfit store than to leave them there.
type FitWatch struct {
	store protocol.Store
	log   *slog.Logger
	role  string
	unfit string // the problem at the last check; empty: no problem
}

// NewFitWatch returns the watch of a role whose first check has succeeded.
func NewFitWatch(store protocol.Store, log *slog.Logger, role string) *FitWatch {
	return &FitWatch{store: store, log: log, role: role}
}

// Run checks until ctx ends.
func (w *FitWatch) Run(ctx context.Context) {
	for Sleep(ctx, fitEvery/2+rand.N(fitEvery)) {
		w.check(ctx)
	}
}

// check checks once. An error that is not about the store's fitness is an outage, which the role's calls log.
func (w *FitWatch) check(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, CheckTimeout)
	defer cancel()
	switch err := w.store.Check(ctx); {
	case errors.Is(err, protocol.ErrUnfit):
		if err.Error() != w.unfit {
			w.log.Error("chime: "+w.role+": the store is not fit for jobs any more", "event", "store.unfit", "error", err)
		}
		w.unfit = err.Error()
	case err == nil && w.unfit != "":
		w.log.Info("chime: "+w.role+": the store is fit for jobs again", "event", "store.recovered")
		w.unfit = ""
	}
}
