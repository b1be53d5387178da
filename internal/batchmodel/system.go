package batchmodel

import (
	"context"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// Calls are the calls of protocol.BatchStore that a Walk makes.
type Calls interface {
	OpenBatch(ctx context.Context, def protocol.BatchDefinition) (record protocol.BatchRecord, existed bool, err error)
	NoteFill(ctx context.Context, id string, note protocol.FillNote) (protocol.BatchRecord, error)
	FillBatch(ctx context.Context, calls []protocol.FillCall) []protocol.FillAnswer
	SealBatch(ctx context.Context, id string, total int64, hash string, asIs bool, counts []protocol.PartitionCounts) (record protocol.BatchRecord, sealed bool, err error)
	CountBatch(ctx context.Context, calls []protocol.CountCall) []protocol.CountAnswer
	DueReports(ctx context.Context, partition Place) (due []protocol.PartitionCounts, more bool, err error)
	ReportBatches(ctx context.Context, reports []protocol.BatchReport) []protocol.ReportAnswer
	AckReports(ctx context.Context, partition Place, acks []protocol.ReportAck) error
	GrowBatch(ctx context.Context, id, token string, partition Place) (protocol.BatchRecord, error)
	EndBatch(ctx context.Context, id string, end protocol.BatchEnding) (record protocol.BatchRecord, done bool, err error)
	CancelBatch(ctx context.Context, id string) (protocol.BatchRecord, error)
	DeleteBatch(ctx context.Context, id string) error
	GetBatch(ctx context.Context, id string) (protocol.BatchRecord, error)
}

// A System has queues of partitions, homes, and jobs. It makes each call at once. Its clock goes on with Advance.
type System interface {
	Calls

	// Add adds a job of no batch, unless a job has its ID.
	Add(p Place, id string)
	// Take takes jobs for a session, whose name in flights may have a suffix that begins with -. Members of batches that are cancelled there end
	// instead.
	Take(p Place, session string, most int) []Flight
	// Settle ends a flight, and reports whether the session still held it.
	Settle(f Flight, s Settlement) bool
	// SettleAgain sends the last call of Settle once more.
	SettleAgain()
	// Reap ends a session, and returns its jobs. Those that somebody has cancelled meanwhile end.
	Reap(p Place, session string)
	// Cancel cancels a job. One that runs ends as cancelled when its flight ends.
	Cancel(p Place, id string)
	Delete(p Place, id string)
	// Requeue lets a dead job wait again, unless it is a member of a batch that is cancelled there.
	Requeue(p Place, id string)
	// Replace replaces a job by one of another body. A job of a batch remains a member.
	Replace(p Place, id string)
	// Purge removes the jobs that wait in a queue.
	Purge(queue string)
	// Carry makes one step of a carrier from a partition or home to the partition of another queue. The numbers choose what it does.
	Carry(from, to Place, carrier, step int)
	// CarryAll carries everything there is.
	CarryAll()
	// Save notes the state of a partition or home, and returns a function that brings it back to that.
	Save(p Place) (back func())
	Advance(by time.Duration)
	See() Sight
}

// Known returns the partitions that a record has.
func Known(r *protocol.BatchRecord) (known []Place) {
	for i := range r.Partition {
		known = append(known, r.Partition[i].Partition)
	}
	return known
}

// A Flight is a job that a session holds.
type Flight struct {
	Place   Place
	Session string
	ID      string
	Batch   string // empty: it is no member
	Fence   int64
}

// A Settlement ends a flight.
type Settlement struct {
	Fate  Fate   // Done, Dead, or Left: it is due again
	Next  string // the queue of the job that follows it if it is done; empty: none
	Batch string // SameBatch: the one that follows is a member of this batch
}
