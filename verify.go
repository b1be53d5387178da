package chime

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chimejobs/chime/internal/protocol"
)

// VerifyOptions are the options of [Verify]. The zero value only reads.
type VerifyOptions struct {
	// Repair repairs everything that can be repaired, one finding after the other. Each repair is a script that first checks whether the
	// finding still exists. [Finding.Remedy] describes it. The Redis user then needs an operator's rights, see docs/access.md; without
	// Repair a viewer's rights are enough.
	Repair bool

	// Found, unless it is nil, is called immediately for each finding, also for those that exceed the limit of VerifyReport.Findings.
	Found func(Finding)
}

// maxFindings is the limit of findings in a report.
const maxFindings = 10_000

// VerifyReport contains what [Verify] has read and found. Programs print it as JSON; a program that checks a store ends with an error if Total
// is not 0.
type VerifyReport struct {
	Queues     int64 `json:"queues"`     // queues that were read
	Partitions int64 `json:"partitions"` // their partitions
	Schedules  int64 `json:"schedules"`  // definitions of schedules
	Jobs       int64 `json:"jobs"`       // jobs with a body; next occurrences of schedules have none
	Sessions   int64 `json:"sessions"`   // sessions in which workers hold jobs

	// Unserved are the queues with jobs to run now that no live worker serves, in order. They are not damaged, so Total does not count them.
	Unserved []string `json:"unserved,omitempty"`

	Total    int                 `json:"total"`           // number of findings
	Repaired int                 `json:"repaired"`        // number of repaired findings
	Kinds    map[FindingKind]int `json:"kinds,omitempty"` // number of findings of each kind
	Findings []Finding           `json:"findings"`        // the first 10,000, in the order in which they were found
}

// A Finding is one problem in a store.
type Finding struct {
	Kind     FindingKind `json:"kind"`               // the kind of the problem
	Queue    string      `json:"queue,omitempty"`    // empty: it concerns the whole namespace
	ID       string      `json:"id,omitempty"`       // the ID of the job; or the session, the name of parked jobs, or the flag that Detail describes
	Schedule string      `json:"schedule,omitempty"` // also for a job that is an occurrence
	Detail   string      `json:"detail"`             // the problem, and its consequence
	Remedy   string      `json:"remedy,omitempty"`   // how Repair repairs it; empty: it cannot
	Repaired bool        `json:"repaired"`           // Repair has repaired it
}

// String returns the finding in one line.
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

// A FindingKind is the kind of a problem. Each line has the problem in the store, and then its repair.
//
//	unplaced      a live schedule whose next occurrence is neither placed nor owed             it is placed
//	doubled       a schedule whose next occurrence is placed, while another one is owed        no other one is placed until it is taken
//	cursor        a schedule with an unknown cursor                                            it continues from now
//	held          a schedule that waits for the end of a run that nobody runs                  it continues
//	unreadable    a definition that cannot be read                                             nothing: put it again, or delete it
//	unregistered  a schedule or a queue that is not in the registry                            a schedule is registered again
//	undefined     an entry of the registry with a missing definition or an invalid name        the entry is removed
//	open          a schedule held by an occurrence that is not in flight                       it is released
//	behind        occurrences that wait for the end of one that does not exist                 the oldest goes to the front
//	session       jobs in flight in a session that is not listed                               it is listed as lapsed: they are returned
//	lost          a job with a body whose ID is in no list                                     it goes to the end of its queue
//	empty         an ID of an ordinary job without a body                                      it is removed: it cannot be restored
//	duplicate     a job in two places                                                          it remains where it runs, or would run first
//	void          an ID with the mark of a cancelled waiting job, but no such job waits        the mark is removed
//	mark          a leftover mark of an occurrence that was cancelled before its instant       it is removed
//	after         a job that waits for the end of one with its ID, which is not in flight      it is enqueued, or follows
//	progress      progress of a job that is not in flight                                      it is removed
//	result        a result that never expires, or a note of a result that is gone              it is kept for a day; the note is removed
//	history       attempts that belong to no history of a schedule                             they are removed
//	group         a job at a place in a group that is not its own, or such a place without a job    the place is removed, or restored
//	parked        a list of parked jobs that is not registered in the queue                    it is registered
//	flag          a missing flag of the queue, for example that it has parked jobs             it is set
//	count         a queue's limit counts more or fewer jobs than run                           they are counted again
//	outbox        a job on its way to another queue is gone or unreadable, or they are miscounted  it is removed, or becomes a dead job; they are counted again
//	batch         the members of a batch are counted wrongly, or the batch does not exist      they are counted again
//	foreign       a key whose type is not chime's                                              nothing: the rest of that partition was not read
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
	FoundHistory      FindingKind = protocol.FoundHistory
	FoundGroup        FindingKind = protocol.FoundInGroup
	FoundParked       FindingKind = protocol.FoundParked
	FoundFlag         FindingKind = protocol.FoundFlag
	FoundCount        FindingKind = protocol.FoundCount
	FoundForeign      FindingKind = protocol.FoundForeign
	FoundOutbox       FindingKind = protocol.FoundOutbox
	FoundBatch        FindingKind = protocol.FoundBatch
)

// Verify reads a store that is in use, and reports the damage of manual edits, evictions and failovers: states that scripts never leave behind. In
// an undamaged store it finds nothing, with any number of jobs in motion. It also reports problems that a worker, scheduler or sweep would repair
// later anyway. Without Repair it writes nothing.
//
// Its cost is proportional to the size of the store. Each job and each schedule is read once. In addition all waiting IDs are read once for every
// 100,000 jobs that wait or are parked. A call reads at most about 500 items and takes the server at most about 5 ms. 300,000 waiting jobs took 5 s
// on two busy cores, 1.7 s of them in the server. It also goes through all keys of the database with SCAN. It holds about 100,000 IDs of each kind
// in memory. If more schedules than that are not in the registry, it finds the others when it is called again. If more than 100,000 jobs are in
// flight in a partition, it does not notice if one of the remaining ones is also in the list of waiting jobs.
//
// A job may run once more after a repair, as after a crash. An error describes what was not read; the report still has everything that was found.
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
	if err == nil {
		report.Unserved, err = unservedQueues(ctx, seam)
	}
	if err != nil {
		err = fmt.Errorf("chime: verify: %w", err)
	}
	return report, err
}

// unservedQueues returns the queues with jobs to run now that no live worker serves.
func unservedQueues(ctx context.Context, store protocol.Store) (unserved []string, err error) {
	served, err := servedQueues(ctx, store)
	if err != nil {
		return nil, err
	}
	queues := Queues{store: store}
	names, err := queues.names(ctx)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return served[name] })
	infos, err := queues.infos(ctx, names)
	for _, q := range infos {
		overdue := !q.Next.IsZero() && q.Next.Before(q.Now)
		if q.Blocked(served[q.Name]) == ReasonUnserved && (q.Waiting > 0 || overdue) {
			unserved = append(unserved, q.Name)
		}
	}
	return unserved, err
}

// printable replaces bytes that are not UTF-8: a name may have been edited by hand.
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
