package work

import (
	"sync"

	"github.com/chimejobs/chime/internal/protocol"
)

// An Output is what a handler says besides its error: the last of each counts. Its methods are safe for concurrent use; the zero value is
// empty, and reports to nobody.
type Output struct {
	// of the job, set before its handler is called
	reporter *reporter
	session  *session
	id       string
	fence    int64
	seen     any // the job as the handler was given it

	mu              sync.Mutex
	value, progress []byte
	note            string
	reports, closed bool // there is progress; the flight has ended
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
	o.value = value
}

// Report keeps how far the handler is, encoded, and has it sent.
func (o *Output) Report(progress []byte) {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return
	}
	o.progress, o.reports = progress, true
	o.mu.Unlock()
	if o.reporter != nil {
		o.reporter.add(o)
	}
}

// Note keeps a remark.
func (o *Output) Note(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note = text
}

// Said returns all that was said.
func (o *Output) Said() (value, progress []byte, note string) {
	if o == nil { // the job did not begin
		return nil, nil, ""
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.value, o.progress, o.note
}

// reported reports whether there is progress; from then on none is sent any more, for the job is being settled.
func (o *Output) reported() bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	return o.reports
}

func (o *Output) isClosed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed
}

func (o *Output) report() protocol.ProgressReport {
	o.mu.Lock()
	defer o.mu.Unlock()
	return protocol.ProgressReport{Partition: o.session.partition(), Session: o.session.name(), ID: o.id, Fence: o.fence, Progress: o.progress}
}
