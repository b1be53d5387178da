package redisstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	limitGroupScript = scripts.Load("groups/limit_group")
	listGroupsScript = scripts.Load("groups/list_groups")
	purgeGroupScript = scripts.Load("groups/purge_group")
)

// ruleOfQueue is the field of grules with the rule for all groups.
const ruleOfQueue = "\x01*"

// The answers of limit_group.lua.
const (
	groupWalks    = 2
	groupTooMany  = -1
	maxSweptWalks = 20 // steps of a walk that a sweep continues
)

// groupQueue returns the partition with the groups of a queue. registers: it registers a queue that is not registered.
func (s *store) groupQueue(ctx context.Context, queue string, registers bool) (protocol.Partition, error) {
	found, err := s.queues.lookUp(ctx, queue)
	if err := cmp.Or(err, firstError(found)); err != nil {
		return protocol.Partition{}, err
	}
	partitions := found[0].partitions
	if partitions == 0 && registers {
		if partitions, err = s.queues.register(ctx, queue); err != nil {
			return protocol.Partition{}, err
		}
	}
	switch partitions {
	case 0:
		return protocol.Partition{}, fmt.Errorf("redisstore: queue %q: %w", queue, protocol.ErrNotFound)
	case 1:
		return protocol.Partition{Queue: queue}, nil
	}
	e := protocol.Invalid("queue", queue, "a queue with one partition: a group is in one partition")
	return protocol.Partition{}, protocol.Because(e, fmt.Sprintf("has %d partitions", partitions))
}

// SetGroup sets the own rule of a group.
func (s *store) SetGroup(ctx context.Context, queue, group string, rule protocol.GroupRule) error {
	_, err := s.changeGroup(ctx, queue, false, "rule", group, ruleArgs(rule)...)
	return err
}

// PauseGroup pauses a group, or resumes it.
func (s *store) PauseGroup(ctx context.Context, queue, group string, paused bool, note protocol.Note) error {
	what, text := "resume", ""
	if paused {
		var err error
		if text, err = queueNote(note); err != nil {
			return err
		}
		what = "pause"
	}
	_, err := s.changeGroup(ctx, queue, false, what, group, text)
	return err
}

// SetGroups sets the queue's rule of groups. Then it tunes the groups that wait, step by step; if it stops, a sweep continues.
func (s *store) SetGroups(ctx context.Context, queue string, rule protocol.GroupRule) error {
	result, err := s.changeGroup(ctx, queue, rule != protocol.GroupRule{}, "queue", "", ruleArgs(rule)...)
	for err == nil && result == groupWalks {
		result, err = s.limitGroup(ctx, protocol.Partition{Queue: queue}, "walk", "")
	}
	return err
}

// changeGroup changes a rule or a pause of a queue. registers: it registers a queue that is not registered.
func (s *store) changeGroup(ctx context.Context, queue string, registers bool, what, group string, values ...any) (int64, error) {
	p, err := s.groupQueue(ctx, queue, registers)
	if err != nil {
		return 0, err
	}
	result, err := s.limitGroup(ctx, p, what, group, values...)
	if err == nil && result == groupTooMany {
		e := protocol.Invalid("group", group, strconv.Itoa(protocol.MaxGroupRules)+" rules and pauses of groups in a queue, at most")
		err = protocol.Because(e, "has no rule yet")
	}
	return result, err
}

func (s *store) limitGroup(ctx context.Context, p protocol.Partition, what, group string, values ...any) (int64, error) {
	k := s.keys.partition(p)
	keys := []string{k.state, k.idle, k.due, k.ready, k.line, k.places, k.turns, k.groups, k.grules, k.opens, k.callers, k.ends}
	name := ""
	if what != "walk" {
		name = rand.Text()
	}
	result, err := s.run(ctx, s.client, newCall(&limitGroupScript, keys, append([]any{s.keys.wake(), what, group, name}, values...)))[0].Int64()
	if err != nil {
		return 0, failure("change groups of queue", p.Queue, err)
	}
	return result, nil
}

// sweepGroups continues a change of the queue's rule whose caller has vanished, and reports whether more is left.
func (s *store) sweepGroups(ctx context.Context, p protocol.Partition) (more bool, err error) {
	for range maxSweptWalks {
		if result, err := s.limitGroup(ctx, p, "walk", ""); err != nil || result != groupWalks {
			return false, err
		}
	}
	return true, nil
}

// isWalking reports whether the field grules of state has the group up to which a change of the queue's rule has been carried out.
func isWalking(grules string) bool { return strings.Count(grules, " ") > 1 }

// ruleArgs are the six numbers of a rule as grules has them.
func ruleArgs(r protocol.GroupRule) []any {
	return []any{r.Weight, r.Running, r.Starts, perMilli(r.Per), r.Ordered, r.Waiting}
}

// parseGroupRule reads these six numbers. What cannot be read is not set.
func parseGroupRule(fields []string) (r protocol.GroupRule) {
	var numbers [6]int
	for i := range min(len(fields), len(numbers)) {
		numbers[i], _ = strconv.Atoi(fields[i])
	}
	return protocol.GroupRule{
		Weight: numbers[0], Running: numbers[1], Starts: numbers[2], Per: milliseconds(numbers[3]), Ordered: numbers[4], Waiting: numbers[5],
	}
}

// PurgeGroup deletes the jobs of a group that wait, at most MaxItems. upTo is empty at first, and then what the last call returned: the last place that
// a deleted job may have, which is the one drawn last, a line feed, and the member of line that was looked at last.
func (s *store) PurgeGroup(ctx context.Context, queue, group, upTo string) (done protocol.PurgeAnswer, place string, err error) {
	p, err := s.groupQueue(ctx, queue, false)
	if err != nil {
		return done, upTo, err
	}
	k := s.keys.partition(p)
	upTo, after, _ := strings.Cut(upTo, "\n")
	if upTo == "" {
		state := s.client.HMGet(ctx, k.state, "groups")
		if err := cmp.Or(state.Err(), complete(state)); err != nil {
			return done, "", failure("purge a group of", queue, err)
		}
		upTo = lastPlace(reply(state.Val()).text(0))
	}
	keys := []string{k.state, k.jobs, k.crashes, k.line, k.places, k.turns, k.groups, k.grules, k.opens, k.once, k.results, k.kept, k.callers, k.batches, k.reports}
	values, err := s.runOne(ctx, "purge a group of", queue, newCall(&purgeGroupScript, keys, []any{rand.Text(), group, upTo, after}))
	if err != nil {
		return done, upTo, err
	}
	deleted := int(values.number(1))
	return protocol.PurgeAnswer{Looked: deleted, Changed: deleted, More: values.number(2) == 1}, upTo + "\n" + values.text(3), nil
}

// lastPlace returns the place drawn last from the field groups of state; if it cannot be read, the highest one.
func lastPlace(groups string) string {
	fields := strings.Fields(groups)
	if len(fields) != 5 || len(fields[4]) != 16 {
		return strings.Repeat("9", 16)
	}
	return fields[4]
}
