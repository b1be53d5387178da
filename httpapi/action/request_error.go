package action

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"syscall"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/egress"
)

// A requestError is the reason why a request has no complete answer. The owner of the job reads only the reason, in the history, in Chime-Error and in the
// job's error: it is a text of this package, or has parts of the action. The detail may have addresses, the resolver and the proxy; it is logged.
type requestError struct {
	reason string
	detail error // nil: the reason is everything
}

// Error returns the reason alone, so that no caller shows the detail by mistake.
func (f *requestError) Error() string { return f.reason }

// Unwrap returns the detail.
func (f *requestError) Unwrap() error { return f.detail }

// The reasons. A destination that is refused and a name without an address have the same reason and the same outcome: their difference would list the
// names of an inner zone. A proxy that cannot connect has this reason too, because it resolves the names.
const (
	unreachable        = "not reachable"
	refused            = "refused"
	timedOut           = "timed out"
	invalidCertificate = "TLS: certificate not valid"
	failedHandshake    = "TLS: handshake failed"
	broken             = "the connection was closed, or the answer is not HTTP"
	interrupted        = "interrupted"
	unknownReason      = "failed; the log of the operator has the reason"
)

const tokenEndpoint = "token endpoint: " // before the reason why a token could not be got

// dialError classifies an error of a connection that was not made. failedTLS means that the last step was a TLS handshake with the receiver.
func dialError(err error, failedTLS, proxied bool) *requestError {
	reason := unreachable
	var blocked *egress.BlockedError
	var name *net.DNSError
	var op *net.OpError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &blocked), errors.As(err, &name), errors.As(err, &op) && op.Op == "proxyconnect":
	case failedTLS && errors.As(err, &certificate):
		reason = invalidCertificate
	case failedTLS && !isTimeout(err):
		reason = failedHandshake
	case proxied && !failedTLS:
	case isTimeout(err):
		reason = timedOut
	case errors.Is(err, syscall.ECONNREFUSED):
		reason = refused
	}
	return &requestError{reason, err}
}

// answerError classifies an error of a request on an open connection.
func answerError(err error) *requestError {
	if isTimeout(err) {
		return &requestError{timedOut, err}
	}
	return &requestError{broken, err}
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// requestErrorOf returns the error of an attempt. If ctx has ended, its cause is the reason.
func requestErrorOf(ctx context.Context, err error) *requestError {
	var known *requestError
	var blocked *egress.BlockedError
	switch reason := interruption(context.Cause(ctx)); {
	case errors.As(err, &known) && reason == "":
		return known
	case known != nil:
		return &requestError{reason, known.detail}
	case reason != "":
		return &requestError{reason, err}
	case errors.As(err, &blocked):
		return &requestError{unreachable, err}
	case errors.Is(err, errURI):
		return &requestError{err.Error(), nil}
	}
	return &requestError{unknownReason, err}
}

// interruption is the reason of a ctx that has ended, and "" for nil. A cause that is not one of chime's may have any text.
func interruption(cause error) string {
	switch {
	case cause == nil:
		return ""
	case errors.Is(cause, errTimeout), errors.Is(cause, chime.ErrTimeout):
		return timedOut
	}
	for _, known := range []error{chime.ErrShutdown, chime.ErrSessionLost, chime.ErrCancelled, chime.ErrReplaced} {
		if errors.Is(cause, known) {
			return known.Error()
		}
	}
	return interrupted
}

// log logs why a request has no complete answer, without the secrets of the action.
func (d *delivery) log(ctx context.Context, host string, f *requestError) {
	detail := ""
	if f.detail != nil {
		detail = cut(printable(d.clean.clean(withoutURL(f.detail).Error())), maxNote)
	}
	d.sender.options.Logger.WarnContext(ctx, "httpapi: a request had no complete answer", "event", "request.failed", "id", d.job.ID,
		"schedule", scheduleOf(d.job), "attempt", d.job.Attempt, "fence", d.job.Fence, "host", cut(d.clean.clean(host), maxLoggedHost), "reason", f.reason, "error", detail)
}

const maxLoggedHost = 300 // bytes
