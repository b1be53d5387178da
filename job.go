package chime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/testjob"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/internal/work"
)

// A Job is one unit of work as its handler sees it. The handler may keep it; changing it has no effect.
//
// However a Job is printed, logged or encoded as JSON, its payload is left out: only its size is shown.
type Job struct {
	ID       string    `json:"id"`                 // the same in all attempts: the idempotency key. An occurrence's is "<schedule>@<planned instant>"
	Name     string    `json:"name"`               // the job name: which handler runs it
	Queue    string    `json:"queue"`              // the queue it was taken from
	Schedule string    `json:"schedule,omitempty"` // the schedule that made it, or of which it is a manual run; empty: it was enqueued
	Origin   string    `json:"origin,omitempty"`   // what made a schedule's job, as in a [JobEvent]: occurrence, manual, backfill or death; empty: it was enqueued
	Planned  time.Time `json:"planned,omitzero"`   // when it was to run: the occurrence's instant, the instant of In or At, or about when it was enqueued
	Started  time.Time `json:"started,omitzero"`   // when this attempt began, by the store's clock

	Attempt     int           `json:"attempt"`      // 1, 2, …: failures so far plus one
	MaxAttempts int           `json:"max_attempts"` // after so many failed attempts it is dead
	Crashes     int           `json:"crashes"`      // how many workers have vanished while they ran it; no attempt is used up by that
	Fence       int64         `json:"fence"`        // grows each time the job is taken: of two holders the one with the larger fence is the current one
	Timeout     time.Duration `json:"-"`            // of this attempt; then ctx ends. In JSON: timeout_ms

	Worker    string `json:"worker,omitempty"`    // that runs it, a [WorkerInfo]'s name
	Partition int    `json:"partition,omitempty"` // of its queue, 0, 1, …

	LastError string            `json:"last_error,omitempty"` // how the last attempt failed, at most 1 KiB; empty in the first attempt
	Header    map[string]string `json:"header,omitempty"`     // what travels with it, see [Header]; nil: nothing

	// Death is what died, in a job that [OnDeath] has added: the job as it was given up, with its attempts and its last error; its
	// payload is left out if it was longer than 64 KiB. Nil in every other job.
	Death *JobInfo `json:"death,omitempty"`

	Payload []byte `json:"-"` // the encoded arguments; see Decode. In JSON: payload_bytes

	offset time.Duration // how long after Planned it was due, see [Spread]
	output *work.Output  // what its handler says; nil: nobody listens
}

// Decode reads the arguments into v, a pointer. An empty payload leaves v as it is. Fields that v does not have are ignored. Of a
// time.Time only the instant is restored.
//
// Raw JSON, which was stored from []byte or json.RawMessage, is decoded as JSON: no msgpack of more than one byte begins as JSON
// does. (A payload of one digit is msgpack.) A *[]byte or *json.RawMessage gets the payload as it is stored.
//
// If the arguments cannot be decoded the error is one of [Discard]: a handler that returns it ends the job in the dead set, for
// another attempt would fail too. It names the field that does not fit, and never has its value. That is so for a payload that is cut short, is nested deeper than 64, has more than 1,048,576
// values, or has a msgpack extension other than the timestamp.
func (j *Job) Decode(v any) error {
	err := wire.Decode(j.Payload, v)
	if final := (*wire.DecodeError)(nil); errors.As(err, &final) {
		return Discard(err)
	}
	return err
}

// Lateness is how long after the job was due the attempt began, by the store's clock. It was due at its planned instant; an occurrence of a
// schedule with a [Spread] so much later as that says. It is never negative.
func (j *Job) Lateness() time.Duration {
	if j.Planned.IsZero() {
		return 0
	}
	return max(j.Started.Sub(j.Planned.Add(j.offset)), 0)
}

// LogValue is what a slog.Logger prints of the job: all that identifies it, and the size of its payload.
func (j Job) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String("id", j.ID), slog.String("name", j.Name), slog.String("queue", j.Queue), slog.Int("attempt", j.Attempt),
		slog.Int64("fence", j.Fence), slog.Int("payload_bytes", len(j.Payload)),
	}
	if j.Schedule != "" {
		attrs = append(attrs, slog.String("schedule", j.Schedule), slog.Time("planned", j.Planned))
	}
	return slog.GroupValue(attrs...)
}

