package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// How the jobs of many partitions are paged in the order of their instants. All jobs have one order: by score, then by queue, partition and member.
// OrderNewest is exactly its reverse. So a cursor is one job, no more: each partition continues behind this job, although only one partition has it,
// and the same cursor serves both orders. A job that does not move is shown exactly once, as in a page of one partition.
//
// A page first reads only members and scores, some of each partition, and merges them. Then it reads the bodies of those that belong on the page.
// It costs a command for each partition, and about six for each partition that has jobs on the page.

const (
	fewMembers    = 25 // that are read of a partition at once, at least
	maxPartitions = 50 // that have jobs on one page: each costs some six commands
)

// An orderedPager gathers one page of jobs of several partitions.
type orderedPager struct {
	client        redis.UniversalClient
	call          *protocol.JobPageCall
	newest        bool
	limit         int
	since, before float64
	cursor        jobCursor // list is the queue; an empty member: the beginning
	sources       []*orderedSource
}

// An orderedSource is the sorted set of a partition.
type orderedSource struct {
	jobReader
	queue     string
	partition int
	set       ranked
	buffer    []redis.Z  // was read, and is not on the page yet
	last      mark       // was read last
	ended     bool       // nothing is left to read
	entries   []jobEntry // those on the page, in order
}

// pageOrdered is PageJobs for a call with an Order.
func (s *store) pageOrdered(ctx context.Context, c *protocol.JobPageCall) (protocol.JobPage, error) {
	queues := c.Queues
	if len(queues) == 0 {
		queues = []string{c.Queue}
	}
	found, err := s.queues.lookUp(ctx, queues...)
	if err := cmp.Or(err, firstError(found)); err != nil {
		return protocol.JobPage{}, err
	}
	cursor, err := parseJobCursor(c.After, c.State, math.MaxInt32)
	if err == nil && (cursor.member == "") != (cursor.list == "") {
		err = protocol.InvalidCursor(c.After)
	}
	if err != nil {
		return protocol.JobPage{}, err
	}
	p := orderedPager{client: s.client, call: c, newest: c.Order == protocol.OrderNewest, limit: min(max(c.Limit, 1), protocol.MaxItems), cursor: cursor}
	p.since, p.before = boundsOf(c)
	for i, queue := range queues {
		if found[i].partitions == 0 && len(c.Queues) == 0 {
			return protocol.JobPage{}, fmt.Errorf("redisstore: queue %q: %w", queue, protocol.ErrNotFound)
		}
		for index := range found[i].partitions {
			p.add(queue, index, s.keys.partition(protocol.Partition{Queue: queue, Index: index}))
		}
	}
	page, err := p.run(ctx)
	if err != nil {
		return protocol.JobPage{}, failure("list jobs of", cmp.Or(c.Queue, strconv.Itoa(len(queues))+" queues"), err)
	}
	return page, nil
}

// add adds the sorted set of a partition.
func (p *orderedPager) add(queue string, index int, k partitionKeys) {
	key := map[string]string{protocol.JobDelayed: k.due, protocol.JobDead: k.dead, protocol.JobDone: k.kept}[p.call.State]
	if key == "" {
		return
	}
	p.sources = append(p.sources, &orderedSource{
		jobReader: jobReader{client: p.client, keys: k}, queue: queue, partition: index, set: ranked{client: p.client, key: key, reverse: p.newest},
	})
}

// run gathers the page.
func (p *orderedPager) run(ctx context.Context) (page protocol.JobPage, err error) {
	if err := p.begin(ctx); err != nil {
		return page, err
	}
	var order []*orderedSource // the source of each entry, in the order of the page
	partitions := 0
	for {
		next, err := p.next(ctx)
		if err != nil {
			return page, err
		}
		if next == nil {
			return p.read(ctx, order, false)
		}
		if len(next.entries) == 1 {
			partitions++
		}
		if len(order) == p.limit || partitions > maxPartitions {
			next.entries = next.entries[:len(next.entries)-1]
			return p.read(ctx, order, true)
		}
		order = append(order, next)
	}
}

// begin reads the first members of each partition behind the cursor.
func (p *orderedPager) begin(ctx context.Context) error {
	want := max(p.limit*2/max(len(p.sources), 1), fewMembers)
	if len(p.sources) <= 2 {
		want = p.limit + 1
	}
	for some := range slices.Chunk(p.sources, partitionsTogether) {
		pipe := p.client.Pipeline()
		read := make([]*redis.ZSliceCmd, len(some))
		for i, source := range some {
			if p.side(source) != 0 {
				read[i] = p.members(ctx, pipe, source, want)
			}
		}
		if pipe.Len() > 0 {
			if _, err := pipe.Exec(ctx); err != nil {
				return err
			}
		}
		for i, source := range some {
			if read[i] == nil {
				source.last = mark{p.cursor.score, p.cursor.member, unknownRank}
				continue
			}
			rank := unknownRank
			if p.cursor.member == "" && (p.newest && math.IsInf(p.before, 1) || !p.newest && math.IsInf(p.since, -1)) {
				rank = 0 // it was read from its beginning
			}
			p.fill(source, read[i].Val(), rank, len(read[i].Val()) == want)
		}
	}
	return nil
}

