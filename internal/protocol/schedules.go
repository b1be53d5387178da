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

	// Place places next occurrences, each with its own compare.
	Place(ctx context.Context, placements []Placement) []PlaceAnswer

	// Owed lists, for each partition, at most 100 schedules whose next occurrence has been waiting to be placed for a second
	// or more. It completes moves that were interrupted.
	Owed(ctx context.Context, partitions []Partition) ([]Owed, error)

	// Postpone makes an owed schedule that cannot be computed here wait for a minute, so that it does not delay the others.
	Postpone(ctx context.Context, owed Owed) error

	// Mend looks at some hundred schedules, those after cursor, which an earlier call returned; "" begins. Those that stand nowhere,
	// because a hand or an eviction took what they wait for, go on. At the end next is "".
	Mend(ctx context.Context, cursor string) (next string, mended []Mended, err error)

	// Find returns stored schedules by name. A name that is not stored gives a zero Stored. It writes nothing.
	Find(ctx context.Context, names []string) ([]Stored, error)

	// Standings returns how schedules stand that were declared before, in order. What is there and can no longer be found by its name, it
	// makes to be found again, as it is; else it writes nothing.
	Standings(ctx context.Context, asked []Address) ([]Standing, error)

	// Names returns some names of schedules, in order, and the last one that it looked at, behind which the next call goes on; at the
	// end that is "". A call costs what it looks at: what it returns, and of a queue's at most 2,000 others.
	Names(ctx context.Context, of NameRange) (names []string, last string, err error)

	// Runs returns the attempts of schedules that a store keeps, the newest first of each, with the schedule; that is zero if there is none. What
	// is kept of a schedule has some kilobytes, so the names are few.
	Runs(ctx context.Context, names []string) ([]ScheduleRuns, error)

	// Days returns what is known of the last days of a schedule, at most MaxDays, the oldest first, with the schedule; that is zero if there is
	// none. From the first day to the last none is left out.
	Days(ctx context.Context, name string) (Stored, []DayRecord, error)

	// Soonest returns the first n or fewer live schedules by the instant at which their next occurrence is due, and besides some that are
	// owed one, at most 500 a partition: the caller computes when. Of each partition it looks at no more than 10,000 delayed jobs.
	Soonest(ctx context.Context, n int) ([]Coming, error)

	// Remove deletes a schedule and its placed occurrence; found is false if there was none when the call began. ErrConflict: it is not
	// what the removal is for.
	Remove(ctx context.Context, removal Removal) (found bool, err error)

	// PauseSchedule stops or resumes a schedule; ErrNotFound if there is none, ErrConflict if it is not at the call's revision and the
	// call would change it.
	PauseSchedule(ctx context.Context, pausing Pausing) (PauseAnswer, error)

	// Backfill places occurrences of a schedule up to its cursor, the oldest first; those that wait, run or are parked stay as they are.
	// ErrNotFound if there is no schedule of that name, ErrConflict if it is not at the call's revision. With an error it says how far it came.
	Backfill(ctx context.Context, backfilling Backfilling) (BackfillAnswer, error)

	// Prune deletes some of the schedules of an owner whose version is lower; cursor "" begins, at the end next is "". Once that is
	// recorded for the version, or for a higher one, it does nothing. To other programs what it deletes is lost, not deleted: Standing.Deleted
	// does not tell of it.
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

// A Note says why a schedule or a queue is paused, who paused it, and when, by the store's clock.
type Note struct {
	Text string    `json:"text,omitempty"`
	By   string    `json:"by,omitempty"`
	At   time.Time `json:"-"`
}

// Backfilling places occurrences of a schedule that are not its next one.
type Backfilling struct {
	Name     string
	Revision int64           // that the caller has read
	Jobs     []BackfilledJob // the oldest first, at most MaxItems, and MaxBytes of bodies unless it is one
}

// A BackfilledJob is one of them.
type BackfilledJob struct {
	ID   string // see protocol.CutOccurrence
	Body []byte // see package wire
}

// BackfillAnswer says how far a Backfilling has come.
type BackfillAnswer struct {
	Done     int // of the jobs, the first so many
	Placed   int // of these
	Existing int // of these: they were there. The others are the schedule's own to place
}

// Pausing stops or resumes a schedule.
type Pausing struct {
	Name     string
	Paused   bool
	Revision int64   // that the caller has seen; 0: whatever is stored
	Note     *Note   // of the pause; nil: none, or the one that it has
	SkipGap  bool    // the schedule goes on from now: see PauseAnswer.Recount
	Change   *Change // set by the second of two calls that skip the gap
}

// PauseAnswer is the answer to a Pausing.
type PauseAnswer struct {
	Revision int64 // as it is stored now
	Owed     *Owed // set if the caller is to place the next occurrence, in its next call
	// Recount: the gap is to be skipped, and nothing was written. The caller counts which instants of the definition were missed after
	// Cursor and until Now, and resumes again with a Change.
	Recount    bool
	Definition []byte
	Cursor     Cursor
	Note       Note // of the pause
	Now        time.Time
}

// A PausedSchedule is one that the store has paused by itself: see Declaration.PauseAfter.
type PausedSchedule struct {
	Name   string
	Deaths int // in a row
}

