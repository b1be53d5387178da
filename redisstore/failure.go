package redisstore

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// failure adds to err the action, its subject, the matching error of the protocol, and, if waiting does not cure the error, what it means.
// An empty subject is left out.
func failure(act, subject string, err error) error {
	text := err.Error()
	kind := error(nil)
	switch {
	case strings.HasPrefix(text, "CHIMELOST"):
		kind = protocol.ErrSessionLost
	case strings.HasPrefix(text, "CHIMELAYOUT"), strings.HasPrefix(text, "CHIMECLOCK"), strings.HasPrefix(text, "WRONGTYPE"):
		kind = protocol.ErrUnfit
	case strings.HasPrefix(text, "OOM"):
		kind = protocol.ErrStoreFull
	}
	if subject != "" {
		act = fmt.Sprintf("%s %q", act, subject)
	}
	if kind != nil {
		return fmt.Errorf("redisstore: %s: %w: %w", act, kind, err)
	}
	if reason := incurable(err); reason != "" {
		return fmt.Errorf("redisstore: %s: %s: %w", act, reason, err)
	}
	return fmt.Errorf("redisstore: %s: %w", act, err)
}

// denied reports whether the user lacks a right for the command itself or, in the words of Redis 7.0, for a command of a script.
func denied(err error) bool {
	return err != nil && (redis.HasErrorPrefix(err, "NOPERM") || strings.Contains(err.Error(), "The user executing the script can't "))
}

// atStart adds ErrUnfit to an error that waiting does not cure. A role uses it before it starts to work. While it works it waits
// for the same errors to end, because a password may be rotated.
func atStart(err error) error {
	if incurable(err) != "" && !errors.Is(err, protocol.ErrUnfit) {
		return fmt.Errorf("%w: %w", protocol.ErrUnfit, err)
	}
	return err
}

// missingRight explains a denied command.
const missingRight = "the client's user lacks a permission, docs/access.md has the rules for each role"

// The errors of a server to a client with a wrong configuration: the beginning of the error, and what it means.
var refusals = []struct{ prefix, kind string }{
	{"NOAUTH", "the server wants a password, and the client has none"},
	{"ERR Protocol error: unauthenticated", "the server wants a password, and the client has none"}, // the call was too long to read
	{"WRONGPASS", "the server refuses the client's user name or password"},
	{"NOPERM", missingRight},
	{"DENIED", "the server is in protected mode"},
	{"ERR DB index is out of range", "the server has no database of that number"},
	{"ERR SELECT is not allowed in cluster mode", "a cluster has only database 0"},
	{"ERR This instance has cluster support disabled", "the server is not a cluster: use redis.NewClient"},
	{"MOVED", "the server is a node of a cluster: use redis.NewClusterClient"},
	{"ERR unknown command", "the server is not Redis 7.0 or later, or hides a command that is needed"},
	{"redis: can't parse", "the server is not Redis"},
	{"redis: invalid reply", "the server is not Redis"},
}

// incurable returns what is wrong if waiting does not cure an error, and "" if it may.
func incurable(err error) string {
	var plain tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &plain):
		return "the server does not speak TLS"
	case errors.As(err, &certificate):
		return "the server's certificate is not trusted"
	case denied(err):
		return missingRight
	}
	for ; err != nil; err = errors.Unwrap(err) { // the server's own error is the innermost
		for _, r := range refusals {
			if strings.HasPrefix(err.Error(), r.prefix) {
				return r.kind
			}
		}
	}
	return ""
}
