package chimeotel

import (
	"context"
	"errors"
	"fmt"

	"github.com/chimejobs/chime"
)

// outcomeReturned: the handler was cut off by the end of its worker or of its session, and nothing is counted.
const outcomeReturned = "returned"

// outcomeOf is the outcome of an attempt that returns err: a [chime.RunOutcome], or outcomeReturned. lost means that the
// worker has lost the job meanwhile.
func outcomeOf(ctx context.Context, job *chime.Job, err error) (outcome string, lost bool) {
	var cause error
	if ctx.Err() != nil {
		cause = context.Cause(ctx)
	}
	lost = errors.Is(cause, chime.ErrSessionLost)
	if errors.Is(cause, chime.ErrCancelled) {
		return string(chime.RunCancelled), lost
	}
	switch action := chime.OutcomeOf(err).Action; {
	case action == chime.Succeeded:
		return string(chime.RunDone), lost
	case action == chime.Snoozed:
		return string(chime.RunSnoozed), lost
	case action == chime.Retried && (lost || errors.Is(cause, chime.ErrShutdown)):
		return outcomeReturned, lost
	case action == chime.Retried && errors.Is(cause, chime.ErrReplaced):
		return string(chime.RunSuperseded), lost
	case action == chime.Retried && job.Attempt < job.MaxAttempts:
		return string(chime.RunFailed), lost
	}
	return string(chime.RunDead), lost
}

// again reports whether another attempt follows this outcome.
func again(outcome string) bool {
	return outcome == string(chime.RunFailed) || outcome == string(chime.RunSnoozed) || outcome == outcomeReturned
}

// typeOf is the error.type of an attempt: "timeout", "panic", or the error's type. It contains nothing of the error's text.
func typeOf(ctx context.Context, err error) string {
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), chime.ErrTimeout) {
		return "timeout"
	}
	return errorType(err)
}

// errorType is the type of an error or, if the error only wraps another one, the type of that one.
func errorType(err error) string {
	for {
		if _, ok := err.(*chime.InvalidError); ok { // an alias: fmt would print its internal name
			return "*chime.InvalidError"
		}
		kind := fmt.Sprintf("%T", err)
		switch kind {
		case "*chimeotel.panicError":
			return "panic"
		case "*fmt.wrapError", "*errors.joinError", "*chime.steering":
			if inner := wrapped(err); inner != nil {
				err = inner
				continue
			}
		}
		return kind
	}
}

// wrapped is the single error that another one wraps; nil: none, or more than one.
func wrapped(err error) error {
	if several, ok := err.(interface{ Unwrap() []error }); ok && len(several.Unwrap()) == 1 {
		return several.Unwrap()[0]
	}
	return errors.Unwrap(err)
}

// A panicError is the value of a handler's panic; nil: the handler called runtime.Goexit.
type panicError struct{ value any }

func (p *panicError) Error() string {
	if p.value == nil {
		return "the handler called runtime.Goexit"
	}
	return fmt.Sprintf("panic: %v", p.value)
}
