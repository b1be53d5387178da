package chime

import (
	"context"
	"time"
)

// Store is what the roles ask of a database. Every operation is a batch, every write is atomic for its partition and safe
// to send twice, and every answer carries the database's own time: no caller's clock decides what is due or lapsed.
//
// Applications do not call it; they get one from redisstore.New and hand it to the roles.
type Store interface {
	JobStore
	ScheduleStore
	LeaderStore

	// Check tells whether the store can be trusted with jobs: reachable, recent enough, no eviction, no foreign keys under
	// its names, no newer layout. An error that wraps ErrUnfit will not go away by waiting.
	Check(ctx context.Context) error

	// Partitions returns the number of partitions of a queue; it is fixed when the queue is first seen.
	Partitions(ctx context.Context, queue string) (int, error)

	// Queues returns every queue ever seen with its number of partitions.
	Queues(ctx context.Context) (map[string]int, error)

	// Listen opens the wake-up channel of a role and a connection for its heartbeats. It returns at once and reconnects by
	// itself until it is closed.
	Listen(name string) Line
}

// A Partition is one line of a queue: all its keys live together and every operation touches one partition only.
type Partition struct {
	Queue string
	Index int
}

// A Line is a role's ear and pulse: wake-ups arrive on it, heartbeats leave by it.
type Line interface {
	// Signals delivers wake-ups. It has room for one of each kind: a wake-up is remembered, not queued.
	Signals() <-chan Signal
	// Extend keeps sessions alive. It carries no call number and has a connection of its own, so that a slow call of the
	// worker never costs it its sessions.
	Extend(ctx context.Context, calls []ExtendCall) []ExtendAnswer
	Close() error
}

// A Signal is what arrives on a Line.
type Signal struct {
	// Connected: the subscription was confirmed (again); what was published before is lost, so look now.
	Connected bool
	// Wake: there may be work to take now.
	Wake bool
	// Alarm: the earliest delayed job is now to be taken at this instant of the store's clock, by the second keeper of the
	// alarm 20 ms after it is due. Zero: no news of it.
	Alarm time.Time
	// Replaced is the ID of an occurrence whose successor asks it to end (overlap policy cancel). Empty: none.
	Replaced string
	// Elect: the leader has handed back its lease.
	Elect bool
}

// JobStore moves jobs: in, to workers, and to their end.
type JobStore interface {
	// Enqueue adds jobs, one call a partition, in one round trip. Answers are in the order of the calls.
	Enqueue(ctx context.Context, calls []EnqueueCall) []EnqueueAnswer

	// Work settles what ended and takes what is due, one call a partition, in one round trip. See WorkCall.
	Work(ctx context.Context, calls []WorkCall) []WorkAnswer

	// Look asks, without taking anything, what there is to do, and renews the caller's place among the sleepers.
	Look(ctx context.Context, calls []LookCall) []LookAnswer

	// Leave takes a worker off the list of sleepers; with Pass it hands a wake-up that it cannot use to the next one.
	Leave(ctx context.Context, calls []LeaveCall) error

	// CloseSession ends a session that holds no job. One that holds jobs, or is gone, is left as it is.
	CloseSession(ctx context.Context, partition Partition, session string) error

	// Reap returns the jobs of a lapsed session to their queue, unless the session was extended since it was Seen.
	// Done is false while more than 500 of its jobs remain: call again.
	Reap(ctx context.Context, call ReapCall) (done bool, err error)

	// Sweep trims what only grows: dead jobs, parked jobs past their retention, callers long silent, marks of moved
	// schedules. It touches at most 500 items a call and reports whether more remain.
	Sweep(ctx context.Context, partition Partition) (more bool, err error)

	// Stats counts a queue, all its partitions together.
	Stats(ctx context.Context, queue string) (Stats, error)

	// Announce says that a live worker handles these; it is repeated every other minute. Unhandled returns those of the asked that
	// no worker has announced lately.
	Announce(ctx context.Context, handled []Handled) error
	Unhandled(ctx context.Context, asked []Handled) ([]Handled, error)

	// PauseQueue stops (or resumes) taking from a queue; placing and enqueuing go on.
	PauseQueue(ctx context.Context, queue string, paused bool) error
}

