package chime

import (
	"errors"
	"time"
)

// envelopeVersion is the first byte of every body. The layout behind it may change with it, but for one thing: a msgpack
// array follows whose first element is the job's name. A byte 0 is the store's own.
const envelopeVersion = 1

// errNewerVersion: the body was written by a newer chime. The envelope's name is set if it could be read, else "?".
var errNewerVersion = errors.New("body is of a newer version")

// envelope is a job as the store keeps it. Its ID, crashes and fence are the store's to keep.
type envelope struct {
	name        string
	payload     []byte
	planned     time.Time     // ms
	maxAttempts int           // 0: the default
	timeout     time.Duration // 0: the default
	failures    int           // attempt = failures + 1
	schedule    string        // empty: the job was enqueued
	lastError   string        // shortened by encode to 1 KiB, control characters escaped
	stack       string        // shortened by encode to 4 KiB
}

func (e *envelope) encode() []byte { return nil }

// decodeEnvelope reads a body that may be anything. Strings and payload share no memory with body.
func decodeEnvelope(body []byte) (envelope, error) { return envelope{}, errors.ErrUnsupported }
