package redisstore

import (
	"context"
	"errors"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	sampleSeriesTogether = 50  // partitions whose samples are read in a round trip
	samplesTogether      = 500 // entries of a partition
)

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
		var all []*sampleSeries
		for index := first; index < min(first+sampleSeriesTogether, n); index++ {
			all = append(all, newSampleSeries(s.keys.partition(protocol.Partition{Queue: queue, Index: index}), from, to, step))
		}
		for pipe := s.client.Pipeline(); ; {
			for _, series := range all {
				series.ask(ctx, pipe)
			}
			if pipe.Len() == 0 {
				break
			}
			if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
				return nil, failure("read the samples of", queue, err)
			}
			for _, series := range all {
				series.read()
			}
		}
		for _, series := range all {
			series.mergeInto(merged)
		}
	}
	samples := make([]protocol.Sample, 0, len(merged))
	for _, sample := range merged {
		samples = append(samples, *sample)
	}
	slices.SortFunc(samples, func(a, b protocol.Sample) int { return a.At.Compare(b.At) })
	return samples, nil
}

// A sampleSeries is one partition's samples, as they are read: first which minutes were looked at and the newest entry before those
// that are asked for, then these, some hundred at a time.
type sampleSeries struct {
	keys     partitionKeys
	key      string
	step     int64 // ms
	from, to int64 // Unix ms; the first, and behind the last

	looked       *redis.SliceCmd
	before, page *redis.XMessageSliceCmd
	done         bool

	since, until int64 // the first step that was looked at, and behind the last
	entries      []protocol.Sample
	anchor       *protocol.Sample // the newest entry before
}

func newSampleSeries(keys partitionKeys, from, to time.Time, step time.Duration) *sampleSeries {
	s := &sampleSeries{keys: keys, key: keys.minutes, step: step.Milliseconds()}
	if step == time.Hour {
		s.key = keys.hours
	}
	s.from, s.to = ceilTo(from.UnixMilli(), s.step), ceilTo(to.UnixMilli(), s.step)
	return s
}

// ceilTo returns the first multiple of step, from 0 on, that is not below ms.
func ceilTo(ms, step int64) int64 { return (max(ms, 0) + step - 1) / step * step }

func (s *sampleSeries) ask(ctx context.Context, pipe redis.Pipeliner) {
	if s.done || s.from >= s.to {
		s.done = true
		return
	}
	next := s.from
	if s.looked == nil {
		s.looked = pipe.HMGet(ctx, s.keys.sampled, "since", "minute")
		s.before = pipe.XRevRangeN(ctx, s.key, strconv.FormatInt(s.from-1, 10), "-", 1)
	} else if n := len(s.entries); n > 0 {
		next = s.entries[n-1].At.UnixMilli() + s.step
	}
	s.page = pipe.XRangeN(ctx, s.key, strconv.FormatInt(next, 10), strconv.FormatInt(s.to-1, 10), samplesTogether)
}

func (s *sampleSeries) read() {
	if s.done {
		return
	}
	if s.anchor == nil && s.entries == nil {
		looked := reply(s.looked.Val())
		s.since = ceilTo(looked.number(0), s.step)
		if looked.text(0) == "" {
			s.since = s.to // nobody has looked
		}
		s.until = looked.number(1)
		if s.step == time.Minute.Milliseconds() {
			s.until += s.step
		}
		s.until -= s.until % s.step // the hour under way is not written yet
		for _, message := range s.before.Val() {
			if entry, ok := parseSample(message); ok {
				s.anchor = &entry
			}
		}
	}
	for _, message := range s.page.Val() {
		if entry, ok := parseSample(message); ok {
			s.entries = append(s.entries, entry)
		}
	}
	s.done = len(s.page.Val()) < samplesTogether || len(s.entries) == 0
}

// mergeInto adds the samples to those of other partitions. Between two entries, but for what the later one covers, nothing has changed.
func (s *sampleSeries) mergeInto(all map[int64]*protocol.Sample) {
	stands, at := protocol.Sample{}, max(s.since, s.from) // how the partition stood before at
	if s.anchor != nil {
		stands = *s.anchor
		at = s.from
		stands.Oldest += since(stands.Oldest, s.from-s.anchor.At.UnixMilli()-s.step)
	}
	idle := func(until int64) {
		for ; at < min(until, s.to); at += s.step {
			stands.Oldest += since(stands.Oldest, s.step)
			mergeSample(all, at, &protocol.Sample{
				Covers: 1, Waiting: stands.Waiting, Delayed: stands.Delayed, Running: stands.Running, Parked: stands.Parked, Dead: stands.Dead, Oldest: stands.Oldest,
			})
		}
	}
	for i := range s.entries {
		entry := &s.entries[i]
		ms := entry.At.UnixMilli()
		idle(ms - int64(entry.Covers-1)*s.step)
		mergeSample(all, ms, entry)
		stands, at = *entry, ms+s.step
	}
	idle(s.until)
}

// since is how much older something gets that is there.
func since(oldest time.Duration, ms int64) time.Duration {
	if oldest == 0 {
		return 0
	}
	return time.Duration(max(ms, 0)) * time.Millisecond
}

func mergeSample(all map[int64]*protocol.Sample, at int64, one *protocol.Sample) {
	to := all[at]
	if to == nil {
		to = &protocol.Sample{At: time.UnixMilli(at).UTC()}
		all[at] = to
	}
	to.Covers = max(to.Covers, one.Covers)
	to.Oldest = max(to.Oldest, one.Oldest)
	for i, n := range numbersOf(one) {
		*numbersOf(to)[i] += *n
	}
	to.Lateness.Merge(&one.Lateness)
	to.Wait.Merge(&one.Wait)
	to.Run.Merge(&one.Run)
	mergeNames(to, one.Names)
}

// mergeNames keeps the names in order, and at most MaxMeasured besides OtherNames.
func mergeNames(to *protocol.Sample, names []protocol.MeasuredName) {
	for _, name := range names {
		find := func(wanted string) (int, bool) {
			i := sort.Search(len(to.Names), func(i int) bool { return to.Names[i].Name >= wanted })
			return i, i < len(to.Names) && to.Names[i].Name == wanted
		}
		i, known := find(name.Name)
		if _, others := find(protocol.OtherNames); !known && name.Name != protocol.OtherNames && len(to.Names) >= protocol.MaxMeasured+counted(others) {
			name.Name = protocol.OtherNames
			i, known = find(name.Name)
		}
		if !known {
			to.Names = slices.Insert(to.Names, i, name)
			continue
		}
		to.Names[i].Done += name.Done
		to.Names[i].Failed += name.Failed
		to.Names[i].Run.Merge(&name.Run)
	}
}

func counted(one bool) int {
	if one {
		return 1
	}
	return 0
}
