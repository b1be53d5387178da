package protocol

import (
	"context"
	"strings"
	"time"
)

// JobStore adds jobs, gives them to workers, and ends them.
type JobStore interface {
	// Enqueue adds jobs in one round trip, with one call for each partition. Answers are in the order of the calls.
	Enqueue(ctx context.Context, calls []EnqueueCall) []EnqueueAnswer

	// Seal returns the outcomes of calls of Enqueue whose answers were lost, in one round trip. If a call was not carried out before, Seal ensures
	// that it is not carried out later. Answers are in the order of the calls.
	Seal(ctx context.Context, calls []SealCall) []SealAnswer

	// Replace enqueues one job in place of the one that has its ID.
	Replace(ctx context.Context, call ReplaceCall) (Replaced, error)

	// Work settles ended jobs and takes due jobs in one round trip, with one call for each partition. See WorkCall.
	Work(ctx context.Context, calls []WorkCall) []WorkAnswer

	// Poll returns whether there is something to do, takes nothing, and registers the caller again as a sleeping worker.
	Poll(ctx context.Context, calls []PollCall) []PollAnswer

	// Leave removes a worker from the sleeping workers. If a job may start now, the next one is woken.
	Leave(ctx context.Context, calls []LeaveCall) error

	// Report stores the progress of handlers, in one round trip. Reports of jobs that their session does not hold any more have no effect.
	Report(ctx context.Context, reports []ProgressReport) error

	// CloseSession ends a session that holds no job. It does not change one that holds jobs or does not exist. It first counts the session's
	// measurements; nil: none.
	CloseSession(ctx context.Context, partition Partition, session string, measured *Measured) error

	// Lapsed returns the sessions of a partition that are past their lapse, at most MaxLapsed, those of the earliest lapse. The answer
	// to another call contains only the first MaxSeenLapsed.
	Lapsed(ctx context.Context, partition Partition) ([]LapsedSession, error)

	// Reap returns the jobs of lapsed sessions to their queues, in one round trip, unless a session was extended since it was Seen.
	// Answers are in the order of the calls.
	Reap(ctx context.Context, calls []ReapCall) []ReapAnswer

	// Sweep removes old data from partitions that were not swept within the time unless, in one round trip: dead jobs, parked jobs
	// past their retention, callers that have been silent for long, marks of moved schedules. A call touches at most 500 items of a
	// partition. Parked jobs that may have an OnDeath are returned instead. Answers are in the order of the partitions.
	Sweep(ctx context.Context, partitions []Partition, unless time.Duration) []SweepAnswer

	// Bury moves expired jobs of a partition that Sweep has returned to the dead jobs, and adds the jobs that follow their deaths. It returns how
	// many it has moved: it skips a job that was run, requeued, changed or removed since.
	Bury(ctx context.Context, partition Partition, burials []Burial) (int, error)

	// Announce records that a live worker handles these. Workers repeat it.
	Announce(ctx context.Context, worker string, handled []Handled) error

	// Unhandled returns the names that no worker has announced within the last minutes.
	Unhandled(ctx context.Context, asked []Handled) ([]Handled, error)
}

// Handled is a job name that a worker handles, on a queue that it takes from.
type Handled struct {
	Queue, Name string
}

// EnqueueCall adds at most MaxItems jobs and about MaxBytes of bodies to one partition.
//
// (Caller, Number) makes it safe to send again: Number grows with each call of a caller to a partition. The same
// number again changes nothing and reports every job with an ID of the caller's own as existing. Once the call is answered without an
// error, its memory, including the bodies, belongs to the caller again.
type EnqueueCall struct {
	Partition Partition
	Caller    string
	Number    int64
	Items     []EnqueueItem
	Ticket    EnqueueTicket // of the answer to the caller's last call to the partition, if it was answered
	Brief     bool          // with Ticket.Brief: ctx ends after BriefCall at most, and the call ends with it, answered or not
}

// BriefCall is how long a Brief call lasts at most.
const BriefCall = 100 * time.Millisecond

