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

// scheduleFaults describe the faults of a schedule, by the word that the script returns.
var scheduleFaults = map[string]protocol.Finding{
	"due":        {Kind: protocol.FoundUnplaced, Detail: "its next occurrence is lost: it would never run again", Remedy: "it is placed again"},
	"owed":       {Kind: protocol.FoundUnplaced, Detail: "its next occurrence is not listed to be placed: it would never run again", Remedy: "it is listed and placed"},
	"both":       {Kind: protocol.FoundDoubled, Detail: "its next occurrence is placed, and another one is listed to be placed: it may run twice as often for a while", Remedy: "the other one is not placed before it"},
	"cursor":     {Kind: protocol.FoundCursor, Detail: "its cursor is lost, or cannot be read: it would never run again", Remedy: "it continues from now, and has used as many runs as have started"},
	"held":       {Kind: protocol.FoundHeld, Detail: "it waits for the end of a run that does not exist", Remedy: "it continues"},
	"unreadable": {Kind: protocol.FoundUnreadable, Detail: "its definition cannot be read: it does not run; declare it again, or delete it"},
}

// schedules verifies the schedules of a partition.
func (v *verifier) schedules(ctx context.Context, p protocol.Partition) error {
	k := v.store.keys.partition(p)
	keys := []string{k.owed, k.open, k.schedules, k.cursors, k.due, k.jobs, k.crashes, k.state, k.line, k.places, k.purgedline}
	for cursor, begun := "0", false; cursor != "0" || !begun; begun = true {
		values, err := v.script(ctx, p, &verifySchedulesScript, false, keys, cursor)
		if err != nil {
			return err
		}
		cursor = values.text(0)
		var residents []resident
		faults := map[string]string{}
		for i := 1; i+2 < len(values); i += 3 {
			at := protocol.Address{Partition: p, Name: values.text(i)}
			if values.text(i+2) == "mark" {
				if len(v.marks) < maxVerifying {
					v.marks[at.Name] = append(v.marks[at.Name], at)
				}
				continue
			}
			v.looked.Schedules++
			if values.text(i+1) != "" {
				residents = append(residents, resident{Address: at, generation: values.number(i + 1)})
			}
			if values.text(i+2) != "" {
				faults[values.text(i)] = values.text(i + 2)
			}
		}
		repaired := map[string]bool{}
		if v.repair {
			if repaired, err = v.repairSchedules(ctx, p, keys, faults); err != nil {
				return err
			}
		}
		for name, fault := range faults {
			f := scheduleFaults[fault]
			f.Queue, f.Schedule, f.Repaired = p.Queue, name, repaired[name]
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

// repairSchedules repairs these faults of schedules if they still exist, and returns the names of the repaired ones.
func (v *verifier) repairSchedules(ctx context.Context, p protocol.Partition, keys []string, faults map[string]string) (map[string]bool, error) {
	repaired, names, both := map[string]bool{}, []any{}, []any{""}
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
			repaired[values.text(i)] = values.text(i+2) == "both"
		}
	}
	k := v.store.keys.partition(p)
	for len(names) > 0 {
		some := names[:min(len(names), maxOrphans)]
		values, err := v.script(ctx, p, &repairOrphansScript, true, []string{k.owed, k.open, k.schedules, k.cursors, k.due, k.counters, k.state, k.line, k.places, k.purgedline}, some...)
		if err != nil {
			return nil, err
		}
		for i := 1; i+1 < len(values); i += 2 {
			repaired[values.text(i)] = true
		}
		names = append(names[len(some):], values.list(0)...) // the others have long definitions
	}
	return repaired, nil
}

// opens searches for schedules that are held by an occurrence which exists nowhere else.
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
					Detail: "it is held by a run that is not in flight: further ones are skipped, or wait without end", Remedy: "it is released", Repaired: v.repair && !slices.Contains(left, name),
				}
				if !openText.MatchString(entries[name]) {
					f.Detail, f.Remedy = "its holding run cannot be read: no run holds it, and a run in flight would not stop others from running", "the entry is removed"
				}
				v.found(f)
			}
		}
	}
	return nil
}

// openCall returns keys and arguments of a call that checks entries of open. It names all sessions.
func (v *verifier) openCall(ctx context.Context, k partitionKeys, pairs []string) (keys []string, args []any, err error) {
	sessions, entries := openArguments(pairs)
	listed, err := v.store.client.ZRange(ctx, k.sessions, 0, -1).Result()
	for _, session := range listed {
		if !slices.Contains(sessions, session) {
			sessions = append(sessions, session)
		}
	}
	keys, args = []string{k.open, k.ready, k.state, k.sessions, k.line, k.places, k.due}, []any{len(sessions)}
	for _, session := range sessions {
		keys, args = append(keys, k.inflight(session)), append(args, session)
	}
	return keys, append(args, entries...), err
}

// behind searches for occurrences that wait behind an occurrence which does not exist.
func (v *verifier) behind(ctx context.Context, p protocol.Partition) error {
	k := v.store.keys.partition(p)
	keys := []string{k.open, k.behind, k.schedules, k.cursors, k.ready, k.idle, k.state}
	reported := ""
	for last, begun := "", false; last != "" || !begun; begun = true {
		values, err := v.script(ctx, p, &verifyBehindScript, false, keys, "look", last)
		if err != nil {
			return err
		}
		last = values.text(0)
		names := values.rest(2)
		var repaired []string
		if v.repair && len(names) > 0 {
			args := []any{"repair", v.store.keys.wake()}
			for _, name := range names {
				args = append(args, name)
			}
			values, err := v.script(ctx, p, &verifyBehindScript, true, keys, args...)
			if err != nil {
				return err
			}
			repaired = values.rest(2)
		}
		for _, name := range names {
			if name == reported {
				continue // this page has more of it than the last one
			}
			reported = name
			v.found(protocol.Finding{
				Kind: protocol.FoundBehind, Queue: p.Queue, Schedule: name,
				Detail: "its runs wait for the end of a run that does not exist: they would wait without end", Remedy: "the oldest one continues", Repaired: slices.Contains(repaired, name),
			})
		}
	}
	return nil
}
