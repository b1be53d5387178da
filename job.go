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

// A Job is one unit of work, as its handler gets it. The handler may keep it. Changing it has no effect.
//
// Its payload is left out wherever a Job is printed, logged or encoded as JSON: only the size is shown.
type Job struct {
	ID       string    `json:"id"`                 // the same in all attempts: the idempotency key. An occurrence's is "<schedule>@<planned instant>"
	Name     string    `json:"name"`               // the job name: it selects the handler
	Queue    string    `json:"queue"`              // the queue it was taken from
	Schedule string    `json:"schedule,omitempty"` // the schedule that created it, also for a manual run; empty: it was enqueued
	Origin   string    `json:"origin,omitempty"`   // how a schedule created it: occurrence, manual, backfill, done or death, see [JobEvent]; empty: it was enqueued
	Planned  time.Time `json:"planned,omitzero"`   // when it was to run: the occurrence's instant, the instant of In or At, or about when it was enqueued
	Started  time.Time `json:"started,omitzero"`   // when this attempt began, by the store's clock

	Attempt     int           `json:"attempt"`      // 1, 2, …: failures so far plus one
	MaxAttempts int           `json:"max_attempts"` // when this many attempts have failed, it is dead
	Crashes     int           `json:"crashes"`      // how many workers have vanished while they ran it; this uses up no attempt
	Fence       int64         `json:"fence"`        // grows each time the job is taken: if two workers hold it, the one with the larger fence is current
	Timeout     time.Duration `json:"-"`            // the timeout of this attempt: then the handler's ctx ends. In JSON: timeout_ms

	Worker    string `json:"worker,omitempty"`    // the worker that runs it, a [WorkerInfo]'s name
	Partition int    `json:"partition,omitempty"` // the partition of its queue: 0, 1, …

	LastError string            `json:"last_error,omitempty"` // how the last attempt failed, at most 1 KiB; empty in the first attempt
	Header    map[string]string `json:"header,omitempty"`     // data that travels with it, see [Header]; nil: none
	Group     string            `json:"group,omitempty"`      // the group that it belongs to, see [Group]; empty: none

	// Death is set in a job that [OnDeath] has added: the dead job, with its attempts and its last error. Its payload is left out if it is
	// longer than 64 KiB. Death is nil in every other job.
	Death *JobInfo `json:"death,omitempty"`

	// Prior is set in a job that [OnDone] has added: the job that is done, with its attempts, and its result as [Job.Return] has set it. Its payload is
	// left out if it is longer than 64 KiB. Prior is nil in every other job. A Prior has no Prior of its own.
	Prior *JobInfo `json:"prior,omitempty"`

	// Batch is the ID of the batch of which it is a member; empty: of no batch. See [Enqueuer.EnqueueBatch].
	Batch string `json:"batch,omitempty"`
	// BatchInfo is set in the jobs Done and Ended of a batch: the batch as it was at its end. Nil in every other job, also in members.
	BatchInfo *BatchInfo `json:"batch_info,omitempty"`

	Payload []byte `json:"-"` // the encoded arguments; see Decode. In JSON: payload_bytes

	offset time.Duration // how long after Planned it was due, see [Spread]
	output *work.Output  // result, progress and note of the handler; nil: nothing reads them
}

// Decode reads the arguments into v, a pointer. An empty payload leaves v unchanged. Fields that v does not have are ignored. For a
// time.Time only the instant is restored.
//
// A payload that is JSON is decoded as JSON. It can be distinguished from msgpack by its first byte, except a payload of a single digit, which is
// decoded as msgpack: JSON of one digit is stored with a blank before it. A *[]byte gets the payload as it is stored, and so does
// a *json.RawMessage, without this blank.
//
// It is an error if v cannot hold a number, or if the payload has an array where v has a struct. If the arguments cannot be decoded, the error is
// one of [Discard]: a handler that returns it makes the job dead, because another attempt would fail too. The error contains the name of the field
// that does not match, and never its value. Payloads that cannot be decoded also include those that are cut short, are nested deeper than 64, have
// more than 1,048,576 values, or have a msgpack extension other than the timestamp.
func (j *Job) Decode(v any) error { return discardUnreadable(wire.Decode(j.Payload, v)) }

