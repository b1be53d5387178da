package redisstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	verifyStateScript   = scripts.Load("repair/verify_state")
	verifyStraysScript  = scripts.Load("repair/verify_strays")
	verifyRecordsScript = scripts.Load("repair/verify_records")
)

// strays are hashes of jobs in flight and lists of parked jobs of a partition that, as far as is known, no index names.
type strays struct{ sessions, lists []string }

// findStrays goes through all keys, because no index names what it searches for. It also reports queues that are not registered.
func (v *verifier) findStrays(ctx context.Context, sizes []protocol.QueueSize) error {
	registered := partitionsOf(sizes)
	unregistered := map[string]string{} // queue → a key of it
	err := v.eachKey(ctx, func(keys []string) error {
		some := map[protocol.Partition]*strays{}
		for _, key := range keys {
			p, kind, name, ok := v.store.keys.parse(key)
			switch {
			case !ok:
			case p.Index >= registered[p.Queue]:
				if slices.Contains([]string{"jobs", "ready", "due", "schedules"}, kind) && len(unregistered) < maxVerifying {
					unregistered[p.Queue] = key
				}
			case kind == "inflight":
				strayed(some, p).sessions = append(strayed(some, p).sessions, name)
			case kind == "parked":
				strayed(some, p).lists = append(strayed(some, p).lists, name)
			}
		}
		for p, those := range some {
			if err := v.judgeStrays(ctx, p, those); ctx.Err() != nil {
				return err
			} else if err != nil && !slices.ContainsFunc(v.failed, func(before error) bool { return before.Error() == err.Error() }) {
				v.failed = append(v.failed, err)
			}
		}
		return nil
	})
	if err != nil || len(unregistered) == 0 {
		return err
	}
	return v.judgeUnregistered(ctx, unregistered)
}

// judgeUnregistered reports the queues that are still not registered and still have their key: other processes register and delete queues meanwhile.
func (v *verifier) judgeUnregistered(ctx context.Context, keyOf map[string]string) error {
	sizes, err := v.queues(ctx)
	if err != nil {
		return err
	}
	registered := partitionsOf(sizes)
	for _, queue := range slices.Sorted(maps.Keys(keyOf)) {
		p, _, _, _ := v.store.keys.parse(keyOf[queue])
		if p.Index < registered[queue] {
			continue
		}
		is, err := v.store.client.Type(ctx, keyOf[queue]).Result()
		if err != nil {
			return failure("verify", queue, err)
		}
		if is != "none" {
			v.found(protocol.Finding{
				Kind: protocol.FoundUnregistered, Queue: queue,
				Detail: fmt.Sprintf("there are keys of its partition %d, and %s has %d partitions of it: no worker polls it until a worker or an enqueuer registers the queue again; its content was not verified", p.Index, v.store.keys.queues(), registered[queue]),
			})
		}
	}
	return nil
}

func partitionsOf(sizes []protocol.QueueSize) map[string]int {
	partitions := map[string]int{}
	for _, size := range sizes {
		partitions[size.Queue] = size.Partitions
	}
	return partitions
}

func strayed(all map[protocol.Partition]*strays, p protocol.Partition) *strays {
	if all[p] == nil {
		all[p] = &strays{}
	}
	return all[p]
}

// judgeStrays reports which of these sessions and lists no index names.
func (v *verifier) judgeStrays(ctx context.Context, p protocol.Partition, those *strays) error {
	v.looked.Sessions += int64(len(those.sessions))
	k := v.store.keys.partition(p)
	keys, args := []string{k.sessions, k.unhandled, k.state}, []any{"0", len(those.sessions)}
	for _, session := range those.sessions {
		keys, args = append(keys, k.inflight(session)), append(args, session)
	}
	for _, list := range those.lists {
		keys, args = append(keys, k.parked(list)), append(args, list)
	}
	values, err := v.script(ctx, p, &verifyStraysScript, false, keys, args...)
	if err != nil {
		return err
	}
	repaired := values
	if v.repair && slices.ContainsFunc(values, func(n any) bool { return n != int64(0) }) {
		args[0] = "1"
		if repaired, err = v.script(ctx, p, &verifyStraysScript, true, keys, args...); err != nil {
			return err
		}
	}
	for i, session := range those.sessions {
		if values.number(i) > 0 {
			strayed(v.strays, p).sessions = append(strayed(v.strays, p).sessions, session)
			v.found(protocol.Finding{
				Kind: protocol.FoundSession, Queue: p.Queue, ID: session,
				Detail: fmt.Sprintf("%d jobs are in flight in a session that is not listed: if its worker has vanished, they are never returned", values.number(i)),
				Remedy: "the session is listed as lapsed: its jobs are returned within seconds, unless its worker lives", Repaired: v.repair && repaired.number(i) > 0,
			})
		}
	}
	for i, list := range those.lists {
		if n := values.number(len(those.sessions) + i); n > 0 {
			strayed(v.strays, p).lists = append(strayed(v.strays, p).lists, list)
			v.found(protocol.Finding{
				Kind: protocol.FoundParked, Queue: p.Queue, ID: list,
				Detail: fmt.Sprintf("%d jobs are parked for the name, but the queue does not list it: no worker reads them", n),
				Remedy: "the name is listed again", Repaired: v.repair && repaired.number(len(those.sessions)+i) > 0,
			})
		}
	}
	return nil
}

