//go:build unix

package chaos

import (
	"slices"
	"time"
)

// A Process is a child process as the history knows it.
type Process struct {
	Name    string
	Killed  time.Time   // zero: it was not
	Stops   []Window    // SIGSTOP to SIGCONT
	Cuts    []Window    // its network held everything back
	Elected time.Time   // when it logged that it leads, as a scheduler
	Lost    []time.Time // when it logged that a session was lost or could not be extended, or that it ended with outcomes unsettled
}

// lostSince reports whether it lost a session at an instant or later. It may say so late.
func (p *Process) lostSince(at time.Time) bool {
	return slices.ContainsFunc(p.Lost, func(lost time.Time) bool { return !lost.Before(at) })
}
