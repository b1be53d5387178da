package protocol

import (
	"context"
	"errors"
	"time"
)

// MaxAcknowledgements is how many acknowledgements a store keeps.
const MaxAcknowledgements = 500

// AcknowledgementRetention is how long an acknowledgement is kept.
const AcknowledgementRetention = 366 * 24 * time.Hour

// ErrTooMany: the store has as many acknowledgements as it keeps.
var ErrTooMany = errors.New("there are too many")

// AcknowledgementStore keeps which problems people know.
type AcknowledgementStore interface {
	// Acknowledgements returns all acknowledgements, in the order of their subjects, also those whose end has come.
	Acknowledgements(ctx context.Context) ([]Acknowledgement, error)

	// Acknowledge adds an acknowledgement, or replaces the one with its subject. ErrTooMany: there are too many.
	Acknowledge(ctx context.Context, a Acknowledgement) error

	// Unacknowledge removes the acknowledgement with the subject of a, and reports whether there was one.
	Unacknowledge(ctx context.Context, a Acknowledgement) (bool, error)
}

// An Acknowledgement records that people know a problem. Its subject is a schedule, or else the failures of a job name with one shape of error.
type Acknowledgement struct {
	Schedule   string
	Job, Shape string // Shape: a hash of it, because errors may be secret
	Note       Note

	Revision int64 // of the schedule
	Done     int64 // its runs that were done
	Queues   []string
}
