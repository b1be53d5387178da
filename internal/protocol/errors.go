package protocol

import "errors"

// The errors of a store that a caller branches on.
var (
	// ErrNotFound: there is no schedule, no queue, or no collection, of that name.
	ErrNotFound = errors.New("not found")
	// ErrConflict: what is stored is not what the caller has read, and nothing was changed.
	ErrConflict = errors.New("conflict: what is stored is not what the caller has read")
	// ErrStoreFull: the store is out of memory; nothing was written.
	ErrStoreFull = errors.New("store is full")
	// ErrMaxUnfinished: the schedule has its maximum number of unfinished runs, so the run was not added.
	ErrMaxUnfinished = errors.New("the schedule has its maximum number of unfinished runs")
	// ErrUnfit: the store cannot be trusted with jobs, and waiting does not cure it.
	ErrUnfit = errors.New("store is unfit")
	// ErrUnreadable: chime did not write the stored definition of a schedule, or its cursor, in this form: it was edited by hand.
	ErrUnreadable = errors.New("the stored definition, or its cursor, cannot be read: it was edited by hand")
	// ErrSessionLost: the session was reaped. Its name is never used again.
	ErrSessionLost = errors.New("session lost: another worker may run the job")
)