// Handled is a job name that a worker handles on a queue that it takes from.
type Handled struct {
	Queue, Name string
}

// EnqueueCall adds at most 500 jobs and about 1 MiB of bodies to one partition.
// (Caller, Number) makes it safe to send again: Number grows by one with each call of a caller to a partition, and the
// same number again changes nothing and reports every job with an ID of the caller's own as existing.
// Answered without an error, its memory, bodies and all, is the caller's again.
type EnqueueCall struct {
	Partition Partition
	Caller    string
	Number    int64
	Items     []EnqueueItem
}

type EnqueueItem struct {
	ID   string
	Own  bool          // the ID was chosen by the application: a job that exists is left as it is
	In   time.Duration // > 0: delayed by this, on the store's clock
	At   time.Time     // not zero: due at this instant. Both zero: now
	Body []byte        // the envelope, see envelope.go
}

type EnqueueAnswer struct {
	Err      error
	Now      time.Time
	Existing []bool // one an item, in order
}

// WorkCall is the one call of a busy worker to one partition: what ended is settled, what is due is taken.
//
// Number grows by one with each call of a session, one call under way at a time. The same Number again returns the same
// jobs with the same fences and writes nothing, so after an error of transport the same call is sent again, unchanged,
// until it is answered; then its memory is the worker's again. Number 1 creates the session, which exists only once it has taken a job: an answer without jobs
// to Number 1 means that the next call is Number 1 again.
// A session that is gone (reaped) is answered with ErrSessionLost; its name is never used again.
type WorkCall struct {
	Partition Partition
	Worker    string        // the sleeper's name, see Listen
	Session   string        // random, used once
	Number    int64         // 1, 2, …
	TTL       time.Duration // how long the session outlives its last sign of life
	Settle    []Settlement  // at most 500, those with a Run counting twice
	Begun     []BegunJob    // taken ahead earlier, begun since
	Take      int           // at most this many, at most 500; 0: only settle. What costs the store more comes in several calls (More)
	Ahead     int           // of Take, the last so many are taken ahead: not begun until Begun says so
	Serve     []string      // names that this worker handles and that the last answer called parked
	Sleep     bool          // register as a sleeper when nothing takeable is left behind
	Lapses    bool          // tell of lapses; of a call that may sleep
	SleepOn   bool          // of a call that only settles, and only Finished jobs: a sleeper stays one, and its answer has no Horizon
	Place     []Placement   // placed in the same round trip, before the rest; needs no session
}

type BegunJob struct {
	ID    string
	Fence int64
}

// SettleKind says how a job's flight ended.
type SettleKind byte

const (
	SettleDone   SettleKind = 'd' // finished: the job is removed
	SettleLater  SettleKind = 'l' // due again after Delay, with Body in place of the old one (failed, snoozed)
	SettleDead   SettleKind = 'x' // given up: kept in the dead set with Body
	SettleBack   SettleKind = 'b' // given back unbegun or at shutdown: to the front of the queue, nothing counted
	SettlePark   SettleKind = 'p' // nobody here handles Name: set aside until a worker that does asks for it
	SettleMissed SettleKind = 'm' // an occurrence that misfire policy skip drops: its run is given back to the count
)

// A Settlement ends one flight of a job; it does nothing where the session no longer holds the job with that fence.
type Settlement struct {
	ID    string
	Fence int64
	Kind  SettleKind
	Delay time.Duration // SettleLater
	Body  []byte        // SettleLater, SettleDead; empty: the stored body stays
	Name  string        // SettlePark: the job's name
	// Run is written to the record of runs (occurrences of schedules only; nil: nothing is).
	Run *RunRecord
	// Failed counts a failed attempt (done, retried, dead are counted by kind).
	Failed bool
}

// Finished tells whether it is of the short kind: an ordinary job that is done.
func (s *Settlement) Finished() bool { return s.Kind == SettleDone && s.Run == nil }

