package redisstore

import (
	"context"
	"slices"
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

// tendedPage is how many batches of a home are read in one command.
const tendedPage = 500

// UnendedBatches returns the marks of the newest batches that have members left, or are open. A batch that has ended is looked after once an hour, so few of those
// that must be looked after soon have ended. It reads the marks of all of them, page by page, and keeps limit: a batch that changes meanwhile may be missing.
func (s *store) UnendedBatches(ctx context.Context, after protocol.BatchMark, limit int) (marks []protocol.BatchMark, more bool, err error) {
	if s.bad != nil {
		return nil, false, s.bad
	}
	now, err := s.client.Time(ctx).Result()
	if err != nil {
		return nil, false, failure("list batches", "that have not ended", err)
	}
	soon := strconv.FormatInt(now.Add(tendAhead).UnixMilli(), 10)
	for page := int64(0); ; page++ {
		read, full, err := s.tendedMarks(ctx, soon, page)
		if err != nil {
			return nil, false, failure("list batches", "that have not ended", err)
		}
		for _, mark := range read {
			if (after == protocol.BatchMark{}) || mark.Compare(after) > 0 {
				marks = append(marks, mark)
			}
		}
		slices.SortFunc(marks, protocol.BatchMark.Compare)
		marks = slices.Compact(marks)
		more = more || len(marks) > limit
		marks = marks[:min(limit, len(marks))]
		if !full {
			return marks, more, nil
		}
	}
}

// tendedMarks returns a page of the batches of each home that must be looked after before an instant, and whether a home may have more.
func (s *store) tendedMarks(ctx context.Context, before string, page int64) (marks []protocol.BatchMark, full bool, err error) {
	ids, made := make([]*redis.StringSliceCmd, protocol.BatchHomes), make([]*redis.FloatSliceCmd, protocol.BatchHomes)
	if _, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for home := range ids {
			ids[home] = p.ZRangeByScore(ctx, s.keys.home(home).tended, &redis.ZRangeBy{Min: "-inf", Max: before, Offset: page * tendedPage, Count: tendedPage})
		}
		return nil
	}); err != nil {
		return nil, false, err
	}
	if _, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for home := range ids {
			full = full || len(ids[home].Val()) == tendedPage
			if len(ids[home].Val()) > 0 {
				made[home] = p.ZMScore(ctx, s.keys.home(home).made, ids[home].Val()...)
			}
		}
		return nil
	}); err != nil {
		return nil, false, err
	}
	for home := range ids {
		for i, id := range ids[home].Val() {
			if created := made[home].Val()[i]; created > 0 { // else it was deleted meanwhile
				marks = append(marks, protocol.BatchMark{Created: int64(created), ID: id})
			}
		}
	}
	return marks, full, nil
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
