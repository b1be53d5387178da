package wire

import (
	"errors"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// MaxResult is the maximum length of a value that a handler returns, in bytes.
const MaxResult = 64 << 10

// A Result is kept for a job that has ended. The store adds the outcome. A Result is stored as a version byte and a msgpack
// map with one-letter keys. Keys that this version does not know are ignored.
type Result struct {
	Name     string
	Schedule string        // empty: the job was enqueued
	Planned  time.Time     // milliseconds
	Started  time.Time     // milliseconds; zero: it had not begun
	Ended    time.Time     // milliseconds; zero: the expiry of the result minus Keep
	Keep     time.Duration // milliseconds
	Attempt  int
	Error    string // of a failed last attempt, if the job was cancelled; cut to 500 bytes
	Worker   string
	Note     string
	Value    []byte // the handler's return value, encoded; nil: none
	Sealed   []byte // the sealed ResultSecrets; then Error, Note and Value are empty; nil: it is not sealed
}

type resultForm struct {
	Name     string `json:"n"`
	Schedule string `json:"s,omitempty"`
	Planned  int64  `json:"p,omitempty"` // Unix ms
	Started  int64  `json:"b,omitempty"` // Unix ms
	Ended    int64  `json:"t,omitempty"` // Unix ms
	Keep     int64  `json:"k,omitempty"` // ms
	Attempt  int    `json:"a,omitempty"`
	Error    string `json:"e,omitempty"`
	Worker   string `json:"w,omitempty"`
	Note     string `json:"m,omitempty"`
	Value    []byte `json:"v,omitempty"`
	Sealed   []byte `json:"x,omitempty"`
}

// Encode returns the body.
func (r *Result) Encode() []byte {
	encoded, err := Encode(resultForm{
		Name: r.Name, Schedule: r.Schedule, Planned: millis(r.Planned), Started: millis(r.Started), Ended: millis(r.Ended), Keep: ceilMillis(r.Keep), Attempt: r.Attempt,
		Error: PrintableLines(r.Error, maxFailureText), Worker: Printable(r.Worker, maxWorkerName), Note: r.Note, Value: r.Value, Sealed: r.Sealed,
	})
	if err != nil {
		panic(err) // a form has strings, numbers and bytes only, and less than MaxEncoded of them
	}
	if r.Sealed != nil { // programs that do not know it must not read a result without its value
		return append([]byte{Version | SealedFlag}, encoded...)
	}
	return append([]byte{Version}, encoded...)
}

// DecodeResult reads a body, which may be any bytes. Every error except ErrNewerVersion is permanent.
func DecodeResult(body []byte) (*Result, error) {
	switch {
	case len(body) == 0:
		return nil, errors.New("the result is empty")
	case body[0]&^SealedFlag > Version:
		return nil, ErrNewerVersion
	}
	sealed := body[0]&SealedFlag != 0
	var form resultForm
	if err := decodeMsgpack(body[1:], &form); err != nil || body[0]&^SealedFlag != Version || sealed != (form.Sealed != nil) {
		return nil, errors.New("the result cannot be read") // the decoder's error may contain the value
	}
	r := &Result{Name: form.Name, Schedule: form.Schedule, Planned: instant(form.Planned), Started: instant(form.Started), Ended: instant(form.Ended),
		Attempt: form.Attempt, Error: PrintableLines(form.Error, maxFailureText), Worker: Printable(form.Worker, maxWorkerName),
		Note: PrintableLines(form.Note, MaxNote), Value: some(form.Value), Sealed: form.Sealed}
	if validDelay(form.Keep) {
		r.Keep = time.Duration(form.Keep) * time.Millisecond
	}
	if protocol.CheckName("name", r.Name) != nil {
		r.Name = NoName
	}
	return r, nil
}

// MaxNote is the maximum length of a handler's note, in bytes.
const MaxNote = 2 << 10

// millis returns an instant in Unix ms; 0 for no instant.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// instant returns the instant of Unix ms; the zero time if it is 0 or out of range.
func instant(ms int64) time.Time {
	if ms == 0 || !validInstant(ms) {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
