package redisstore

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// A ranked reads a sorted set page by page, in the order of the server: by score, and within a score by the members' bytes. A page begins
// after a mark, which is the member that was read last and its score at that time. The mark need not be there any more. Each page costs the
// logarithm of the size of the set, even if thousands of members have one score.
//
// A page is one command, which reads a window. The page is right, whatever changes meanwhile, if the window begins at or before the mark and
// ends after it. The window is first tried at the last known rank of the mark. If the mark is not there, its rank is searched.
type ranked struct {
	client  redis.UniversalClient
	key     string
	reverse bool // from the highest score to the lowest, and within a score by the members in reverse
}

// A mark is a member at the time it was read.
type mark struct {
	score  float64
	member string
	rank   int // about its rank then; unknownRank: it is searched
}

const unknownRank = -1

// lastMember comes after all members of one score, because members are UTF-8.
const lastMember = "\xff"

// passes reports whether a member comes after the mark.
func (r ranked) passes(m mark, z redis.Z) bool {
	member, _ := z.Member.(string)
	if r.reverse {
		return z.Score < m.score || z.Score == m.score && member < m.member
	}
	return z.Score > m.score || z.Score == m.score && member > m.member
}

// window reads the members of some ranks.
func (r ranked) window(ctx context.Context, c redis.Cmdable, from, to int64) *redis.ZSliceCmd {
	if r.reverse { // ZREVRANGE would need a right of its own
		return c.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: r.key, Start: from, Stop: to, Rev: true})
	}
	return c.ZRangeWithScores(ctx, r.key, from, to)
}

const (
	rankSlack  = 50 // members before and after the wanted window
	rankProbes = 16 // of a search, in one round trip
	rankTries  = 8  // windows, each with twice the slack of the last
)

var errRestless = errors.New("it changes too fast to be read")

// first returns the first n members.
func (r ranked) first(ctx context.Context, n int) (page []redis.Z, more bool, err error) {
	page, err = r.window(ctx, r.client, 0, int64(n)).Result()
	if len(page) > n {
		page, more = page[:n], true
	}
	return page, more, err
}

// after returns the n members behind a mark, the rank of the first of them, and whether there are more.
func (r ranked) after(ctx context.Context, m mark, n int) (page []redis.Z, rank int, more bool, err error) {
	at, slack := m.rank, rankSlack
	if at == unknownRank {
		if at, err = r.search(ctx, m); err != nil {
			return nil, 0, false, err
		}
	}
	for range rankTries {
		from := max(at-slack, 0)
		to := at + n + slack
		window, err := r.window(ctx, r.client, int64(from), int64(to)).Result()
		if err != nil {
			return nil, 0, false, err
		}
		behind := 0
		for behind < len(window) && !r.passes(m, window[behind]) {
			behind++
		}
		atEnd := len(window) < to-from+1
		if (from == 0 || behind > 0) && (behind < len(window) || atEnd) {
			page, more = window[behind:], !atEnd
			if len(page) > n {
				page, more = page[:n], true
			}
			if len(page) > 0 || !more {
				return page, from + behind, more, nil
			}
		}
		if at, err = r.search(ctx, m); err != nil {
			return nil, 0, false, err
		}
		slack *= 2
	}
	return nil, 0, false, errRestless
}

// search returns about how many members are not after the mark.
func (r ranked) search(ctx context.Context, m mark) (int, error) {
	score := strconv.FormatFloat(m.score, 'f', -1, 64) // +Inf and -Inf, which the server knows too
	pipe := r.client.Pipeline()
	low, high := "-inf", "("+score // the scores that come before the mark
	if r.reverse {
		low, high = high, "+inf"
	}
	less, same := pipe.ZCount(ctx, r.key, low, high), pipe.ZCount(ctx, r.key, score, score)
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, err
	}
	first, last := less.Val(), less.Val()+same.Val() // the first member after the mark has a rank from first to last
	for last-first > rankSlack {
		pipe := r.client.Pipeline()
		step, next := max((last-first)/rankProbes, 1), first
		var probes []*redis.ZSliceCmd
		for at := first; at < last; at += step {
			probes = append(probes, r.window(ctx, pipe, at, at))
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return 0, err
		}
		for i, probe := range probes {
			at := first + int64(i)*step
			if z := probe.Val(); len(z) == 0 || r.passes(m, z[0]) {
				last = at
				break
			}
			next = at + 1
		}
		first = min(next, last)
	}
	return int(first), nil
}
