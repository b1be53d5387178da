package protocol

import (
	"context"
	"time"
)

// JobControl changes jobs on behalf of operators. A queue that is not registered is ErrNotFound.
type JobControl interface {
	// CancelJob cancels a job. ErrNotFound: there is no job of that ID. The call is safe to repeat.
	CancelJob(ctx context.Context, queue, id string, result *Result) (CancelResult, error)

	// DeleteJobs removes jobs that no worker holds, at most MaxItems, in any state. An occurrence that was not taken yet remains.
	// A repeated ID counts once. With an error it returns the outcomes of some of them.
	DeleteJobs(ctx context.Context, queue string, ids []string) ([]Changed, error)

	// RequeueJobs moves delayed, retrying, parked and dead jobs to the front of their queue, at most MaxItems. An occurrence that was not
	// taken yet does not move. A repeated ID counts once. With an error it returns the outcomes of some of them.
	RequeueJobs(ctx context.Context, queue string, jobs []RequeuedJob) ([]Changed, error)

	// Removals passes on the jobs that CancelJob and DeleteJobs of this store have removed, or that a worker was asked to end.
	Removals() *Removals
}

// A RequeuedJob is a job that is to run now. For a dead job, Read is its body as it was read and Body the new one; it does not move if
// its body has changed since. For any other job both are empty; it does not move if it is dead now.
type RequeuedJob struct {
	ID         string
	Read, Body []byte // see package wire

	// For a dead manual run, and for a job that follows the end of a schedule's job: its schedule and planned instant. Empty: it is neither.
	Schedule string
	Planned  time.Time
	Follows  bool   // it follows the end of another job
	Name     string // its job name
}

// A CancelResult is the effect of a cancellation.
type CancelResult byte

const (
	CancelDone    CancelResult = 'e' // the job never starts, or never again
	CancelAsked   CancelResult = 'a' // a worker holds it, and was notified
	CancelTooLate CancelResult = 'd' // it is dead
)

// Changed is the effect of a call on one of its jobs.
type Changed byte

const (
	ChangeDone   Changed = 'e' // it was changed
	ChangeGone   Changed = 'n' // it was not there, or has changed since the caller read it
	ChangeHeld   Changed = 'r' // DeleteJobs only: a worker holds it, so it was not changed
	ChangeNotDue Changed = 'u' // it is an occurrence that was not taken yet, so it was not changed
	ChangeNever  Changed = 'x' // RequeueJobs only: it is a dead member of a batch that was cancelled, so it was not changed
)
