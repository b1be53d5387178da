package protocol

import (
	"context"
	"time"
)

// ScheduleStore keeps definitions and places occurrences. An occurrence is placed exactly once: placing compares the
// definition's revision, its state and the cursor, and moves the cursor in the same step.
type ScheduleStore interface {
	// Declare creates or changes schedules, and moves those that are now declared for another queue. Declaring the same again, in
	// any process, changes nothing. A change of the recurrence itself takes two calls: see DeclareAnswer.Recount.
	Declare(ctx context.Context, declarations []Declaration) []DeclareAnswer

	// Place places next occurrences, each with its own compare-and-swap.
	Place(ctx context.Context, placements []Placement) []PlaceAnswer

	// Owed lists, for each partition, at most 100 schedules whose next occurrence has been waiting to be placed for a second
	// or more. It completes moves that were interrupted.
	Owed(ctx context.Context, partitions []Partition) ([]Owed, error)

	// Postpone makes an owed schedule that cannot be computed here wait for a minute, so that it does not delay the others.
	Postpone(ctx context.Context, owed Owed) error

	// RepairOrphans checks some hundred schedules, those after cursor, which an earlier call returned; "" begins. It repairs those that cannot continue,
	// because their data were edited by hand or evicted. At the end next is "".
	RepairOrphans(ctx context.Context, cursor string) (next string, repaired []Orphan, err error)

	// ZonedIn returns the local times for which the last occurrences of some schedules of a partition were planned, those after cursor, which an earlier call returned; "" begins. At the end next is "".
	ZonedIn(ctx context.Context, partition Partition, cursor string) (entries []ZonedEntry, next string, err error)

	// Replan withdraws occurrences that wait, so that their schedules are owed again. It returns for each what the caller must place in its next
	// call; nil if the occurrence was taken, placed or changed since the caller has read it.
	Replan(ctx context.Context, replans []Replan) ([]*Owed, error)

	// MayReplan reports whether this process has not planned an occurrence of the schedule again yet because of its time zone data, and
	// records that it does so now. So processes with different data do not plan the same occurrence again in turn. It does no I/O.
	MayReplan(name string) bool

	// Find returns stored schedules by name. A name that is not stored gives a zero Stored. It writes nothing.
	Find(ctx context.Context, names []string) ([]Stored, error)

	// Standings returns the state of schedules that were declared before, in order. If a schedule exists and can no longer be found by its name,
	// Standings registers it again, unchanged; it writes nothing else.
	Standings(ctx context.Context, asked []Address) ([]Standing, error)

	// Names returns some names of schedules, in order, and the last one that it read, after which the next call continues; at the
	// end that is "". The cost of a call depends on what it reads: what it returns, and for one queue at most 2,000 others.
	Names(ctx context.Context, of NameRange) (names []string, last string, err error)

	// Runs returns the kept attempts of schedules, the newest first of each, with the schedule; that is zero if it does not exist. The
	// history of a schedule has some kilobytes, so pass few names.
	Runs(ctx context.Context, names []string) ([]ScheduleRuns, error)

	// Days returns the known last days of a schedule, at most MaxDays, the oldest first, with the schedule; that is zero if it does not exist.
	// It includes every day from the first to the last.
	Days(ctx context.Context, name string) (Stored, []DayRecord, error)

	// Soonest returns the first n or fewer live schedules by the instant at which their next occurrence is due. It also returns some that are
	// owed one, at most 500 a partition: the caller computes when. It reads at most 10,000 delayed jobs of each partition.
	// It searches only the given queues; nil: all.
	Soonest(ctx context.Context, n int, queues []QueueSize) ([]Coming, error)

	// Remove deletes a schedule and its placed occurrence; found is false if it did not exist when the call began. ErrConflict: it is not
	// the one that the removal is for.
	Remove(ctx context.Context, removal Removal) (found bool, err error)

	// PauseSchedule stops or resumes a schedule; ErrNotFound if it does not exist, ErrConflict if the call would change it and it is not at
	// the call's revision.
	PauseSchedule(ctx context.Context, pausing Pausing) (PauseAnswer, error)

	// Backfill places occurrences of a schedule up to its cursor, the oldest first; those that wait, run or are parked do not change.
	// ErrNotFound if there is no schedule of that name, ErrConflict if it is not at the call's revision. With an error it returns its progress.
	Backfill(ctx context.Context, backfilling Backfilling) (BackfillAnswer, error)

	// Prune deletes some of the schedules of an owner whose version is lower; cursor "" begins, at the end next is "". Once its end is
	// recorded for the version, or for a higher one, it does nothing. For other programs a pruned schedule is lost, not deleted: Standing.Deleted
	// does not report it.
	Prune(ctx context.Context, owner Owner, cursor string) (next string, pruned []string, err error)
}

