package redisstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	verifyGroupsScript  = scripts.Load("repair/verify_groups")
	verifyFlightsScript = scripts.Load("repair/verify_flights")
)

// groupFaults describe the faults of members of line, by the word that the script returns.
var groupFaults = map[string]protocol.Finding{
	"entry":  {Detail: "it waits in its group, but the record of its group and place is lost: no call finds it there", Remedy: "the record is restored"},
	"member": {Detail: "it waits in a group at a place that is not its own: it may run twice, or not exist", Remedy: "the place is removed"},
}

// groups verifies the members of line.
func (v *verifier) groups(ctx context.Context, p protocol.Partition) error {
	k := v.store.keys.partition(p)
	keys := []string{k.state, k.line, k.places, k.jobs, k.turns, k.groups, k.grules, k.opens, k.idle, k.ready, k.due}
	for cursor, begun := "0", false; cursor != "0" || !begun; begun = true {
		values, err := v.script(ctx, p, &verifyGroupsScript, false, keys, "line", cursor)
		if err != nil {
			return err
		}
		cursor = values.text(0)
		wrong := slices.Collect(slices.Chunk(values.rest(1), 2))
		for some := range slices.Chunk(wrong, protocol.MaxItems) {
			if err := v.unfitMembers(ctx, p, keys, some); err != nil {
				return err
			}
		}
	}
	return nil
}

// unfitMembers reports members of line, each with what a repair does, and repairs them if requested.
func (v *verifier) unfitMembers(ctx context.Context, p protocol.Partition, keys []string, wrong [][]string) error {
	repaired := map[string]bool{}
	if v.repair {
		args := []any{"line", "", v.store.keys.wake()}
		for _, w := range wrong {
			args = append(args, w[0])
		}
		values, err := v.script(ctx, p, &verifyGroupsScript, true, keys, args...)
		if err != nil {
			return err
		}
		for w := range slices.Chunk(values.rest(1), 2) {
			repaired[w[0]] = true
		}
	}
	for _, w := range wrong {
		f := groupFaults[w[1]]
		f.Kind, f.Queue, f.ID, f.Repaired = protocol.FoundInGroup, p.Queue, lineID(w[0]), repaired[w[0]]
		v.found(f)
	}
	return nil
}

// groupEntries verifies the entries of places.
func (v *verifier) groupEntries(ctx context.Context, p protocol.Partition) error {
	k := v.store.keys.partition(p)
	keys := []string{k.state, k.line, k.places, k.jobs, k.turns, k.groups, k.grules, k.opens, k.idle, k.ready, k.due}
	for cursor, begun := "0", false; cursor != "0" || !begun; begun = true {
		values, err := v.script(ctx, p, &verifyGroupsScript, false, keys, "places", cursor)
		if err != nil {
			return err
		}
		cursor = values.text(0)
		for ids := range slices.Chunk(values.rest(1), protocol.MaxItems) {
			if err := v.judge(ctx, p, ids); err != nil {
				return err
			}
		}
	}
	return nil
}

// The answers of verify_flights.lua.
const (
	flightsCompared = 1
	flightsTooMany  = 2
)

// groupFlights compares the flights that are counted for groups with the jobs in flight. If more than 5,000 are in flight, it compares nothing.
func (v *verifier) groupFlights(ctx context.Context, p protocol.Partition) error {
	for cursor, begun := "0", false; cursor != "0" || !begun; begun = true {
		values, err := v.readFlights(ctx, p, false, cursor)
		if err != nil || values.number(0) == flightsTooMany {
			return err
		}
		if len(values) > 2 && v.repair {
			if _, err := v.readFlights(ctx, p, true, cursor); err != nil {
				return err
			}
		}
		for i := 2; i+2 < len(values); i += 3 {
			v.found(protocol.Finding{
				Kind: protocol.FoundCount, Queue: p.Queue, ID: values.text(i), Remedy: "they are counted again", Repaired: v.repair,
				Detail: fmt.Sprintf("its group counts %d running jobs, but %d run: it takes too many, or too few", values.number(i+1), values.number(i+2)),
			})
		}
		cursor = values.text(1)
	}
	return nil
}

func (v *verifier) readFlights(ctx context.Context, p protocol.Partition, repairs bool, cursor string) (reply, error) {
	k := v.store.keys.partition(p)
	for range maxLimitTries {
		sessions, err := v.store.client.ZRange(ctx, k.sessions, 0, -1).Result()
		if err != nil {
			return nil, failure("verify", p.Queue, err)
		}
		keys := []string{k.state, k.sessions, k.line, k.places, k.turns, k.groups, k.grules, k.opens, k.idle, k.ready, k.due}
		args := []any{flag(repairs), len(sessions), v.store.keys.wake()}
		for _, session := range sessions {
			keys, args = append(keys, k.inflight(session)), append(args, session)
		}
		values, err := v.script(ctx, p, &verifyFlightsScript, repairs, keys, append(args, cursor)...)
		if err != nil || values.number(0) == flightsCompared || values.number(0) == flightsTooMany {
			return values, err
		}
	}
	return nil, errSessionsChange
}
