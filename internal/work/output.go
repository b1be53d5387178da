package work

import (
	"sync"

	"github.com/chimejobs/chime/internal/protocol"
)

// An Output contains what a handler reports in addition to its error; a later value replaces an earlier one. Its methods are safe for concurrent
// use; the zero value is empty, and reports to nobody.
//
// Every attempt has one and few handlers report anything, so what they report has memory of its own.
type Output struct {
	// Of the job; set before its handler is called.
	reporter *reporter
	session  *session
	id       string
	fence    int64
	seen     any // the job as the handler received it

	mu     sync.Mutex
	said   *said // nil: nothing
	closed bool  // the flight has ended
}

// said is what a handler has reported.
type said struct {
	value, progress []byte
	note            string
	reports         bool // there is progress
}

// begin prepares the output for the handler of a job.
func (o *Output) begin(r *reporter, s *session, id string, fence int64) {
	o.reporter, o.session, o.id, o.fence = r, s, id, fence
}

// See stores the job as the handler will receive it; Seen returns it.
func (o *Output) See(job any) { o.seen = job }
func (o *Output) Seen() any   { return o.seen }

// Return keeps the handler's result, encoded.
func (o *Output) Return(value []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.saying().value = value
}

// Report keeps the handler's progress, encoded, and sends it.
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

// saying returns the memory for what the handler reports. The caller holds mu.
func (o *Output) saying() *said {
	if o.said == nil {
		o.said = new(said)
	}
	return o.said
}

// Said returns everything that was reported.
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

// reported reports whether there is progress. After the call no more progress is sent, because the job is being settled.
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

// report returns the progress that was reported last.
func (o *Output) report() protocol.ProgressReport {
	_, progress, _ := o.Said()
	return protocol.ProgressReport{Partition: o.session.partition(), Session: o.session.name(), ID: o.id, Fence: o.fence, Progress: progress}
}
