package work

import (
	"sync"

	"github.com/chimejobs/chime/internal/protocol"
)

// An Output is what a handler says besides its error: the last of each counts. Its methods are safe for concurrent use; the zero value is
// empty, and reports to nobody.
//
// Every attempt has one and few handlers say anything, so what they say has memory of its own.
type Output struct {
	// of the job, set before its handler is called
	reporter *reporter
	session  *session
	id       string
	fence    int64
	seen     any // the job as the handler was given it

	mu     sync.Mutex
	said   *said // nil: nothing
	closed bool  // the flight has ended
}

// said is what a handler has said.
type said struct {
	value, progress []byte
	note            string
	reports         bool // there is progress
}

// begin makes the output ready for the handler of a job.
func (o *Output) begin(r *reporter, s *session, id string, fence int64) {
	o.reporter, o.session, o.id, o.fence = r, s, id, fence
}

// See notes the job as the handler is given it, before it is called; Seen returns it.
func (o *Output) See(job any) { o.seen = job }
func (o *Output) Seen() any   { return o.seen }

// Return keeps what the handler returns, encoded.
func (o *Output) Return(value []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.saying().value = value
}

// Report keeps how far the handler is, encoded, and has it sent.
func (o *Output) Report(progress []byte) {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return
	}
	s := o.saying()
	s.progress, s.reports = progress, true
	o.mu.Unlock()
	if o.reporter != nil {
		o.reporter.add(o)
	}
}

// Note keeps a remark.
func (o *Output) Note(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.saying().note = text
}

// saying is where something is kept that the handler says. The caller holds mu.
func (o *Output) saying() *said {
	if o.said == nil {
		o.said = new(said)
	}
	return o.said
}

// Said returns all that was said.
func (o *Output) Said() (value, progress []byte, note string) {
	if o == nil { // the job did not begin
		return nil, nil, ""
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.said == nil {
		return nil, nil, ""
	}
	return o.said.value, o.said.progress, o.said.note
}

// reported reports whether there is progress; from then on none is sent any more, for the job is being settled.
func (o *Output) reported() bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	return o.said != nil && o.said.reports
}

func (o *Output) isClosed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed
}

// report is the progress that was reported last.
func (o *Output) report() protocol.ProgressReport {
	_, progress, _ := o.Said()
	return protocol.ProgressReport{Partition: o.session.partition(), Session: o.session.name(), ID: o.id, Fence: o.fence, Progress: progress}
}
