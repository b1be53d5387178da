package chime

import (
	"context"
	"fmt"
	"strings"

	"github.com/chimejobs/chime/internal/protocol"
)

// VerifyOptions say what [Verify] does. The zero value reads only.
type VerifyOptions struct {
	// Repair mends what can be mended, one thing after the other, each by a script that looks first whether it still is wrong.
	// What each repair does is [Finding.Remedy]. The store's user needs an operator's rights then, see docs/access.md; without it
	// a viewer's are enough.
	Repair bool

	// Found hears of each finding at once, unless it is nil, one after the other: also of those for which VerifyReport.Findings has no room.
	Found func(Finding)
}

// maxFindings is how many findings a report has.
const maxFindings = 10_000

// VerifyReport is what [Verify] has looked at and found. In JSON it is what a program prints of it; one that checks ends with an error if Total is
// not 0.
type VerifyReport struct {
	Queues     int64 `json:"queues"`     // that were looked at
	Partitions int64 `json:"partitions"` // of these
	Schedules  int64 `json:"schedules"`  // definitions of schedules
	Jobs       int64 `json:"jobs"`       // jobs with a body; next occurrences of schedules have none
	Sessions   int64 `json:"sessions"`   // in which workers hold jobs

	Total    int                 `json:"total"`           // of the findings
	Repaired int                 `json:"repaired"`        // of these
	Kinds    map[FindingKind]int `json:"kinds,omitempty"` // how many of each kind
	Findings []Finding           `json:"findings"`        // the first 10,000, as they were found
}

// A Finding is one thing in a store that is wrong.
type Finding struct {
	Kind     FindingKind `json:"kind"`               // what is wrong
	Queue    string      `json:"queue,omitempty"`    // empty: it is about the namespace
	ID       string      `json:"id,omitempty"`       // of the job; or the session, the name of parked jobs, the flag that Detail is about
	Schedule string      `json:"schedule,omitempty"` // also of a job that is an occurrence
	Detail   string      `json:"detail"`             // what is wrong, and what comes of it
	Remedy   string      `json:"remedy,omitempty"`   // what Repair does about it; empty: nothing
	Repaired bool        `json:"repaired"`           // Repair did that
}

// String says what was found, in one line.
func (f Finding) String() string {
	text := string(f.Kind)
	if f.ID != "" {
		text += fmt.Sprintf(" %q", f.ID)
	} else if f.Schedule != "" {
		text += fmt.Sprintf(" %q", f.Schedule)
	}
	if f.Queue != "" {
		text += " on queue " + f.Queue
	}
	text += ": " + f.Detail
	if f.Repaired {
		text += "; repaired: " + f.Remedy
	}
	return text
}

// A FindingKind says what is wrong. In these lines: what stands in the store, and what a repair does.
//
//	unplaced      a live schedule whose next occurrence is nowhere and is not to be placed     it is placed
//	doubled       one whose next occurrence stands, and is to be placed besides                no further one is placed before it
//	cursor        one of which it is not known how far it has come                             it goes on from now
//	held          one that waits for the end of a run that nobody runs                         it goes on
//	unreadable    a definition that cannot be read                                             nothing: put it again, or delete it
//	unregistered  a schedule, or a queue, that the registry does not have                      a schedule is registered again
//	undefined     an entry of the registry whose definition is gone, or that cannot be read    the entry goes
//	open          a schedule held by an occurrence that is not in flight                       it is let go of
//	behind        occurrences that wait for the end of one that there is not                   the oldest goes to the front
//	session       jobs in flight in a session that is not listed                               it is listed as lapsed: they are returned
//	lost          a job with a body whose ID is nowhere                                        it goes to the end of its queue
//	empty         an ID of an ordinary job without a body                                      it goes: it cannot be restored
//	duplicate     a job in two places                                                          it stays in one: the one where it runs, or soonest would
//	void          an ID that is said to wait, cancelled, and does not                          that is not said any more
//	mark          the mark of an occurrence cancelled before its instant, and left behind      it goes
//	after         what was to follow a job in flight, and nothing in flight knows of it        it is enqueued, or follows
//	progress      progress of a job that is not in flight                                      it goes
//	result        a result that would be kept for ever, or a note of one that is gone          it is kept for a day; the note goes
//	parked        a list of parked jobs that the queue does not name                           it is named
//	flag          the queue does not say that it has parked or cancelled jobs, …               it says so
//	count         a queue's limit counts more or fewer jobs than run                           they are counted anew
//	foreign       a key of another type than chime's                                           nothing: the rest of that partition was not looked at
type FindingKind string