// flags describe the faults of a field of state, by the answer of the script.
var flags = map[string]string{
	"parked":  "jobs are parked, but the queue has no flag for them: no worker reads them",
	"stale":   "jobs in the queue were cancelled, but the queue has no flag for them: they would run",
	"crashed": "workers vanished with jobs, but the queue has no flag for this: jobs that make workers crash would never be moved to the dead jobs",
	"groups":  "jobs belong to groups, but the queue has no flag for them: no worker reads those that wait",
	"purge":   "a purge has not ended, but the queue has no flag for it: it is never finished",
	"gate":    "enqueuers of single jobs do not know whether the queue is paused or has a limit: they wake workers for nothing, or cost more than necessary",
}

// state compares the fields of state with what they describe.
func (v *verifier) state(ctx context.Context, p protocol.Partition) error {
	values, err := v.readState(ctx, p, false)
	if err != nil || len(values) < 2 {
		return err
	}
	repaired := false
	if v.repair {
		if _, err := v.readState(ctx, p, true); err != nil {
			return err
		}
		if err := v.store.limit(ctx, p, nil); err != nil {
			return err
		}
		left, err := v.readState(ctx, p, false)
		if err != nil {
			return err
		}
		repaired = !slices.ContainsFunc(left.rest(1), func(what string) bool { return what != "unreadable" })
	}
	for _, what := range values.rest(1) {
		if what == "unreadable" {
			v.found(protocol.Finding{
				Kind: protocol.FoundUnreadable, Queue: p.Queue, ID: "limit", Detail: "its limit cannot be read: no job of the queue is taken",
				Remedy: "none: set the limit again",
			})
			continue
		}
		f := protocol.Finding{Kind: protocol.FoundFlag, Queue: p.Queue, ID: what, Detail: flags[what], Remedy: "the flag is set again", Repaired: repaired}
		if parts := strings.Fields(what); len(parts) == 3 {
			f.Kind, f.ID, f.Remedy = protocol.FoundCount, parts[0], "they are counted again"
			f.Detail = fmt.Sprintf("its limit counts %s running jobs, but %s run: it takes too many, or too few", parts[1], parts[2])
		}
		v.found(f)
	}
	return nil
}

func (v *verifier) readState(ctx context.Context, p protocol.Partition, repairs bool) (reply, error) {
	k := v.store.keys.partition(p)
	for range maxLimitTries {
		sessions, err := v.store.client.ZRange(ctx, k.sessions, 0, -1).Result()
		if err != nil {
			return nil, failure("verify", p.Queue, err)
		}
		keys := []string{k.state, k.idle, k.stale, k.unhandled, k.crashes, k.purged, k.sessions, k.places, k.purgedline, k.turns, k.groups, k.opens, k.ready, k.due}
		args := []any{flag(repairs), v.store.keys.wake()}
		for _, session := range sessions {
			keys, args = append(keys, k.inflight(session)), append(args, session)
		}
		values, err := v.script(ctx, p, &verifyStateScript, repairs, keys, args...)
		if err != nil || values.number(0) == 1 {
			return values, err
		}
	}
	return nil, errSessionsChange
}

// recordFaults describe the faults of results.
var recordFaults = map[string]protocol.Finding{
	"results": {Detail: "its result has no instant of expiry: it would never be removed", Remedy: "it is kept for a day"},
	"kept":    {Detail: "it is listed with a result, but the result is gone", Remedy: "the entry is removed"},
}

// records verifies the records that are kept of jobs.
func (v *verifier) records(ctx context.Context, p protocol.Partition) error {
	k := v.store.keys.partition(p)
	keys := []string{k.results, k.kept, k.after, k.progress, k.stale, k.state}
	for _, what := range []string{"results", "kept", "after", "progress"} {
		for cursor, begun := "0", false; cursor != "0" || !begun; begun = true {
			values, err := v.script(ctx, p, &verifyRecordsScript, false, keys, what, cursor)
			if err != nil {
				return err
			}
			cursor = values.text(0)
			for ids := range slices.Chunk(values.texts(2), protocol.MaxItems) {
				if what == "after" || what == "progress" {
					err = v.judge(ctx, p, ids)
				} else {
					err = v.keptOrNot(ctx, p, what, keys, ids)
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// keptOrNot reports results without an instant, and instants without a result.
func (v *verifier) keptOrNot(ctx context.Context, p protocol.Partition, what string, keys, ids []string) error {
	repaired := map[string]bool{}
	if v.repair {
		args := []any{what, ""}
		for _, id := range ids {
			args = append(args, id)
		}
		values, err := v.script(ctx, p, &verifyRecordsScript, true, keys, args...)
		if err != nil {
			return err
		}
		for _, id := range values.texts(2) {
			repaired[id] = true
		}
	}
	for _, id := range ids {
		f := recordFaults[what]
		f.Kind, f.Queue, f.ID, f.Repaired = protocol.FoundResult, p.Queue, id, repaired[id]
		v.found(f)
	}
	return nil
}

// maxLookedUp is about how many members a call looks up in the hashes of sessions and in lists of parked jobs: it takes 5 ms.
const maxLookedUp = 10_000
