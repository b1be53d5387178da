package redisstore

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// findTries is how often FindJobs searches for jobs that were in no list while workers took others.
const findTries = 5

// FindJobs looks up jobs by their IDs. It registers nothing and writes nothing.
func (s *store) FindJobs(ctx context.Context, queue string, ids []string) ([]protocol.FoundJob, error) {
	partitions, err := s.registeredPartitions(ctx, queue)
	if err != nil {
		return nil, err
	}
	groups := map[int][]string{}
	for _, id := range ids {
		if index := protocol.PartitionOf(id, partitions); !slices.Contains(groups[index], id) {
			groups[index] = append(groups[index], id)
		}
	}
	found, cut := map[string]protocol.FoundJob{}, map[string]bool{}
	for index, group := range groups {
		f := jobFinder{jobReader: s.jobs(protocol.Partition{Queue: queue, Index: index}), found: found, cut: cut}
		if err := f.find(ctx, group); err != nil {
			return nil, failure("find jobs of", queue, err)
		}
	}
	for index, group := range groups {
		gone := slices.DeleteFunc(group, func(id string) bool { return cut[id] || found[id].ID != "" })
		if err := s.jobs(protocol.Partition{Queue: queue, Index: index}).findResults(ctx, gone, found, cut); err != nil {
			return nil, failure("find results of", queue, err)
		}
	}
	var jobs []protocol.FoundJob
	for _, id := range ids {
		if cut[id] {
			break
		}
		jobs = append(jobs, found[id])
	}
	return jobs, nil
}

// jobs reads the jobs of a partition.
func (s *store) jobs(p protocol.Partition) *jobReader {
	return &jobReader{client: s.client, keys: s.keys.partition(p)}
}

// A jobFinder finds jobs of one partition by their IDs.
//
// A job is in due, in dead, in a list of parked jobs or in a session; otherwise, if it has a body, it is in ready or behind: no command
// finds quickly whether a long list contains it. The lists are read one after the other while jobs move. In this order a job
// that moves is found at one of its two places, or at both, unless a worker takes it out of due or a list of parked jobs. That take
// draws a fence: if the last fence has changed, the jobs that were not found are searched for again.
type jobFinder struct {
	*jobReader
	found map[string]protocol.FoundJob // by ID
	cut   map[string]bool              // IDs that were not read, because the others are long
}

func (f *jobFinder) find(ctx context.Context, ids []string) error {
	for try := 1; len(ids) > 0; try++ {
		l, err := f.locate(ctx, ids)
		if err != nil {
			return err
		}
		last := try == findTries || l.fence == l.fenceBefore
		var entries []jobEntry
		for _, id := range ids {
			if e, ok := l.entries[id]; ok && (last || e.list != "") {
				entries = append(entries, e)
			}
		}
		jobs, read, err := f.readEntries(ctx, entries, nil)
		if err != nil {
			return err
		}
		for _, job := range jobs {
			is := true
			if job.State == protocol.JobWaiting {
				if is, err = f.waits(ctx, &job); err != nil {
					return err
				}
			}
			if is {
				f.found[job.ID] = job
			}
		}
		for _, e := range entries[read:] {
			f.cut[e.id] = true
		}
		moved := slices.ContainsFunc(entries[:read], func(e jobEntry) bool { return e.list != "" && f.found[e.id].ID == "" })
		if try == findTries || last && !moved {
			return nil
		}
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return f.found[id].ID != "" || f.cut[id] })
	}
	return nil
}

// A location is where jobs were.
type location struct {
	entries            map[string]jobEntry // by ID; list is empty: it is in ready or behind, or in no list
	fenceBefore, fence string              // the last one drawn, before and after the search
}

