package redisstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var correctEndScript = scripts.Load("schedules/correct_end")

const (
	maxEnds    = 100         // entries of a partition that EndPauses reads
	minPause   = time.Second // until EndPauses is called again if more pauses are over
	endOfQueue = "queue"     // the members of …:ends, see scripts/lib/ends.lua
	endOfGroup = "group\t"
	endOfOther = "schedule\t"
)

// EndPauses ends pauses whose end has come. The script of a pause compares the end in the note with the time again, so a pause that was changed, or that
// another process has ended, does not change.
func (s *store) EndPauses(ctx context.Context, partitions []protocol.Partition) (protocol.EndedPauses, error) {
	answer := protocol.EndedPauses{Next: -1}
	if s.bad != nil {
		return answer, s.bad
	}
	exist, errs := s.exist(ctx, partitions, func(k *partitionKeys) string { return k.ends })
	var some []protocol.Partition
	for i, p := range partitions {
		if exist[i] {
			some = append(some, p)
		}
	}
	if err := cmp.Or(errs...); err != nil || len(some) == 0 {
		return answer, err
	}
	pipe := s.client.Pipeline()
	clock := pipe.Time(ctx)
	entries := make([]*redis.ZSliceCmd, len(some))
	for i, p := range some {
		entries[i] = pipe.ZRangeWithScores(ctx, s.keys.partition(p).ends, 0, maxEnds-1)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return answer, failure("end pauses", "", err)
	}
	var failed []error
	for i, p := range some {
		for _, entry := range entries[i].Val() {
			member, _ := entry.Member.(string)
			left := time.UnixMilli(int64(entry.Score)).Sub(clock.Val())
			if left <= 0 {
				left = minPause // it is called again, in case that there are more
				failed = append(failed, s.endPause(ctx, p, member, &answer))
			}
			if answer.Next < 0 || left < answer.Next {
				answer.Next = left
			}
		}
	}
	return answer, errors.Join(failed...)
}

// endPause ends a pause if its end has come. A member of another form is removed.
func (s *store) endPause(ctx context.Context, p protocol.Partition, member string, answer *protocol.EndedPauses) error {
	schedule, isSchedule := strings.CutPrefix(member, endOfOther)
	group, isGroup := strings.CutPrefix(member, endOfGroup)
	switch {
	case isSchedule:
		return s.endSchedulePause(ctx, p, schedule, answer)
	case isGroup:
		changed, err := s.limitGroup(ctx, p, "over", group)
		if err == nil && changed == 1 {
			answer.Ended = append(answer.Ended, protocol.EndedPause{Partition: p, Group: group})
		}
		return err
	case member == endOfQueue:
		changed, err := s.run(ctx, s.client, s.pauseQueue(p, "2", "", ""))[0].Int64()
		if err != nil {
			return failure("end the pause of queue", p.Queue, err)
		}
		if changed == 1 {
			answer.Ended = append(answer.Ended, protocol.EndedPause{Partition: p})
		}
		return nil
	}
	if err := s.client.ZRem(ctx, s.keys.partition(p).ends, member).Err(); err != nil {
		return failure("end pauses", p.Queue, err)
	}
	return nil
}

// endSchedulePause ends the pause of a schedule in the partition in which it lives. A definition that the registry has elsewhere is not changed there.
func (s *store) endSchedulePause(ctx context.Context, p protocol.Partition, name string, answer *protocol.EndedPauses) error {
	homes, err := s.homes(ctx, name)
	if err != nil {
		return err
	}
	generation := int64(0)
	if homes[0].queue == p.Queue {
		generation = homes[0].generation
	}
	values, err := s.runOne(ctx, "end the pause of schedule", name, newCall(&pauseScheduleScript, s.keys.partition(p).pausing(),
		[]any{name, "over", generation, "", "", "", "", "", "", "", "", "", "", rand.Text()}))
	if err != nil {
		return err
	}
	if values.number(1) != 1 {
		return s.correctEnd(ctx, p, name, generation)
	}
	answer.Ended = append(answer.Ended, protocol.EndedPause{Partition: p, Schedule: name})
	if values.number(4) == 1 {
		answer.Owed = append(answer.Owed, protocol.Owed{
			Partition: p, Name: name, Definition: []byte(values.text(2)), Cursor: parseCursor(values.text(3)), Since: values.now(), Now: values.now(),
			Zoned: parseZoned(values.text(6)),
		})
	}
	return nil
}

// correctEnd corrects an entry of a schedule that ended no pause.
func (s *store) correctEnd(ctx context.Context, p protocol.Partition, name string, generation int64) error {
	k := s.keys.partition(p)
	call := newCall(&correctEndScript, []string{k.schedules, k.notes, k.state, k.ends}, []any{name, generation})
	if err := s.run(ctx, s.client, call)[0].Err(); err != nil {
		return failure("end the pause of schedule", name, err)
	}
	return nil
}
