package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// How the jobs of a queue are paged. Each page continues after a job, not after a number of jobs. So a job that does not move is shown
// exactly once, whatever changes before it. Partitions come one after the other: to merge them by instant, each page has to read all.
//
//	delayed, dead, done  the sorted sets due, dead and kept, see jobs_page_ranked.go
//	parked           the lists of the job names in the order of the names, each a sorted set
//	waiting          ready from the front, see jobs_page_waiting.go; then line and behind, each in the order of its members
//	running, taken   the sessions in the order of their names; what a session holds in the order of the fences
//
// A call with an Order is different: it merges the sorted sets of all partitions, see jobs_page_ordered.go.
//
// A page is a few small commands in a few round trips. None costs the server more than about 4 ms. The most expensive one searches 300,000
// waiting jobs for the last one shown, if that job has moved by more than a page.

const (
	maxPageLists      = 100 // lists of parked jobs read in a call
	maxPageSessions   = 500 // sessions read in a call
	maxPagePartitions = 200 // partitions that are counted in order to skip the empty ones
	sessionsTogether  = 25  // in a round trip
	// partitionsTogether is how many are counted in a round trip.
	partitionsTogether = 16
)

// behindList is the list name of a cursor in the occurrences that wait behind another one.
const behindList = "behind"

// PageJobs returns the next jobs of a queue in one state. It registers nothing and writes nothing.
func (s *store) PageJobs(ctx context.Context, c protocol.JobPageCall) (protocol.JobPage, error) {
	if c.Order != "" {
		return s.pageOrdered(ctx, &c)
	}
	partitions, err := s.registeredPartitions(ctx, c.Queue)
	if err != nil {
		return protocol.JobPage{}, err
	}
	cursor, err := parseJobCursor(c.After, c.State, partitions)
	if err != nil {
		return protocol.JobPage{}, err
	}
	p := &jobPager{jobReader: jobReader{client: s.client}, space: s.keys, call: &c, cursor: cursor, limit: min(max(c.Limit, 1), protocol.MaxItems)}
	p.since, p.before = boundsOf(&c)
	if err := p.run(ctx, partitions); err != nil {
		return protocol.JobPage{}, failure("list jobs of", c.Queue, err)
	}
	return p.page, nil
}

// boundsOf returns the scores of a page, in Unix ms: from since, before before.
func boundsOf(c *protocol.JobPageCall) (since, before float64) {
	since, before = math.Inf(-1), math.Inf(1)
	if !c.Since.IsZero() {
		since = float64(c.Since.UnixNano()) / 1e6
	}
	if !c.Before.IsZero() {
		before = float64(c.Before.UnixNano()) / 1e6
	}
	return since, before
}

// registeredPartitions returns the number of partitions of a queue, ErrNotFound if it is not registered.
func (s *store) registeredPartitions(ctx context.Context, queue string) (int, error) {
	found, err := s.queues.lookUp(ctx, queue)
	if err := cmp.Or(err, firstError(found)); err != nil {
		return 0, err
	}
	if found[0].partitions == 0 {
		return 0, fmt.Errorf("redisstore: queue %q: %w", queue, protocol.ErrNotFound)
	}
	return found[0].partitions, nil
}

// Newest returns the cursor after which the n newest dead jobs are.
func (s *store) Newest(ctx context.Context, queue string, n int) (after string, before time.Time, err error) {
	partitions, err := s.registeredPartitions(ctx, queue)
	if err != nil || partitions > 1 {
		return "", time.Time{}, err
	}
	k := s.keys.partition(protocol.Partition{Queue: queue})
	pipe := s.client.Pipeline()
	found, dead := pipe.ZRangeWithScores(ctx, k.dead, -int64(n)-1, -int64(n)-1), pipe.ZCard(ctx, k.dead)
	if _, err := pipe.Exec(ctx); err != nil {
		return "", time.Time{}, failure("find the newest dead jobs of", queue, err)
	}
	for _, z := range found.Val() {
		member, _ := z.Member.(string)
		cursor := jobCursor{state: protocol.JobDead, member: member, score: z.Score, at: max(int(dead.Val())-n-1, 0)}
		after, before = cursor.String(), time.UnixMilli(int64(max(-1e14, min(z.Score, 1e14)))).UTC()
	}
	return after, before, nil
}

// A jobPager gathers one page.
type jobPager struct {
	jobReader // of the cursor's partition
	space     keyspace
	call      *protocol.JobPageCall
	cursor    jobCursor // the position so far
	limit     int       // jobs that it may still take
	before    float64   // Unix ms: where it ends in a sorted set
	since     float64   // Unix ms: where it begins there
	page      protocol.JobPage
}

