package main

import (
	"context"
	"time"
)

// A peer is a measured library with one choice of its options. The default options of a library and the fastest
// ones that its documentation names are two peers.
type peer struct {
	library string // "asynq"
	setting string // "defaults", "tuned"
	about   string // which options differ from the defaults, for the reader of the table
	open    func(ctx context.Context, r *testbed) (library, error)
	// steadyAtOnce is how many jobs its worker runs at once under a steady load; 0: 100.
	steadyAtOnce int
	// server is where its jobs are; nil: the testbed's Redis.
	server func(r *testbed) server
}

func (p peer) name() string {
	if p.setting == "" {
		return p.library
	}
	return p.library + " " + p.setting
}

// A library is a peer connected to the testbed's servers. Its methods do what an application would write; errors.ErrUnsupported
// means that the library does not support it.
type library interface {
	// Enqueue sends one job to run now and returns when the store has it. It is called from many goroutines.
	Enqueue(ctx context.Context, payload []byte) error
	// EnqueueIn sends one job to run after d.
	EnqueueIn(ctx context.Context, payload []byte, d time.Duration) error
	// EnqueueMany sends all payloads with the library's bulk call.
	EnqueueMany(ctx context.Context, payloads [][]byte) error
	// Work starts a worker that runs handle for every job, with a limit of jobs at once. What the library starts in the background may still be
	// starting when Work returns: that is part of the figure, or the measure sends jobs ahead that do not count. stop drains the worker.
	Work(concurrency int, handle func(payload []byte)) (stop func() error, err error)
	// Held counts the jobs that the store has and that have not ended: waiting, delayed, running, retried, dead.
	Held(ctx context.Context) (int64, error)
	// Close closes the connections.
	Close() error
}

// peers are all that can be measured, in the order of the tables.
var peers = []peer{
	chimePeer,
	asynqDefaults,
	asynqTuned,
	gocraftDefaults,
	gocraftTuned,
	riverDefaults,
	riverTuned,
}
