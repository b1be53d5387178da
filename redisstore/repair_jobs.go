package redisstore

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	verifyBodiesScript = scripts.Load("repair/verify_bodies")
	verifyPlaceScript  = scripts.Load("repair/verify_place")
	verifyJobScript    = scripts.Load("repair/verify_job")
)

const (
	verifyBodies = 250       // envelopes that a call reads, if they are short
	maxSearched  = 1_000_000 // entries of lists that a call searches: 5 ms
)

// jobFaults describe the faults of a job, by the word that the script returns.
var jobFaults = map[string]protocol.Finding{
	"lost":     {Kind: protocol.FoundLost, Detail: "it is stored, but it is in no list: it would never run", Remedy: "it is added at the end of its queue"},
	"mark":     {Kind: protocol.FoundMark, Detail: "it was cancelled before its instant, and the mark of that was left behind", Remedy: "the mark is removed"},
	"empty":    {Kind: protocol.FoundEmpty, Remedy: "it is removed, because its content cannot be restored"},
	"twice":    {Kind: protocol.FoundDuplicate, Remedy: "it remains in the first of these places"},
	"void":     {Kind: protocol.FoundVoid, Detail: "it is marked as cancelled in the queue, but it is not there: if it is enqueued again, it would not run", Remedy: "the mark is removed"},
	"after":    {Kind: protocol.FoundAfter, Detail: "a job with the same ID waits for its end, but no worker holds it: the waiting job would never run", Remedy: "the waiting job takes its place"},
	"group":    {Kind: protocol.FoundInGroup, Detail: "it has a record of its group and place, but the record cannot be read, or there is no such job", Remedy: "the record is removed"},
	"progress": {Kind: protocol.FoundProgress, Detail: "it has progress, but it does not run", Remedy: "the progress is removed"},
}

// placeNames are the places of a job, by the letters of the script.
var placeNames = map[rune]string{
	'f': "in flight", 'F': "in flight", 'l': "waiting in its group", 'r': "waiting", 'h': "behind the occurrence that runs", 'p': "parked", 'd': "due later", 'x': "dead", 'u': "to be purged",
}

// jobs verifies the jobs of a partition: each place of their IDs, and each body, whose ID must be in some place. Only a limited number of
// bodies at a time is compared with the lists that have no fast lookup.
func (v *verifier) jobs(ctx context.Context, p protocol.Partition) error {
	j := &jobVerifier{verifier: v, partition: p, keys: v.store.keys.partition(p), flying: map[string]bool{}, void: map[string]bool{}}
	v.reported = map[string]bool{}
	if err := j.readSets(ctx); err != nil {
		return err
	}
	compared, homeless := false, map[string]bool{}
	for cursor, count, begun := "0", verifyBodies/16, false; cursor != "0" || !begun; begun = true {
		values, err := v.script(ctx, p, &verifyBodiesScript, false, []string{j.keys.jobs, j.keys.due, j.keys.dead, j.keys.behind, j.keys.line, j.keys.places}, cursor, count)
		if err != nil {
			return err
		}
		cursor = values.text(0)
		looked, bytes := values.number(1), values.number(2)
		v.looked.Jobs += looked
		if looked > 0 { // as many as have about a mebibyte together
			count = int(min(verifyBodies, 2*int64(count), max(1, int64(protocol.MaxBytes)*looked/max(bytes, 1))))
		}
		for _, id := range values.texts(3) {
			homeless[id] = true
		}
		if err := v.judge(ctx, p, values.texts(4)); err != nil {
			return err
		}
		if len(homeless) >= maxVerifying || cursor == "0" && (len(homeless) > 0 || !compared) {
			if err := j.compare(ctx, homeless, !compared); err != nil {
				return err
			}
			compared, homeless = true, map[string]bool{}
		}
	}
	return nil
}

// A jobVerifier verifies the jobs of one partition.
type jobVerifier struct {
	*verifier
	partition protocol.Partition
	keys      partitionKeys
	flying    map[string]bool // IDs of jobs in flight or in line, up to the number that is held in memory
	void      map[string]bool // IDs in stale, likewise
}

// readSets verifies all places but ready and purged.
func (j *jobVerifier) readSets(ctx context.Context) error {
	fly := func(ids, _ []string) {
		for _, id := range ids {
			if len(j.flying) < maxVerifying {
				j.flying[id] = true
			}
		}
	}
	if err := j.eachHeld(ctx, true, fly); err != nil {
		return err
	}
	if err := j.readLine(ctx); err != nil {
		return err
	}
	for _, place := range []string{"due", "dead"} {
		if err := j.read(ctx, place, "", true, nil); err != nil {
			return err
		}
	}
	for cursor, begun := "0", false; cursor != "0" || !begun; begun = true {
		k := j.keys
		values, err := j.script(ctx, j.partition, &verifyRecordsScript, false, []string{k.results, k.kept, k.after, k.progress, k.stale, k.state}, "stale", cursor)
		if err != nil {
			return err
		}
		cursor = values.text(0)
		for _, id := range values.texts(2) {
			if len(j.void) < maxVerifying {
				j.void[id] = true
			}
		}
	}
	return nil
}