// ScheduleRuns are the attempts of a schedule.
type ScheduleRuns struct {
	Stored
	Runs []RunRecord // the newest first
}

// An Owner is a program that declares schedules, and the version of it that did.
type Owner struct {
	Name    string // empty: none
	Version int64
}

// A Note is why a schedule or a queue is paused, who paused it, and when, by the store's clock.
type Note struct {
	Text string    `json:"text,omitempty"`
	By   string    `json:"by,omitempty"`
	At   time.Time `json:"-"`
	// Until is when the pause ends by itself: EndPauses then ends it. Zero: it does not.
	Until time.Time `json:"-"`
}

// Backfilling places occurrences of a schedule that are not its next one.
type Backfilling struct {
	Name     string
	Revision int64 // that the caller has read
	// MaxUnfinished > 0: no job is placed while the schedule has this number of unfinished runs.
	MaxUnfinished int
	Group         string          // of the jobs; empty: none
	Jobs          []BackfilledJob // the oldest first, at most MaxItems, and MaxBytes of bodies unless it is one
}

// A BackfilledJob is one job of a Backfilling.
type BackfilledJob struct {
	ID   string // see protocol.CutOccurrence
	Body []byte // see package wire
}

// BackfillAnswer is the progress of a Backfilling.
type BackfillAnswer struct {
	Done     int // how many of the jobs, from the first on, are processed
	Placed   int // how many of these were placed
	Existing int // how many of these existed
	Full     int // how many of these were skipped, see Backfilling.MaxUnfinished. The schedule itself places the others
}

// Pausing stops or resumes a schedule.
type Pausing struct {
	Name     string
	Paused   bool
	Revision int64   // that the caller has read; 0: any
	Note     *Note   // of the pause; nil: none, or the present one
	SkipGap  bool    // the schedule continues from now: see PauseAnswer.Recount
	Change   *Change // set by the second of two calls that skip the gap
}

// PauseAnswer is the answer to a Pausing.
type PauseAnswer struct {
	Revision int64 // that is stored now
	Owed     *Owed // set if the caller must place the next occurrence, in its next call
	// Recount: the gap is to be skipped, and nothing was written. The caller counts which instants of the definition were missed after
	// Cursor and until Now, and resumes again with a Change.
	Recount    bool
	Definition []byte
	Cursor     Cursor
	Note       Note // of the pause
	Now        time.Time
}

// A PausedSchedule is one that the store has paused itself: see Declaration.PauseAfter.
type PausedSchedule struct {
	Name   string
	Deaths int // consecutive
}

// A Removal deletes a schedule.
type Removal struct {
	Name     string
	Revision int64 // that the caller has read; 0: any
	Waiting  bool  // its jobs that do not run are deleted too
	Owner    Owner // only if it is this owner's, of a lower version than this; else it remains, and that is ErrConflict
}

// Coming is a schedule with a next occurrence.
type Coming struct {
	Name string
	At   time.Time // when that is due; zero: the schedule is owed one
}

// The states in a stored definition.
const (
	StateLive      = "live"
	StatePaused    = "paused"
	StateCompleted = "completed"
)

