package work

import "sync"

// An Output is what a handler says besides its error: the last of each counts. Its methods are safe for concurrent use; the zero value is
// empty.
type Output struct {
	seen any // the job as the handler was given it

	mu                sync.Mutex
	value, progress   []byte
	returned, reports bool // there is a value; the progress was not sent yet
	note              string
}

// See notes the job as the handler is given it, before it is called; Seen returns it.
func (o *Output) See(job any) { o.seen = job }
func (o *Output) Seen() any   { return o.seen }

// Return keeps what the handler returns, encoded.
func (o *Output) Return(value []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.value, o.returned = value, true
}

// Report keeps how far the handler is, encoded.
func (o *Output) Report(progress []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.progress, o.reports = progress, true
}

// Note keeps a remark.
func (o *Output) Note(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note = text
}

// Said returns all that was said.
func (o *Output) Said() (value, progress []byte, note string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.value, o.progress, o.note
}
