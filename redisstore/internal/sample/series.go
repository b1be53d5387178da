package sample

import (
	"context"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	entriesTogether = 500 // read in a round trip
	// The entries of a range with at most this many steps, and the entry before them, are read with one command. If values rarely change, it reads older entries too.
	shortRange = 100
)

// A Series reads the samples of one partition: first the range of sampled minutes and the newest entry before the requested range, then
// some hundred requested entries at a time. Call Ask, run the pipeline and call Read until Ask adds no command. Then call MergeInto.
type Series struct {
	sampled  string // key of the hash with the range of sampled minutes
	entered  string // key of the stream of entries
	step     int64  // ms
	from, to int64  // Unix ms; the first, and the end (exclusive)

	looked       *redis.SliceCmd
	back         *redis.XMessageSliceCmd // of a short range: all entries and the one before, newest first
	before, page *redis.XMessageSliceCmd // of a longer one
	done         bool

	since, until int64 // the first sampled step, and the end (exclusive)
	entries      []protocol.Sample
	anchor       *protocol.Sample // the newest entry before
}

// NewSeries returns the series of a partition whose hash is at the key sampled and whose entries, one a step, are in the stream at the key
// entered.
func NewSeries(sampled, entered string, from, to time.Time, step time.Duration) *Series {
	s := &Series{sampled: sampled, entered: entered, step: step.Milliseconds()}
	s.from, s.to = ceilTo(from.UnixMilli(), s.step), ceilTo(to.UnixMilli(), s.step)
	return s
}

// ceilTo returns the first non-negative multiple of step that is not below ms.
func ceilTo(ms, step int64) int64 { return (max(ms, 0) + step - 1) / step * step }

// Ask adds the next read commands to a pipeline; none if everything was read.
func (s *Series) Ask(ctx context.Context, pipe redis.Pipeliner) {
	if s.done || s.from >= s.to {
		s.done = true
		return
	}
	next := s.from
	if s.looked == nil {
		s.looked = pipe.HMGet(ctx, s.sampled, "since", "minute")
		if steps := (s.to - s.from) / s.step; steps <= shortRange { // an entry is the only one of its step
			s.back = pipe.XRevRangeN(ctx, s.entered, strconv.FormatInt(s.to-1, 10), "-", steps+1)
			return
		}
		s.before = pipe.XRevRangeN(ctx, s.entered, strconv.FormatInt(s.from-1, 10), "-", 1)
	} else if n := len(s.entries); n > 0 {
		next = s.entries[n-1].At.UnixMilli() + s.step
	}
	s.page = pipe.XRangeN(ctx, s.entered, strconv.FormatInt(next, 10), strconv.FormatInt(s.to-1, 10), entriesTogether)
}

// Read reads the answers of the pipeline.
func (s *Series) Read() {
	if s.done {
		return
	}
	if s.anchor == nil && s.entries == nil {
		first, last := numberAt(s.looked.Val(), 0), numberAt(s.looked.Val(), 1)
		s.since = ceilTo(first, s.step)
		if textAt(s.looked.Val(), 0) == "" {
			s.since = s.to // nothing was sampled
		}
		s.until = last
		if s.step == time.Minute.Milliseconds() {
			s.until += s.step
		}
		s.until -= s.until % s.step // the current hour is not written yet
	}
	if s.back != nil {
		s.readBack()
		return
	}
	if s.anchor == nil && s.entries == nil {
		for _, message := range s.before.Val() {
			if entry, ok := Parse(message); ok {
				s.anchor = &entry
			}
		}
	}
	for _, message := range s.page.Val() {
		if entry, ok := Parse(message); ok {
			s.entries = append(s.entries, entry)
		}
	}
	s.done = len(s.page.Val()) < entriesTogether || len(s.entries) == 0
}

// readBack reads the answer for a short range.
func (s *Series) readBack() {
	s.done = true
	for _, message := range s.back.Val() {
		switch entry, ok := Parse(message); {
		case !ok:
		case entry.At.UnixMilli() >= s.from:
			s.entries = append(s.entries, entry)
		case s.anchor == nil:
			s.anchor = &entry
		}
	}
	slices.Reverse(s.entries)
}

// MergeInto adds the samples to those of other partitions. Between two entries nothing has changed, except what the later one covers.
func (s *Series) MergeInto(all map[int64]*protocol.Sample) {
	depths, at := protocol.Sample{}, max(s.since, s.from) // of the partition before at
	if s.anchor != nil {
		depths = *s.anchor
		at = s.from
		depths.Oldest += since(depths.Oldest, s.from-s.anchor.At.UnixMilli()-s.step)
	}
	idle := func(until int64) {
		for ; at < min(until, s.to); at += s.step {
			depths.Oldest += since(depths.Oldest, s.step)
			merge(all, at, &protocol.Sample{
				Covers: 1, Waiting: depths.Waiting, Delayed: depths.Delayed, Running: depths.Running, Parked: depths.Parked, Dead: depths.Dead, Oldest: depths.Oldest,
			})
		}
	}
	for i := range s.entries {
		entry := &s.entries[i]
		ms := entry.At.UnixMilli()
		idle(ms - int64(entry.Covers-1)*s.step)
		merge(all, ms, entry)
		depths, at = *entry, ms+s.step
	}
	idle(s.until)
}

// textAt returns the i-th value of an HMGET; empty: there is no value.
func textAt(values []any, i int) string {
	if i < len(values) {
		if text, ok := values[i].(string); ok {
			return text
		}
	}
	return ""
}

// numberAt returns the number in that text, or 0 if it is not a number.
func numberAt(values []any, i int) int64 {
	n, _ := strconv.ParseInt(textAt(values, i), 10, 64)
	return n
}

// since returns by how much the age of the oldest job grows: ms, or 0 if there is no such job.
func since(oldest time.Duration, ms int64) time.Duration {
	if oldest == 0 {
		return 0
	}
	return time.Duration(max(ms, 0)) * time.Millisecond
}

func merge(all map[int64]*protocol.Sample, at int64, one *protocol.Sample) {
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

// mergeNames keeps the names in order, at most MaxMeasured in addition to OtherNames.
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
