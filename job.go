package chime

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/chimejobs/chime/internal/wire"
)

// A Job is one unit of work as its handler sees it. The handler may keep it, but nothing that it changes there goes anywhere.
type Job struct {
	ID       string    // the same in all attempts: the idempotency key; of an occurrence `<schedule>@<planned>`
	Name     string    // which handler runs it
	Queue    string    // where it was taken from
	Schedule string    // whose occurrence it is; empty: none's
	Planned  time.Time // when it was to run: the occurrence's instant, or when it was due
	Started  time.Time // when this attempt was begun, by the store's clock

	Attempt     int // 1, 2, … : failures so far and one
	MaxAttempts int // after so many it is given up
	Crashes     int // how often a worker vanished with it
	Fence       int64
	Timeout     time.Duration // of this attempt

	LastError string // how the last attempt failed, shortened; empty at the first

	Payload []byte // the encoded arguments; see Decode
}

// Decode reads the arguments into v, a pointer. An empty payload leaves v as it is; fields that v does not have are ignored;
// of a time only the instant is as it was.
//
// Raw JSON, stored as []byte or json.RawMessage, is decoded as JSON: no msgpack of more than one byte begins as JSON does.
// (A payload of one digit is msgpack.) A *[]byte or *json.RawMessage gets the payload as it is stored.
//
// Arguments that cannot be decoded never can be: returned from the handler, the error ends the job in the dead set, as
// Discard does. That covers what is cut short, nested deeper than 64, has more than 1,048,576 values, and extensions of
// msgpack other than the timestamp.
func (j *Job) Decode(v any) error {
	err := wire.Decode(j.Payload, v)
	if final := (*wire.DecodeError)(nil); errors.As(err, &final) {
		return Discard(err)
	}
	return err
}

// Lateness is how long after its planned instant the attempt began; never negative.
func (j *Job) Lateness() time.Duration {
	if j.Planned.IsZero() || j.Started.Before(j.Planned) {
		return 0
	}
	return j.Started.Sub(j.Planned)
}

// LogValue keeps the payload out of logs.
func (j *Job) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String("id", j.ID), slog.String("name", j.Name), slog.String("queue", j.Queue), slog.Int("attempt", j.Attempt),
		slog.Int64("fence", j.Fence), slog.Int("payload_bytes", len(j.Payload)),
	}
	if j.Schedule != "" {
		attrs = append(attrs, slog.String("schedule", j.Schedule), slog.Time("planned", j.Planned))
	}
	return slog.GroupValue(attrs...)
}

// String names the job. It keeps the payload out of what is printed with %v and %s.
func (j *Job) String() string {
	return fmt.Sprintf("job %q (ID %s, queue %s, attempt %d)", j.Name, j.ID, j.Queue, j.Attempt)
}

// Encode turns arguments into a payload, as Enqueue and Args do; a test of a handler may want it.
//
//   - nil is an empty payload.
//   - []byte and json.RawMessage are stored as they are.
//   - everything else is msgpack. Fields have the name in their `msgpack` tag, else that in their `json` tag. Of a time
//     only the instant travels; of msgpack's extensions only the timestamp does.
//
// It refuses what Decode would: nested deeper than 64, more than 1,048,576 values. It returns an error, and does not
// panic, when a value's own marshaller panics.
func Encode(v any) ([]byte, error) {
	payload, err := wire.Encode(v)
	if err != nil {
		return nil, fmt.Errorf("chime: encode %T: %w", v, err)
	}
	return payload, nil
}