// An EnqueueTicket comes with an answer and is sent with the next call. For a moment the store may rely on its content, so that this
// call can be a fast one. Without it, as the zero value, the call has the same effect at a higher cost.
type EnqueueTicket struct {
	Score int64     // the store's own
	Until time.Time // on this process's clock
	Brief bool      // the store can end a call after BriefCall
}

// SealCall seals the last call that a caller has sent to a partition. It may be repeated, with the same numbers.
type SealCall struct {
	Partition Partition
	Caller    string
	Number    int64 // of the call
	Seal      int64 // a later number, which no call has
	Items     int   // how many the call has
	Young     bool  // the store would remember the caller if it had carried out the call
}

// SealAnswer is the answer to one SealCall.
type SealAnswer struct {
	Err     error
	Now     time.Time
	Sealed  Sealed
	Refused []int // with SealedDone: the indexes of the items that the call has refused, see EnqueueAnswer.Full, in any order
}

// Sealed is the outcome of a call that was sealed.
type Sealed int

const (
	SealedDone    Sealed = 1 // it was carried out
	SealedNever   Sealed = 2 // it was not carried out, and will not be
	SealedUnknown Sealed = 3 // the store has forgotten the caller
)

// EnqueueItem is one job to add.
type EnqueueItem struct {
	ID   string
	Own  bool          // the application chose the ID: an existing job of that ID is not changed
	Once time.Duration // > 0, for an Own item: the ID is not added again within this time after a job with Once was accepted; milliseconds
	In   time.Duration // > 0: due so much later, on the store's clock
	At   time.Time     // not zero: due at this instant. Without In and At the job runs now
	Body []byte        // see package wire
	// Expire > 0: the store sets the instant in the Body at which the job expires: so much after it is due; milliseconds.
	Expire time.Duration
	// Group is the group of a job that has one, 1 to 200 bytes without a control character; empty: it has none. Its partition must be the only one
	// of its queue.
	Group string
	// Follows: other jobs may follow its end, so an older program must not take it. FollowsIn has the groups to which they belong. Each
	// needs the only partition of its queue, as Group does.
	Follows   bool
	FollowsIn []QueueGroup
	// Schedule is the schedule of a manual run, which is accepted when the store executes the call; empty: it is not a manual run.
	Schedule string
	// MaxUnfinished > 0, of a manual run: it is refused if its schedule has this number of unfinished runs.
	MaxUnfinished int
}

// ReplaceCall enqueues one job, with an ID of the caller's own. A call repeated with its Token, within 100 s, changes nothing and has the same
// answer.
type ReplaceCall struct {
	Partition Partition
	Token     string // random, used once
	Item      EnqueueItem
	Batch     string // of which the job is a member according to its Body; empty: none. It must be that of the job that is replaced
}

// Replaced is the effect of a ReplaceCall.
type Replaced int

const (
	ReplaceAdded  Replaced = 1 // there was no job of that ID
	ReplaceDone   Replaced = 2 // it replaces another one, or follows the one that is held
	ReplaceStayed Replaced = 3 // another one remains: it is held and was cancelled, or Once bars a new one
	ReplaceFull   Replaced = 5 // there was no job of that ID, and the new one was refused, because its group is full
	// ReplaceOtherBatch: nothing was changed, because the job of that ID belongs to another batch than the new one, or only one of them belongs to one:
	// FindJobs returns its body.
	ReplaceOtherBatch Replaced = 6
)

// EnqueueAnswer is the answer to one EnqueueCall.
type EnqueueAnswer struct {
	Err      error
	Now      time.Time // zero after a short call, see EnqueueTicket
	Existing []bool    // for each item, in order: it was not added; nil: all are new
	// Full has for each item, in order, why it was refused: ErrGroupFull, its group has as many jobs waiting as its rule allows; or ErrMaxUnfinished,
	// see EnqueueItem.MaxUnfinished. Nil: it was not, or no item was.
	Full   []error
	Ticket EnqueueTicket
}

