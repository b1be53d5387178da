package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/redisstore/internal/sample"
)

var (
	leaveScript        = scripts.Load("workers/leave")
	closeSessionScript = scripts.Load("sessions/close_session")
	reapScript         = scripts.Load("sessions/reap")
)

// Leave removes a worker from the sleeping workers of partitions; the next one is woken if a job may start now.
func (s *store) Leave(ctx context.Context, calls []protocol.LeaveCall) error {
	if s.bad != nil {
		return s.bad
	}
	sent := make([]call, len(calls))
	for i, c := range calls {
		k := s.keys.partition(c.Partition)
		sent[i] = newCall(&leaveScript, []string{k.idle, k.due, k.ready, k.state, k.turns, k.opens},
			[]any{c.Worker, s.keys.wake()})
	}
	var failed []error
	for i, cmd := range s.runBriefly(ctx, sent...) {
		if err := cmd.Err(); err != nil {
			failed = append(failed, failure("leave the sleeping workers of", calls[i].Partition.Queue, err))
		}
	}
	return errors.Join(failed...)
}

// CloseSession ends a session that holds no job. It does not change one that holds jobs or does not exist.
func (s *store) CloseSession(ctx context.Context, partition protocol.Partition, session string, measured *protocol.Measured) error {
	if s.bad != nil {
		return s.bad
	}
	k := s.keys.partition(partition)
	args := []any{session, "1"} // without its last measurements
	if measured != nil {
		args = sample.AppendMeasured([]any{session, flag(measured.Number > 1)}, measured)
	}
	cmd := s.runBriefly(ctx, newCall(&closeSessionScript, []string{k.inflight(session), k.sessions, k.callers, k.measured, k.state, k.shapes}, args))[0]
	if err := cmd.Err(); err != nil {
		return failure("close session", session, err)
	}
	return nil
}

// Lapsed returns the sessions past their lapse, at most MaxLapsed. It writes nothing.
func (s *store) Lapsed(ctx context.Context, partition protocol.Partition) ([]protocol.LapsedSession, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	now, err := s.client.Time(ctx).Result()
	if err != nil {
		return nil, failure("find lapsed sessions of", partition.Queue, err)
	}
	k := s.keys.partition(partition)
	found, err := s.client.ZRangeByScoreWithScores(ctx, k.sessions, &redis.ZRangeBy{
		Min: "0", Max: strconv.FormatInt(now.UnixMilli(), 10), Count: protocol.MaxLapsed,
	}).Result()
	if err != nil {
		return nil, failure("find lapsed sessions of", partition.Queue, err)
	}
	lapsed := make([]protocol.LapsedSession, len(found))
	for i, z := range found {
		lapsed[i] = protocol.LapsedSession{Session: fmt.Sprint(z.Member), Lapse: time.UnixMilli(int64(z.Score)).UTC()}
	}
	return lapsed, nil
}

// Reap returns the jobs of lapsed sessions to their queues. It skips a session that was extended since it was read.
func (s *store) Reap(ctx context.Context, calls []protocol.ReapCall) []protocol.ReapAnswer {
	answers := make([]protocol.ReapAnswer, len(calls))
	sent := make([]call, len(calls))
	for i, c := range calls {
		answers[i].Err = s.bad
		k := s.keys.partition(c.Partition)
		sent[i] = newCall(&reapScript, []string{
			k.inflight(c.Session), k.sessions, k.ready, k.due, k.crashes, k.open, k.schedules, k.cursors,
			k.idle, k.state, k.behind, k.owed, k.jobs, k.counters, k.runs, k.callers, k.progress, k.last, k.history, k.after,
			k.line, k.places, k.turns, k.groups, k.grules, k.opens, k.batches, k.reports,
		}, []any{c.Session, c.Seen.UnixMilli(), c.Seed % 1_000_000, s.keys.wake(), c.Partition.Queue})
	}
	if s.bad != nil || len(calls) == 0 {
		return answers
	}
	for i, cmd := range s.run(ctx, s.client, sent...) {
		values, err := list("reap session", calls[i].Session, cmd)
		answers[i] = protocol.ReapAnswer{Err: err, Done: values.number(0) == 1, Returned: int(values.number(1)), Dropped: int(values.number(2))}
	}
	return answers
}

var reportScript = scripts.Load("jobs/report")

// maxReports is how many reports go into one call.
const maxReports = 100

// Report stores the progress of handlers. The reports of one session are sent together.
func (s *store) Report(ctx context.Context, reports []protocol.ProgressReport) error {
	if s.bad != nil {
		return s.bad
	}
	type holder struct {
		partition protocol.Partition
		session   string
	}
	var holders []holder
	of := map[holder][]protocol.ProgressReport{}
	for _, r := range reports {
		h := holder{r.Partition, r.Session}
		if of[h] == nil {
			holders = append(holders, h)
		}
		of[h] = append(of[h], r)
	}
	var calls []call
	for _, h := range holders {
		k := s.keys.partition(h.partition)
		for some := range slices.Chunk(of[h], maxReports) {
			var args []any
			for _, r := range some {
				args = append(args, r.ID, r.Fence, r.Progress)
			}
			calls = append(calls, newCall(&reportScript, []string{k.inflight(h.session), k.progress, k.state}, args))
		}
	}
	var errs []error
	for _, cmd := range s.run(ctx, s.client, calls...) {
		if err := cmd.Err(); err != nil {
			errs = append(errs, failure("report progress", "", err))
		}
	}
	return errors.Join(errs...)
}