// String names the job, without its payload.
func (j Job) String() string {
	return fmt.Sprintf("job %q (ID %q, queue %s, attempt %d)", j.Name, j.ID, j.Queue, j.Attempt)
}

// Format prints what String returns, whatever the verb.
func (j Job) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), j.String())
}

// MarshalJSON encodes the job for whoever looks at it: durations in milliseconds, the size of its payload in place of the payload.
func (j Job) MarshalJSON() ([]byte, error) {
	type fields Job // without methods
	j.Planned, j.Started = j.Planned.UTC(), j.Started.UTC()
	return json.Marshal(struct {
		fields
		TimeoutMS    int64 `json:"timeout_ms"`
		PayloadBytes int   `json:"payload_bytes"`
	}{fields(j), j.Timeout.Milliseconds(), len(j.Payload)})
}

// Decode reads what [Encode] has made, the other half of it: results, progress, arguments that were read elsewhere. It does what
// [Job.Decode] does, but for the meaning of its error.
func Decode(data []byte, v any) error { return wire.Decode(data, v) }

// Encode turns arguments into a payload, as Enqueue and Args do. Tests of handlers use it.
//
//   - nil is an empty payload.
//   - []byte and json.RawMessage are stored as they are.
//   - Everything else is stored as msgpack. A field has the name in its `msgpack` tag, or else in its `json` tag. Of a time.Time
//     only the instant is stored.
//
// It refuses what Decode would refuse: more than 64 levels of nesting, more than 1,048,576 values, more than 64 MiB; and what would be
// stored without what it holds: an error, of which only the text could be stored, and a struct with fields of which none is exported.
// If a value's own marshaller panics, Encode returns an error.
func Encode(v any) ([]byte, error) {
	payload, err := wire.Encode(v)
	if err != nil {
		return nil, fmt.Errorf("chime: encode %T: %w", v, err)
	}
	return payload, nil
}

const maxProgress = 4 << 10 // bytes

// Return sets what the job returns: with the option [Keep] it is kept after the job has ended, and [Jobs.Wait] gives it to those who wait.
// v is encoded as [Encode] does, to 64 KiB at most. The last Return counts, if the handler then returns nil; so a handler may end with
// "return job.Return(v)". It makes no call to the store. The error is one of encoding or size.
func (j *Job) Return(v any) error {
	value, err := j.encode("result", v, wire.MaxResult)
	if err == nil && j.output != nil {
		j.output.Return(value)
	}
	return err
}

// Progress says how far the job is: [Jobs.Get] shows the newest in JobInfo.Progress while it runs. v is encoded as [Encode] does, to 4 KiB
// at most. It makes no call to the store itself: the newest progress of all jobs is sent at most once a second, and is gone when the attempt ends. The error is one of encoding or size.
func (j *Job) Progress(v any) error {
	progress, err := j.encode("progress", v, maxProgress)
	if err == nil && j.output != nil {
		j.output.Report(progress)
	}
	return err
}

// Note adds a remark to what is recorded of the attempt, for people: "1000 rows". It is cut to 2 KiB, and what is not printable is
// escaped. The last Note counts.
func (j *Job) Note(text string) {
	if j.output != nil {
		j.output.Note(wire.Printable(text, wire.MaxNote))
	}
}

func (j *Job) encode(what string, v any, limit int) ([]byte, error) {
	data, err := wire.Encode(v)
	if err == nil && len(data) > limit {
		err = protocol.Invalid(what, strconv.Itoa(len(data))+" bytes", "at most "+strconv.Itoa(limit)+" bytes")
	}
	if err != nil {
		return nil, fmt.Errorf("chime: %s of job %q: %w", what, j.ID, err)
	}
	return data, nil
}

// What package chimetest needs of a job and no application does.
func init() {
	testjob.Begin = func(ctx context.Context, job any) context.Context {
		j := job.(*Job)
		j.output = new(work.Output)
		j.output.See(j)
		return work.WithOutput(ctx, j.output)
	}
	testjob.Of = func(job any) (said testjob.Said) {
		if j := job.(*Job); j.output != nil {
			said.Value, said.Progress, said.Note = j.output.Said()
		}
		return said
	}
}
