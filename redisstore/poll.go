package redisstore

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var pollScript = scripts.Load("workers/poll")

// layout is the version of the keys' layout that the scripts write.
const layout = "6"

// maxClockError is how far a caller's Now may differ from the server's time in a cheap poll.
const maxClockError = time.Second

// maxLapse is the furthest plausible time to the earliest lapse of a partition; the script repairs one that is further away.
const maxLapse = time.Minute

// Poll returns what there is to do, and renews the caller's registration as a sleeping worker. It takes nothing. If plain
// commands show that there is nothing to do, only they are sent; otherwise the script decides.
func (s *store) Poll(ctx context.Context, calls []protocol.PollCall) []protocol.PollAnswer {
	answers := make([]protocol.PollAnswer, len(calls))
	if s.bad != nil {
		for i := range answers {
			answers[i].Err = s.bad
		}
		return answers
	}
	s.pollEach(ctx, calls, answers)
	partitions, looks, hints := make([]protocol.Partition, len(calls)), make([]protocol.ParkedLook, len(calls)), make([]*protocol.WaitHint, len(calls))
	for i := range calls {
		partitions[i], looks[i] = calls[i].Partition, calls[i].ParkedLook
		if answers[i].Err == nil {
			hints[i] = &answers[i].WaitHint
		}
	}
	s.lookUpParked(ctx, partitions, looks, hints)
	return answers
}

// pollEach sets the answers, except for which names have parked jobs.
func (s *store) pollEach(ctx context.Context, calls []protocol.PollCall, answers []protocol.PollAnswer) {
	answered := s.pollCheaply(ctx, calls, answers)
	s.skipWithoutSessions(ctx, calls, answered)
	var sent []call
	var asked []int
	for i, c := range calls {
		if answered[i] {
			continue
		}
		since := ""
		if !c.Since.IsZero() {
			since = strconv.FormatInt(c.Since.UnixMilli(), 10)
		}
		k := s.keys.partition(c.Partition)
		sent = append(sent, newCall(&pollScript, []string{k.state, k.due, k.ready, k.idle, k.sessions, k.turns, k.opens},
			[]any{c.Worker, flag(c.Sleep), s.keys.wake(), since}))
		asked = append(asked, i)
	}
	if len(sent) == 0 {
		return
	}
	for n, cmd := range s.runBriefly(ctx, sent...) {
		i := asked[n]
		values, err := list("poll", calls[i].Partition.Queue, cmd)
		if err != nil {
			answers[i].Err = err
			continue
		}
		answers[i] = protocol.PollAnswer{Now: values.now(), WaitHint: values.waitHint(1)}
		answers[i].Limit = protocol.LimitState(values.number(8))
		noteHint(&answers[i].WaitHint, values.number(9))
		if calls[i].Sleep && !answers[i].More {
			answers[i].Since = answers[i].Now
		}
	}
}

// A cheapPoll has the plain commands for one partition: five of them, and one for the time, instead of a script's ten.
type cheapPoll struct {
	renewed       *redis.IntCmd
	state         *redis.SliceCmd
	due, sessions *redis.ZSliceCmd
	ready         *redis.IntCmd
}

// pollCheaply answers the sleeping workers for which there is nothing to do, and renews their registrations. answered marks
// these. The script answers the others: those whose registration is gone or whose Now is wrong, and those with a job that is
// due, one that is due soon enough to keep its alarm, a lapsed session, or an error.
//
// The commands are not one atomic step and need not be: a registration that is renewed was there all the time, so a job that arrives
// between two commands finds the worker registered. Each node of a cluster has its own clock, so there the script answers all.
func (s *store) pollCheaply(ctx context.Context, calls []protocol.PollCall, answers []protocol.PollAnswer) (answered []bool) {
	answered = make([]bool, len(calls))
	if _, single := s.client.(*redis.Client); !single {
		return answered
	}
	polls := make([]cheapPoll, len(calls))
	ctx, cancel, client := s.patience.begin(ctx)
	defer cancel()
	began := time.Now()
	pipe := client.Pipeline()
	clock := pipe.Time(ctx)
	for i, c := range calls {
		if !c.Sleep || c.Since.IsZero() || !c.Now.After(c.Since) || c.Now.Sub(c.Since) > protocol.IdleRetention {
			continue
		}
		k := s.keys.partition(c.Partition)
		registration := redis.Z{Score: float64(c.Now.UnixMilli()), Member: c.Worker}
		polls[i] = cheapPoll{
			renewed:  pipe.ZAddArgs(ctx, k.idle, redis.ZAddArgs{XX: true, Ch: true, Members: []redis.Z{registration}}),
			state:    pipe.HMGet(ctx, k.state, "layout", "paused", "parked", "limit", "groups", "outbox", "batches"),
			due:      pipe.ZRangeWithScores(ctx, k.due, 0, 0),
			ready:    pipe.LLen(ctx, k.ready),
			sessions: pipe.ZRangeWithScores(ctx, k.sessions, 0, 0),
		}
	}
	if pipe.Len() == 1 {
		return answered
	}
	_, err := pipe.Exec(ctx) // each command has its own error
	if s.connectionFailed(err, began) {
		for i, c := range calls {
			answers[i].Err, answered[i] = failure("poll", c.Partition.Queue, err), true
		}
		return answered
	}
	now, err := clock.Result()
	for i, c := range calls {
		if err == nil && polls[i].renewed != nil && c.Now.Sub(now).Abs() <= maxClockError {
			var h protocol.WaitHint
			if h, answered[i] = polls[i].waitHint(now); answered[i] {
				answers[i] = protocol.PollAnswer{Now: now.UTC(), Since: c.Now.Truncate(time.Millisecond), WaitHint: h}
			}
		}
	}
	return answered
}

