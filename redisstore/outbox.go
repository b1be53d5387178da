package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	addressOutboxScript = scripts.Load("outbox/address_outbox")
	advanceOutboxScript = scripts.Load("outbox/advance_outbox")
	readOutboxScript    = scripts.Load("outbox/read_outbox")
	carryScript         = scripts.Load("outbox/carry")
	blockOutboxScript   = scripts.Load("outbox/block_outbox")
)

// noteHint sets what the answers of work.lua and poll.lua contain about the outbox and the batches.
func noteHint(h *protocol.WaitHint, n int64) {
	h.Owes, h.Full, h.Reports, h.Batches = n&1 != 0, n&2 != 0, n&4 != 0, n&8 != 0
}

// The bounds of an outbox, as in scripts/lib/outbox.lua.
const (
	maxOutbox      = 100_000
	maxOutboxBytes = 256 << 20
)

// addOutbox adds the sums of a partition's outbox, and why one of its lines is blocked.
func addOutbox(to *protocol.OutboxCounts, sums, blocked string) {
	var sent, waiting, bytes, since int64
	if n, _ := fmt.Sscan(sums, &sent, &waiting, &bytes, &since); n < 4 || waiting <= 0 {
		return
	}
	to.Waiting, to.Bytes = to.Waiting+waiting, to.Bytes+bytes
	to.Full = to.Full || waiting >= maxOutbox || bytes >= maxOutboxBytes
	if at := time.UnixMilli(since).UTC(); since > 0 && (to.Oldest.IsZero() || at.Before(to.Oldest)) {
		to.Oldest = at
	}
	if line, note, ok := strings.Cut(blocked, "\t"); ok {
		block := parseBlock(note)
		if target, _, _ := protocol.ParseLine(line); block.Why != "" && (to.Blocked == "" || block.Since.Before(to.BlockedSince)) {
			to.Blocked, to.BlockedSince = target.Queue+": "+block.Why, block.Since
		}
	}
}

// parseBlock reads a note of scripts/outbox/block_outbox.lua.
func parseBlock(note string) (block protocol.OutboxBlock) {
	_, rest, _ := strings.Cut(note, " ")
	since, why, _ := strings.Cut(rest, " ")
	if ms, err := strconv.ParseInt(since, 10, 64); err == nil {
		block = protocol.OutboxBlock{Why: why, Since: time.UnixMilli(ms).UTC()}
	}
	return block
}

const maxBlockText = 500 // bytes

// BlockOutbox notes why a line of an outbox cannot be carried.
func (s *store) BlockOutbox(ctx context.Context, source protocol.Partition, line string, blocked time.Duration, why string) error {
	k := s.keys.partition(source)
	why = strings.Join(strings.Fields(why), " ")
	if len(why) > maxBlockText {
		why = strings.ToValidUTF8(why[:maxBlockText], "") + "…"
	}
	cmd := s.run(ctx, s.client, newCall(&blockOutboxScript, []string{k.state, k.outbox, k.carried}, []any{line, max(blocked.Milliseconds(), 0), why}))[0]
	if err := cmd.Err(); err != nil {
		return failure("note why the outbox is blocked of", source.Queue, err)
	}
	return nil
}

// nothingWaits reports whether no entry waits, by the field outbox of …:state.
func nothingWaits(sums string) bool {
	_, waiting, _ := strings.Cut(sums, " ")
	return sums == "" || strings.HasPrefix(waiting, "0 ")
}

// ReadOutbox returns the lines of the outbox of a partition.
func (s *store) ReadOutbox(ctx context.Context, source protocol.Partition, after string) (lines protocol.OutboxLines, err error) {
	k := s.keys.partition(source)
	call := newCall(&readOutboxScript, []string{k.state, k.outbox, k.delivered, k.carried}, []any{after}).readOnlyForAll()
	values, err := s.runOne(ctx, "read the outbox of", source.Queue, call)
	if err != nil {
		return lines, err
	}
	lines = protocol.OutboxLines{Next: values.text(0), Targets: values.texts(2)}
	for found := range slices.Chunk(values.list(1), 5) {
		lines.Lines = append(lines.Lines, protocol.OutboxLine{Line: found.text(0), Since: found.milli(1), Entries: found.number(2), Members: found.texts(3), Blocked: parseBlock(found.text(4))})
	}
	return lines, nil
}