// The kinds of findings, see [FindingKind].
const (
	FoundUnplaced     FindingKind = protocol.FoundUnplaced
	FoundDoubled      FindingKind = protocol.FoundDoubled
	FoundCursor       FindingKind = protocol.FoundCursor
	FoundHeld         FindingKind = protocol.FoundHeld
	FoundUnreadable   FindingKind = protocol.FoundUnreadable
	FoundUnregistered FindingKind = protocol.FoundUnregistered
	FoundUndefined    FindingKind = protocol.FoundUndefined
	FoundOpen         FindingKind = protocol.FoundOpen
	FoundBehind       FindingKind = protocol.FoundBehind
	FoundSession      FindingKind = protocol.FoundSession
	FoundLost         FindingKind = protocol.FoundLost
	FoundEmpty        FindingKind = protocol.FoundEmpty
	FoundDuplicate    FindingKind = protocol.FoundDuplicate
	FoundVoid         FindingKind = protocol.FoundVoid
	FoundMark         FindingKind = protocol.FoundMark
	FoundAfter        FindingKind = protocol.FoundAfter
	FoundProgress     FindingKind = protocol.FoundProgress
	FoundResult       FindingKind = protocol.FoundResult
	FoundParked       FindingKind = protocol.FoundParked
	FoundFlag         FindingKind = protocol.FoundFlag
	FoundCount        FindingKind = protocol.FoundCount
	FoundForeign      FindingKind = protocol.FoundForeign
)

// Verify reads a store, while it is in use, and reports what a hand, an eviction or a failover has damaged: what scripts never leave behind. It finds
// nothing in a store that is well, however many jobs flow meanwhile. What a worker, scheduler or sweep would mend sooner or later anyway is reported
// as well. Without Repair it writes nothing.
//
// It costs about what the store holds: each job and schedule is read once, each waiting ID once more for every 100,000 jobs that
// wait or are parked, in calls of at most some 500 items and 5 ms of the server; 300,000 waiting jobs took 5 s on two busy cores, 1.7 s of them the server. It also goes through all keys of the database with SCAN.
// In memory it holds some 100,000 IDs of each kind: of more schedules than that which the registry does not have it finds the others when it is
// called again; of more jobs in flight in a partition it does not see that one of the others waits as well.
//
// A job may run once more after a repair, as after a crash. An error tells what was not looked at; the report has what was found all the same.
func Verify(ctx context.Context, store Store, options VerifyOptions) (*VerifyReport, error) {
	report := &VerifyReport{Findings: []Finding{}}
	seam := protocolOf(store)
	switch {
	case seam == nil:
		return report, fmt.Errorf("chime: verify: %w", errNilStore)
	case ctx == nil:
		return report, fmt.Errorf("chime: verify: %w", errNilContext)
	}
	looked, err := seam.Verify(ctx, options.Repair, func(found protocol.Finding) {
		f := Finding{
			Kind: FindingKind(found.Kind), Queue: found.Queue, ID: printable(found.ID), Schedule: printable(found.Schedule),
			Detail: found.Detail, Remedy: found.Remedy, Repaired: found.Repaired,
		}
		report.add(f)
		if options.Found != nil {
			options.Found(f)
		}
	})
	report.Queues, report.Partitions, report.Schedules, report.Jobs, report.Sessions =
		looked.Queues, looked.Partitions, looked.Schedules, looked.Jobs, looked.Sessions
	if err != nil {
		err = fmt.Errorf("chime: verify: %w", err)
	}
	return report, err
}

// printable is a name as a hand may have written it, without what no name has.
func printable(name string) string { return strings.ToValidUTF8(name, "?") }

func (r *VerifyReport) add(f Finding) {
	r.Total++
	if f.Repaired {
		r.Repaired++
	}
	if r.Kinds == nil {
		r.Kinds = map[FindingKind]int{}
	}
	r.Kinds[f.Kind]++
	if len(r.Findings) < maxFindings {
		r.Findings = append(r.Findings, f)
	}
}