// run reads partitions, beginning with the cursor's, until the page is full. The page's Next is empty if nothing is left.
func (p *jobPager) run(ctx context.Context, partitions int) error {
	for {
		p.keys = p.space.partition(protocol.Partition{Queue: p.call.Queue, Index: p.cursor.partition})
		exhausted, err := p.readPartition(ctx)
		if err != nil {
			return err
		}
		if exhausted {
			filled, err := p.nextPartition(ctx, partitions)
			if err != nil || p.cursor.partition == partitions {
				return err
			}
			exhausted = filled && p.limit > 0
		}
		if !exhausted {
			p.page.Next = p.cursor.String()
			return nil
		}
	}
}

// nextPartition moves the cursor to the next partition that is not empty or not counted: filled has the counts. After the
// last partition the cursor is at the number of partitions.
func (p *jobPager) nextPartition(ctx context.Context, partitions int) (filled bool, err error) {
	from := p.cursor.partition + 1
	to := min(from+maxPagePartitions, partitions)
	for ; from < to; from += partitionsTogether {
		pipe := p.client.Pipeline()
		var sizes [partitionsTogether][]*redis.IntCmd
		for i := range min(partitionsTogether, to-from) {
			sizes[i] = p.size(ctx, pipe, p.space.partition(protocol.Partition{Queue: p.call.Queue, Index: from + i}))
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return false, err
		}
		for i, counts := range sizes {
			if slices.ContainsFunc(counts, func(n *redis.IntCmd) bool { return n.Val() > 0 }) {
				p.cursor = jobCursor{state: p.call.State, partition: from + i}
				return true, nil
			}
		}
	}
	p.cursor = jobCursor{state: p.call.State, partition: to}
	return false, nil
}

// size reads the lengths of the lists of the page's state in a partition.
func (p *jobPager) size(ctx context.Context, pipe redis.Pipeliner, k partitionKeys) []*redis.IntCmd {
	switch p.call.State {
	case protocol.JobDelayed:
		return []*redis.IntCmd{pipe.ZCard(ctx, k.due)}
	case protocol.JobDead:
		return []*redis.IntCmd{pipe.ZCard(ctx, k.dead)}
	case protocol.JobDone:
		return []*redis.IntCmd{pipe.ZCard(ctx, k.kept)}
	case protocol.JobParked:
		return []*redis.IntCmd{pipe.ZCard(ctx, k.unhandled)}
	case protocol.JobWaiting:
		return []*redis.IntCmd{pipe.LLen(ctx, k.ready), pipe.ZCard(ctx, k.line), pipe.ZCard(ctx, k.behind)}
	}
	return []*redis.IntCmd{pipe.ZCard(ctx, k.sessions)}
}

// readPartition reads the cursor's partition from the cursor on. exhausted: nothing more is in it.
func (p *jobPager) readPartition(ctx context.Context) (exhausted bool, err error) {
	switch p.call.State {
	case protocol.JobDelayed:
		return p.readSet(ctx, p.keys.due, "", func(member string) string { return member })
	case protocol.JobDead:
		return p.readSet(ctx, p.keys.dead, "", func(member string) string { return member })
	case protocol.JobDone:
		return p.readSet(ctx, p.keys.kept, "", func(member string) string { return member })
	case protocol.JobParked:
		return p.readParked(ctx)
	case protocol.JobWaiting:
		return p.readWaiting(ctx)
	case protocol.JobRunning, protocol.JobTaken:
		return p.readSessions(ctx)
	}
	return true, nil
}

// take adds the jobs of entries to the page and moves the cursor after them. more reports whether their list has others. exhausted: the page
// has all of the list.
func (p *jobPager) take(ctx context.Context, entries []jobEntry, more bool) (exhausted bool, err error) {
	if len(entries) == 0 {
		return !more, nil
	}
	var jobs []protocol.FoundJob
	var read int
	if p.call.State == protocol.JobDone {
		jobs, read, err = p.readKept(ctx, entries)
	} else {
		jobs, read, err = p.readEntries(ctx, entries, wantedBy(p.call))
	}
	if err != nil {
		return false, err
	}
	p.page.Jobs = append(p.page.Jobs, jobs...)
	p.cursor = entries[read-1].next
	p.limit -= read
	return read == len(entries) && !more, nil
}

// wantedBy returns which jobs belong on a page, as far as their bodies show.
func wantedBy(c *protocol.JobPageCall) wantedJobs {
	name, group, text, tried := c.Name, c.Group, c.Error, c.Tried && c.State == protocol.JobDelayed
	if strings.ContainsAny(text, "\\\uFFFD") { // the text in a body may differ from the text that is shown
		text = ""
	}
	if name == "" && group == "" && text == "" && !tried {
		return nil
	}
	return func(body string, crashes int) bool {
		if body == "" {
			return crashes > 0 || !tried // an occurrence has one from its first retry on
		}
		is := nameOf(body)
		return (name == "" || is == "" || is == name) && strings.Contains(body, text) && strings.Contains(body, group)
	}
}