// A Declaration is a schedule as the application wants it.
type Declaration struct {
	Name    string
	Queue   string
	Overlap string // overlap policy: skip, wait, cancel or allow
	// Body is the canonical JSON object of everything else; the store adds revision, generation, state, created and overlap in front.
	Body []byte
	// Change is set by the second of two calls that change a schedule's recurrence: see DeclareAnswer.Recount.
	Change *Change
	// Owner declares it. A schedule that a higher version of the same owner has declared, or pruned, is not changed: DeclareAnswer.Outdated.
	// Once a higher version of this owner has pruned, schedules of other owners, or without one, are not changed either.
	Owner Owner
	// Revision is what the caller has read, 0 for any: another revision is not changed, and no schedule is created. Absent: the schedule is created
	// if it does not exist, and not changed. A stored schedule with this definition is neither compared nor changed.
	Revision int64
	Absent   bool
	Paused   *Note // it is created paused
	KeepRuns int   // how many of its ended attempts the store keeps, 0 to 1000
	// PauseAfter is the number of consecutive occurrences that end dead after which the store pauses it, 0: never.
	PauseAfter int
	// FollowsIn has the groups to which jobs that may follow its jobs belong; each needs the only partition of its queue.
	FollowsIn []QueueGroup
	// AnyFirst: a stored definition that differs from this one only in whether the schedule runs at its creation is not changed.
	AnyFirst bool
	// Form is the newest form of a definition that the caller can read: a newer one is not changed, DeclareAnswer.Newer. 0: any.
	Form int
	// Group of its jobs, as in Body; empty: none. With a group it is refused for a queue with several partitions: an InvalidError.
	Group string
}

// Change has what the old recurrence of a schedule has missed until it changes. It counts only for the revision and the cursor that
// the caller has read.
type Change struct {
	Revision int64
	Cursor   Cursor
	Until    time.Time // the new recurrence continues from here: now, or before the instant that is planned and not due yet
	Missed   int       // instants of the old one after the cursor that were due
	First    time.Time // the first of them; zero: none
	Why      string    // of a gap that is skipped: the text for the history
	Note     string    // likewise: the note of the pause
}

// DeclareAnswer is the answer to one Declaration.
type DeclareAnswer struct {
	Err       error
	Partition Partition
	Created   time.Time
	Revision  int64
	Now       time.Time
	Cursor    Cursor // as stored now
	Zoned     Zoned
	New       bool   // the name did not exist
	Changed   bool   // another definition was stored: Old
	Old       []byte // the whole definition before
	Stored    []byte // the whole definition as stored now
	// Recount: the recurrence changes, and nothing was written. The caller counts which instants of the old one, in Old, were missed
	// after Cursor and until Now, and declares again with a Change.
	Recount bool
	// Outdated: a higher version of the same owner has declared or pruned it, or has pruned at all and this is not its own, so nothing was
	// changed.
	Outdated bool
	// Newer: the caller cannot read the form of the stored definition, so nothing was changed, except its owner's version.
	Newer bool
	// Owed is set if the caller must place the next occurrence, in its next call.
	Owed *Owed
	// Replanned is the planned instant of an occurrence that tick.Declare has withdrawn, because it was planned with other time zone data.
	Replanned time.Time
}

// A NameRange selects the names of schedules to list.
type NameRange struct {
	After  string // those after this one; "" begins
	Prefix string // those with this prefix
	Queue  string // those that live there; "": everywhere
	Max    int    // how many at most; 0: as many as one call reads
}

// Address is where a schedule was when it was declared.
type Address struct {
	Partition Partition
	Name      string
}

// Standing is the state of a schedule that was declared before.
type Standing struct {
	Revision   int64 // 0: it is not where it was declared
	Unreadable bool  // it is there, but its definition was edited by hand
	Moved      bool  // it is not there, because it lives in another queue now
	// Deleted is when one of that name was deleted: before this one was created, if it is there; else last. Zero: unknown. A pruned schedule
	// is not a deleted one: see Prune.
	Deleted time.Time
}

// Cursor is the position up to which a schedule has been placed.
type Cursor struct {
	At       time.Time // planned instant of the occurrence placed last, or instant of the last change; zero: nothing was placed yet
	Used     int       // runs used up of the rule's count
	Placed   bool      // At is the instant of an occurrence (false: of a change or a pause)
	CaughtUp bool      // which is caught up
}

// Owed is a live schedule whose next occurrence is to be placed.
type Owed struct {
	Partition  Partition
	Name       string
	Definition []byte
	Cursor     Cursor
	Since      time.Time // when the occurrence at the cursor was taken, or the schedule was declared, changed or resumed
	Now        time.Time
	Unreadable bool // the definition does not begin as the store writes it: it was edited by hand
	Zoned      Zoned
}

// Zoned is the local time for which the occurrence of a schedule was planned that was placed last. A local time is what the clocks of the zone show,
// as the Unix second at which a clock in UTC shows the same. It is stored for rules that name times of day in a time zone, see Placement.Zone.
type Zoned struct {
	Planned time.Time     // zero: nothing is stored
	Offset  time.Duration // of the zone at Planned, by the data of the process that placed it
	Last    int64         // local time of the occurrence before it that was taken
	Taken   bool          // Last is known
	Zone    string
}

