package redisstore

import (
	"context"
	"errors"
	"strconv"
	"strings"
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

// ListBatches returns records of a home, the newest first. The mark of a record is when it was created and its ID.
func (s *store) ListBatches(ctx context.Context, home int, before string, limit int) (records []protocol.BatchRecord, err error) {
	if s.bad != nil {
		return nil, s.bad
	}
	k := s.keys.home(home)
	highest, last, paged := strings.Cut(before, "\t")
	if !paged {
		highest = "+inf"
	}
	for offset := int64(0); len(records) < limit; offset += int64(limit) {
		page, err := s.client.ZRevRangeByScoreWithScores(ctx, k.made, &redis.ZRangeBy{Min: "-inf", Max: highest, Offset: offset, Count: int64(limit)}).Result()
		if err != nil {
			return records, failure("list batches of home", strconv.Itoa(home), err)
		}
		var ids []string
		for _, entry := range page {
			id, at := entry.Member.(string), strconv.FormatInt(int64(entry.Score), 10)
			if paged && at == highest && id >= last || len(records)+len(ids) == limit {
				continue // it was on an earlier page
			}
			ids = append(ids, id)
		}
		some, err := s.readBatches(ctx, home, ids)
		if records = append(records, some...); err != nil {
			return records, err
		}
		if len(page) < limit {
			break
		}
	}
	return records, nil
}

// tendAhead is the longest time until a batch that has not ended must be looked after. One that has ended is usually looked after later.
const tendAhead = 2 * time.Minute

// UnendedBatches returns records of the batches of each home that have members left, or are open. A batch that has ended is looked after once an hour, so
// few of those that must be looked after soon have ended.
func (s *store) UnendedBatches(ctx context.Context, limit int) (records []protocol.BatchRecord, more bool, err error) {
	if s.bad != nil {
		return nil, false, s.bad
	}
	now, err := s.client.Time(ctx).Result()
	if err != nil {
		return nil, false, failure("list batches", "that have not ended", err)
	}
	soon := strconv.FormatInt(now.Add(tendAhead).UnixMilli(), 10)
	pages := make([]*redis.StringSliceCmd, protocol.BatchHomes)
	_, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for home := range pages {
			pages[home] = p.ZRangeByScore(ctx, s.keys.home(home).tended, &redis.ZRangeBy{Min: "-inf", Max: soon, Count: int64(limit) + 1})
		}
		return nil
	})
	if err != nil {
		return nil, false, failure("list batches", "that have not ended", err)
	}
	for home, page := range pages {
		ids := page.Val()
		if len(ids) > limit {
			ids, more = ids[:limit], true
		}
		some, err := s.readBatches(ctx, home, ids)
		if err != nil {
			return records, more, err
		}
		for _, record := range some {
			record.Now = now
			if record.Unended() {
				records = append(records, record)
			}
		}
	}
	return records, more, nil
}

// readBatches reads records of a home in one round trip. Those that were deleted meanwhile are left out.
func (s *store) readBatches(ctx context.Context, home int, ids []string) (records []protocol.BatchRecord, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	k := s.keys.home(home)
	read := make([]*redis.MapStringStringCmd, len(ids))
	if _, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, id := range ids {
			read[i] = p.HGetAll(ctx, k.batch(id))
		}
		return nil
	}); err != nil && !errors.Is(err, redis.Nil) {
		return nil, failure("read batches of home", strconv.Itoa(home), err)
	}
	for i, id := range ids {
		if fields := read[i].Val(); fields["state"] != "" {
			record := recordOf(id, fields)
			record.Mark = fields["made"] + "\t" + id
			records = append(records, record)
		}
	}
	return records, nil
}