// AddressOutbox puts entries of a line into the lines of their target partitions.
func (s *store) AddressOutbox(ctx context.Context, source protocol.Partition, line string, to []protocol.Addressed) (moved int, err error) {
	if len(to) == 0 {
		return 0, nil
	}
	k := s.keys.partition(source)
	args := []any{line}
	for _, entry := range to[:min(len(to), protocol.MaxItems)] {
		args = append(args, entry.Member, entry.Index)
	}
	values, err := s.runOne(ctx, "address the outbox of", source.Queue, newCall(&addressOutboxScript, []string{k.state, k.outbox, k.carried}, args))
	return int(values.number(1)), err
}

// AdvanceOutbox notes the mark of a target and returns what is to be carried there next.
func (s *store) AdvanceOutbox(ctx context.Context, source, target protocol.Partition, mark string, asked time.Time, want int) (batch protocol.OutboxBatch, err error) {
	k := s.keys.partition(source)
	since := ""
	if !asked.IsZero() {
		since = strconv.FormatInt(asked.UnixMicro(), 10)
	}
	keys := []string{k.state, k.outbox, k.outgoing, k.delivered, k.carried, k.ready, k.due, k.turns, k.opens, k.idle, k.batches, k.reports}
	args := []any{target.Path(), mark, min(want, protocol.MaxItems), s.keys.wake(), since}
	values, err := s.runOne(ctx, "read the outbox of", source.Queue, newCall(&advanceOutboxScript, keys, args))
	if err != nil {
		return batch, err
	}
	batch = protocol.OutboxBatch{
		Now: values.now(), Again: values.number(1) == 1, After: values.text(2), More: values.number(3) == 1, Left: values.number(4) == 1, Lost: values.number(5) == 1,
	}
	if len(values) > 6 {
		for entry := range slices.Chunk(values[6:], 2) {
			batch.Entries = append(batch.Entries, protocol.NewOutboxEntry(entry.text(0), entry.text(1)))
		}
	}
	return batch, nil
}

// Carry adds entries of a source to their target. If the target was empty, its queue may have been deleted meanwhile, and is registered.
func (s *store) Carry(ctx context.Context, source, target protocol.Partition, after string, entries []protocol.OutboxEntry) (answer protocol.CarryAnswer, err error) {
	n := 1
	if len(entries) > 0 && target.Queue != "" {
		if n, err = s.Partitions(ctx, target.Queue); err != nil {
			return answer, err
		}
	}
	k := s.keys.partition(target)
	keys := append([]string{k.ready, k.due, k.jobs, k.callers, k.state, k.idle, k.stale, k.inbox}, k.grouping()...)
	keys = append(keys, k.batches, k.reports)
	large := slices.ContainsFunc(entries, func(e protocol.OutboxEntry) bool { return len(e.Value) > largeBody })
	args := append(make([]any, 0, 5+3*len(entries)), source.Path(), after, s.keys.wake(), flag(large), flag(n > 1))
	for i := range entries {
		args = append(args, entries[i].Number, entries[i].ID, entries[i].Value)
	}
	values, err := s.runOne(ctx, "carry to", target.Queue, newCall(&carryScript, keys, args))
	if err != nil {
		return answer, err
	}
	answer = protocol.CarryAnswer{Mark: values.text(1), Continued: values.number(2) == 1, Added: int(values.number(3)), Ungrouped: int(values.number(4))}
	if values.number(5) == 1 {
		err = s.queues.relist(ctx, target.Queue)
	}
	return answer, err
}
