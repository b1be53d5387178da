package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/ask"
	"github.com/chimejobs/chime/cmd/chime/internal/connect"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/cmd/chime/internal/process"
	"github.com/chimejobs/chime/internal/rights"
	"github.com/chimejobs/chime/recurrence"
)

// The exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2   // wrong flags or arguments, or an invalid rule
	exitNotFound    = 3   // no such schedule, job, queue or worker
	exitRefused     = 4   // read-only, declined, changed by somebody else in the meantime, or a right is missing
	exitUnreachable = 5   // the store does not answer, or its settings are unsuitable
	exitPart        = 6   // done in part
	exitBad         = 7   // verify has found something
	exitTimeout     = 124 // wait ran out
	exitInterrupted = 130 // Ctrl-C
)

// An exitError is an error with an exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// exit makes an error that ends the command with a code.
func exit(code int, format string, values ...any) error {
	return &exitError{code, fmt.Errorf(format, values...)}
}

// usage makes an error of flags and arguments.
func usage(format string, values ...any) error { return exit(exitUsage, format, values...) }

// code returns the exit code for an error.
func code(err error) int {
	var coded *exitError
	var invalid *chime.InvalidError
	var conflict *chime.ConflictError
	var rule *recurrence.Error
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &coded):
		return coded.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &invalid), errors.As(err, &rule):
		return exitUsage
	case errors.Is(err, chime.ErrNotFound):
		return exitNotFound
	case errors.Is(err, ask.ErrDeclined), errors.Is(err, ask.ErrNobody),
		errors.As(err, &conflict), errors.Is(err, chime.ErrConflict), rights.Missing(err):
		return exitRefused
	case connect.Unreachable(err):
		return exitUnreachable
	}
	return exitFailed
}

// report prints an error; joined errors have a line each.
func report(p *process.Process, err error) {
	for line := range strings.SplitSeq(message(err), "\n") {
		_, _ = io.WriteString(p.Err, "chime: "+output.Printable(line)+"\n")
	}
}
