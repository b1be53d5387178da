package redisstore

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// GetBatch returns the record of a batch.
func (s *store) GetBatch(ctx context.Context, id string) (protocol.BatchRecord, error) {
	if s.bad != nil {
		return protocol.BatchRecord{}, s.bad
	}
	_, key := s.homeOf(id)
	fields, err := s.client.HGetAll(ctx, key).Result()
	if err != nil {
		return protocol.BatchRecord{}, failure("read batch", id, err)
	}
	if fields["state"] == "" {
		return protocol.BatchRecord{}, unknownBatch(id)
	}
	return recordOf(id, fields), nil
}

// ListBatches returns the marks of batches of a home, the newest first.
func (s *store) ListBatches(ctx context.Context, home int, before protocol.BatchMark, limit int) (marks []protocol.BatchMark, err error) {
	if s.bad != nil {
		return nil, s.bad
	}
	k, highest := s.keys.home(home), "+inf"
	if before != (protocol.BatchMark{}) {
		highest = strconv.FormatInt(before.Created, 10)
	}
	for offset := int64(0); len(marks) < limit; offset += int64(limit) {
		page, err := s.client.ZRevRangeByScoreWithScores(ctx, k.made, &redis.ZRangeBy{Min: "-inf", Max: highest, Offset: offset, Count: int64(limit)}).Result()
		if err != nil {
			return marks, failure("list batches of home", strconv.Itoa(home), err)
		}
		for _, entry := range page {
			mark := protocol.BatchMark{Created: int64(entry.Score), ID: entry.Member.(string)}
			if len(marks) < limit && (highest == "+inf" || mark.Compare(before) > 0) { // else it was on an earlier page
				marks = append(marks, mark)
			}
		}
		if len(page) < limit {
			break
		}
	}
	return marks, nil
}

// tendAhead is the longest time until a batch that has not ended must be looked after. One that has ended is usually looked after later.
const tendAhead = 2 * time.Minute

// UnendedBatches returns the marks of the batches of each home that have members left, or are open. A batch that has ended is looked after once an hour, so
// few of those that must be looked after soon have ended.
func (s *store) UnendedBatches(ctx context.Context, limit int) (marks []protocol.BatchMark, more bool, err error) {
	if s.bad != nil {
		return nil, false, s.bad
	}
	now, err := s.client.Time(ctx).Result()
	if err != nil {
		return nil, false, failure("list batches", "that have not ended", err)
	}
	soon := strconv.FormatInt(now.Add(tendAhead).UnixMilli(), 10)
	pages := make([]*redis.StringSliceCmd, protocol.BatchHomes)
	if _, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for home := range pages {
			pages[home] = p.ZRangeByScore(ctx, s.keys.home(home).tended, &redis.ZRangeBy{Min: "-inf", Max: soon, Count: int64(limit) + 1})
		}
		return nil
	}); err != nil {
		return nil, false, failure("list batches", "that have not ended", err)
	}
	ids, made := make([][]string, len(pages)), make([]*redis.FloatSliceCmd, len(pages))
	if _, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for home, page := range pages {
			ids[home] = page.Val()[:min(limit, len(page.Val()))]
			more = more || len(page.Val()) > limit
			if len(ids[home]) > 0 {
				made[home] = p.ZMScore(ctx, s.keys.home(home).made, ids[home]...)
			}
		}
		return nil
	}); err != nil {
		return nil, false, failure("list batches", "that have not ended", err)
	}
	for home := range ids {
		for i, id := range ids[home] {
			if created := made[home].Val()[i]; created > 0 { // else it was deleted meanwhile
				marks = append(marks, protocol.BatchMark{Created: int64(created), ID: id})
			}
		}
	}
	return marks, more, nil
}

// ReadBatches reads records in one round trip.
func (s *store) ReadBatches(ctx context.Context, marks []protocol.BatchMark) (records []protocol.BatchRecord, err error) {
	if s.bad != nil {
		return nil, s.bad
	}
	read := make([]*redis.MapStringStringCmd, len(marks))
	if _, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, mark := range marks {
			_, key := s.homeOf(mark.ID)
			read[i] = p.HGetAll(ctx, key)
		}
		return nil
	}); err != nil {
		return nil, failure("read batches", strconv.Itoa(len(marks)), err)
	}
	for i, mark := range marks {
		if fields := read[i].Val(); fields["state"] != "" {
			records = append(records, recordOf(mark.ID, fields))
		}
	}
	return records, nil
}
