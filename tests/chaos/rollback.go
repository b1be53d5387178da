//go:build unix

package chaos

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Rollback is the return of one slot to an earlier state, as after a fail-over of its node in a cluster: the keys of one queue, or one of the keys
// that all queues share. The other slots keep their state.
type Rollback struct {
	Slot  string
	State time.Time // instant of the earlier state
	Back  Window    // when the slot returned to it: what was written in between is lost
	Swept time.Time // when sweeps had looked for schedules that live in two queues since; zero: not yet
}

// The slots that may go back; those of the queues may, too.
const (
	slotRegistry  = "the registry of schedules"
	slotDeletions = "the record of deletions"
	slotLeader    = "the leader"
)

var slotNames = append([]string{slotRegistry, slotDeletions, slotLeader}, append(queueNames, queueNames...)...)

// slotPatterns returns the keys of a slot. The partitions of a queue are on one node.
func slotPatterns(slot string) []any {
	switch slot {
	case slotRegistry:
		return []any{namespace + ":schedules"}
	case slotDeletions:
		return []any{namespace + ":deleted"}
	case slotLeader:
		return []any{namespace + ":leader"}
	}
	return []any{namespace + ":{" + slot + "}:*", namespace + ":{" + slot + "/*}:*"}
}

// dumpSlot returns the keys of a slot with their values, in one step; restoreSlot replaces all keys of the slot by these.
const (
	dumpSlot = `local answer = {}
for _, pattern in ipairs(ARGV) do
  for _, key in ipairs(redis.call('KEYS', pattern)) do
    answer[#answer + 1] = key
    answer[#answer + 1] = math.max(redis.call('PTTL', key), 0)
    answer[#answer + 1] = redis.call('DUMP', key)
  end
end
return answer`
	restoreSlot = `local patterns = tonumber(ARGV[1])
for i = 2, patterns + 1 do
  for _, key in ipairs(redis.call('KEYS', ARGV[i])) do redis.call('DEL', key) end
end
for i = patterns + 2, #ARGV, 3 do redis.call('RESTORE', ARGV[i], ARGV[i + 1], ARGV[i + 2], 'REPLACE') end
return 0`
)

// copySlot returns the state of a slot.
func copySlot(ctx context.Context, client redis.UniversalClient, slot string) ([]any, error) {
	return client.Eval(ctx, dumpSlot, nil, slotPatterns(slot)...).Slice()
}

// putBack replaces the state of a slot.
func putBack(ctx context.Context, client redis.UniversalClient, slot string, state []any) error {
	patterns := slotPatterns(slot)
	args := append(append([]any{len(patterns)}, patterns...), state...)
	return client.Eval(ctx, restoreSlot, nil, args...).Err()
}

// lost reports whether the slot may have lost something that was written in a span.
func (r Rollback) lost(slot string, begin, end time.Time) bool {
	return r.Slot == slot && begin.Before(r.Back.To) && end.After(r.State)
}

// mayRepeat reports whether a job may have been given to the next run because its queue went back: the queue lost that the job had been taken for
// the first run, or how this run ended, and the next run began after that.
func (r Rollback) mayRepeat(run, next Run) bool {
	return r.lost(run.Queue, run.taken(), run.settled()) && next.Begun.After(r.Back.From)
}

// taken returns when the job of a run was taken. Its handler begins later, if it was taken ahead or its worker waits for a processor.
func (r Run) taken() time.Time {
	if at := time.UnixMicro(r.Fence); at.Before(r.Begun) { // fences are drawn from the clock
		return at
	}
	return r.Begun
}

// settled returns when the outcome of a run was recorded, at the latest. If the outcome is unknown, the run counts as short.
func (r Run) settled() time.Time {
	if r.Ended.IsZero() {
		return r.Begun.Add(slack)
	}
	return r.Ended.Add(slack)
}
