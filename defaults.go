package chime

import "time"

// The defaults, in one place. A test holds them against the README.
const (
	DefaultQueue        = "default"
	DefaultMaxAttempts  = 25
	DefaultBackoff      = time.Second // before the first retry; doubled each time
	DefaultBackoffMost  = time.Hour
	DefaultTimeout      = 30 * time.Minute
	DefaultSessionTTL   = 12 * time.Second
	DefaultDrainTimeout = 25 * time.Second
	DefaultMaxPayload   = 1 << 20 // bytes
	DefaultGrace        = 60 * time.Second
	DefaultMaxCrashes   = 3
	DefaultSendTimeout  = 10 * time.Second // of an Enqueuer
	DefaultLeaderTTL    = 10 * time.Second

	// Concurrency is DefaultConcurrency for each processor that Go uses (GOMAXPROCS).
	DefaultConcurrency = 10
)
