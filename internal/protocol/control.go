package protocol

import (
	"context"
	"time"
)

// JobControl changes what becomes of jobs, for those who operate a queue. A queue that is not registered is ErrNotFound.
type JobControl interface {
	// CancelJob cancels a job. ErrNotFound: there is none of that ID. The call is safe to repeat.
	CancelJob(ctx context.Context, queue, id string, result *Result) (CancelResult, error)

	// DeleteJobs removes jobs that no worker holds, at most MaxItems, of whatever state. An occurrence that nobody has taken yet stays.
	// An ID that comes again counts once. With an error it says what became of some of them.
	DeleteJobs(ctx context.Context, queue string, ids []string) ([]Changed, error)

	// RequeueJobs puts delayed, retrying, parked and dead jobs to the front of their queue, at most MaxItems. An occurrence that nobody has
	// taken yet stays. An ID that comes again counts once. With an error it says what became of some of them.
	RequeueJobs(ctx context.Context, queue string, jobs []RequeuedJob) ([]Changed, error)
}

// A RequeuedJob is a job that is to run now. If it is dead it has its body as it was read and the one that it gets; it stays if it has
// another body meanwhile. Of any other job both are empty; it stays if it is dead meanwhile.
type RequeuedJob struct {
	ID         string
	Read, Body []byte // see package wire

	// Of a dead manual run, and of what follows a death of a schedule's job: its schedule and planned instant. Empty: it is neither.
	Schedule string
	Planned  time.Time
	Death    bool   // it follows a death
	Name     string // its job name
}

// A CancelResult says what a cancellation has done.
type CancelResult byte

const (
	CancelDone    CancelResult = 'e' // the job never starts, or never again
	CancelAsked   CancelResult = 'a' // a worker holds it, and was told
	CancelTooLate CancelResult = 'd' // it was given up
)

// Changed says what became of one of the jobs of a call.
type Changed byte

const (
	ChangeDone   Changed = 'e' // it was changed
	ChangeGone   Changed = 'n' // it was not there, or not as the caller has read it
	ChangeHeld   Changed = 'r' // a worker holds it: it is left alone. Of DeleteJobs
	ChangeNotDue Changed = 'u' // it is an occurrence that nobody has taken yet: it is left alone
)