// WorkCall is the one call that a busy worker makes to a partition: it settles jobs that have ended and takes jobs that are due.
//
// Number grows by one with each call of a session; a session has one call at a time. The same Number again returns the same jobs
// with the same fences and writes nothing. So after a transport error the same call is sent again, unchanged, until it is
// answered; then its memory belongs to the worker again.
//
// Number 1 creates the session, which exists only once it has taken a job: if the answer to Number 1 has no jobs, the next call
// has Number 1 again. The answer for a reaped session is ErrSessionLost.
type WorkCall struct {
	Partition    Partition
	Worker       string        // the name it listens under
	Session      string        // random, used once
	Number       int64         // 1, 2, …
	TTL          time.Duration // how long the session lives after its last heartbeat or call
	Settle       []Settlement  // at most MaxSettlements
	Begun        []BegunJob    // taken ahead before, begun since
	Take         int           // how many jobs to take, at most MaxTake; 0: only settle. Large jobs come in several calls (More)
	Ahead        int           // how many of Take, the last ones, are taken ahead: they count as not begun until Begun names them
	Gathers      []string      // job names whose jobs the worker handles together, sorted: see TakenJob.Begun; nil: none
	Serve        []string      // the entries of Parked in earlier answers that this worker handles: served first
	Suspect      bool          // the worker may get a suspect: it holds none, and calls no other partition for jobs now
	HoldsSuspect bool          // the worker holds a suspect
	Beside       bool          // the session holds a suspect, and jobs of other partitions run in the worker beside it
	Sleep        bool          // register the worker as asleep if nothing is left to take
	Lapses       bool          // report lapsed sessions; only for calls that may sleep
	SleepOn      bool          // the call only settles jobs that are Finished: a sleeping worker remains registered, the answer has no WaitHint
	Place        []Placement   // placed first, in the same round trip; needs no session
	Measured     *Measured     // counted first, in the same round trip; nil: nothing
	ParkedLook
}

// A ParkedLook requests names with parked jobs among those that a worker handles. There may be very many such names, so only those
// are looked up, and only if something was parked since Seen.
type ParkedLook struct {
	Handled []string // empty: nothing is looked up
	Seen    int64    // WaitHint.ParkedMark of the last answer with Looked
}

// BegunJob is a job whose handler has begun.
type BegunJob struct {
	ID    string
	Fence int64
}

// SettleKind is the outcome of a job's flight.
type SettleKind byte

const (
	SettleDone   SettleKind = 'd' // finished: the job is removed
	SettleLater  SettleKind = 'l' // failed or snoozed: due again after Delay, with Body in place of the old one
	SettleDead   SettleKind = 'x' // dead: kept in the dead set with Body
	SettleBack   SettleKind = 'b' // given back, not begun or at shutdown: to the front of the queue, nothing is counted
	SettlePark   SettleKind = 'p' // this worker cannot run Name: put aside until a worker that can run it requests it
	SettleMissed SettleKind = 'm' // an occurrence that misfire policy skip drops: its run is given back to the count
	// SettleReplan: an occurrence that was planned with other time zone data. It is dropped, and its schedule is owed again from Back on, in one step.
	// If the schedule has gone on meanwhile it is SettleBack: the occurrence runs after all.
	SettleReplan  SettleKind = 'w'
	SettleExpired SettleKind = 'e' // its time was over before it began: it is removed, and its OnDeath follows
	// SettleCancelled: it was cancelled, and is removed. The store settles every cancelled job in this way, with any Kind.
	SettleCancelled SettleKind = 'c'
)

// A HeldJob is a job that a session holds, or held, under a fence.
type HeldJob struct {
	ID    string
	Fence int64
}

