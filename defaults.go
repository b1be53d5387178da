package chime

import (
	"time"

	"github.com/chimejobs/chime/internal/work"
)

// DefaultQueue is the queue of jobs and schedules that name none, and the one that a worker takes from if it names none.
const DefaultQueue = "default"

// The other defaults, in one place. A test holds them against the README.
const (
	defaultMaxAttempts  = 25
	defaultBackoff      = work.FirstBackoff // at most, before the first retry; doubled each time
	defaultMaxBackoff   = work.MaxBackoff
	defaultTimeout      = 30 * time.Minute
	defaultSessionTTL   = 12 * time.Second
	defaultDrainTimeout = 25 * time.Second
	defaultMaxPayload   = 1 << 20 // bytes
	defaultGrace        = 60 * time.Second
	defaultMaxCrashes   = 3
	defaultSendTimeout  = 10 * time.Second // of an Enqueuer
	defaultLeaderTTL    = 10 * time.Second
	defaultSafetyTick   = 30 * time.Second
	workerSafetyTick    = time.Minute // about how often a worker looks whether a scheduler leads

	// Concurrency is defaultConcurrency for each processor that Go uses (GOMAXPROCS).
	defaultConcurrency = 10
)
