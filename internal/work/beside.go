package work

import (
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A besideNote is whether the store knows that other jobs of the worker run beside a suspect of a lane. The store sees which jobs of the same
// partition have begun beside it; of jobs of other partitions it learns here. If the worker then vanishes, the suspect may not be the cause.
//
//	       another job runs or arrives,           a call            the call is
//	       and the watch is over                  carries it        answered
//	alone ─────────────────────────────► besideDue ────────► besideSent ───────► besideKnown
//	  ▲                                                                              │
//	  └──────────────── the suspect has ended, or its session is lost ◄──────────────┘  (from every state)
//
// What holds: a job that arrives after the watch of a suspect begins when the store knows of it (besideKnown), or when the store has not answered
// for protocol.SuspectAlone. So a node that hangs delays the jobs of other nodes by no more than that, once for each suspect.
type besideNote struct {
	state besideState
	until time.Time // jobs that have arrived are held back until then at the latest
}

type besideState byte

const (
	alone besideState = iota
	besideDue
	besideSent
	besideKnown
)

// crowd notes that other jobs run beside the suspect, or have arrived.
func (b *besideNote) crowd(now time.Time) {
	if b.state == alone {
		b.state, b.until = besideDue, now.Add(protocol.SuspectAlone)
	}
}

// uncrowd notes that there is no suspect any more.
func (b *besideNote) uncrowd() { *b = besideNote{} }

// isCrowded reports whether other jobs run beside the suspect.
func (b *besideNote) isCrowded() bool { return b.state != alone }

// besideUrgent reports whether a call has to carry the note.
func (b *besideNote) besideUrgent() bool { return b.state == besideDue }

// loadBeside puts the note into a call. Each call carries it while the suspect runs, because each replaces what the last one has written.
func (b *besideNote) loadBeside(call *protocol.WorkCall) {
	if call.Beside = b.state != alone; b.state == besideDue {
		b.state = besideSent
	}
}

// besideAnswered notes that the call that was sent last was answered.
func (b *besideNote) besideAnswered() {
	if b.state == besideSent {
		b.state = besideKnown
	}
}

// holdsBack returns until when jobs that have arrived do not begin at the latest, because the store has to know of them first; zero: they may begin.
func (b *besideNote) holdsBack() time.Time {
	if b.state == besideDue || b.state == besideSent {
		return b.until
	}
	return time.Time{}
}
