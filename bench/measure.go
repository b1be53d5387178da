package main

import (
	"context"
	"slices"
	"time"
)

// A measure is an experiment with one peer, alone on the testbed, and returns figures.
type measure struct {
	name  string // "process 100"
	group string // "process": what -measures picks
	about string // the experiment in one sentence with its numbers
	// run does it once on an empty store. errors.ErrUnsupported: the peer does not support it.
	run func(ctx context.Context, r *testbed, p peer) ([]figure, error)
	// only limits the measure to these libraries; empty: all.
	only []string
	// peers are set for a measure without job libraries; empty: all peers.
	peers []peer
	// maxRounds limits the rounds of a measure that takes minutes; 0: as many as the others have.
	maxRounds int
	// slow: the short form runs it only in the first round.
	slow bool
	// long: the short form omits it.
	long bool
	// concurrent: it mostly waits. All rounds of all peers run at the same time, each on servers of its own.
	concurrent bool
	// roundByRound: it is concurrent, but has too many processes for more than one round at a time.
	roundByRound bool
}

// rounds is how many rounds a measure takes part in.
func (m measure) rounds(form sizes) int {
	switch {
	case m.long && form.short:
		return 0
	case m.slow && form.short:
		return 1
	case m.maxRounds > 0:
		return min(m.maxRounds, form.rounds)
	}
	return form.rounds
}

// A figure is one number that a measure returns.
type figure struct {
	name  string // "jobs/s", "p99"
	unit  string
	value float64
	less  bool // less is better
	over  bool // the measure stopped at this value: the real value is greater
}

// sizes are the counts of a run: the long form's or the short form's.
type sizes struct {
	short      bool
	rounds     int
	backlog    int           // jobs to process
	enqueue    int           // jobs to enqueue from one goroutine; more goroutines enqueue more
	workOff    time.Duration // how long a backlog is worked off; the figure counts the jobs of this time
	enqueueFor time.Duration // how long jobs are enqueued, likewise
	steady     time.Duration // how long jobs are enqueued at a steady pace
	delayed    time.Duration // from the first delayed job's instant to the last's
	idle       time.Duration // how long idle processes are watched; chime polls every 11 s on average
	idleMany   time.Duration // how long fifty idle processes are watched
	calls      int           // of each kind that are timed for the limits
}

var (
	longForm = sizes{
		rounds: 5, backlog: 100_000, enqueue: 30_000, workOff: 3 * time.Second, enqueueFor: time.Second,
		steady: 5 * time.Second, delayed: 20 * time.Second, idle: 33 * time.Second, idleMany: 22 * time.Second, calls: limitCalls,
	}
	shortForm = sizes{
		short: true, rounds: 3, backlog: 20_000, enqueue: 8_000, workOff: 500 * time.Millisecond, enqueueFor: 200 * time.Millisecond,
		steady: time.Second, delayed: 2 * time.Second, idle: 11 * time.Second, idleMany: 11 * time.Second, calls: limitCalls,
	}
)

// measures are all that can be measured, in the order in which they run.
var measures = slices.Concat([]measure{
	processMeasure(1),
	processMeasure(10),
	processMeasure(100),
	handlersMeasure(time.Millisecond),
	handlersMeasure(5 * time.Millisecond),
	handlersMeasure(50 * time.Millisecond),
	manyMeasure,
	sharedMeasure("four processes", 0),
	sharedMeasure("four processes 5ms", 5*time.Millisecond),
	weightedMeasure, manyQueuesMeasure, limitMeasure,
	groupsLife, groupsMemory, groupsBusy, groupsBeside, groupsBlocked, groupsShares,
	enqueueAlone, enqueueMeasure(1, 1),
	enqueueMeasure(16, 3),
	enqueueMeasure(100, 5),
	enqueueMeasure(1000, 5),
	enqueueBulk, batchMeasure,
	lifeBulk, optionsMeasure,
	lifeSteady, busySteady,
	floorAlone, floorSteady,
	memoryWaiting,
	memoryDelayed,
	delayedMeasure,
	idleOne, idleQueues, idleLeader, idleSchedules, idleSparse,
	idleFifty,
	metricsMeasure, topMeasure, dashboardMeasure, dashboardDead,
	crashMeasure,
},
	recurrenceMeasures(),
	calendarMeasures(),
	scheduleMeasures(),
	limitMeasures(),
	httpMeasures(),
)