// RunRecord is one line of the record of what ran. Times are the store's.
type RunRecord struct {
	Schedule       string
	Planned        time.Time
	Started, Ended time.Time
	Outcome        string // done, failed, dead, snoozed, missed, …
}

type WorkAnswer struct {
	Err     error
	Now     time.Time
	Refused []int // indexes of settlements whose job this session no longer held with that fence
	Taken   []TakenJob
	// Owed are the schedules whose occurrence this call took, dropped or parked: their next is to be placed in the next
	// call, made at once.
	Owed   []Owed
	Placed []PlaceAnswer // for WorkCall.Place, in order
	Horizon
}

// Horizon is what a caller needs to know in order to wait.
type Horizon struct {
	More   bool          // something takeable is left
	Paused bool          // the queue is paused
	Next   time.Duration // until the next delayed job; 0: none, or others keep its alarm
	Second bool          // the caller is the second keeper of the alarm: it takes 20 ms after Next
	Lapse  time.Time     // earliest lapse among the partition's sessions; zero: no session
	Lapsed []LapsedSession
	Parked []string // job names with parked jobs
}

// LapsedSession is a session past its lapse as somebody saw it.
type LapsedSession struct {
	Session string
	Lapse   time.Time
}

// TakenJob is a job in this session's hands. Exactly one of Body and Definition is set, or neither when the job's body
// is gone from the store (settle it as dead).
type TakenJob struct {
	ID         string
	Fence      int64
	Crashes    int    // times its holder vanished
	New        bool   // an occurrence taken for the first time: lateness is judged for these only
	Begun      bool   // false: taken ahead
	Body       []byte // the envelope
	Definition []byte // an occurrence's definition as it is now
}

// LookCall asks about one partition. A sleeper that knows when it was put on the list, and about the time, may be answered for
// less where nothing has happened.
type LookCall struct {
	Partition Partition
	Worker    string // registered as a sleeper when Sleep is set
	Sleep     bool
	Lapses    bool      // without Sleep: it asks for lapsed sessions alone
	Since     time.Time // by the store's clock, the caller was put among the sleepers last; zero: it does not know
	Now       time.Time // about what the store's clock shows; zero: the caller does not know
}

type LookAnswer struct {
	Err   error
	Now   time.Time
	Since time.Time // the caller was put among the sleepers then, by the store's clock; zero: it was not
	Horizon
}

type LeaveCall struct {
	Partition Partition
	Worker    string
	Pass      bool
}

type ReapCall struct {
	Partition Partition
	Session   string
	Seen      time.Time // the lapse as first seen
	Seed      int64     // spreads the jobs that crashed before at random within 5 to 60 s
}

type ExtendCall struct {
	Partition Partition
	Session   string
	TTL       time.Duration
	Schedules []string // held occurrences' schedules with overlap policy cancel
}

type ExtendAnswer struct {
	Err      error // ErrSessionLost: reaped
	Now      time.Time
	Replaced []string // IDs of held occurrences that were asked to end
}

// Stats are counts of one queue. Waiting, Delayed, InFlight, Dead, Parked are as of now; the others since the queue began.
type Stats struct {
	Queue                                    string
	Paused                                   bool
	Waiting, Delayed, InFlight, Dead, Parked int64
	Enqueued, Done, Failed, Retried, Died    int64
	Schedules                                int64
	Now                                      time.Time
}