// side returns on which side of the cursor a partition is in the order of the page, for jobs of the cursor's score: 1 behind it, -1 before it, 0: it
// has the cursor's job. Without a cursor every partition is behind it.
func (p *orderedPager) side(s *orderedSource) int {
	if p.cursor.member == "" {
		return 1
	}
	side := cmp.Or(cmp.Compare(s.queue, p.cursor.list), cmp.Compare(s.partition, p.cursor.partition))
	if p.newest {
		return -side
	}
	return side
}

// members reads members of a partition that does not have the cursor's job.
func (p *orderedPager) members(ctx context.Context, pipe redis.Pipeliner, s *orderedSource, n int) *redis.ZSliceCmd {
	low, high := scoreText(p.since), "("+scoreText(p.before)
	if math.IsInf(p.before, 1) {
		high = "+inf"
	}
	if p.cursor.member != "" {
		at := scoreText(p.cursor.score)
		if p.side(s) < 0 {
			at = "(" + at
		}
		if p.newest && p.cursor.score < p.before {
			high = at
		}
		if !p.newest && p.cursor.score >= p.since {
			low = at
		}
	}
	by := &redis.ZRangeBy{Min: low, Max: high, Count: int64(n)}
	if p.newest {
		return pipe.ZRevRangeByScoreWithScores(ctx, s.set.key, by)
	}
	return pipe.ZRangeByScoreWithScores(ctx, s.set.key, by)
}

func scoreText(score float64) string { return strconv.FormatFloat(score, 'f', -1, 64) }

// fill adds members that were read to a source. rank: of the first one, if it is known. more: it may have others.
func (p *orderedPager) fill(s *orderedSource, read []redis.Z, rank int, more bool) {
	s.ended = !more
	for i, z := range read {
		if p.newest && z.Score < p.since || !p.newest && z.Score >= p.before {
			s.ended = true
			return
		}
		member, _ := z.Member.(string)
		s.last = mark{z.Score, member, unknownRank}
		if rank != unknownRank {
			s.last.rank = rank + i
		}
		if z.Score >= p.since && z.Score < p.before {
			s.buffer = append(s.buffer, z)
		}
	}
}

// next takes the next member of the page's order: it is the last entry of the source that is returned. nil: there is none.
func (p *orderedPager) next(ctx context.Context) (*orderedSource, error) {
	var first *orderedSource
	for _, s := range p.sources {
		for len(s.buffer) == 0 && !s.ended {
			read, rank, more, err := s.set.after(ctx, s.last, max(p.limit*2/len(p.sources), fewMembers))
			if err != nil {
				return nil, err
			}
			p.fill(s, read, rank, more)
		}
		if len(s.buffer) > 0 && (first == nil || p.earlier(s, first)) {
			first = s
		}
	}
	if first == nil {
		return nil, nil
	}
	z := first.buffer[0]
	member, _ := z.Member.(string)
	first.buffer = first.buffer[1:]
	first.entries = append(first.entries, jobEntry{
		id: member, state: p.call.State, list: first.set.key, member: member, score: z.Score,
		next: jobCursor{state: p.call.State, partition: first.partition, list: first.queue, member: member, score: z.Score},
	})
	return first, nil
}

// earlier reports whether the next member of a source comes before that of another one.
func (p *orderedPager) earlier(a, b *orderedSource) bool {
	c := cmp.Or(cmp.Compare(a.buffer[0].Score, b.buffer[0].Score), cmp.Compare(a.queue, b.queue), cmp.Compare(a.partition, b.partition))
	if p.newest {
		return c > 0
	}
	return c < 0
}

// read reads the jobs of the entries, partition by partition, and puts them in order. A page of long jobs is cut where the first job was not read.
func (p *orderedPager) read(ctx context.Context, order []*orderedSource, more bool) (page protocol.JobPage, err error) {
	type reading struct {
		jobs map[string]protocol.FoundJob
		read int // entries that were read
		next int // the entry that comes next in the order
	}
	readings, size := map[*orderedSource]*reading{}, 0
	for _, s := range order {
		if readings[s] != nil {
			continue
		}
		r := &reading{jobs: map[string]protocol.FoundJob{}}
		readings[s] = r
		if size > maxPageBytes {
			continue // none of them is read: the page ends before the first
		}
		var jobs []protocol.FoundJob
		if p.call.State == protocol.JobDone {
			jobs, r.read, err = s.readKept(ctx, s.entries)
		} else {
			jobs, r.read, err = s.readEntries(ctx, s.entries, wantedBy(p.call))
		}
		if err != nil {
			return page, err
		}
		for _, job := range jobs {
			size += len(job.Body) + len(job.Definition) + len(job.Result)
			job.Queue = s.queue
			r.jobs[job.ID] = job
		}
	}
	for _, s := range order {
		r := readings[s]
		if r.next == r.read {
			more = true
			break
		}
		entry := s.entries[r.next]
		r.next++
		if job, ok := r.jobs[entry.id]; ok {
			page.Jobs = append(page.Jobs, job)
		}
		page.Next = entry.next.String()
	}
	if !more {
		page.Next = ""
	}
	return page, nil
}
