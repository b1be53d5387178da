package redisstore

import (
	"context"
	"slices"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	verifySchedulesScript = scripts.Load("repair/verify_schedules")
	verifyOpensScript     = scripts.Load("repair/verify_opens")
	verifyBehindScript    = scripts.Load("repair/verify_behind")
)

// scheduleFaults say what is wrong with a schedule, by the word that the script answers.
var scheduleFaults = map[string]protocol.Finding{
	"due":        {Kind: protocol.FoundUnplaced, Detail: "its next occurrence is lost: it would never run again", Remedy: "it is placed again"},
	"owed":       {Kind: protocol.FoundUnplaced, Detail: "nobody is to place its next occurrence: it would never run again", Remedy: "that is placed"},
	"both":       {Kind: protocol.FoundDoubled, Detail: "its next occurrence is placed, and one more is to be placed: it may run twice as often for a while", Remedy: "no further one is placed before it"},
	"cursor":     {Kind: protocol.FoundCursor, Detail: "how far it has come is lost, or cannot be read: it would never run again", Remedy: "it goes on from now, and has used as many runs as have started"},
	"held":       {Kind: protocol.FoundHeld, Detail: "it waits for the end of a run that nobody runs", Remedy: "it goes on"},
	"unreadable": {Kind: protocol.FoundUnreadable, Detail: "its definition cannot be read: it does not run; put it again, or delete it"},
}

// schedules looks at the schedules of a partition.
func (v *verifier) schedules(ctx context.Context, p protocol.Partition) error {
	k := v.store.keys.partition(p)
	keys := []string{k.owed, k.open, k.schedules, k.cursors, k.due, k.jobs, k.crashes, k.state}
	for cursor, begun := "0", false; cursor != "0" || !begun; begun = true {
		values, err := v.script(ctx, p, &verifySchedulesScript, false, keys, cursor)
		if err != nil {
			return err
		}
		cursor = values.text(0)
		var residents []resident
		faults := map[string]string{}
		for i := 1; i+2 < len(values); i += 3 {
			v.looked.Schedules++
			if values.text(i+1) != "" {
				residents = append(residents, resident{protocol.Address{Partition: p, Name: values.text(i)}, values.number(i + 1)})
			}
			if values.text(i+2) != "" {
				faults[values.text(i)] = values.text(i + 2)
			}
		}
		mended := map[string]bool{}
		if v.repair {
			if mended, err = v.mendSchedules(ctx, p, keys, faults); err != nil {
				return err
			}
		}
		for name, fault := range faults {
			f := scheduleFaults[fault]
			f.Queue, f.Schedule, f.Repaired = p.Queue, name, mended[name]
			v.found(f)
		}
		for some := range slices.Chunk(residents, maxRegister) {
			if err := v.lookUp(ctx, some); err != nil {
				return err
			}
		}
	}
	return nil
}

// mendSchedules mends these faults of schedules, as far as each still is one, and returns the names of those for which it did.
func (v *verifier) mendSchedules(ctx context.Context, p protocol.Partition, keys []string, faults map[string]string) (map[string]bool, error) {
	mended, names, both := map[string]bool{}, []any{}, []any{""}
	for name, fault := range faults {
		switch fault {
		case "both":
			both = append(both, name)
		case "unreadable":
		default:
			names = append(names, name)
		}
	}
	if len(both) > 1 {
		values, err := v.script(ctx, p, &verifySchedulesScript, true, keys, both...)
		if err != nil {
			return nil, err
		}
		for i := 1; i+2 < len(values); i += 3 {
			mended[values.text(i)] = values.text(i+2) == "both"
		}
	}
	k := v.store.keys.partition(p)
	for len(names) > 0 {
		some := names[:min(len(names), maxMend)]
		values, err := v.script(ctx, p, &mendScript, true, []string{k.owed, k.open, k.schedules, k.cursors, k.due, k.counters, k.state}, some...)
		if err != nil {
			return nil, err
		}
		for i := 1; i+1 < len(values); i += 2 {
			mended[values.text(i)] = true
		}
		names = append(names[len(some):], values.list(0)...) // the others have long definitions
	}
	return mended, nil
}

