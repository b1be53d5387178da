package redisstore

import (
	"context"
	"errors"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	leaveScript        = load("leave")
	closeSessionScript = load("close_session")
	reapScript         = load("reap")
)

// Leave removes a worker from the sleeping workers of partitions; with Pass the next one is woken in its place.
func (s *store) Leave(ctx context.Context, calls []protocol.LeaveCall) error {
	if s.bad != nil {
		return s.bad
	}
	sent := make([]call, len(calls))
	for i, c := range calls {
		k := s.keys.partition(c.Partition)
		sent[i] = newCall(&leaveScript, []string{k.idle, k.due, k.ready, k.state},
			[]any{c.Worker, flag(c.Pass), s.keys.wake()})
	}
	var failed []error
	for i, cmd := range s.runBriefly(ctx, sent...) {
		if err := cmd.Err(); err != nil {
			failed = append(failed, failure("leave the sleeping workers of", calls[i].Partition.Queue, err))
		}
	}
	return errors.Join(failed...)
}

// CloseSession ends a session that holds no job. One that holds jobs, or does not exist, is left as it is.
func (s *store) CloseSession(ctx context.Context, partition protocol.Partition, session string) error {
	if s.bad != nil {
		return s.bad
	}
	k := s.keys.partition(partition)
	cmd := s.runBriefly(ctx, newCall(&closeSessionScript, []string{k.inflight(session), k.sessions}, []any{session}))[0]
	if err := cmd.Err(); err != nil {
		return failure("close session", session, err)
	}
	return nil
}

// Reap returns the jobs of a lapsed session to their queue, unless the session was extended since it was seen. done is false while
// jobs remain: call again.
func (s *store) Reap(ctx context.Context, c protocol.ReapCall) (done bool, err error) {
	if s.bad != nil {
		return false, s.bad
	}
	k := s.keys.partition(c.Partition)
	cmd := s.run(ctx, s.client, newCall(&reapScript,
		[]string{k.inflight(c.Session), k.sessions, k.ready, k.due, k.crashes, k.open, k.schedules, k.cursors,
			k.idle, k.state, k.behind, k.owed, k.jobs, k.counters, k.runs},
		[]any{c.Session, c.Seen.UnixMilli(), c.Seed % 1_000_000, s.keys.wake()}))[0]
	answer, err := cmd.Int()
	if err != nil {
		return false, failure("reap session", c.Session, err)
	}
	return answer == 1, nil
}
