package wire

import (
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// form returns the stored form; nil: there is none.
func (b *BatchEnd) form() *batchEndForm {
	if b == nil {
		return nil
	}
	return &batchEndForm{
		ID: b.ID, Total: b.Total, Done: b.Done, Dead: b.Dead, Cancelled: b.Cancelled, Existing: b.Existing, Created: unixMilli(b.Created),
		Sealed: unixMilli(b.Sealed), Ended: unixMilli(b.Ended), Cancel: b.Cancel, Without: b.Without, Note: b.Note,
	}
}

// batch returns what is stored in this form; nil: there is none.
func (f *batchEndForm) batch() *BatchEnd {
	if f == nil {
		return nil
	}
	return &BatchEnd{
		ID: f.ID, Total: f.Total, Done: f.Done, Dead: f.Dead, Cancelled: f.Cancelled, Existing: f.Existing, Created: milliTime(f.Created),
		Sealed: milliTime(f.Sealed), Ended: milliTime(f.Ended), Cancel: f.Cancel, Without: f.Without, Note: f.Note,
	}
}

// valid reports whether chime writes such a form.
func (f *batchEndForm) valid() bool {
	return f.ID != "" && len(f.ID) <= maxBatch && validInstant(f.Created) && validInstant(f.Sealed) && validInstant(f.Ended)
}

// unixMilli is 0 for the zero time.
func unixMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// milliTime is the zero time for 0.
func milliTime(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// FollowBatch returns a job that follows a batch, as it is added when the batch has ended: body is its envelope, whose details have its queue. Its errors
// are those of DecodeEnvelope.
func FollowBatch(body []byte, end BatchEnd) (*protocol.Follower, error) {
	e, err := DecodeEnvelope(body)
	if err != nil {
		return nil, err
	}
	own := e.ownDetails()
	own.BatchEnd, own.Enqueued = &end, end.Ended
	return e.after(&Envelope{}, own, "", ""), nil
}

// WithBatch returns an envelope whose job is a member of a batch; empty: of none. Its errors are those of DecodeEnvelope.
func WithBatch(body []byte, batch string) ([]byte, error) {
	e, err := DecodeEnvelope(body)
	if err != nil {
		return nil, err
	}
	own := e.ownDetails()
	own.Batch = batch
	e.Details = &own
	return e.Encode(), nil
}

// Member returns the batch of the job that has this body; empty: it is no member, or the body cannot be read.
func Member(body []byte) string {
	e, err := DecodeEnvelope(body)
	if err != nil || e.Details == nil {
		return ""
	}
	return e.Details.Batch
}

// MemberOf returns the batch of which the job with these details is a member; empty: none.
func (d *Details) MemberOf() string {
	if d == nil {
		return ""
	}
	return d.Batch
}
