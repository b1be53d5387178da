package protocol

import (
	"context"
	"time"
)

// JobReader shows the jobs of a queue. It registers nothing and writes nothing. A queue that is not registered is ErrNotFound.
type JobReader interface {
	// FindJobs looks up jobs by their IDs, at most MaxItems. Answers are in the order of the IDs; the ID of one that there is not is
	// empty. If the jobs are long there are fewer answers than IDs, at least one: the caller asks again for the others.
	FindJobs(ctx context.Context, queue string, ids []string) ([]FoundJob, error)

	// QueuesOf returns those of the queues on which a job of this ID may be, at five commands a queue: FindJobs says whether it is.
	QueuesOf(ctx context.Context, id string, queues []string) ([]string, error)

	// PageJobs returns the next jobs of a queue in one state. What does not move while pages are read is in exactly one of them.
	PageJobs(ctx context.Context, call JobPageCall) (JobPage, error)

	// Newest returns what JobPageCall.After has to be for a page to begin with the n jobs of a queue that were given up last, and when the job
	// before them was. Empty: there are not more than these, or the queue has several partitions, each with an order of its own.
	Newest(ctx context.Context, queue string, n int) (after string, before time.Time, err error)

	// Await tells when a job may have ended: changed gets a value as soon as its end is listened for, and again after each lost connection;
	// then look; and when it has ended. The caller calls stop. It costs the store a subscription.
	Await(ctx context.Context, queue, id string) (changed <-chan struct{}, stop func())
}

// Where a job is. JobDelayed is every job that is due later; whether it has failed before, its body tells.
const (
	JobWaiting = "waiting"
	JobDelayed = "delayed"
	JobRunning = "running"
	JobTaken   = "taken" // ahead, not begun
	JobParked  = "parked"
	JobDead    = "dead"
	JobDone    = "done" // it has ended, and its result is kept
)

// InvalidCursor refuses what is given to go on after and is not the Next of a page.
func InvalidCursor(after string) *InvalidError {
	return Invalid("JobFilter.After", after, "JobPage.Next of a page of the same queue and state, or IDs")
}

// MaxPageDepth is how many waiting jobs of a partition are shown, from the front.
const MaxPageDepth = 300_000

// JobPageCall asks for the jobs of one queue that are in one state.
type JobPageCall struct {
	Queue  string
	State  string
	Name   string    // of jobs with other names some may come as Passed, or be left out. Empty: all
	Error  string    // of jobs whose last error has not this text some may come as Passed. Empty: all
	Tried  bool      // JobDelayed: of jobs that no worker has begun some may come as Passed
	Before time.Time // JobDelayed, JobParked, JobDead: only those whose At is before it. Zero: all
	Since  time.Time // JobDelayed, JobParked, JobDead: only those whose At is not before it. Zero: all
	After  string    // JobPage.Next, or FoundJob.Next, of an earlier call for the same queue and state; empty: from the beginning
	Limit  int       // at most MaxItems
}

// JobPage is the answer to a JobPageCall. It may be short, or without jobs, although there are more.
type JobPage struct {
	Jobs      []FoundJob
	Next      string // goes on after the last one; empty: there are no more
	Restarted bool   // what it was to go on after has gone, and it has begun again at the front
}

// FoundJob is a job as the store holds it. One of Body and Definition is set, or neither if the store has lost it.
type FoundJob struct {
	ID         string
	State      string
	Body       []byte    // see package wire
	Definition []byte    // of an occurrence without a body: its schedule's definition as it is now
	At         time.Time // JobDelayed: when it is due; JobParked: since when it is parked; JobDead: when it was given up; JobDone: until when it is kept
	Crashes    int       // times its holder vanished
	Fence      int64     // JobRunning, JobTaken
	TakenAt    time.Time // JobRunning, JobTaken
	Worker     string    // JobRunning, JobTaken: the name it listens under; empty: an older version, which did not say, has taken it
	Cancelled  bool      // JobRunning, JobTaken: its holder was told to end it
	Progress   []byte    // JobRunning: what its handler has reported last; nil: nothing
	Ended      byte      // JobDone: how, ResultDone, ResultCancelled or ResultSuperseded
	Result     []byte    // JobDone: see package wire; then Body is not set
	Next       string    // of a page: goes on after this job
	Passed     bool      // of a page: the call does not ask for it; nothing but ID, State and Next is known
}
