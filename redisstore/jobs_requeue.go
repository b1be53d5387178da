package redisstore

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

var requeueScript = scripts.Load("jobs/requeue")

// RequeueJobs moves jobs to the front of their queue, in the given order.
func (s *store) RequeueJobs(ctx context.Context, queue string, jobs []protocol.RequeuedJob) ([]protocol.Changed, error) {
	became, ids := make([]protocol.Changed, len(jobs)), make([]string, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].ID
	}
	of, err := s.byPartition(ctx, queue, ids)
	if err != nil {
		return became, err
	}
	for index, positions := range of {
		partition := protocol.Partition{Queue: queue, Index: index}
		var w whereabouts
		if err := w.look(ctx, s.jobs(partition), idsAt(ids, positions), true); err != nil {
			return became, failure("requeue jobs of", queue, err)
		}
		for len(positions) > 0 {
			// from the end, because each call puts its jobs at the front
			from := len(positions) - requeueable(jobs, positions, max(1, maxLookedUp/(1+len(w.lists))))
			some := positions[from:]
			letters, err := s.requeue(ctx, partition, &w, jobs, some)
			if err != nil {
				return became, err
			}
			for i, at := range some {
				became[at] = protocol.Changed(letters[i])
			}
			positions = positions[:from]
		}
	}
	return became, nil
}

// requeueable returns how many jobs, from the end, go into one call: at most this many.
func requeueable(jobs []protocol.RequeuedJob, positions []int, most int) (n int) {
	bytes := 0
	for _, at := range slices.Backward(positions) {
		bytes += len(jobs[at].Read) + len(jobs[at].Body)
		if n == most || n > 0 && bytes > protocol.MaxBytes {
			break
		}
		n++
	}
	return n
}

// manualField formats the value in …:last of a manual run, or of a job that follows another one: see scripts/lib/manual.lua.
func manualField(job *protocol.RequeuedJob) string {
	switch {
	case job.Schedule == "":
		return ""
	case job.Follows:
		return job.Planned.UTC().Format(time.RFC3339) + " d" + job.Name + " " + job.Schedule
	}
	return job.Planned.UTC().Format(time.RFC3339) + " m " + job.Schedule
}

func (s *store) requeue(ctx context.Context, partition protocol.Partition, w *whereabouts, jobs []protocol.RequeuedJob, positions []int) (string, error) {
	k := s.keys.partition(partition)
	keys := []string{k.state, k.jobs, k.due, k.ready, k.dead, k.crashes, k.callers, k.idle, k.unhandled, k.stale, k.last, k.history, k.line, k.places, k.turns, k.groups, k.grules, k.opens, k.batches, k.reports}
	args := []any{rand.Text(), s.keys.wake(), len(w.lists)}
	for _, list := range w.lists {
		keys, args = append(keys, k.parked(list)), append(args, list)
	}
	for _, at := range positions {
		args = append(args, jobs[at].ID, w.shared[jobs[at].ID], jobs[at].Read, jobs[at].Body, manualField(&jobs[at]))
	}
	values, err := s.runOne(ctx, "requeue jobs of", partition.Queue, newCall(&requeueScript, keys, args))
	if err != nil {
		return "", err
	}
	if letters := values.text(2); letters != "" {
		return letters, nil
	}
	return repeated(int(values.number(1)), len(positions)), nil
}