// A Settlement ends one flight of a job. It has no effect if the session does not hold the job with that fence any more.
type Settlement struct {
	ID    string
	Fence int64
	Kind  SettleKind
	Delay time.Duration // SettleLater
	Body  []byte        // SettleLater, SettleDead; empty: the stored body remains
	Name  string        // SettlePark: the job's name
	Back  time.Time     // SettleReplan: the cursor goes back to this instant, which is before the occurrence
	// ParkedAt is TakenJob.ParkedAt, for SettlePark of a job that was parked before: its age still counts from then.
	ParkedAt time.Time
	// Run is added to the history of the schedule, and for an occurrence to the record of runs too. Nil: nothing is added. It is set for occurrences
	// of schedules, manual runs and jobs that follow deaths of these.
	Run *RunRecord
	// Unbegun: the handler of a job that is given back, or dead, had not begun, so it has used no start of a limit. A
	// parked, missed or expired job has never begun.
	Unbegun bool
	// Failed counts a failed attempt. Done, retried and dead are counted by kind.
	Failed bool
	// Follower, for SettleDone, SettleDead and SettleExpired, is added in the same step. Nil: nothing follows. It is not added if the store finds that
	// the job ended in another way. Its ID is FollowerID.
	Follower *Follower
	// Result is kept if the job ends, with any kind; callers that wait for its end are notified. Nil: none.
	Result *Result
	// Reported: the job has reported progress, which is removed with its flight.
	Reported bool
	// Batch is the batch of which the job is a member, according to its Body; empty: none. It is set with every Kind: the store may find that the job ends.
	Batch string
}

// Result is kept after a job has ended.
type Result struct {
	Keep time.Duration // milliseconds
	Body []byte        // see package wire; it does not contain the outcome, which the store adds
}

// The store's letters for the outcome of a job with a result.
const (
	ResultDone       = 'd'
	ResultCancelled  = 'c'
	ResultSuperseded = 's'
	ResultExpired    = 'e'
)

// Finished reports whether it settles an ordinary job as done, which is the shortest settlement; its result may be kept.
func (s *Settlement) Finished() bool {
	return s.Kind == SettleDone && s.Run == nil && !s.Reported && s.Follower == nil
}

// RunRecord is one entry of the record of runs. Times are the store's.
type RunRecord struct {
	ID             string // of a manual run, and of a job that follows another one; empty: it is an occurrence. Set only when it is read
	Name           string // the job name of a job that follows another one; empty: its schedule's
	Manual         bool   // it is a manual run
	Backfilled     bool   // its occurrence was backfilled
	Schedule       string
	Planned        time.Time
	Started, Ended time.Time
	Outcome        string // done, failed, dead, snoozed, missed, …

	// Additional fields of an attempt in the history of the schedule.
	Attempt int    // 0: it did not begin
	Fence   int64  // under which it ran
	Worker  string // that ran it
	Error   string // how it failed; at most MaxRunError bytes are kept; it may have several lines, without tabs
	Note    string // what its handler remarked, at most 2 KiB
}

// DayRecord counts the occurrences of a schedule that were planned for a day.
type DayRecord struct {
	Day                           time.Time // its beginning in UTC
	Done, Failed, Skipped, Missed int       // Failed: attempts
}

// MaxDays is the number of days in the history of a schedule.
const MaxDays = 35

// MaxRunError is how many bytes of an attempt's error the history of a schedule keeps.
const MaxRunError = 200

// WorkAnswer is the answer to one WorkCall.
type WorkAnswer struct {
	Err     error
	Now     time.Time
	Refused []int // indexes of settlements whose job the session did not hold any more with that fence
	Taken   []TakenJob
	// Owed are the schedules whose occurrence this call took, dropped or parked: their next occurrences must be placed in the
	// worker's next call, which is sent at once.
	Owed   []Owed
	Placed []PlaceAnswer // for WorkCall.Place, in order
	// Superseded are the IDs of occurrences that this call ended because, under overlap policy cancel, a newer one replaces them.
	Superseded []string
	// Skipped are the IDs of occurrences that this call has dropped, because another one of their schedule runs or waits.
	Skipped []string
	// PausedSchedules are the schedules that this call has paused, because the set number of consecutive occurrences ended dead.
	PausedSchedules []PausedSchedule
	// Unreadable names the values in the store that cannot be read and were ignored; the call has replaced them. Empty: there were none.
	Unreadable string
	WaitHint
}

