package chime

import (
	"time"

	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/work"
)

// defaultQueue is the queue of jobs and schedules that name none, and the one that a worker takes from if it names none.
const defaultQueue = "default"

// The other defaults, in one place: what holds if the call, the kind, the handler and the worker say nothing. A test holds them against
// the README.
const (
	defaultMaxAttempts        = 25
	defaultOccurrenceAttempts = 5 // of a schedule's job: the next one comes anyway

	// After n failures the backoff is n to this power, in seconds, times these at random.
	defaultBackoffPower     = work.BackoffPower
	defaultMinBackoffSpread = work.MinSpread
	defaultMaxBackoffSpread = work.MaxSpread

	defaultTimeout      = 30 * time.Minute
	defaultSessionTTL   = 12 * time.Second
	defaultDrainTimeout = 25 * time.Second
	defaultMaxPayload   = 1 << 20 // bytes
	defaultGrace        = 60 * time.Second
	defaultCatchUp      = schedule.CatchUpWindow
	defaultMaxCatchUp   = schedule.MaxCatchUp
	defaultMaxCrashes   = 3
	defaultSendTimeout  = 10 * time.Second // of an Enqueuer
	defaultLeaderTTL    = 10 * time.Second
	defaultSafetyTick   = 30 * time.Second
	workerSafetyTick    = time.Minute // about how often a worker looks whether a scheduler leads

	// Concurrency is defaultConcurrency for each processor that Go uses (GOMAXPROCS).
	defaultConcurrency = 10
)
