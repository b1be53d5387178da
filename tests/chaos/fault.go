//go:build unix

package chaos

import (
	"fmt"
	"time"
)

// A Kind is a kind of fault.
type Kind string

const (
	KillWorker   Kind = "kill worker"   // SIGKILL; another one starts in its place
	StopWorker   Kind = "stop worker"   // SIGSTOP for longer than its session, then SIGCONT
	EndWorker    Kind = "end worker"    // SIGTERM, as in a deploy; another one starts in its place
	CutWorker    Kind = "cut worker"    // its network delays every byte
	KillLeader   Kind = "kill leader"   // SIGKILL to the leading scheduler
	StopLeader   Kind = "stop leader"   // SIGSTOP to the leading scheduler for twice its lease, then SIGCONT
	KillEnqueuer Kind = "kill enqueuer" // SIGKILL in the middle of its calls
	KillChanger  Kind = "kill changer"  // SIGKILL to the process that changes, pauses and moves schedules
	KillRedis    Kind = "kill redis"    // SIGKILL; it starts again with its append-only file
	EmptyRedis   Kind = "empty redis"   // SIGKILL; it starts again without its files
	Outage       Kind = "outage"        // every connection is cut and new ones are refused
	Flush        Kind = "flush scripts" // SCRIPT FLUSH
	GoBack       Kind = "go back"       // the keys of one queue, or one record about schedules, return to their state of For ago
)

// A Fault is one fault of a plan.
type Fault struct {
	At   time.Duration // since the run began
	Kind Kind
	Slot int           // index of the process, modulo the number of processes of its role
	For  time.Duration // duration; 0: instantaneous
}

// String returns text such as "12.3s kill worker 2".
func (f Fault) String() string {
	text := fmt.Sprintf("%v %s %d", f.At.Round(100*time.Millisecond), f.Kind, f.Slot)
	if f.For > 0 {
		text += fmt.Sprintf(" for %v", f.For.Round(100*time.Millisecond))
	}
	return text
}
