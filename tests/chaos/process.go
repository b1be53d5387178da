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

// logsLate is how much later than the loss of a session a process may log it. A process that is stopped or cut off for longer has that fault as cause.
const logsLate = 5 * sessionTTL

// lost reports whether it lost a session in a span.
func (p *Process) lost(begin, end time.Time) bool {
	return slices.ContainsFunc(p.Lost, func(lost time.Time) bool {
		return !lost.Before(begin) && lost.Before(end.Add(logsLate))
	})
}