// WaitHint contains what a worker needs to know in order to wait.
type WaitHint struct {
	More     bool          // something is left to take
	NotAhead bool          // of a WorkCall: a job waits that is not taken ahead, because its holder vanished before
	Suspects bool          // of a WorkCall: suspects wait
	Paused   bool          // the queue is paused
	Next     time.Duration // until the next delayed job is due; 0: none, or other workers keep its alarm
	Second   bool          // the worker keeps the alarm as the second: it takes SecondAlarm after Next
	Limit    LimitState    // of the queue
	// Owes: the partition has jobs for other ones, which are to be carried now. Full: they have reached their bound, and no job of its own is taken.
	Owes, Full bool
	// Reports: the partition has counts of batches that are to be reported now. Batches: it has counts of batches.
	Reports, Batches bool
	Lapse            time.Time // earliest lapse among the partition's sessions; zero: there is no session
	Lapsed           []LapsedSession

	// Parked are job names with parked jobs, or single ones of them, for Serve: with Looked those of Handled, without it
	// those of Serve.
	Parked     []string
	Looked     bool  // they were looked up
	ParkedMark int64 // changes when there is something new to find; 0: no job is parked
}

// A LimitState is the state of a partition under its queue's limit. Near the limit, nothing is taken ahead.
type LimitState byte

const (
	Unlimited  LimitState = iota
	LimitOpen             // a job may start
	LimitSpent            // none may start for some time, which is in Next, unless other workers keep the alarm
	LimitFull             // none may start until one has ended
	LimitFar              // jobs may start, and be taken ahead: at most half of the allowed number run, and starts are not counted
)

// Reached reports whether no job may start now.
func (s LimitState) Reached() bool { return s == LimitSpent || s == LimitFull }

// ParkedName is the job name of an entry of Parked.
func ParkedName(entry string) string {
	name, _, _ := strings.Cut(entry, "\t")
	return name
}

// LapsedSession is a session past its lapse.
type LapsedSession struct {
	Session string
	Lapse   time.Time
}

// TakenJob is a job that the session holds now. One of Body and Definition is set; neither if the store has lost the job's
// body: then the job is settled as dead.
type TakenJob struct {
	ID         string
	Fence      int64
	Crashes    int       // times its holder vanished while its handler ran
	Uncertain  int       // how many of these times another job had begun beside it, so that it may not be the cause
	Vanished   bool      // it was taken ahead by a holder that vanished: its handler may have begun
	New        bool      // an occurrence taken for the first time: only these can be late
	Begun      bool      // false: taken ahead. Jobs of WorkCall.Gathers mostly have not begun either, whatever this is: until Begun or a settlement names them
	Ordered    bool      // of WorkCall.Gathers: the rule of its group runs its jobs in order. False also if the answer is repeated
	Full       bool      // of WorkCall.Gathers: its group may start no more jobs now. False also if the answer is repeated
	Body       []byte    // see package wire
	Definition []byte    // of an occurrence: its schedule's definition as it is now
	ParkedAt   time.Time // when it was parked first; zero: it was not parked, or the answer is repeated

	// Refused is why this program cannot open what is sealed in the Body or the Definition, or does not run it because it is not sealed. Nil: it can,
	// or has no codec.
	Refused *SealedError

	// The worker sets these for an occurrence that was planned with other time zone data: the earlier instant from which it counts as late, or the
	// later one at which it is placed again. Zero: neither.
	Counted, Later time.Time
}

// Suspect reports whether a worker may get only one job of this kind at a time: its holders have vanished so often that it may
// be the cause.
func (j *TakenJob) Suspect() bool { return j.Crashes-j.Uncertain >= SuspectCrashes }

// ReapCall returns the jobs of one lapsed session.
type ReapCall struct {
	Partition Partition
	Session   string
	Seen      time.Time // its lapse when it was first read
	Seed      int64     // spreads the jobs that crashed before at random over 5 to 60 s
}

// ReapAnswer is the answer to one ReapCall.
type ReapAnswer struct {
	Err      error
	Done     bool // nothing is left to do; false: more than 500 jobs remain, call again
	Returned int  // how many jobs this call has returned
	Dropped  int  // entries of the session that were no jobs
}
