package protocol

import (
	"context"
	"time"
)

// BatchStore keeps batches: jobs, the members, whose common end adds other jobs. Each partition counts its own members, in the script that adds or ends
// them. The home of a batch is a partition of its own, which HomeOf returns: it keeps what the partitions have reported last, and adds the jobs that
// follow the batch. The scripts in redisstore/scripts/batches explain the states. Each call may be sent twice, or come late.
type BatchStore interface {
	// OpenBatch creates a batch at its home. existed: there was one of the same definition. With another definition it returns ErrConflict, with the
	// record of the stored one.
	OpenBatch(ctx context.Context, def BatchDefinition) (record BatchRecord, existed bool, err error)

	// NoteFill notes at home which items are sent next, before FillBatch sends them. ErrConflict: other items were noted at a position of the note, or the
	// batch is sealed or cancelled, which the record shows; one that has ended refuses also what was noted before. ErrNotFound: there is no such batch.
	NoteFill(ctx context.Context, id string, note FillNote) (BatchRecord, error)

	// FillBatch adds members in one round trip, with one call for each partition. Answers are in the order of the calls.
	FillBatch(ctx context.Context, calls []FillCall) []FillAnswer

	// SealBatch seals an open batch: no item is added any more. counts are those of all its partitions, closed by CountBatch. If some are missing it
	// returns sealed = false: the record has the partitions that are to be asked. asIs seals it at whatever position it is; else ErrConflict if other items
	// were noted, or more. A batch that is sealed already, with the same items or asIs, is returned.
	SealBatch(ctx context.Context, id string, total int64, hash string, asIs bool, counts []PartitionCounts) (record BatchRecord, sealed bool, err error)

	// CountBatch returns the counts of partitions in one round trip. Answers are in the order of the calls.
	CountBatch(ctx context.Context, calls []CountCall) []CountAnswer

	// DueReports returns the counts of a partition that are due, at most MaxReports, and whether there are more: those that its batches' homes do not have yet, and, a
	// minute after a change and then once a day, those that they have had. A home that goes back to an earlier state gets them again.
	DueReports(ctx context.Context, partition Partition) (due []PartitionCounts, more bool, err error)

	// ReportBatches brings counts to the homes, in one round trip. Answers are in the order of the reports.
	ReportBatches(ctx context.Context, reports []BatchReport) []ReportAnswer

	// AckReports notes in a partition that the homes have these counts, or do not know the batches. Counts of an unknown batch are removed when no member is left
	// and nothing has changed for a day.
	AckReports(ctx context.Context, partition Partition, acks []ReportAck) error

	// GrowBatch notes at home that a job is about to be added by FillBatch with this token to this partition. ErrNotFound: there is no such batch.
	// ErrConflict: the record shows that it has ended, or was cancelled.
	GrowBatch(ctx context.Context, id, token string, partition Partition) (BatchRecord, error)

	// EndBatch adds the jobs that follow a batch, if nothing has changed since the record was read and the counts were asked. done reports whether the
	// batch has ended, in this call or before.
	EndBatch(ctx context.Context, id string, end BatchEnding) (record BatchRecord, done bool, err error)

	// CancelBatch marks a batch at home as cancelled. One that has ended is not changed: ErrConflict.
	CancelBatch(ctx context.Context, id string) (BatchRecord, error)

	// CancelMembers cancels jobs of a queue, at most MaxItems, as CancelJob does. Those that have ended are not changed.
	CancelMembers(ctx context.Context, queue string, ids []string) error

	// TendBatches returns batches of a home that somebody must look after now, at most MaxTended, and whether the home has jobs that are to be carried. Other
	// callers get the batches again a moment later.
	TendBatches(ctx context.Context, home int) (due []BatchRecord, owes bool, err error)

	// PutOffBatch sets when TendBatches returns a batch again.
	PutOffBatch(ctx context.Context, id string, at time.Time) error

	// DeleteBatch removes the record of a batch that has ended; partitions forget it by CountCall.Forget first. ErrConflict: it has not ended.
	DeleteBatch(ctx context.Context, id string) error

	// GetBatch returns the record of a batch. ErrNotFound: there is none.
	GetBatch(ctx context.Context, id string) (BatchRecord, error)

	// ListBatches returns the marks of the batches of a home, the newest first, at most limit. before is the last one that the caller has; zero: the first page.
	ListBatches(ctx context.Context, home int, before BatchMark, limit int) ([]BatchMark, error)

	// UnendedBatches returns the marks of batches that have not ended, and of those with members that were requeued since, at most limit, the newest first,
	// and whether there may be more. Hardly any others are among them. after is the last one that the caller has; zero: the first call.
	UnendedBatches(ctx context.Context, after BatchMark, limit int) (marks []BatchMark, more bool, err error)

	// ReadBatches returns the records of batches in one round trip, in the order of the marks. Batches that were deleted meanwhile are left out.
	ReadBatches(ctx context.Context, marks []BatchMark) ([]BatchRecord, error)
}

