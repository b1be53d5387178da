package redisstore

import (
	"cmp"
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var sweepScript = scripts.Load("queues/sweep")

// The answers of the script. There is another answer if the partition was swept a short time ago.
const (
	sweptAll  = 0
	sweptMore = 1
)

// maxSweptNames is for how many names a call moves parked jobs to the dead jobs.
const maxSweptNames = 20

// Sweep removes old items from partitions, at most 500 items of each. When it has finished a partition, and at least once a minute while more is left
// to remove, it frees schedules that no run holds, recounts the running jobs of a queue with a limit, continues a purge, and registers lost schedules
// again, some thousand in a call.
func (s *store) Sweep(ctx context.Context, partitions []protocol.Partition, unless time.Duration) []protocol.SweepAnswer {
	answers := make([]protocol.SweepAnswer, len(partitions))
	if s.bad != nil || len(partitions) == 0 {
		for i := range answers {
			answers[i].Err = s.bad
		}
		return answers
	}
	listed, states := make([]*redis.StringSliceCmd, len(partitions)), make([]*redis.SliceCmd, len(partitions))
	pipe := s.client.Pipeline()
	longAgo := strconv.FormatInt(time.Now().Add(-s.options.ParkedRetention).UnixMilli(), 10) // by this machine's clock: the script checks it
	for i, p := range partitions {
		k := s.keys.partition(p)
		listed[i] = pipe.ZRangeByScore(ctx, k.unhandled, &redis.ZRangeBy{Min: "-inf", Max: longAgo}) // about a thousand at most
		states[i] = pipe.HMGet(ctx, k.state, "limit", "purge", "grules")
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	var sent []call
	var asked []int
	for i, p := range partitions {
		if err := listed[i].Err(); err != nil {
			answers[i].Err = failure("sweep", p.Queue, err)
			continue
		}
		sent, asked = append(sent, s.sweepCall(p, listed[i].Val(), unless)), append(asked, i)
	}
	if len(sent) == 0 {
		return answers
	}
	var finished []int
	purging := map[protocol.Partition]bool{} // unfinished purges
	var swept []protocol.Partition
	for n, cmd := range s.run(ctx, s.client, sent...) {
		i := asked[n]
		values, err := list("sweep", partitions[i].Queue, cmd)
		state := values.number(1)
		answers[i].Now, answers[i].MoreExpired, answers[i].Expired = values.now(), values.number(2) == 1, expiredJobs(values.list(3))
		answers[i].Owes, answers[i].Reports, answers[i].Batches = values.number(5) == 1, values.number(6) == 1, values.number(6) > 0
		switch {
		case err != nil:
			answers[i].Err = err
		case state == sweptMore || state == sweptAll:
			answers[i].More = state == sweptMore
			if values.number(4) == 0 {
				continue
			}
			if s.residents.of(partitions[i]) == "" { // else this call continues a pass that has freed them
				answers[i].Err = s.freeOpens(ctx, partitions[i])
			}
			finished, swept = append(finished, i), append(swept, partitions[i])
		}
		if fields := reply(states[i].Val()); err == nil && state <= sweptMore {
			if fields.text(0) != "" {
				answers[i].Err = cmp.Or(answers[i].Err, s.limit(ctx, partitions[i], nil))
			}
			if fields.text(1) != "" {
				purging[partitions[i]], err = s.sweepPurge(ctx, partitions[i])
				answers[i].Err = cmp.Or(answers[i].Err, err)
			}
			if isWalking(fields.text(2)) {
				more, err := s.sweepGroups(ctx, partitions[i])
				purging[partitions[i]] = purging[partitions[i]] || more
				answers[i].Err = cmp.Or(answers[i].Err, err)
			}
		}
	}
	if err := s.unlist(ctx, "", 0, sweptSample); err != nil {
		answers[asked[0]].Err = cmp.Or(answers[asked[0]].Err, err)
	}
	if len(swept) > 0 {
		more, err := s.registerResidents(ctx, swept)
		for _, i := range finished {
			answers[i].More = answers[i].More || more[partitions[i]] || purging[partitions[i]]
		}
		answers[finished[0]].Err = cmp.Or(answers[finished[0]].Err, err)
	}
	return answers
}

// sweepCall returns the call that sweeps a partition in which these names have old parked jobs. It picks some of the names, because the jobs
// of the first ones may have to remain parked.
func (s *store) sweepCall(p protocol.Partition, parked []string, unless time.Duration) call {
	k := s.keys.partition(p)
	keys := []string{
		k.dead, k.jobs, k.callers, k.idle, k.state, k.crashes, k.schedules, k.cursors, k.owed, k.gone, k.unhandled, k.handlers, k.results, k.kept, k.owners, k.last, k.history,
		k.once, k.counters, k.zones, k.notes, k.origins,
		k.line, k.places, k.turns, k.groups, k.grules, k.opens, k.outbox, k.delivered, k.batches, k.reports,
	}
	args := []any{
		s.options.DeadRetention.Milliseconds(), s.options.MaxDead, s.options.ParkedRetention.Milliseconds(), unless.Milliseconds(), rand.Int32(),
		flag(len(parked) > maxSweptNames), s.endedPrefix(p.Queue), s.keys.wake(),
	}
	first := rand.N(max(len(parked), 1))
	for i := range min(len(parked), maxSweptNames) {
		name := parked[(first+i)%len(parked)]
		keys = append(keys, k.parked(name))
		args = append(args, name)
	}
	return newCall(&sweepScript, keys, args)
}

// expiredJobs reads the expired parked jobs that the script has left, six values each.
func expiredJobs(values reply) (jobs []protocol.ExpiredJob) {
	for i := 0; i+5 < len(values); i += 6 {
		job := protocol.ExpiredJob{Entry: values.text(i), List: values.text(i + 1), Last: values.number(i+5) == 1}
		job.Crashes, _ = crashesOf(values.text(i + 4))
		job.ID = job.Entry
		if _, id, ok := strings.Cut(job.Entry, "\t"); ok && job.List == sharedParked {
			job.ID = id
		}
		if text := []byte(values.text(i + 3)); values.text(i+2) == "d" {
			job.Definition = text
		} else {
			job.Body = text
		}
		jobs = append(jobs, job)
	}
	return jobs
}
