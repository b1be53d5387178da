package redisstore

import (
	"cmp"
	"context"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// maxResults is how many results are read in a call: each may have 64 KiB.
const maxResults = 50

// findResults looks up what is kept of jobs that are nowhere any more. What is too much for a call is cut.
func (s *store) findResults(ctx context.Context, k partitionKeys, ids []string, found map[string]protocol.FoundJob, cut map[string]bool) error {
	if len(ids) == 0 {
		return nil
	}
	some := ids[:min(len(ids), maxResults)]
	for _, id := range ids[len(some):] {
		cut[id] = true
	}
	pipe := s.client.Pipeline()
	until, results, now := pipe.ZMScore(ctx, k.kept, some...), pipe.HMGet(ctx, k.results, some...), pipe.Time(ctx)
	cmds, err := pipe.Exec(ctx)
	if err := cmp.Or(err, complete(cmds[0], cmds[1])); err != nil {
		return err
	}
	for i, id := range some {
		text := reply(results.Val()).text(i)
		if kept := time.UnixMilli(int64(until.Val()[i])).UTC(); text != "" && now.Val().Before(kept) {
			found[id] = protocol.FoundJob{ID: id, State: protocol.JobDone, At: kept, Ended: text[0], Result: []byte(text[1:])}
		}
	}
	return nil
}

// readKept reads the results of entries of the sorted set kept; read is how many it has looked at.
func (s *store) readKept(ctx context.Context, k partitionKeys, entries []jobEntry) (jobs []protocol.FoundJob, read int, err error) {
	entries = entries[:min(len(entries), maxResults)]
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.id
	}
	found := map[string]protocol.FoundJob{}
	if err := s.findResults(ctx, k, ids, found, nil); err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		if job, ok := found[e.id]; ok {
			job.Next = e.next.String()
			jobs = append(jobs, job)
		}
	}
	return jobs, len(entries), nil
}
