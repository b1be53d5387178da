package chime

import (
	"errors"
	"fmt"
	"strings"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/internal/work"
)

// The errors that a caller may branch on with errors.Is.
var (
	// ErrNotFound: there is no schedule (or job) of that name.
	ErrNotFound = protocol.ErrNotFound
	// ErrPayloadTooLarge: the encoded arguments are longer than the limit. Nothing was sent.
	ErrPayloadTooLarge = wire.ErrPayloadTooLarge
	// ErrStoreFull: the database is out of memory; nothing was written.
	ErrStoreFull = protocol.ErrStoreFull
	// ErrUnfit: the store cannot be trusted with jobs (its version, its settings, foreign keys) and waiting will not help.
	ErrUnfit = protocol.ErrUnfit
	// ErrDrainTimeout: Run ended with handlers cut off; see DrainTimeoutError for the jobs.
	ErrDrainTimeout = errors.New("drain timed out")
)

// Why a handler's ctx ended, as context.Cause tells. ErrSessionLost also comes from a Store whose session is gone.
var (
	ErrTimeout     = work.ErrTimeout
	ErrShutdown    = work.ErrShutdown
	ErrSessionLost = protocol.ErrSessionLost
	ErrReplaced    = work.ErrReplaced
)

// DrainTimeoutError names the jobs whose handlers had not returned when the drain timeout was over. Their work was
// cancelled and handed back: they run again without having used up an attempt.
type DrainTimeoutError struct {
	IDs []string
}

func (e *DrainTimeoutError) Error() string {
	return fmt.Sprintf("chime: %v: %d handlers cut off: %s", ErrDrainTimeout, len(e.IDs), strings.Join(e.IDs, ", "))
}

func (e *DrainTimeoutError) Unwrap() error { return ErrDrainTimeout }

// PanicError is the failure of a handler that panicked or ended its goroutine.
type PanicError struct {
	Value any
	Stack []byte // at most 4 KiB
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }
