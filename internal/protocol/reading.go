package protocol

import (
	"context"
	"time"
)

// JobReader shows the jobs of a queue. It registers nothing and writes nothing. A queue that is not registered is ErrNotFound.
type JobReader interface {
	// FindJobs looks up jobs by their IDs, at most MaxItems. Answers are in the order of the IDs; the ID of a job that does not exist is
	// empty. If the jobs are long there are fewer answers than IDs, at least one: the caller requests the others again.
	FindJobs(ctx context.Context, queue string, ids []string) ([]FoundJob, error)

	// QueuesOf returns the queues that may have a job of this ID, with five commands for each queue: FindJobs finds whether it is there.
	QueuesOf(ctx context.Context, id string, queues []string) ([]string, error)

	// PageJobs returns the next jobs of a queue in one state. A job that does not move while pages are read is in exactly one of them.
	PageJobs(ctx context.Context, call JobPageCall) (JobPage, error)

	// PlaceOf returns where a job waits: behind an earlier occurrence of its schedule, or its place in the list of jobs to run now. A job that does
	// not wait has the zero place.
	PlaceOf(ctx context.Context, queue, id string) (JobPlace, error)

	// Newest returns the JobPageCall.After of a page that begins with the n newest dead jobs of a queue, and when the job
	// before them died. Empty: there are no more than these, or the queue has several partitions, each with an order of its own.
	Newest(ctx context.Context, queue string, n int) (after string, before time.Time, err error)

	// Await notifies the caller when a job may have ended: changed receives a value as soon as its end is subscribed, again after each lost
	// connection, and when it has ended. The caller then reads the job, and finally calls stop. It costs the store a subscription.
	Await(ctx context.Context, queue, id string) (changed <-chan struct{}, stop func())
}

// The states of a job. JobDelayed is every job that is due later; its body shows whether it has failed before.
const (
	JobWaiting = "waiting"
	JobDelayed = "delayed"
	JobRunning = "running"
	JobTaken   = "taken" // ahead, not begun
	JobParked  = "parked"
	JobDead    = "dead"
	JobDone    = "done" // it has ended, and its result is kept
)

// InvalidCursor refuses a cursor that is not the Next of a page.
func InvalidCursor(after string) *InvalidError {
	return Invalid("JobFilter.After", after, "JobPage.Next of a page of the same queue and state, or IDs")
}

// MaxPlace is how many waiting jobs of a partition PlaceOf searches, from the front.
const MaxPlace = 10_000

// A JobPlace is where a job waits.
type JobPlace struct {
	Place    int    // among the jobs of its partition to run now, from 1, cancelled ones included; 0: it is not among the first MaxPlace
	Group    string // the job belongs to this group, and Place is among the jobs of the group, without MaxPlace; empty: it does not, or does not wait
	Beyond   bool   // it is not among the first MaxPlace, and there are more
	IsBehind bool   // it waits for the end of an earlier occurrence of its schedule
	Behind   string // the ID of that occurrence; empty: not known
}

// MaxPageDepth is how many waiting jobs of a partition are shown, from the front.
const MaxPageDepth = 300_000

// JobPageCall requests the jobs of one queue that are in one state.
type JobPageCall struct {
	Queue  string
	State  string
	Name   string    // jobs with other names may come as Passed, or be left out. Empty: all
	Group  string    // jobs of other groups may come as Passed, or be left out. Empty: all
	Batch  string    // jobs that are no members of it may come as Passed. Empty: all
	Error  string    // jobs whose last error does not have this text may come as Passed. Empty: all
	Tried  bool      // JobDelayed: jobs that no worker has begun may come as Passed
	Before time.Time // JobDelayed, JobParked, JobDead: only those whose At is before it. Zero: all
	Since  time.Time // JobDelayed, JobParked, JobDead: only those whose At is not before it. Zero: all
	After  string    // JobPage.Next, or FoundJob.Next, of an earlier call for the same queue and state; empty: from the beginning
	Limit  int       // at most MaxItems

	// Order is OrderOldest or OrderNewest: the jobs of all partitions come in the order of their At. Only for JobDelayed, JobDead and JobDone. A
	// place to continue from is valid in both orders. Empty: partition by partition.
	Order  string
	Queues []string // with Order: the jobs of all these queues, in place of Queue; those that are not registered are left out
}

// The orders of a page.
const (
	OrderOldest = "oldest"
	OrderNewest = "newest"
)

// JobPage is the answer to a JobPageCall. It may be short, or without jobs, although there are more.
type JobPage struct {
	Jobs      []FoundJob
	Next      string // continues after the last one; empty: there are no more
	Restarted bool   // the position to continue from is gone, and the page begins again at the front
}

// FoundJob is a job as the store holds it. One of Body and Definition is set, or neither if the store has lost it.
type FoundJob struct {
	ID         string
	State      string
	Body       []byte    // see package wire
	Opened     []byte    // the Body with its secrets in clear; empty: they are not sealed, or this program cannot open them
	Definition []byte    // of an occurrence without a body: its schedule's definition as it is now, in clear if this program can open it
	At         time.Time // JobDelayed: when it is due; JobParked: since when it is parked; JobDead: when it died; JobDone: until when it is kept
	Crashes    int       // times its holder vanished
	Fence      int64     // JobRunning, JobTaken
	TakenAt    time.Time // JobRunning, JobTaken
	Worker     string    // JobRunning, JobTaken: the name it listens under; empty: an older version, which did not record it, has taken it
	Cancelled  bool      // JobRunning, JobTaken: its holder was asked to end it
	Vanished   time.Time // JobRunning, JobTaken: the last sign of life of its holder, whose session has lapsed; zero: the session lives
	Progress   []byte    // JobRunning: the last progress of its handler; nil: none
	Ended      byte      // JobDone: its outcome, ResultDone, ResultCancelled, ResultSuperseded or ResultExpired
	Result     []byte    // JobDone: see package wire; then Body is not set
	// Refused is why this program cannot open something that is sealed; nil: there is nothing, or it has no codec.
	Refused *SealedError
	// BarredUntil is the instant until which Once bars the ID of a job that has ended; zero: it does not. If no result is kept, ID is empty.
	BarredUntil time.Time
	Next        string // in a page: continues after this job
	Queue       string // in a page with an order: its queue
	Passed      bool   // in a page: the call does not want it; only ID, State and Next are set
}

// Readable returns the body with its secrets in clear, as far as this program can open them.
func (j *FoundJob) Readable() []byte {
	if len(j.Opened) > 0 {
		return j.Opened
	}
	return j.Body
}