// readSet reads a sorted set from the cursor on.
func (p *jobPager) readSet(ctx context.Context, key, list string, idOf func(member string) string) (exhausted bool, err error) {
	set, rank := ranked{client: p.client, key: key}, 0
	var page []redis.Z
	var more bool
	switch {
	case p.cursor.member == "" && math.IsInf(p.since, -1):
		page, more, err = set.first(ctx, p.limit)
	case p.cursor.member == "":
		page, rank, more, err = set.after(ctx, mark{score: math.Nextafter(p.since, math.Inf(-1)), member: lastMember}, p.limit)
	default:
		page, rank, more, err = set.after(ctx, mark{p.cursor.score, p.cursor.member, p.cursor.at}, p.limit)
	}
	if err != nil {
		return false, err
	}
	if end := slices.IndexFunc(page, func(z redis.Z) bool { return z.Score >= p.before }); end >= 0 {
		page, more = page[:end], false
	}
	entries := make([]jobEntry, len(page))
	for i, z := range page {
		member, _ := z.Member.(string)
		entries[i] = jobEntry{
			id: idOf(member), state: p.call.State, list: key, member: member, score: z.Score,
			next: jobCursor{state: p.call.State, partition: p.cursor.partition, list: list, member: member, score: z.Score, at: rank + i},
		}
	}
	return p.take(ctx, entries, more)
}

// readParked reads the lists of parked jobs from the cursor on.
func (p *jobPager) readParked(ctx context.Context) (exhausted bool, err error) {
	names, err := p.client.ZRange(ctx, p.keys.unhandled, 0, -1).Result()
	if err != nil {
		return false, err
	}
	slices.Sort(names)
	names = slices.DeleteFunc(names, func(name string) bool {
		return name < p.cursor.list || p.call.Name != "" && name != sharedParked && strings.TrimPrefix(name, unreadableParked) != p.call.Name
	})
	for i, name := range names {
		if i == maxPageLists || p.limit == 0 {
			return false, nil
		}
		if name != p.cursor.list {
			p.cursor = jobCursor{state: p.call.State, partition: p.cursor.partition, list: name}
		}
		exhausted, err := p.readSet(ctx, p.keys.parked(name), name, func(member string) string { return parkedID(name, member) })
		if err != nil || !exhausted {
			return false, err
		}
	}
	return true, nil
}

// unreadableParked begins the names of lists of jobs that a worker has a handler for but cannot read.
const unreadableParked = "~"

// parkedID returns the job ID in a member of a list of parked jobs.
func parkedID(list, member string) string {
	if _, id, ok := strings.Cut(member, "\t"); ok && list == sharedParked {
		return id
	}
	return member
}

// readSessions reads the jobs of the sessions, from the cursor on.
func (p *jobPager) readSessions(ctx context.Context) (exhausted bool, err error) {
	pipe := p.client.Pipeline()
	now, sessions := pipe.Time(ctx), pipe.ZRangeWithScores(ctx, p.keys.sessions, 0, -1)
	if _, err := pipe.Exec(ctx); err != nil {
		return false, err
	}
	names, gone := lapsedSessions(sessions.Val(), now.Val())
	names = slices.DeleteFunc(names, func(name string) bool {
		return name < p.cursor.list || name == p.cursor.list && math.IsInf(p.cursor.score, 1)
	})
	left := maxPageSessions
	for some := range slices.Chunk(names, sessionsTogether) {
		if left <= 0 || p.limit == 0 {
			return false, nil
		}
		left -= len(some)
		holders, err := p.readHolders(ctx, some, gone)
		if err != nil {
			return false, err
		}
		var entries []jobEntry
		for _, h := range holders {
			entries = append(entries, p.heldEntries(h)...)
		}
		more := len(entries) > p.limit
		exhausted, err := p.take(ctx, entries[:min(len(entries), p.limit)], more)
		if err != nil || !exhausted {
			return false, err
		}
		p.cursor = jobCursor{state: p.call.State, partition: p.cursor.partition, list: some[len(some)-1], score: math.Inf(1)}
	}
	return true, nil
}

// heldEntries returns the entries of a session after the cursor, in the order in which the jobs were taken.
func (p *jobPager) heldEntries(h holder) []jobEntry {
	var entries []jobEntry
	for id, value := range h.held {
		fence, _, _ := parseHeld(value)
		score := float64(fence)
		behind := h.session != p.cursor.list || score > p.cursor.score || score == p.cursor.score && id > p.cursor.member
		if state := heldState(value); state == p.call.State && behind {
			entries = append(entries, jobEntry{
				id: id, state: state, list: p.keys.inflight(h.session), member: id, held: value, worker: h.worker, gone: h.gone,
				next: jobCursor{state: state, partition: p.cursor.partition, list: h.session, member: id, score: score},
			})
		}
	}
	slices.SortFunc(entries, func(a, b jobEntry) int {
		return cmp.Or(cmp.Compare(a.next.score, b.next.score), cmp.Compare(a.id, b.id))
	})
	return entries
}