// ScheduleStore keeps definitions and places occurrences. An occurrence is placed exactly once: placing compares the
// definition's revision, its state and the cursor, and moves the cursor in the same step.
type ScheduleStore interface {
	// Declare creates or changes schedules and moves those whose queue is another now.
	// The same declaration by anybody, any number of times, changes nothing.
	Declare(ctx context.Context, declarations []Declaration) []DeclareAnswer

	// Place places next occurrences, each with its own compare.
	Place(ctx context.Context, placements []Placement) []PlaceAnswer

	// Owed lists, a partition, at most 100 schedules whose next occurrence has been waiting to be placed for at least a
	// second. Moves that were cut short are completed on the way.
	Owed(ctx context.Context, partitions []Partition) ([]Owed, error)

	// Postpone moves an owed schedule that cannot be computed here a minute on, so that the others are not held up.
	Postpone(ctx context.Context, owed Owed) error

	// Find returns stored schedules by name; a name that is not stored gives a zero Stored.
	Find(ctx context.Context, names []string) ([]Stored, error)

	// Names returns some names of schedules, in no order, and where to go on: "" begins, and in the answer it ends. A call
	// costs what it returns. Names that are stored all the while are returned at least once.
	Names(ctx context.Context, cursor string) (names []string, next string, err error)

	// Remove deletes a schedule and what is placed of it; found is false when there was none.
	Remove(ctx context.Context, name string) (found bool, err error)

	// PauseSchedule stops or resumes a schedule. A resumed one is owed its next occurrence: the answer names it.
	PauseSchedule(ctx context.Context, name string, paused bool) (Owed, error)
}

// ScheduleState is the state in a stored definition.
type ScheduleState string

const (
	StateLive      ScheduleState = "live"
	StatePaused    ScheduleState = "paused"
	StateCompleted ScheduleState = "completed"
)

// A Declaration is a schedule as the application wants it.
type Declaration struct {
	Name    string
	Queue   string
	Overlap OverlapPolicy
	// Body is the canonical JSON object of all else; the store adds revision, state, created and overlap in front.
	Body []byte
}

type DeclareAnswer struct {
	Err       error
	Now       time.Time
	Partition Partition
	Created   time.Time
	Revision  int64
	New       bool   // the name did not exist
	Changed   bool   // another definition was stored; Old is its text
	Old       []byte // the whole definition before
	Stored    []byte // the whole definition as stored now
	// Owed is set when the next occurrence is to be placed by the caller, in its next call.
	Owed *Owed
}

// Cursor is how far a schedule has been placed.
type Cursor struct {
	At     time.Time // planned instant of the occurrence placed last, or of the last change; zero: nothing placed yet
	Used   int       // runs used up of the rule's count
	Placed bool      // At is an occurrence (false: the instant of a change or a pause)
}

// Owed is a live schedule whose next occurrence is to be placed.
type Owed struct {
	Partition  Partition
	Name       string
	Definition []byte
	Cursor     Cursor
	Since      time.Time // when the occurrence at the cursor was taken, or the schedule declared, changed, resumed
	Now        time.Time
}

// A Placement places occurrences of a schedule in place of the one at Cursor.
type Placement struct {
	Partition Partition
	Name      string
	Revision  int64
	Cursor    Cursor      // as read: the compare
	Instants  []time.Time // oldest first, at most 100; none: the schedule has completed
	Count     int         // the rule's count; 0: endless. Never more are placed than are left
	Missed    int         // instants passed over, for the counter
	CaughtUp  int         // of Instants, those placed by misfire policy catch up
}

type PlaceAnswer struct {
	Err       error
	Now       time.Time
	Placed    int  // how many this call placed
	Lost      bool // somebody else placed or changed it: nothing to do
	Completed bool
}

// Stored is a schedule as the store holds it.
type Stored struct {
	Name       string
	Partition  Partition
	Definition []byte
	Cursor     Cursor
	Waiting    bool // the occurrence at the cursor is placed and not yet taken
	// Counters since creation.
	Placed, Started, Skipped, Missed, CaughtUp, Superseded int64
}

// LeaderStore elects at most one leader a namespace. The leader only speeds things up; two at once lose nothing.
type LeaderStore interface {
	// Lead takes or keeps the lease. Sent again it is the same leader with the same term.
	Lead(ctx context.Context, candidate string, ttl time.Duration) (Leadership, error)
	// Abdicate hands the lease back at once and tells the other candidates.
	Abdicate(ctx context.Context, candidate string) error
}

type Leadership struct {
	Leading bool
	Leader  string
	Term    int64
	Left    time.Duration // how long the lease has left
	// Epoch stands for all that the store has ever held: another one than before means that it has lost what it held, as a
	// server restarted empty has. Empty: not known yet.
	Epoch string
}
