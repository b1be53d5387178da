package redisstore

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/redisstore/internal/sample"
)

var (
	sampleScript  = scripts.Load("samples/sample")
	measureScript = scripts.Load("samples/measure")
)

const sampleSeriesTogether = 50 // partitions whose samples are read in a round trip

// hoursTogether is for how many partitions the past hour is read in a round trip.
const hoursTogether = 50

// maxSampledSessions is in how many sessions of a partition the jobs are counted. If there are more sessions, the sample assumes that each of
// the others holds the average number of jobs.
const maxSampledSessions = 450

// Sample takes the missing samples of partitions, one for each past minute. Most partitions have no session and no parked
// jobs: they need a few plain commands in one round trip for all, and a script for each in another. A number that these commands cannot
// read is 0 in the sample; an error of the script is returned. Once an hour the entries of the past hour are read first.
func (s *store) Sample(ctx context.Context, partitions []protocol.Partition, missing int) []protocol.SampleAnswer {
	answers := make([]protocol.SampleAnswer, len(partitions))
	if s.bad != nil || len(partitions) == 0 {
		for i := range answers {
			answers[i].Err = s.bad
		}
		return answers
	}
	gauges := make([]*gauge, len(partitions))
	pipe := s.client.Pipeline()
	clock := pipe.Time(ctx)
	for i, p := range partitions {
		gauges[i] = &gauge{keys: s.keys.partition(p)}
		gauges[i].askLast(ctx, pipe)
		if missing == 1 { // nearly always
			gauges[i].ask(ctx, pipe)
		}
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	now := clock.Val().UTC()
	var asked []int
	for i, g := range gauges {
		answers[i].Now = now
		if clock.Err() != nil {
			answers[i].Err = failure("sample", partitions[i].Queue, clock.Err())
		} else if g.isMissing(now, missing) {
			asked = append(asked, i)
			if missing > 1 {
				g.ask(ctx, pipe)
			}
		}
	}
	exec := func() {
		if pipe.Len() > 0 {
			_, _ = pipe.Exec(ctx)
		}
	}
	exec()
	for _, i := range asked {
		gauges[i].askMore(ctx, pipe)
	}
	exec()
	for some := range slices.Chunk(asked, hoursTogether) {
		for _, i := range some {
			gauges[i].askHour(ctx, pipe, now)
		}
		exec()
		for _, i := range some {
			answers[i].Err = gauges[i].readHour()
		}
	}
	asked = slices.DeleteFunc(asked, func(i int) bool { return answers[i].Err != nil })
	sent := make([]call, len(asked))
	for n, i := range asked {
		g := gauges[i]
		k := g.keys
		sent[n] = newCall(&sampleScript, []string{k.sampled, k.minutes, k.hours, k.measured, k.state, k.callers, k.counters, k.ready, k.stale, k.due, k.dead, k.jobs, k.line, k.turns},
			append([]any{missing, g.running(), g.parked()}, g.hour...))
	}
	if len(sent) > 0 {
		for n, cmd := range s.run(ctx, s.client, sent...) {
			values, err := list("sample", partitions[asked[n]].Queue, cmd)
			if err == nil {
				answers[asked[n]] = protocol.SampleAnswer{Now: values.now(), Taken: values.number(1) == 1}
			}
			answers[asked[n]].Err = err
		}
	}
	return answers
}

// A gauge has the data for the script about a partition, read a moment before: how many jobs the sessions and the lists of parked jobs hold,
// because their keys have no known names, and the sums of the entries of a past hour.
type gauge struct {
	keys partitionKeys

	last                *redis.SliceCmd // minute and hour
	sessions, unhandled *redis.StringSliceCmd
	held, lists         []*redis.IntCmd
	entries             *redis.XMessageSliceCmd // of the past hour; nil: no hour has ended
	hour                []any                   // the minute that was sampled last, and the entry of the hour
}

func (g *gauge) askLast(ctx context.Context, pipe redis.Pipeliner) {
	g.last = pipe.HMGet(ctx, g.keys.sampled, "minute", "hour")
}

func (g *gauge) ask(ctx context.Context, pipe redis.Pipeliner) {
	g.sessions = pipe.ZRange(ctx, g.keys.sessions, 0, -1)
	g.unhandled = pipe.ZRange(ctx, g.keys.unhandled, 0, -1)
}

// isMissing reports whether the script must be called. It decides by the partition's own clock: in a cluster each node has its own.
func (g *gauge) isMissing(now time.Time, missing int) bool {
	last, err := strconv.ParseInt(reply(g.last.Val()).text(0), 10, 64)
	if err != nil {
		return true
	}
	ahead := time.UnixMilli(last).Sub(now)
	return now.Truncate(time.Minute).Sub(time.UnixMilli(last)) > time.Duration(missing)*time.Minute || ahead > protocol.KeptMinutes
}

// askMore requests what the first answers have named.
func (g *gauge) askMore(ctx context.Context, pipe redis.Pipeliner) {
	sessions := g.sessions.Val()
	for _, session := range sessions[:min(len(sessions), maxSampledSessions)] {
		g.held = append(g.held, pipe.HLen(ctx, g.keys.inflight(session)))
	}
	for _, name := range g.unhandled.Val() {
		g.lists = append(g.lists, pipe.ZCard(ctx, g.keys.parked(name)))
	}
}

// clockMargin is how long before its end, by the clock that was read, an hour is read: the partition's clock may be ahead of that clock.
const clockMargin = 5 * time.Second

// askHour requests the entries of the hour of the last sample, if that hour has ended.
func (g *gauge) askHour(ctx context.Context, pipe redis.Pipeliner, now time.Time) {
	text := reply(g.last.Val()).text(1)
	ms, _ := strconv.ParseInt(text, 10, 64) // if it cannot be read, it is an hour without entries
	hour, minute := time.UnixMilli(ms), now.Add(-time.Minute)
	if text == "" || hour.Equal(minute.Truncate(time.Hour)) && hour.Equal(minute.Add(clockMargin).Truncate(time.Hour)) {
		return
	}
	first, behind := strconv.FormatInt(ms, 10), strconv.FormatInt(ms+time.Hour.Milliseconds()-1, 10)
	g.entries = pipe.XRevRangeN(ctx, g.keys.minutes, behind, first, int64(time.Hour/time.Minute))
}

func (g *gauge) readHour() error {
	if g.entries == nil {
		return nil
	}
	entries, err := g.entries.Result()
	if err != nil {
		return failure("read the samples of", g.keys.minutes, err)
	}
	g.hour = append([]any{reply(g.last.Val()).text(0)}, sample.Hour(entries)...)
	return nil
}

func (g *gauge) running() (n int64) {
	for _, held := range g.held {
		n += max(held.Val()-1, 0) // one field is the session's own
	}
	if asked, all := int64(len(g.held)), int64(len(g.sessions.Val())); all > asked {
		n = n * all / asked
	}
	return n
}

func (g *gauge) parked() (n int64) {
	for _, list := range g.lists {
		n += list.Val()
	}
	return n
}

// Samples returns the samples of a queue, all partitions together.
func (s *store) Samples(ctx context.Context, queue string, from, to time.Time, step time.Duration) ([]protocol.Sample, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	n, err := s.registeredPartitions(ctx, queue)
	if err != nil {
		return nil, err
	}
	merged := map[int64]*protocol.Sample{}
	for first := 0; first < n; first += sampleSeriesTogether {
		var all []*sample.Series
		for index := first; index < min(first+sampleSeriesTogether, n); index++ {
			k := s.keys.partition(protocol.Partition{Queue: queue, Index: index})
			entered := k.minutes
			if step == time.Hour {
				entered = k.hours
			}
			all = append(all, sample.NewSeries(k.sampled, entered, from, to, step))
		}
		for pipe := s.client.Pipeline(); ; {
			for _, series := range all {
				series.Ask(ctx, pipe)
			}
			if pipe.Len() == 0 {
				break
			}
			if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
				return nil, failure("read the samples of", queue, err)
			}
			for _, series := range all {
				series.Read()
			}
		}
		for _, series := range all {
			series.MergeInto(merged)
		}
	}
	samples := make([]protocol.Sample, 0, len(merged))
	for _, one := range merged {
		samples = append(samples, *one)
	}
	slices.SortFunc(samples, func(a, b protocol.Sample) int { return a.At.Compare(b.At) })
	return samples, nil
}

// measureCall is the script call that counts what a session has measured.
func (s *store) measureCall(partition protocol.Partition, session string, m *protocol.Measured) call {
	k := s.keys.partition(partition)
	return newCall(&measureScript, []string{k.measured, k.sessions, k.callers, k.state, k.shapes}, sample.AppendMeasured([]any{session, m.Number}, m))
}
