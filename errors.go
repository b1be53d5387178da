package chime

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/internal/work"
)

// The errors that a caller may branch on with errors.Is.
var (
	// ErrNotFound: no schedule or queue has that name, or no job has that ID. For a job it may be a *[NotFoundError].
	ErrNotFound = protocol.ErrNotFound
	// ErrPayloadTooLarge: the encoded arguments are longer than EnqueuerOptions.MaxPayload. Nothing was sent.
	ErrPayloadTooLarge = wire.ErrPayloadTooLarge
	// ErrConflict: the stored state is not the one that the caller has read; nothing was changed. For a schedule it is a *ConflictError.
	ErrConflict = protocol.ErrConflict
	// ErrStoreFull: Redis is out of memory; nothing was written.
	ErrStoreFull = protocol.ErrStoreFull
	// ErrMaxUnfinished: the schedule has its maximum number of unfinished runs, see [MaxUnfinished]; nothing was added.
	ErrMaxUnfinished = protocol.ErrMaxUnfinished
	// ErrUnfit: the store cannot be trusted with jobs, because of its version, its settings, its options or keys of another
	// program. Waiting does not help.
	ErrUnfit = protocol.ErrUnfit
	// ErrGroupFull: the group of the job has as many jobs waiting as its [GroupRule] allows. The job was not added.
	ErrGroupFull = protocol.ErrGroupFull
	// ErrDrainTimeout: Run ended and cut off handlers. The error is a *DrainTimeoutError, which lists their jobs.
	ErrDrainTimeout = errors.New("drain timed out")
)

// InvalidError describes a value from the program that is not valid: a name, an ID, an option, arguments, a nil ctx. It has three strings:
// Field is the thing ("queue", "job name", "timeout", "WorkerOptions.Concurrency", …), Value is the given value, cut to 64 bytes (for
// arguments their type or size), and Limit is what is allowed. Its text contains all three. Nothing was sent.
//
// If several are joined, errors.As finds the first one. errors.Is finds the one with a given field, value or limit:
// errors.Is(err, &chime.InvalidError{Field: "queue"}). A mistake in a rule is an InvalidError too: its Field is "recurrence", or for example
// "recurrence.timeZone". It wraps a [recurrence.Error], which has the code, and its text is that of this error.
type InvalidError = protocol.InvalidError

// The reasons for which a handler's ctx ends, returned by context.Cause.
var (
	// ErrTimeout: the attempt took longer than its Timeout.
	ErrTimeout = work.ErrTimeout
	// ErrShutdown: the worker stops, and the handler did not return within WorkerOptions.DrainTimeout.
	ErrShutdown = work.ErrShutdown
	// ErrSessionLost: the worker could not reach the store for SessionTTL, so another worker may run the job.
	ErrSessionLost = protocol.ErrSessionLost
	// ErrReplaced: the next occurrence of the schedule is due and its overlap policy is OverlapCancel.
	ErrReplaced = work.ErrReplaced
	// ErrCancelled: [Jobs.Cancel] was called. The job ends, even if the handler returns an error.
	ErrCancelled = work.ErrCancelled
)

var (
	errNilStore   = protocol.Because(protocol.Invalid("store", "", "one of redisstore.New or redisstore/embedded"), "is nil")
	errNilContext = protocol.ErrNilContext
	errNilOption  = protocol.Because(protocol.Invalid("an option", "", "one of this package"), "is nil")
)

// NotFoundError is the ErrNotFound of [Jobs.Get], [Jobs.Wait] and [Jobs.Cancel] if [Once] still bars the ID: the job has ended, and nothing of it
// is kept.
type NotFoundError struct {
	BarredUntil time.Time // until then no job with this ID is added with Once; [Jobs.Delete] of the ID frees it at once
}

// Error returns a text with the instant.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("%v: its ID is barred by Once until %s", ErrNotFound, e.BarredUntil.Format(time.RFC3339))
}

// Unwrap returns ErrNotFound.
func (e *NotFoundError) Unwrap() error { return ErrNotFound }

// notFound is the error for a job that does not exist.
func notFound(job *protocol.FoundJob) error {
	if job.BarredUntil.IsZero() {
		return ErrNotFound
	}
	return &NotFoundError{BarredUntil: job.BarredUntil}
}

// ConflictError means that a schedule was not changed, because it is not as the caller has read it: see IfRevision and IfAbsent.
type ConflictError struct {
	Schedule *Schedule // the schedule as it is stored now, or was a moment ago
}

// Error contains the schedule's name and the stored revision.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: schedule %q is at revision %d", ErrConflict, e.Schedule.Name, e.Schedule.Revision)
}

// Unwrap returns ErrConflict.
func (e *ConflictError) Unwrap() error { return ErrConflict }

// DrainTimeoutError lists the jobs whose handlers had not returned in time when the worker stopped. Their ctx was ended and the
// jobs were returned to their queues: they run again, and no attempt was used up.
type DrainTimeoutError struct {
	IDs []string // the IDs of the jobs; at least one
}

// Error lists the IDs.
func (e *DrainTimeoutError) Error() string {
	return fmt.Sprintf("chime: %v: %d handlers cut off: %s", ErrDrainTimeout, len(e.IDs), strings.Join(e.IDs, ", "))
}

// Unwrap returns ErrDrainTimeout.
func (e *DrainTimeoutError) Unwrap() error { return ErrDrainTimeout }

// PanicError is the failure of a handler that panicked or called runtime.Goexit. It is logged as the error of the attempt; the stack
// is kept with the job. Run returns it for a role that panicked.
type PanicError struct {
	Value any    // what was passed to panic
	Stack []byte // the stack of the goroutine, at most 4 KiB
}

// Error is "panic: " and the value.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// unusable is the error for a role without a store or with invalid options; nil if neither is the case.
func unusable(role string, store protocol.Store, bad error) error {
	if store == nil {
		bad = errors.Join(errNilStore, bad)
	}
	if bad == nil {
		return nil
	}
	return fmt.Errorf("chime: %s: %w", role, bad)
}

// runsAlready is the error for a role that is started a second time.
func runsAlready(role string) error {
	return fmt.Errorf("chime: %s runs already, or has run: make another one", role)
}