// A Removal deletes a schedule.
type Removal struct {
	Name     string
	Revision int64 // that the caller has seen; 0: whatever is stored
	Waiting  bool  // its jobs that do not run go too
	Owner    Owner // only if it is this owner's, of a lower version than this; else it stays, and that is ErrConflict
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
	// Owner declares it. One that a higher version of the same owner has declared, or pruned, stays as it is: DeclareAnswer.Outdated.
	// So does what is another owner's, or nobody's, once a higher version of this owner has pruned.
	Owner Owner
	// Revision is what the caller has seen, 0 whatever is stored: another one is not changed, nor is one created. Absent: only one that
	// does not exist is created. What is stored with this definition already is neither compared nor changed.
	Revision int64
	Absent   bool
	Paused   *Note // one that is created is paused
	KeepRuns int   // how many of its attempts that have ended the store tells of, 0 to 1000
	// PauseAfter is after how many occurrences in a row that ended dead the store pauses it, 0 never.
	PauseAfter int
	// Form is the newest form of a definition that the caller can read: one of a newer form stays as it is, DeclareAnswer.Newer. 0: any.
	Form int
}

// Change says what the old recurrence of a schedule has missed until it changes. It counts only for the revision and the cursor that
// the caller has seen.
type Change struct {
	Revision int64
	Cursor   Cursor
	Until    time.Time // the new recurrence goes on from here: now, or before what is planned and not due yet
	Missed   int       // instants of the old one after the cursor that were due
	First    time.Time // the first of them; zero: there is none
	Why      string    // of a gap that is skipped: what the history says of it
	Note     string    // likewise: the note of the pause
}

// DeclareAnswer is the answer to one Declaration.
type DeclareAnswer struct {
	Err       error
	Partition Partition
	Created   time.Time
	Revision  int64
	Now       time.Time
	Cursor    Cursor // as it is stored now
	New       bool   // the name did not exist
	Changed   bool   // another definition was stored: Old
	Old       []byte // the whole definition before
	Stored    []byte // the whole definition as it is stored now
	// Recount: the recurrence changes, and nothing was written. The caller counts which instants of the old one, in Old, were missed
	// after Cursor and until Now, and declares again with a Change.
	Recount bool
	// Outdated: a higher version of the same owner has declared or pruned it, or has pruned at all and this is not its own, so nothing was
	// changed.
	Outdated bool
	// Newer: the caller cannot read the form of the definition that is stored, so nothing was changed, but for its owner's version.
	Newer bool
	// Owed is set if the caller is to place the next occurrence, in its next call.
	Owed *Owed
}

// A NameRange says which names of schedules to list.
type NameRange struct {
	After  string // those behind this one; "" begins
	Prefix string // those that begin so
	Queue  string // those that live there; "": everywhere
	Max    int    // how many at most; 0: as many as a call reads
}

// Address is where a schedule was when it was declared.
type Address struct {
	Partition Partition
	Name      string
}

// Standing is how a schedule stands that was declared before.
type Standing struct {
	Revision   int64 // 0: it is not where it was declared
	Unreadable bool  // it is there, and its definition was changed by hand
	Moved      bool  // it is not there, because it lives in another queue now
	// Deleted is when one of that name was deleted: before this one was made, if it is there; else last. Zero: that is not known. To be pruned
	// is not to be deleted: see Prune.
	Deleted time.Time
}

// Cursor is how far a schedule has been placed.
type Cursor struct {
	At       time.Time // planned instant of the occurrence placed last, or instant of the last change; zero: nothing was placed yet
	Used     int       // runs used up of the rule's count
	Placed   bool      // At is an occurrence's (false: of a change or a pause)
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
	Unreadable bool // the definition does not begin as the store writes it: it was changed by hand
}

// Mended is a schedule that stood nowhere and goes on.
type Mended struct {
	Name, Queue string
	Reason      string // what was wrong with it
}

// A Placement places the occurrences of a schedule that follow the one at Cursor.
type Placement struct {
	Partition Partition
	Name      string
	Revision  int64
	Cursor    Cursor        // as it was read: what is compared
	Instants  []time.Time   // planned, oldest first, at most 100; none: the schedule has completed
	Offset    time.Duration // how long after its planned instant each is due; milliseconds
	Count     int           // the rule's count; 0: endless. Never more are placed than are left
	Missed    int           // instants passed over, for the counter
	CaughtUp  int           // of Instants: those placed by misfire policy catch up

	Owed time.Duration // how long it had been owed when that was read: not for the store
}

// PlaceAnswer is the answer to one Placement.
type PlaceAnswer struct {
	Err       error
	Placed    int  // how many this call placed
	Lost      bool // another process placed or changed the schedule before: nothing was placed
	Completed bool
	// Held: what is caught up waits for the end of the flight that holds the schedule. The store keeps the schedule owed, and the answer
	// to the call that ends that flight names it.
	Held bool
}

// Stored is a schedule as the store holds it.
type Stored struct {
	Name       string
	Partition  Partition
	Definition []byte
	Cursor     Cursor
	Waiting    bool      // the occurrence at the cursor is placed and was not taken yet
	Void       bool      // that was cancelled, and stands there until its instant: the next one is owed then. Waiting is false
	Since      time.Time // since when its next occurrence is owed; zero: it is not
	Note       Note      // of its pause
	Owner      Owner     // zero: nobody declared it with an owner
	Last       LastRun
	Left       []Partition // that it has left; what still ran there is counted
	Now        time.Time   // by the store's clock
	Err        error       // why the schedule cannot be read: what the registry says of it, or its definition, was changed by hand
	Counters
}

// Counters count a schedule's occurrences since it was created.
type Counters struct {
	Placed, Started, Skipped, Missed, CaughtUp, Superseded, Cancelled int64
	Done, Failed, Dead                                                int64 // Failed counts attempts
}

// LastRun is how the runs of a schedule went lately.
type LastRun struct {
	Outcome    string // of the attempt that ended last; empty: none has
	Planned    time.Time
	Ended      time.Time
	Failures   int // attempts in a row that failed, until then
	Unfinished int // occurrences that were taken and have not ended
}