// waitHint returns the caller's answer if there is nothing to do; idle is false if the script must answer.
func (p *cheapPoll) waitHint(now time.Time) (h protocol.WaitHint, idle bool) {
	state := reply(p.state.Val())
	for _, err := range []error{p.renewed.Err(), p.state.Err(), p.due.Err(), p.ready.Err(), p.sessions.Err(), complete(p.state)} {
		if err != nil {
			return h, false
		}
	}
	if written := state.text(0); p.renewed.Val() != 1 || written != "" && written != layout {
		return h, false
	}
	h.Paused = state.text(1) != ""
	if state.text(4) != "" && !h.Paused {
		return h, false // jobs of groups may wait
	}
	h.ParkedMark = state.number(2)
	limit := parseLimit(state.text(3))
	h.Limit = limit.state(now)
	// An alarm is kept for a job that is due before the registration ends.
	if due := p.due.Val(); len(due) > 0 && !h.Paused && int64(due[0].Score) <= now.Add(protocol.IdleRetention).UnixMilli() {
		return h, false
	}
	if !nothingWaits(state.text(5)) {
		return h, false
	}
	if due := state.number(6); due > 0 && due <= now.UnixMilli() {
		return h, false // counts of batches are to be reported
	}
	h.Batches = state.text(6) != ""
	if p.ready.Val() > 0 && !h.Paused {
		return h, false
	}
	if sessions := p.sessions.Val(); len(sessions) > 0 {
		lapse := sessions[0].Score
		if !(lapse > float64(now.UnixMilli()) && lapse < float64(now.Add(maxLapse).UnixMilli())) { // lapsed, or not an instant
			return h, false
		}
		h.Lapse = time.UnixMilli(int64(lapse)).UTC()
	}
	return h, true
}

// skipWithoutSessions marks the calls as answered that only request lapsed sessions, on partitions where no worker holds a session, no job waits to be
// carried to another partition, and no counts of batches wait to be reported.
func (s *store) skipWithoutSessions(ctx context.Context, calls []protocol.PollCall, answered []bool) {
	var partitions []protocol.Partition
	var asked []int
	for i, c := range calls {
		if c.Lapses && !c.Sleep {
			partitions, asked = append(partitions, c.Partition), append(asked, i)
		}
	}
	exist, errs := s.exist(ctx, partitions, func(k *partitionKeys) string { return k.sessions }, func(k *partitionKeys) string { return k.outbox },
		func(k *partitionKeys) string { return k.reports })
	for n, i := range asked {
		answered[i] = errs[n] == nil && !exist[n]
	}
}

// maxExist is how many keys one EXISTS counts.
const maxExist = 100

// exist returns which partitions have one of some keys, sorted sets. Usually few have it. So, if one server has all partitions, one
// command counts it in many of them first. Partitions are read one by one only if that command found a key.
func (s *store) exist(ctx context.Context, partitions []protocol.Partition, some ...func(*partitionKeys) string) (exist []bool, errs []error) {
	exist, errs = make([]bool, len(partitions)), make([]error, len(partitions))
	if len(partitions) == 0 {
		return exist, errs
	}
	keys := make([]string, 0, len(some)*len(partitions))
	for _, p := range partitions {
		k := s.keys.partition(p)
		for _, key := range some {
			keys = append(keys, key(&k))
		}
	}
	ask := make([]bool, len(keys)) // one by one
	if _, single := s.client.(*redis.Client); single && len(keys) > 1 {
		pipe := s.client.Pipeline()
		var counts []*redis.IntCmd
		for chunk := range slices.Chunk(keys, maxExist) {
			counts = append(counts, pipe.Exists(ctx, chunk...))
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
		for i := range ask {
			n, err := counts[i/maxExist].Result()
			ask[i] = err != nil || n > 0
		}
	} else {
		for i := range ask {
			ask[i] = true
		}
	}
	pipe := s.client.Pipeline()
	first := make([]*redis.StringSliceCmd, len(keys))
	for i := range keys {
		if ask[i] {
			first[i] = pipe.ZRange(ctx, keys[i], 0, 0)
		}
	}
	if pipe.Len() > 0 {
		_, _ = pipe.Exec(ctx) // each command has its own error
	}
	for i, cmd := range first {
		if at := i / len(some); cmd != nil {
			exist[at], errs[at] = exist[at] || len(cmd.Val()) > 0, cmp.Or(errs[at], cmd.Err())
		}
	}
	return exist, errs
}