// readLine verifies the jobs of groups that wait.
func (j *jobVerifier) readLine(ctx context.Context) error {
	var twice []string
	err := j.read(ctx, "line", "", true, func(ids, _ []string) {
		for _, id := range ids {
			switch {
			case j.flying[id] && len(twice) < maxVerifying:
				twice = append(twice, id)
			case len(j.flying) < maxVerifying:
				j.flying[id] = true
			}
		}
	})
	if err != nil {
		return err
	}
	return j.judge(ctx, j.partition, twice)
}

// eachHeld goes through the sessions and the lists of parked jobs.
func (j *jobVerifier) eachHeld(ctx context.Context, judges bool, do func(ids, void []string)) error {
	var w whereabouts
	if err := w.look(ctx, j.store.jobs(j.partition), nil, true); err != nil {
		return failure("verify", j.partition.Queue, err)
	}
	j.addStrays(&w, j.partition)
	for _, session := range w.sessions {
		if err := j.read(ctx, "flight", session, judges, do); err != nil {
			return err
		}
	}
	for _, list := range w.lists {
		if err := j.read(ctx, "parked", list, judges, func(ids, void []string) {
			if !judges {
				do(ids, void)
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// read goes through one place, judges what may be wrong there, and passes the IDs to do, unless do is nil.
func (j *jobVerifier) read(ctx context.Context, place, name string, judges bool, do func(ids, void []string)) error {
	k := j.keys
	keys := []string{k.jobs, k.due, k.dead, k.stale, k.ready, k.purged, k.inflight("-"), k.parked("-"), k.line, k.purgedline}
	switch place {
	case "flight":
		keys[6] = k.inflight(name)
	case "parked":
		keys[7] = k.parked(name)
	}
	for cursor, begun := "0", false; cursor != "0" || !begun; begun = true {
		values, err := j.script(ctx, j.partition, &verifyPlaceScript, false, keys, place, cursor, flag(judges))
		if err != nil {
			return err
		}
		cursor = values.text(0)
		if do != nil {
			do(values.texts(1), values.texts(3))
		}
		if judges {
			if err := j.judge(ctx, j.partition, values.texts(2)); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare searches for jobs whose IDs are in no sorted set: in ready and purged, then in flight and among the parked. A job that is in none
// of these is judged. The first time, compare also judges the entries of these lists.
func (j *jobVerifier) compare(ctx context.Context, homeless map[string]bool, first bool) error {
	suspects := map[string]bool{}
	for _, place := range []string{"ready", "purged", "purgedline"} { // in this order, because a purge turns ready into purged
		before, page := map[string]bool{}, map[string]bool{} // the last page, some of which may be shown again
		seen := map[string]bool{}
		if err := j.read(ctx, place, "", first && place == "ready", func(ids, void []string) {
			before, page = page, map[string]bool{}
			for _, id := range ids {
				if again := seen[id] && !before[id]; (again || first && j.flying[id]) && len(suspects) < maxVerifying {
					suspects[id] = true
				}
				page[id] = true
				if homeless[id] {
					delete(homeless, id)
					seen[id] = true
				}
			}
			for _, id := range void {
				delete(j.void, id)
			}
		}); err != nil {
			return err
		}
	}
	if len(homeless) > 0 {
		if err := j.eachHeld(ctx, false, func(ids, _ []string) {
			for _, id := range ids {
				delete(homeless, id)
			}
		}); err != nil {
			return err
		}
	}
	if err := j.judge(ctx, j.partition, slices.Collect(maps.Keys(suspects))); err != nil {
		return err
	}
	if first {
		maps.Copy(homeless, j.void)
	}
	return j.judgeMany(ctx, j.partition, slices.Collect(maps.Keys(homeless)))
}

// judge finds the faults of jobs, each with one script call, and repairs them if requested. A job may have several faults.
// Each ID is sent once: a script that repairs one ID twice would use the state before the first repair.
func (v *verifier) judge(ctx context.Context, p protocol.Partition, ids []string) error {
	slices.Sort(ids)
	for ids = slices.Compact(ids); len(ids) > 0; {
		some, faults, err := v.ask(ctx, p, ids, nil, true)
		if err != nil {
			return err
		}
		if err := v.convict(ctx, p, some, faults); err != nil {
			return err
		}
		ids = ids[len(some):]
	}
	return nil
}

// judgeMany is judge for jobs of which most have moved since: those are not searched for in ready.
func (v *verifier) judgeMany(ctx context.Context, p protocol.Partition, ids []string) error {
	for len(ids) > 0 {
		some, faults, err := v.ask(ctx, p, ids, nil, false)
		if err != nil {
			return err
		}
		var wrong []string
		for i, fault := range faults {
			if fault != "" {
				wrong = append(wrong, some[i])
			}
		}
		if err := v.judge(ctx, p, wrong); err != nil {
			return err
		}
		ids = ids[len(some):]
	}
	return nil
}

// maxFaults is how many faults of one job are repaired, one after the other.
const maxFaults = 4

// convict reports faults, and repairs them if requested.
func (v *verifier) convict(ctx context.Context, p protocol.Partition, ids, faults []string) error {
	for range maxFaults {
		if !slices.ContainsFunc(faults, func(fault string) bool { return fault != "" }) {
			return nil
		}
		left := faults
		if v.repair {
			if _, _, err := v.ask(ctx, p, ids, faults, true); err != nil {
				return err
			}
			var err error
			if _, left, err = v.ask(ctx, p, ids, nil, true); err != nil {
				return err
			}
		}
		again := make([]string, len(ids))
		for i, fault := range faults {
			if fault == "" {
				continue
			}
			repaired := v.repair && i < len(left) && left[i] != fault
			if key := fault + " " + ids[i]; !v.reported[key] {
				if v.found(jobFinding(p, ids[i], fault, repaired)); len(v.reported) < maxVerifying && !repaired {
					v.reported[key] = true // it may be found at each of its places
				}
			}
			if repaired {
				again[i] = left[i]
			}
		}
		faults = again
	}
	return nil
}

// jobFinding describes a fault that the script has returned.
func jobFinding(p protocol.Partition, id, fault string, repaired bool) protocol.Finding {
	word, places, _ := strings.Cut(fault, " ")
	f := jobFaults[word]
	f.Queue, f.ID, f.Repaired = p.Queue, id, repaired
	f.Schedule, _, _ = protocol.CutOccurrence(id)
	var names []string
	for _, letter := range places {
		names = append(names, placeNames[letter])
	}
	switch where := strings.Join(names, " and "); word {
	case "empty":
		f.Detail = "it is " + where + ", and its arguments are gone: it cannot run"
		if strings.ContainsAny(places, "fF") {
			f.Detail, f.Remedy = "it is "+where+", and its arguments are gone: if its worker does not end it, it cannot run again", ""
		}
	case "twice":
		f.Detail = "it is " + where + ": it may run twice at once"
	}
	return f
}

// ask finds the faults of the first of these jobs. If faults is not nil, it repairs the faults of each job that faults lists.
func (v *verifier) ask(ctx context.Context, p protocol.Partition, ids, faults []string, searches bool) (some, wrong []string, err error) {
	k := v.store.keys.partition(p)
	for range maxLimitTries {
		var w whereabouts
		if err := w.look(ctx, v.store.jobs(p), ids, true); err != nil {
			return nil, nil, failure("verify", p.Queue, err)
		}
		v.addStrays(&w, p)
		n := min(protocol.MaxItems, maxLookedUp/(len(w.sessions)+len(w.lists)+1))
		if searches && faults == nil {
			length, err := v.store.client.LLen(ctx, k.ready).Result()
			if err != nil {
				return nil, nil, failure("verify", p.Queue, err)
			}
			n = min(n, int(maxSearched/(length+1)))
		}
		some = ids[:min(len(ids), max(n, 1))]
		if faults != nil {
			some = ids // as many as a call without faults has answered
		}
		keys := []string{
			k.state, k.sessions, k.jobs, k.due, k.ready, k.dead, k.crashes, k.behind, k.unhandled, k.stale, k.purged, k.spared, k.idle, k.after, k.progress, k.line, k.places, k.purgedline, k.turns, k.groups, k.grules, k.opens,
		}
		args := []any{flag(faults != nil), flag(searches), v.store.keys.wake(), len(w.sessions), len(w.lists), w.mark}
		for _, session := range w.sessions {
			keys, args = append(keys, k.inflight(session)), append(args, session)
		}
		for _, list := range w.lists {
			keys, args = append(keys, k.parked(list)), append(args, list)
		}
		for i, id := range some {
			fault := ""
			if faults != nil {
				fault = faults[i]
			}
			args = append(args, id, w.shared[id], fault)
		}
		values, err := v.script(ctx, p, &verifyJobScript, faults != nil, keys, args...)
		if err != nil || values.number(0) == 1 {
			return some, values.rest(1), err
		}
	}
	return nil, nil, errSessionsChange
}

// addStrays adds the sessions and lists that no index names to those of a partition.
func (v *verifier) addStrays(w *whereabouts, p protocol.Partition) {
	those := strayed(v.strays, p)
	for _, session := range those.sessions {
		if !slices.Contains(w.sessions, session) {
			w.sessions = append(w.sessions, session)
		}
	}
	for _, list := range those.lists {
		if !slices.Contains(w.lists, list) {
			w.lists = append(w.lists, list)
		}
	}
}