// locate searches for jobs in two round trips, more if there are many sessions or lists of parked jobs.
func (f *jobFinder) locate(ctx context.Context, ids []string) (location, error) {
	k := f.keys
	pipe := f.client.Pipeline()
	fence := pipe.HMGet(ctx, k.state, "fence")
	now, sessions, parked := pipe.Time(ctx), pipe.ZRangeWithScores(ctx, k.sessions, 0, -1), pipe.ZRange(ctx, k.unhandled, 0, -1)
	cmds, err := pipe.Exec(ctx)
	if err := cmp.Or(err, complete(cmds...)); err != nil {
		return location{}, err
	}
	l := location{entries: map[string]jobEntry{}, fenceBefore: reply(fence.Val()).text(0)}
	if err := f.lookInSessions(ctx, sessions.Val(), now.Val(), ids, &l); err != nil {
		return location{}, err
	}
	if err := f.lookInParked(ctx, parked.Val(), ids, &l); err != nil {
		return location{}, err
	}
	due, err := f.scores(ctx, k.due, ids)
	if err != nil {
		return location{}, err
	}
	dead, err := f.scores(ctx, k.dead, ids)
	if err != nil {
		return location{}, err
	}
	for i, id := range ids {
		_, found := l.entries[id]
		switch {
		case found:
		case due[i] != 0:
			l.entries[id] = jobEntry{id: id, state: protocol.JobDelayed, list: k.due, member: id, score: due[i]}
		case dead[i] != 0:
			l.entries[id] = jobEntry{id: id, state: protocol.JobDead, list: k.dead, member: id, score: dead[i]}
		default:
			l.entries[id] = jobEntry{id: id, state: protocol.JobWaiting} // if there is such a job at all
		}
	}
	fence = f.client.HMGet(ctx, k.state, "fence")
	l.fence = reply(fence.Val()).text(0)
	return l, cmp.Or(fence.Err(), complete(fence))
}

// scores reads the scores of members of a sorted set; 0: it has no such member.
func (j *jobReader) scores(ctx context.Context, key string, members []string) ([]float64, error) {
	scores := j.client.ZMScore(ctx, key, members...)
	return scores.Val(), cmp.Or(scores.Err(), complete(scores))
}

// together returns how many commands with this many IDs go in one round trip; see maxTogether.
func together(ids int) int { return max(maxTogether/protocol.MaxStoredID*2/ids, 1) }

// lookInSessions searches the sessions.
func (f *jobFinder) lookInSessions(ctx context.Context, all []redis.Z, now time.Time, ids []string, l *location) error {
	sessions, gone := lapsedSessions(all, now)
	fields := append([]string{self}, ids...)
	for some := range slices.Chunk(sessions, together(len(fields))) {
		pipe := f.client.Pipeline()
		held := make([]*redis.SliceCmd, len(some))
		for i, session := range some {
			held[i] = pipe.HMGet(ctx, f.keys.inflight(session), fields...)
		}
		cmds, err := pipe.Exec(ctx)
		if err := cmp.Or(err, complete(cmds...)); err != nil {
			return err
		}
		for i, session := range some {
			values := reply(held[i].Val())
			for j, id := range ids {
				if value := values.text(j + 1); value != "" {
					l.entries[id] = jobEntry{id: id, state: heldState(value), list: f.keys.inflight(session), member: id, held: value, worker: workerOf(values.text(0)), gone: gone[session]}
				}
			}
		}
	}
	return nil
}

// lookInParked searches the lists of parked jobs, which may be a thousand, and the shared list for the names of the jobs.
func (f *jobFinder) lookInParked(ctx context.Context, lists, ids []string, l *location) error {
	for some := range slices.Chunk(lists, together(2*len(ids))) {
		pipe := f.client.Pipeline()
		members, scores := make([][]string, len(some)), make([]*redis.FloatSliceCmd, len(some))
		for i, list := range some {
			members[i] = ids
			if list == sharedParked {
				members[i] = nil
				for _, id := range ids {
					some, _, err := f.sharedMembers(ctx, id)
					if err != nil {
						return err
					}
					members[i] = append(members[i], some...)
				}
			}
			scores[i] = pipe.ZMScore(ctx, f.keys.parked(list), members[i]...)
		}
		cmds, err := pipe.Exec(ctx)
		if err := cmp.Or(err, complete(cmds...)); err != nil {
			return err
		}
		for i, list := range some {
			for j, score := range scores[i].Val() {
				member := members[i][j]
				id := parkedID(list, member)
				if _, held := l.entries[id]; score != 0 && !held {
					l.entries[id] = jobEntry{id: id, state: protocol.JobParked, list: f.keys.parked(list), member: member, score: score}
				}
			}
		}
	}
	return nil
}

