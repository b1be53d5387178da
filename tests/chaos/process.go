//go:build unix

package chaos

import (
	"slices"
	"time"
)

// A Process is the history of a child process.
type Process struct {
	Name    string
	Killed  time.Time   // zero: it was not killed
	Stops   []Window    // SIGSTOP to SIGCONT
	Cuts    []Window    // its network delivered nothing
	Elected time.Time   // when it logged that it leads; schedulers only
	Lost    []time.Time // when it logged a lost or unextended session, or that it ended with unsettled outcomes
}

// lostSince reports whether it lost a session at or after an instant. It may log the loss late.
func (p *Process) lostSince(at time.Time) bool {
	return slices.ContainsFunc(p.Lost, func(lost time.Time) bool { return !lost.Before(at) })
}
