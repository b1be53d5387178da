package wire

import (
	"errors"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// Details are the parts of an envelope that few jobs have. They are stored as one binary element, a msgpack map with one-letter keys,
// so that a job without them costs nothing. Keys that this version does not know are ignored.
type Details struct {
	Failures []Failure         // the last MaxFailures, oldest first
	Header   map[string]string // the application's: trace context, tenant, …
	Retry    Retry             // zero: the handler's
	Keep     time.Duration     // how long the result is kept after the end; milliseconds; 0: not at all
	OnDone   []byte            // the body of the job to add when this one is done; empty: none
	OnDeath  []byte            // the body of the job to add when this one dies; empty: none
	In       time.Duration     // milliseconds; of an OnDone or OnDeath, and of a job that was added by one: how long after the end it is due
	Queue    string            // of an OnDone: its queue; empty: that of the job before it
	Prior    *Prior            // the job that was done, in a job that was added by OnDone
	Death    *Death            // the dead job, in a job that was added by OnDeath
	Enqueued time.Time         // milliseconds; zero: about the instant that the job was planned for
	Offset   time.Duration     // milliseconds: how long after that instant an occurrence was due
	Group    string            // the group that the job belongs to; empty: it has none
	Due      time.Time         // milliseconds; for a job that failed or was snoozed: when it is due again; zero: it was neither
	Sealed   []byte            // the sealed ErrorTexts of a sealed envelope; nil: none
	Alone    bool              // a call that handled the job together with others has failed: it is handled alone

	Batch     string    // the batch of which the job is a member; empty: none
	SameBatch bool      // of an OnDone or OnDeath: it is a member of the batch of the job before it, if that is one
	BatchEnd  *BatchEnd // the batch that has ended, in a job that follows it
}

// Added returns the bodies that are stored with a job to be added at its end. A caller may replace them in a copy of the details.
func (d *Details) Added() []*[]byte { return []*[]byte{&d.OnDone, &d.OnDeath} }

// A Failure is a failed attempt.
type Failure struct {
	At     time.Time // milliseconds
	Worker string
	Error  string // cut to 500 bytes, control characters except line ends and tabs escaped
}

// A Retry is how long a job waits after its n-th failure: First × 2^(n-1), at most Max. If they are equal, the delay is constant.
type Retry struct{ First, Max time.Duration } // milliseconds

// A Death is a dead job.
type Death struct {
	Queue, ID string
	Crashes   int
	Ended     time.Time // milliseconds
	Body      []byte    // its envelope; without a payload if that was longer than MaxPriorPayload
}

// A Prior is a job that was done.
type Prior struct {
	Queue, ID string
	Crashes   int
	Body      []byte // its envelope; without a payload if that was longer than MaxPriorPayload
	Result    []byte // its Result, encoded
}

// A BatchEnd is a batch as it was when the job that follows it was added.
type BatchEnd struct {
	ID                                     string
	Total, Done, Dead, Cancelled, Existing int64
	Created, Sealed, Ended                 time.Time // milliseconds; Sealed may be zero: the batch was cancelled before
	Cancel                                 bool      // the batch was cancelled
	Without                                bool      // it is done also if members were cancelled
	Note                                   string
}

const (
	MaxFailures     = 5        // the number of last failures in an envelope
	MaxPriorPayload = 64 << 10 // bytes
	maxFailureText  = 500      // bytes
	maxWorkerName   = 200      // bytes
	maxGroup        = 200      // bytes
	maxBatch        = 200      // bytes
)

// AddFailure appends a failed attempt, and drops the oldest failure beyond MaxFailures. The details do not share memory with others.
func (d *Details) AddFailure(f Failure) {
	kept := d.Failures[max(0, len(d.Failures)+1-MaxFailures):]
	d.Failures = append(append(make([]Failure, 0, len(kept)+1), kept...), f)
}

// detailsForm is the stored form of Details.
type detailsForm struct {
	Failures []failureForm     `json:"f,omitempty"`
	Header   map[string]string `json:"h,omitempty"`
	Retry    []int64           `json:"r,omitempty"` // first, max: ms
	Keep     int64             `json:"k,omitempty"` // ms
	OnDeath  []byte            `json:"o,omitempty"`
	OnDone   []byte            `json:"n,omitempty"`
	In       int64             `json:"i,omitempty"` // ms
	Queue    string            `json:"q,omitempty"`
	Death    *deathForm        `json:"d,omitempty"`
	Prior    *priorForm        `json:"p,omitempty"`
	Enqueued int64             `json:"e,omitempty"` // Unix ms
	Offset   int64             `json:"s,omitempty"` // ms
	Due      int64             `json:"u,omitempty"` // Unix ms
	Group    string            `json:"g,omitempty"`
	Sealed   []byte            `json:"x,omitempty"`
	Alone    bool              `json:"a,omitempty"` // the keys are sorted: lib/members.lua finds b behind it, in front of all others

	Batch     string        `json:"b,omitempty"`
	SameBatch bool          `json:"m,omitempty"`
	BatchEnd  *batchEndForm `json:"c,omitempty"`
}

type batchEndForm struct {
	ID        string `json:"i"`
	Total     int64  `json:"n"`
	Done      int64  `json:"d"`
	Dead      int64  `json:"x,omitempty"`
	Cancelled int64  `json:"c,omitempty"`
	Existing  int64  `json:"e,omitempty"`
	Created   int64  `json:"m"` // Unix ms
	Sealed    int64  `json:"s,omitempty"`
	Ended     int64  `json:"t"`
	Cancel    bool   `json:"k,omitempty"`
	Without   bool   `json:"w,omitempty"`
	Note      string `json:"o,omitempty"`
}

type failureForm struct {
	At     int64  `json:"t"` // Unix ms
	Worker string `json:"w"`
	Error  string `json:"e"`
}

type deathForm struct {
	Queue   string `json:"q"`
	ID      string `json:"i"`
	Crashes int    `json:"c,omitempty"`
	Ended   int64  `json:"t"` // Unix ms
	Body    []byte `json:"b"`
}

type priorForm struct {
	Queue   string `json:"q"`
	ID      string `json:"i"`
	Crashes int    `json:"c,omitempty"`
	Body    []byte `json:"b"`
	Result  []byte `json:"r"`
}

// onlyEnqueued begins the element of details that have only Enqueued, as every delayed job has: it is written and read without
// an encoder.
const onlyEnqueued = "\x81\xa1e"

// encode returns the stored element.
func (d *Details) encode() []byte {
	if d.Failures == nil && d.Header == nil && d.Retry == (Retry{}) && d.Keep == 0 && d.OnDone == nil && d.OnDeath == nil && d.Prior == nil && d.Death == nil &&
		d.In == 0 && d.Queue == "" && d.Offset == 0 && d.Group == "" && d.Due.IsZero() && d.Sealed == nil && !d.Alone && d.Batch == "" && !d.SameBatch &&
		d.BatchEnd == nil && !d.Enqueued.IsZero() {
		return appendNumber([]byte(onlyEnqueued), d.Enqueued.UnixMilli())
	}
	form := detailsForm{
		Header: d.Header, Keep: ceilMillis(d.Keep), OnDone: d.OnDone, OnDeath: d.OnDeath, In: ceilMillis(d.In), Queue: d.Queue,
		Offset: ceilMillis(d.Offset), Group: d.Group, Sealed: d.Sealed, Alone: d.Alone,
		Batch: d.Batch, SameBatch: d.SameBatch, BatchEnd: d.BatchEnd.form(),
	}
	for _, f := range d.Failures[max(0, len(d.Failures)-MaxFailures):] {
		form.Failures = append(form.Failures, failureForm{f.At.UnixMilli(), Printable(f.Worker, maxWorkerName), PrintableLines(f.Error, maxFailureText)})
	}
	if d.Retry != (Retry{}) {
		form.Retry = []int64{ceilMillis(d.Retry.First), ceilMillis(d.Retry.Max)}
	}
	if d.Death != nil {
		form.Death = &deathForm{d.Death.Queue, d.Death.ID, d.Death.Crashes, d.Death.Ended.UnixMilli(), d.Death.Body}
	}
	if d.Prior != nil {
		form.Prior = &priorForm{d.Prior.Queue, d.Prior.ID, d.Prior.Crashes, d.Prior.Body, d.Prior.Result}
	}
	if !d.Enqueued.IsZero() {
		form.Enqueued = d.Enqueued.UnixMilli()
	}
	if !d.Due.IsZero() {
		form.Due = d.Due.UnixMilli()
	}
	encoded, err := EncodeStable(form)
	if err != nil {
		panic(err) // a form has strings, numbers and bytes only, and less than MaxEncoded of them
	}
	return encoded
}

var errDetails = errors.New("body: its details are out of range")

// decodeDetails reads the element, which may be any bytes. It shares no memory with them.
func decodeDetails(element []byte) (*Details, error) {
	if len(element) > len(onlyEnqueued) && string(element[:len(onlyEnqueued)]) == onlyEnqueued {
		if end, inside, err := head(element, len(onlyEnqueued)); err == nil && inside == 0 && end == len(element) {
			if ms, ok := numberAt(element, len(onlyEnqueued), end); ok && ms != 0 && validInstant(ms) {
				return &Details{Enqueued: time.UnixMilli(ms).UTC()}, nil
			}
		}
	}
	var form detailsForm
	if err := decodeMsgpack(element, &form); err != nil {
		return nil, errDetails // the decoder's error may contain the value
	}
	d := &Details{
		OnDone: some(form.OnDone), OnDeath: some(form.OnDeath), In: time.Duration(form.In) * time.Millisecond, Queue: form.Queue,
		Keep: time.Duration(form.Keep) * time.Millisecond, Offset: time.Duration(form.Offset) * time.Millisecond, Group: form.Group, Sealed: some(form.Sealed),
		Alone: form.Alone, Batch: form.Batch, SameBatch: form.SameBatch, BatchEnd: form.BatchEnd.batch(),
	}
	if len(form.Header) > 0 {
		d.Header = form.Header
	}
	for _, f := range form.Failures[max(0, len(form.Failures)-MaxFailures):] {
		d.Failures = append(d.Failures, Failure{time.UnixMilli(f.At).UTC(), Printable(f.Worker, maxWorkerName), PrintableLines(f.Error, maxFailureText)})
		if !validInstant(f.At) {
			return nil, errDetails
		}
	}
	if len(form.Retry) == 2 {
		first, most := form.Retry[0], form.Retry[1]
		d.Retry = Retry{time.Duration(first) * time.Millisecond, time.Duration(most) * time.Millisecond}
		if !validDelay(first) || !validDelay(most) {
			return nil, errDetails
		}
	}
	if f := form.Death; f != nil {
		d.Death = &Death{Queue: f.Queue, ID: f.ID, Crashes: f.Crashes, Ended: time.UnixMilli(f.Ended).UTC(), Body: some(f.Body)}
		if protocol.CheckName("queue", f.Queue) != nil || len(f.ID) > protocol.MaxStoredID || f.Crashes < 0 || !validInstant(f.Ended) {
			return nil, errDetails
		}
	}
	if f := form.Prior; f != nil {
		d.Prior = &Prior{Queue: f.Queue, ID: f.ID, Crashes: f.Crashes, Body: some(f.Body), Result: some(f.Result)}
		if protocol.CheckName("queue", f.Queue) != nil || len(f.ID) > protocol.MaxStoredID || f.Crashes < 0 {
			return nil, errDetails
		}
	}
	if form.Enqueued != 0 {
		d.Enqueued = time.UnixMilli(form.Enqueued).UTC()
	}
	if form.Due != 0 {
		d.Due = time.UnixMilli(form.Due).UTC()
	}
	if len(form.Group) > maxGroup || form.Queue != "" && protocol.CheckName("queue", form.Queue) != nil || form.In < 0 || form.In > protocol.MaxDelay.Milliseconds() {
		return nil, errDetails
	}
	if len(form.Batch) > maxBatch || d.BatchEnd != nil && !form.BatchEnd.valid() {
		return nil, errDetails
	}
	if !validDelay(form.Keep) || !validDelay(form.Offset) || !validInstant(form.Enqueued) || !validInstant(form.Due) {
		return nil, errDetails
	}
	return d, nil
}

// some returns nil for no bytes.
func some(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

func ceilMillis(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

func validDelay(ms int64) bool { return ms >= 0 && ms <= int64(protocol.MaxDelay/time.Millisecond) }

// validInstant is true for about 2,200 years around 1970.
func validInstant(ms int64) bool { return ms > -1<<46 && ms < 1<<46 }