var definedJob = regexp.MustCompile(`"job":"([A-Za-z0-9_.:-]{1,100})"`)

// nameOf returns the job name of a body. Every version writes it at the same place: after the version's byte, the first text of an
// array in msgpack. Empty: there is no name.
func nameOf(body string) string {
	if len(body) < 3 || body[1]&0xf0 != 0x90 {
		return ""
	}
	from, n := 3, int(body[2]&0x1f)
	switch {
	case body[2] == 0xd9 && len(body) > 3:
		from, n = 4, int(body[3])
	case body[2]&0xe0 != 0xa0:
		return ""
	}
	if from+n > len(body) || protocol.CheckName("name", body[from:from+n]) != nil {
		return ""
	}
	return strings.Clone(body[from : from+n])
}

// readyPeek is how deep ready is searched for an occurrence without a body: such an occurrence is only added at the front.
const readyPeek = 10_000

// waits reports whether a job that is in no other list waits in ready, in line or behind another one. A job with a body does. Without a body only
// an occurrence can wait, and then it is in one of these.
func (f *jobFinder) waits(ctx context.Context, job *protocol.FoundJob) (bool, error) {
	if len(job.Body) > 0 {
		return true, nil
	}
	schedule, instant, ok := protocol.CutOccurrence(job.ID)
	if !ok {
		return false, nil
	}
	member := "[" + schedule + "\t" + instant
	behind, err := f.client.ZRangeByLex(ctx, f.keys.behind, &redis.ZRangeBy{Min: member, Max: member, Count: 1}).Result()
	if err != nil || len(behind) > 0 {
		return len(behind) > 0, err
	}
	lined, err := f.inLine(ctx, []string{job.ID})
	if err != nil || lined[0] {
		return err == nil, err
	}
	_, err = f.client.LPos(ctx, f.keys.ready, job.ID, redis.LPosArgs{MaxLen: readyPeek}).Result()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, err
}

const queuesTogether = 50 // read in a round trip

// QueuesOf returns the queues that may have a job of this ID: the job has a body there, its schedule lives or has lived on the queue, or
// the job is kept there as a dead job or a result. It writes nothing.
func (s *store) QueuesOf(ctx context.Context, id string, queues []string) ([]string, error) {
	found, err := s.queues.lookUp(ctx, queues...)
	if err := cmp.Or(err, firstError(found)); err != nil {
		return nil, err
	}
	schedule, _, occurrence := protocol.CutOccurrence(id)
	var having []string
	for some := range slices.Chunk(queues, queuesTogether) {
		pipe := s.client.Pipeline()
		exist, scores := make([][]*redis.BoolCmd, len(some)), make([][]*redis.FloatSliceCmd, len(some))
		for i, queue := range some {
			n := found[i].partitions
			if n == 0 {
				continue // it was deleted meanwhile
			}
			k := s.keys.partition(protocol.Partition{Queue: queue, Index: protocol.PartitionOf(id, n)})
			exist[i] = append(exist[i], pipe.HExists(ctx, k.jobs, id))
			scores[i] = append(scores[i], pipe.ZMScore(ctx, k.dead, id), pipe.ZMScore(ctx, k.kept, id))
			if occurrence {
				exist[i] = append(exist[i], pipe.HExists(ctx, k.schedules, schedule))
				scores[i] = append(scores[i], pipe.ZMScore(ctx, k.gone, schedule))
			}
		}
		found = found[len(some):]
		if pipe.Len() == 0 {
			continue
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, failure("find the queue of job", id, err)
		}
		for i, queue := range some {
			if slices.ContainsFunc(exist[i], func(c *redis.BoolCmd) bool { return c.Val() }) ||
				slices.ContainsFunc(scores[i], func(c *redis.FloatSliceCmd) bool { return len(c.Val()) > 0 && c.Val()[0] != 0 }) {
				having = append(having, queue)
			}
		}
	}
	return having, nil
}
