package protocol

import "context"

// JobControl changes what becomes of jobs, for those who operate a queue. A queue that is not registered is ErrNotFound.
type JobControl interface {
	// CancelJob cancels a job. ErrNotFound: there is none of that ID. The call is safe to repeat.
	CancelJob(ctx context.Context, queue, id string) (CancelResult, error)

	// DeleteJobs removes jobs that no worker holds, at most MaxItems, of whatever state. An occurrence that nobody has taken yet stays.
	// With an error it says what became of some of them.
	DeleteJobs(ctx context.Context, queue string, ids []string) ([]Changed, error)
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
	ChangeHeld   Changed = 'r' // a worker holds it: it is left alone
	ChangeNotDue Changed = 'u' // it is an occurrence that nobody has taken yet: it is left alone
)
