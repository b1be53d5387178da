package redisstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	countMembersScript = scripts.Load("repair/count_members")
	recountBatchScript = scripts.Load("repair/recount_batch")
)

// batches verifies the counts of batches in a partition. The jobs are read in many steps, so a difference counts only if the counts have not changed
// meanwhile, and if a second reading finds the same.
func (v *verifier) batches(ctx context.Context, p protocol.Partition) error {
	before, err := v.batchCounts(ctx, p)
	if err != nil || len(before) == 0 {
		return err
	}
	first, err := v.countMembers(ctx, p)
	if err != nil {
		return err
	}
	wrong := func(counts protocol.PartitionCounts, found map[string]int64) bool {
		return counts.Counts.Left()-counts.Counts.Away != found[counts.Batch]
	}
	var second map[string]int64
	for _, id := range slices.Sorted(maps.Keys(before)) {
		counts := before[id]
		if _, err := v.store.GetBatch(ctx, id); errors.Is(err, protocol.ErrNotFound) {
			if now, err := v.batchCounts(ctx, p); err != nil || now[id].Version == 0 {
				continue // it was forgotten meanwhile
			}
			if err := v.unknownBatch(ctx, p, &counts); err != nil {
				return err
			}
			continue
		}
		if !wrong(counts, first) {
			continue
		}
		if second == nil {
			if second, err = v.countMembers(ctx, p); err != nil {
				return err
			}
		}
		now, err := v.batchCounts(ctx, p)
		if err != nil {
			return err
		}
		if now[id].Version != counts.Version || second[id] != first[id] || !wrong(counts, second) {
			continue
		}
		f := protocol.Finding{
			Kind: protocol.FoundBatch, Queue: p.Queue, ID: id, Remedy: "they are counted again",
			Detail: fmt.Sprintf("%d members of this batch are counted as left, and %d jobs are: the batch ends too early, or never", counts.Counts.Left()-counts.Counts.Away, second[id]),
		}
		if v.repair {
			k := v.store.keys.partition(p)
			values, err := v.script(ctx, p, &recountBatchScript, true, []string{k.state, k.batches, k.reports}, id, counts.Version, second[id])
			if err != nil {
				return err
			}
			f.Repaired = values.number(0) == 1
		}
		v.found(f)
	}
	return nil
}

// unknownGrace is how long after keepUnknown counts of an unknown batch are a fault: a worker removes them before that.
const unknownGrace = time.Hour

// unknownBatch verifies the counts of a batch that its home does not know.
func (v *verifier) unknownBatch(ctx context.Context, p protocol.Partition, counts *protocol.PartitionCounts) error {
	f := protocol.Finding{Kind: protocol.FoundBatch, Queue: p.Queue, ID: counts.Batch}
	if left := counts.Counts.Left(); left > 0 {
		f.Detail = fmt.Sprintf("%d members of this batch are left, and its home does not know the batch: they run, and nothing follows them", left)
		v.found(f)
		return nil
	}
	if time.Since(time.UnixMicro(counts.Version)) < keepUnknown+unknownGrace {
		return nil
	}
	f.Detail, f.Remedy = "the members of this batch have ended, and its home does not know the batch: its counts remain, and the queue cannot be deleted", "the counts are removed"
	if v.repair {
		k := v.store.keys.partition(p)
		values, err := v.script(ctx, p, &ackReportsScript, true, []string{k.state, k.batches, k.reports}, ackArgs([]protocol.ReportAck{{Batch: counts.Batch, Version: counts.Version, Unknown: true}})...)
		if err != nil {
			return err
		}
		f.Repaired = values.number(1) == 1
	}
	v.found(f)
	return nil
}

// batchCounts returns the counts of all batches in a partition.
func (v *verifier) batchCounts(ctx context.Context, p protocol.Partition) (map[string]protocol.PartitionCounts, error) {
	stored, err := v.store.client.HGetAll(ctx, v.store.keys.partition(p).batches).Result()
	if err != nil {
		return nil, failure("verify", p.Queue, err)
	}
	counts := make(map[string]protocol.PartitionCounts, len(stored))
	for id, text := range stored {
		counts[id] = countsOf(p, id, text)
	}
	return counts, nil
}

// countMembers counts the jobs of a partition that are members of batches and have not ended.
func (v *verifier) countMembers(ctx context.Context, p protocol.Partition) (map[string]int64, error) {
	k, counts := v.store.keys.partition(p), map[string]int64{}
	for cursor, begun := "0", false; cursor != "0" || !begun; begun = true {
		values, err := v.script(ctx, p, &countMembersScript, false, []string{k.jobs, k.dead}, cursor)
		if err != nil {
			return nil, err
		}
		cursor = values.text(0)
		for i := 1; i+1 < len(values); i += 2 {
			counts[values.text(i)] += values.number(i + 1)
		}
	}
	return counts, nil
}