const (
	BatchHomes = 16  // partitions that are homes of batches
	MaxReports = 100 // that DueReports returns
	MaxTended  = 20  // batches that TendBatches returns
	// MaxBatchItems is how many items a batch may have.
	MaxBatchItems = 1_000_000
)

// HomeOf returns the home of a batch, an index below BatchHomes: the FNV-1a hash of its ID.
func HomeOf(id string) int {
	hash := uint32(2166136261)
	for i := range len(id) {
		hash = (hash ^ uint32(id[i])) * 16777619
	}
	return int(hash % BatchHomes)
}

// Home returns the partition with this index. It belongs to no queue.
func Home(index int) Partition { return Partition{Index: index} }

// IsHome reports whether a partition is a home of batches.
func (p Partition) IsHome() bool { return p.Queue == "" }

// BatchDefinition is what a batch is created with.
type BatchDefinition struct {
	ID   string
	Spec []byte // the application's part, only compared and returned, in a form of the caller: the jobs that follow, the note
	// Keep is how long the record is kept after the end; milliseconds. With dead members it is kept KeepDead at least.
	Keep                 time.Duration
	KeepDead             time.Duration
	DoneWithoutCancelled bool // cancelled and deleted members do not stand in the way of Done
	HasDone, HasEnded    bool // such a job follows
}

// A BatchState is the state of a batch. Only an open one is filled; open and running ones grow.
type BatchState string

const (
	BatchOpen      BatchState = "open"    // it is being filled
	BatchRunning   BatchState = "running" // it is sealed
	BatchEnded     BatchState = "ended"   // all members have ended, and not all are done
	BatchDone      BatchState = "done"    // all members are done
	BatchCancelled BatchState = "cancelled"
)

// BatchDoneID returns the ID of the job that is added when all members are done. end_batch.lua builds it too.
func BatchDoneID(batch string) string { return batch + "#done" }

// BatchEndedID returns the ID of the job that is added when all members have ended. end_batch.lua builds it too.
func BatchEndedID(batch string) string { return batch + "#ended" }

// BatchCounts are counts of members.
type BatchCounts struct {
	Added, Done, Dead, Cancelled int64
	// Away are jobs that follow members and are members themselves, on their way to other partitions.
	Away     int64
	Existing int64 // items that were not added, because a job of their ID existed
}

// Left returns how many members have not ended.
func (c BatchCounts) Left() int64 { return c.Added + c.Away - c.Done - c.Dead - c.Cancelled }

// PartitionCounts are the counts of a batch in a partition.
type PartitionCounts struct {
	Partition Partition
	Batch     string
	Version   int64 // grows with each change; 0: the partition has never had a member
	Counts    BatchCounts
	Position  int64 // the highest one that it has taken
	Closed    bool  // it takes no items any more
	Cancelled bool  // it takes nothing any more: somebody has cancelled the batch. Not in a record
	// To are partitions to which jobs were carried that follow members and are members: the home asks these too.
	To []Partition
}

// BatchRecord is a batch as its home knows it.
type BatchRecord struct {
	BatchDefinition
	State     BatchState
	Sealing   bool  // an open batch that somebody seals
	Revision  int64 // grows with each change of the record
	Now       time.Time
	Created   time.Time
	Sealed    time.Time // zero: not yet
	Ended     time.Time // when all members had ended for the first time: Ended was added; zero: not yet
	Done      time.Time // when Done was added, or would have been; zero: not yet
	Position  int64     // of the last item that was noted
	Hash      string    // of all items up to there
	Partition []PartitionCounts
	Growing   []BatchGrowth
}

// Mark returns the place of the batch in lists.
func (r *BatchRecord) Mark() BatchMark { return BatchMark{Created: r.Created.UnixMilli(), ID: r.ID} }

