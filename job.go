package chime

import (
	"log/slog"
	"time"
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

// Decode reads the arguments into v, a pointer.
func (j *Job) Decode(v any) error { return decode(j.Payload, v) }

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