// discardUnreadable turns an error that every further attempt would have too into one of Discard.
func discardUnreadable(err error) error {
	if final := (*wire.DecodeError)(nil); errors.As(err, &final) {
		return Discard(err)
	}
	return err
}

// Lateness is the time from when the job was due to when the attempt began, by the store's clock. A job is due at its planned instant. If its
// schedule has a [Spread], it is due [Schedule].Offset later. The result is never negative.
func (j *Job) Lateness() time.Duration {
	if j.Planned.IsZero() {
		return 0
	}
	return max(j.Started.Sub(j.Planned.Add(j.offset)), 0)
}

// LogValue is what a slog.Logger prints of the job: everything that identifies it, and the size of its payload.
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

// String identifies the job, without its payload.
func (j Job) String() string {
	return fmt.Sprintf("job %q (ID %q, queue %s, attempt %d)", j.Name, j.ID, j.Queue, j.Attempt)
}

// Format prints what String returns, for every verb.
func (j Job) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), j.String())
}

// MarshalJSON encodes the job for display: durations in milliseconds, the size of its payload instead of the payload.
func (j Job) MarshalJSON() ([]byte, error) {
	type fields Job // without methods
	j.Planned, j.Started = j.Planned.UTC(), j.Started.UTC()
	return json.Marshal(struct {
		fields
		TimeoutMS    int64 `json:"timeout_ms"`
		PayloadBytes int   `json:"payload_bytes"`
	}{fields(j), j.Timeout.Milliseconds(), len(j.Payload)})
}

// Decode reads data that [Encode] has written: results, progress, arguments from another source. It works like [Job.Decode], but its error is an
// ordinary one, not one made by Discard.
func Decode(data []byte, v any) error { return wire.Decode(data, v) }

// Encode turns arguments into a payload, as Enqueue and Args do. Tests of handlers use it.
//
//   - nil is an empty payload.
//   - []byte is stored as it is.
//   - json.RawMessage must be JSON, and is stored as it is; one digit is stored with a blank before it.
//   - Everything else is stored as msgpack. A field has the name in its `msgpack` tag, or else in its `json` tag. Only the instant of
//     a time.Time is stored.
//   - If msgpack would lose a part of a value and JSON keeps all of it, the whole value is stored as encoding/json writes it: for example if
//     a type has only methods for JSON.
//
// It refuses values that Decode would refuse: more than 64 levels of nesting, more than 1,048,576 values, more than 64 MiB. It also refuses
// values of which neither format keeps all: an error at the top, which could be stored only as text, a struct that has fields but no exported
// one and no methods, a value in an interface that has methods. The *InvalidError has the path as its Field, such as "args.Lines[2].Price".
// docs/arguments.md lists types. If a value's own marshaller panics, Encode returns an error.
func Encode(v any) ([]byte, error) {
	payload, err := wire.Encode(v)
	if err != nil {
		return nil, fmt.Errorf("chime: encode %T: %w", v, err)
	}
	return payload, nil
}

const maxProgress = 4 << 10 // bytes

// Return sets the result of the job. With the option [Keep] the result is kept after the job has ended, and [Jobs.Wait] returns it. v is
// encoded by [Encode], to at most 64 KiB. If the handler returns nil, the last Return counts; so a handler may end with
// "return job.Return(v)". It makes no call to the store. Its errors are about encoding and size.
func (j *Job) Return(v any) error {
	value, err := j.encode("result", v, wire.MaxResult)
	if err == nil && j.output != nil {
		j.output.Return(value)
	}
	return err
}

// Progress reports how far the job is: while it runs, [Jobs.Get] returns the newest report in JobInfo.Progress. v is encoded by [Encode], to
// at most 4 KiB. It makes no call to the store itself: the newest progress of all jobs is sent at most once a second. It is deleted when the
// attempt ends. Its errors are about encoding and size.
func (j *Job) Progress(v any) error {
	progress, err := j.encode("progress", v, maxProgress)
	if err == nil && j.output != nil {
		j.output.Report(progress)
	}
	return err
}

// Note adds a remark for people to the record of the attempt, such as "1000 rows". It is cut to 2 KiB. Characters that are not
// printable are escaped, except line ends and tabs; lists show its first line. The last Note counts.
func (j *Job) Note(text string) {
	if j.output != nil {
		j.output.Note(wire.PrintableLines(text, wire.MaxNote))
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

// Functions that package chimetest needs and applications do not.
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