// Totals returns the sums over all partitions, as they were reported last.
func (r *BatchRecord) Totals() (sum BatchCounts) {
	for i := range r.Partition {
		c := &r.Partition[i].Counts
		sum.Added, sum.Done, sum.Dead, sum.Cancelled = sum.Added+c.Added, sum.Done+c.Done, sum.Dead+c.Dead, sum.Cancelled+c.Cancelled
		sum.Away, sum.Existing = sum.Away+c.Away, sum.Existing+c.Existing
	}
	return sum
}

// HasEnded reports whether the reports show that all members have ended: EndBatch may then end it, after CountBatch has asked each partition again.
func (r *BatchRecord) HasEnded() bool {
	return !r.Sealed.IsZero() && len(r.Growing) == 0 && r.Totals().Left() <= 0
}

// Unended reports whether a batch has not ended, or members were requeued since.
func (r *BatchRecord) Unended() bool { return r.Ended.IsZero() || r.Totals().Left() > 0 }

// Owes reports whether EndBatch has something to do for a batch that HasEnded.
func (r *BatchRecord) Owes() bool {
	sum := r.Totals()
	return r.Ended.IsZero() || r.State != BatchCancelled && r.Done.IsZero() && sum.Dead == 0 && (sum.Cancelled == 0 || r.DoneWithoutCancelled)
}

// A BatchGrowth is a job that is about to be added to a batch.
type BatchGrowth struct {
	Token     string
	Partition Partition
	Since     time.Time
}

// A FillNote announces the items after Before up to Position, which come to Partitions.
type FillNote struct {
	Before, Position int64  // positions begin at 1
	BeforeHash, Hash string // of all items up to there; BeforeHash is empty at 0
	Partitions       []Partition
}

// A FillCall adds members to one partition, at most MaxItems and about MaxBytes of bodies. With Positions, one for each item in ascending order, it
// adds items of the batch: those up to the highest position that the partition has taken are passed over; at the first item that is refused it stops.
// With a Token, which GrowBatch has noted, it adds other jobs, once.
type FillCall struct {
	Partition Partition
	Batch     string
	Token     string
	Positions []int64
	Items     []EnqueueItem
}

// FillAnswer is the answer to one FillCall.
type FillAnswer struct {
	Err      error
	Now      time.Time
	Closed   bool    // the partition takes nothing of this batch any more: it was sealed or cancelled, or the token was voided
	Passed   int     // how many items were passed over, the first ones
	Existing []bool  // as EnqueueAnswer.Existing; nil: all others are new
	Full     []error // as EnqueueAnswer.Full. With Positions the items after the first one with an error were not added either. Nil: none was refused
	Counts   PartitionCounts
}

// A CountCall asks for the counts of a batch in a partition.
type CountCall struct {
	Partition Partition
	Batch     string
	Above     int64  // with a lower version the partition has gone back to an earlier state, and draws a higher one
	Close     bool   // take no items any more
	Cancel    bool   // take nothing any more
	Void      string // this token adds nothing any more, if it has not yet
	Ended     bool   // the batch has ended: the queue may be deleted
	Forget    bool   // remove the counts; the answer has those that were there
}

// CountAnswer is the answer to one CountCall.
type CountAnswer struct {
	Err    error
	Now    time.Time
	Counts PartitionCounts
}

// A BatchReport brings the counts of a partition to the home of its batch.
type BatchReport struct {
	Counts PartitionCounts
	Grown  []string // tokens whose jobs are counted, or which are void
}

// ReportAnswer is the answer to one BatchReport.
type ReportAnswer struct {
	Err     error
	Unknown bool // the home has no such batch: it was forgotten, or the home went back to an earlier state
	Ends    bool // the reports show that all members have ended: read the record, ask all partitions, and call EndBatch
	// Above is the version that the home has of the partition, if it is higher than that of the report. Then the report changes nothing, and its tokens are
	// still noted. Zero: the home has these counts.
	Above int64
}

// A ReportAck notes that the home has the counts of this version.
type ReportAck struct {
	Batch   string
	Version int64
	Unknown bool // the home does not know the batch
}

// BatchEnding is what EndBatch needs.
type BatchEnding struct {
	Revision int64             // of the record
	Counts   []PartitionCounts // as CountBatch has returned them after the record was read: one for each of its partitions
	// Done and Ended are the jobs that follow; nil: none. Their Follower.Queue is set.
	Done, Ended *Follower
}