// Local returns the local time of the occurrence.
func (z *Zoned) Local() int64 { return z.Planned.Unix() + int64(z.Offset/time.Second) }

// UsedUp returns the latest local time in a zone at which an occurrence was taken, if the schedule's cursor is at this instant. Placing refuses an
// occurrence that is not later. ok is false if none is known.
func (z *Zoned) UsedUp(zone string, cursor Cursor) (local int64, ok bool) {
	switch {
	case z.Planned.IsZero() || z.Zone != zone || cursor.At.IsZero():
		return 0, false
	case cursor.At.Before(z.Planned): // it was withdrawn
		return z.Last, z.Taken
	}
	return z.Local(), true
}

// A ZonedEntry is a schedule with its Zoned.
type ZonedEntry struct {
	Name string
	Zoned
}

// A Replan withdraws the occurrence at the cursor of a schedule.
type Replan struct {
	Address
	Definition []byte // as it was read; its revision is compared
	Revision   int64
	Cursor     Cursor    // as it was read: this is compared
	Back       time.Time // the cursor goes back to this instant, which is before Cursor.At
}

// An Orphan is a schedule that could not continue and was repaired.
type Orphan struct {
	Name, Queue string
	Reason      string // what was wrong with it
}

// A Placement places the occurrences of a schedule that follow the one at Cursor.
type Placement struct {
	Partition Partition
	Name      string
	Revision  int64
	Cursor    Cursor        // as it was read: this is compared
	Instants  []time.Time   // planned, oldest first, at most 100; none: the schedule has completed
	Offset    time.Duration // how long after its planned instant each is due; milliseconds
	Count     int           // the rule's count; 0: endless. No more are placed than are left
	Missed    int           // instants skipped, for the counter
	CaughtUp  int           // of Instants: those placed by misfire policy catch up
	// Zone is the time zone of a rule that names times of day, each of which runs once at most. Empty: UTC, or another rule. The store keeps the
	// local time of the last occurrence, and places none whose local time is not later than the one that was taken before: PlaceAnswer.Repeats.
	Zone    string
	Offsets []time.Duration // of the zone at each of Instants, if Zone is set
	Group   string          // of the occurrences; empty: none. Its partition must be the only one of the queue

	Owed time.Duration // how long it had been owed when it was read: the store does not use it
}

// PlaceAnswer is the answer to one Placement.
type PlaceAnswer struct {
	Err       error
	Placed    int  // how many this call placed
	Lost      bool // another process placed or changed the schedule before: nothing was placed
	Completed bool
	Repeats   bool // an occurrence of its local time was taken: nothing was placed, and Owed returns the schedule with its Zoned
	// Held: the caught-up run waits for the end of the flight that holds the schedule. The store keeps the schedule owed, and the answer
	// to the call that ends that flight contains it.
	Held bool
}

// Stored is a schedule as the store holds it.
type Stored struct {
	Name       string
	Partition  Partition
	Definition []byte
	Cursor     Cursor
	Waiting    bool      // the occurrence at the cursor is placed and was not taken yet
	Void       bool      // it was cancelled, and remains there until its instant: the next one is owed then. Waiting is false
	Since      time.Time // since when its next occurrence is owed; zero: it is not
	Note       Note      // of its pause
	Owner      Owner     // zero: it was declared without an owner
	Last       LastRun
	Left       []Partition // the queues that it has left; runs that had not ended are counted there
	Now        time.Time   // by the store's clock
	Err        error       // why the schedule cannot be read: its registry entry or its definition was edited by hand
	// Refused is why this program makes no jobs of it: it is not sealed, and the program requires that. Nil: it does.
	Refused *SealedError
	Counters
}

// Counters count a schedule's occurrences since it was created.
type Counters struct {
	Placed, Started, Skipped, Full, Missed, CaughtUp, Superseded, Cancelled int64
	Done, Failed, Dead                                                      int64 // Failed counts attempts; Full is a part of Skipped: MaxUnfinished runs were unfinished
}

// LastRun is the last outcome of a schedule.
type LastRun struct {
	Outcome    string // of the last attempt that ended; empty: none has
	Planned    time.Time
	Ended      time.Time
	Failures   int // consecutive failed attempts until then
	Unfinished int // occurrences that were taken and have not ended
}
