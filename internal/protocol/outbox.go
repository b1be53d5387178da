package protocol

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// OutboxStore carries jobs from one partition, the source, to others, their targets. The source keeps an entry for each until the target has it.
// The scripts in redisstore/scripts/outbox explain the states. Each call may be sent twice, or come late: every entry is added once.
type OutboxStore interface {
	// ReadOutbox returns the lines of a source's outbox, at most about MaxLines. after is Next of the last answer; empty: the first ones.
	ReadOutbox(ctx context.Context, source Partition, after string) (OutboxLines, error)

	// AddressOutbox puts the first entries of a line into the lines of their target partitions, at most MaxItems, and returns how many it has moved.
	AddressOutbox(ctx context.Context, source Partition, line string, to []Addressed) (int, error)

	// AdvanceOutbox notes the mark of a target, as Carry has returned it, and returns the entries that are to be carried next, at most want and about MaxBytes.
	// An empty mark is not known; nothing is noted. asked is OutboxBatch.Now of the call that was made before the target returned the mark; zero: it is
	// not known, and the mark confirms nothing.
	AdvanceOutbox(ctx context.Context, source, target Partition, mark string, asked time.Time, want int) (OutboxBatch, error)

	// Carry adds entries that AdvanceOutbox has returned to the target, if after is its mark, or its mark is the one of an entry. Without entries it
	// returns the mark. It registers the queue of the target if the target was empty.
	Carry(ctx context.Context, source, target Partition, after string, entries []OutboxEntry) (CarryAnswer, error)

	// BlockOutbox notes why a line cannot be carried, and for how long that has been so. With an empty text it notes that the line is not blocked any more. The
	// next entry that leaves the line has the same effect.
	BlockOutbox(ctx context.Context, source Partition, line string, blocked time.Duration, why string) error
}

// MaxLines is how many lines a call of ReadOutbox returns.
const MaxLines = 100

// Path is the text of a partition in an outbox: "<queue>/<index>".
func (p Partition) Path() string { return p.Queue + "/" + strconv.Itoa(p.Index) }

// ParseLine reads the line of an outbox. addressed is false for the line of a queue, whose entries have no target partition yet. ok is false if chime
// does not write such a line.
func ParseLine(line string) (p Partition, addressed, ok bool) {
	queue, index, addressed := strings.Cut(line, "/")
	p.Queue = queue
	if addressed {
		n, err := strconv.Atoi(index)
		if err != nil || n < 0 || strconv.Itoa(n) != index {
			return p, true, false
		}
		p.Index = n
		return p, true, true
	}
	return p, false, queue != ""
}

// OutboxLines is the answer of ReadOutbox.
type OutboxLines struct {
	Next    string // with which the next call continues; empty: there are no more
	Lines   []OutboxLine
	Targets []string // lines with entries that were carried, which is not confirmed yet
}

// An OutboxLine is a part of an outbox: the entries for one queue or for one of its partitions, in the order of their numbers.
type OutboxLine struct {
	Line    string
	Since   time.Time // when the job before its first entry ended
	Entries int64
	Members []string // of a line that is not addressed, some of its entries, the first ones
	Blocked OutboxBlock
}

// An OutboxBlock is the reason why a line cannot be carried. Zero: no reason is known.
type OutboxBlock struct {
	Why   string
	Since time.Time
}

// Addressed is an entry of a line with the index of its target partition.
type Addressed struct {
	Member string
	Index  int
}

// An OutboxEntry is a job on its way.
type OutboxEntry struct {
	Member string // as in OutboxLine.Members
	Number int64
	ID     string
	Value  string // what the target adds; only the scripts read it
}

// NewOutboxEntry returns the entry of a member. A member that cannot be read has no ID.
func NewOutboxEntry(member, value string) OutboxEntry {
	number, rest, _ := strings.Cut(member, "\t")
	n, _ := strconv.ParseInt(number, 10, 64)
	_, id, _ := strings.Cut(rest, "\t")
	return OutboxEntry{Member: member, Number: n, ID: id, Value: value}
}

// OutboxBatch is the answer of AdvanceOutbox.
type OutboxBatch struct {
	Now     time.Time
	Again   bool   // call again with the same mark; there are no entries
	After   string // the mark that Carry names; empty: none is known
	More    bool   // more entries wait than are returned
	Left    bool   // entries were carried that are not confirmed
	Lost    bool   // entries are lost: the target went back to an earlier state, or their values were removed
	Entries []OutboxEntry
}

// CarryAnswer is the answer of Carry.
type CarryAnswer struct {
	Mark      string // of the target, after the call
	Continued bool   // the call was carried out; false: it does not continue the mark
	Added     int
	Ungrouped int // how many of these have lost their groups, because the queue has several partitions
}