// opens looks for schedules that are held by an occurrence which is nowhere.
func (v *verifier) opens(ctx context.Context, p protocol.Partition) error {
	k := v.store.keys.partition(p)
	for cursor, begun := uint64(0), false; cursor != 0 || !begun; begun = true {
		pairs, next, err := v.store.client.HScan(ctx, k.open, cursor, "", maxFreed).Result()
		if err != nil {
			return failure("verify", p.Queue, err)
		}
		cursor = next
		for some := range slices.Chunk(pairs, 2*maxFreed) {
			keys, args, err := v.openCall(ctx, k, some)
			if err != nil {
				return failure("verify", p.Queue, err)
			}
			values, err := v.script(ctx, p, &verifyOpensScript, false, keys, args...)
			if err != nil {
				return err
			}
			names := values.rest(0)
			if v.repair && len(names) > 0 {
				if err := v.store.freeSome(ctx, p, some); err != nil {
					return err
				}
				if values, err = v.script(ctx, p, &verifyOpensScript, false, keys, args...); err != nil {
					return err
				}
			}
			left := values.rest(0)
			entries := map[string]string{}
			for i := 0; i+1 < len(some); i += 2 {
				entries[some[i]] = some[i+1]
			}
			for _, name := range names {
				f := protocol.Finding{
					Kind: protocol.FoundOpen, Queue: p.Queue, Schedule: name,
					Detail: "it is held by a run that is not in flight: further ones are skipped, or wait for ever", Remedy: "it is let go of", Repaired: v.repair && !slices.Contains(left, name),
				}
				if !openText.MatchString(entries[name]) {
					f.Detail, f.Remedy = "which run holds it cannot be read: none does, and one in flight would not keep others from running", "the entry is removed"
				}
				v.found(f)
			}
		}
	}
	return nil
}

// openCall returns keys and arguments of a call that looks at entries of open, in which all sessions are named.
func (v *verifier) openCall(ctx context.Context, k partitionKeys, pairs []string) (keys []string, args []any, err error) {
	sessions, entries := openArguments(pairs)
	listed, err := v.store.client.ZRange(ctx, k.sessions, 0, -1).Result()
	for _, session := range listed {
		if !slices.Contains(sessions, session) {
			sessions = append(sessions, session)
		}
	}
	keys, args = []string{k.open, k.ready, k.state, k.sessions}, []any{len(sessions)}
	for _, session := range sessions {
		keys, args = append(keys, k.inflight(session)), append(args, session)
	}
	return keys, append(args, entries...), err
}

// behind looks for occurrences that wait behind another one which is none.
func (v *verifier) behind(ctx context.Context, p protocol.Partition) error {
	k := v.store.keys.partition(p)
	keys := []string{k.open, k.behind, k.schedules, k.cursors, k.ready, k.idle, k.state}
	told := ""
	for last, begun := "", false; last != "" || !begun; begun = true {
		values, err := v.script(ctx, p, &verifyBehindScript, false, keys, "look", last)
		if err != nil {
			return err
		}
		last = values.text(0)
		names := values.rest(2)
		var mended []string
		if v.repair && len(names) > 0 {
			args := []any{"mend", v.store.keys.wake()}
			for _, name := range names {
				args = append(args, name)
			}
			values, err := v.script(ctx, p, &verifyBehindScript, true, keys, args...)
			if err != nil {
				return err
			}
			mended = values.rest(2)
		}
		for _, name := range names {
			if name == told {
				continue // more of it are on this page than on the last one
			}
			told = name
			v.found(protocol.Finding{
				Kind: protocol.FoundBehind, Queue: p.Queue, Schedule: name,
				Detail: "runs of it wait for the end of one that there is not: they would wait for ever", Remedy: "the oldest one goes on", Repaired: slices.Contains(mended, name),
			})
		}
	}
	return nil
}
