package redisstore

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var lookScript = load("look")

// layoutKnown is the version of the keys' layout that the scripts know.
const layoutKnown = "1"

const (
	// alarmWithin is how close the head of due is when the first sleepers are told of it: STALE_MS of the scripts.
	alarmWithin = 13 * time.Second
	// clockSlack is how far a caller's idea of the time may be from the server's for a glance.
	clockSlack = time.Second
)

// Look asks what there is to do, and renews the caller's place among the sleepers. Where a glance shows that there is nothing,
// that is all; else the script decides.
func (s *store) Poll(ctx context.Context, calls []protocol.PollCall) []protocol.PollAnswer {
	answers := make([]protocol.PollAnswer, len(calls))
	if s.bad != nil {
		for i := range answers {
			answers[i].Err = s.bad
		}
		return answers
	}
	quiet := s.glance(ctx, calls, answers)
	s.nobodyHolds(ctx, calls, quiet)
	var sent []call
	var asked []int
	for i, c := range calls {
		if quiet[i] {
			continue
		}
		since := ""
		if !c.Since.IsZero() {
			since = strconv.FormatInt(c.Since.UnixMilli(), 10)
		}
		k := s.keys.partition(c.Partition)
		sent = append(sent, newCall(&lookScript, []string{k.state, k.due, k.ready, k.idle, k.sessions},
			[]any{c.Worker, flag(c.Sleep), s.keys.wake(), since}))
		asked = append(asked, i)
	}
	if len(sent) == 0 {
		return answers
	}
	for n, cmd := range s.run(ctx, s.client, sent...) {
		i := asked[n]
		values, err := list("look at", calls[i].Partition.Queue, cmd)
		if err != nil {
			answers[i].Err = err
			continue
		}
		answers[i] = protocol.PollAnswer{Now: values.now(), WaitHint: values.horizon(1)}
		if calls[i].Sleep && !answers[i].More {
			answers[i].Since = answers[i].Now
		}
	}
	return answers
}

// A glanced is a partition as plain commands show it: five, and one for the time, in place of a script's ten.
type glanced struct {
	renewed       *redis.IntCmd
	state         *redis.SliceCmd
	due, sessions *redis.ZSliceCmd
	ready         *redis.IntCmd
}

// glance renews the places of callers who know about what time it is among the sleepers, and answers those for whom nothing is to
// be done, by the server's time; quiet tells which. The commands are not one step, and need not be: a place that is renewed has been
// there all the time, so whatever arrives between them finds the caller on the list. Whatever is not as it should be, from an error to
// a place that is gone or a caller whose idea of the time was wrong, is left to the script: also what is due, or soon enough that
// an alarm is to be kept, and every lapse. One server tells one time, so the nodes of a cluster are asked by the script.
func (s *store) glance(ctx context.Context, calls []protocol.PollCall, answers []protocol.PollAnswer) (quiet []bool) {
	quiet = make([]bool, len(calls))
	if _, one := s.client.(*redis.Client); !one {
		return quiet
	}
	seen := make([]glanced, len(calls))
	pipe := s.client.Pipeline()
	clock := pipe.Time(ctx)
	for i, c := range calls {
		if !c.Sleep || c.Since.IsZero() || !c.Now.After(c.Since) || c.Now.Sub(c.Since) > alarmWithin {
			continue
		}
		k := s.keys.partition(c.Partition)
		place := redis.Z{Score: float64(c.Now.UnixMilli()), Member: c.Worker}
		seen[i] = glanced{
			renewed:  pipe.ZAddArgs(ctx, k.idle, redis.ZAddArgs{XX: true, Ch: true, Members: []redis.Z{place}}),
			state:    pipe.HMGet(ctx, k.state, "layout", "paused", "parked"),
			due:      pipe.ZRangeWithScores(ctx, k.due, 0, 0),
			ready:    pipe.LLen(ctx, k.ready),
			sessions: pipe.ZRangeWithScores(ctx, k.sessions, 0, 0),
		}
	}
	if pipe.Len() == 1 {
		return quiet
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	now, err := clock.Result()
	for i, c := range calls {
		if err == nil && seen[i].renewed != nil && c.Now.Sub(now).Abs() <= clockSlack {
			var h protocol.WaitHint
			if h, quiet[i] = seen[i].horizon(now); quiet[i] {
				answers[i] = protocol.PollAnswer{Now: now.UTC(), Since: c.Now.Truncate(time.Millisecond), WaitHint: h}
			}
		}
	}
	return quiet
}

// horizon is what the caller needs to know if there is nothing to do.
func (g *glanced) horizon(now time.Time) (h protocol.WaitHint, quiet bool) {
	state := reply(g.state.Val())
	for _, err := range []error{g.renewed.Err(), g.state.Err(), g.due.Err(), g.ready.Err(), g.sessions.Err()} {
		if err != nil {
			return h, false
		}
	}
	if g.renewed.Val() != 1 || state.text(0) != "" && state.text(0) != layoutKnown {
		return h, false
	}
	h.Paused = state.text(1) != ""
	h.Parked = strings.Fields(state.text(2))
	if due := g.due.Val(); len(due) > 0 && !h.Paused && int64(due[0].Score) <= now.Add(alarmWithin).UnixMilli() {
		return h, false
	}
	if g.ready.Val() > 0 && !h.Paused {
		return h, false
	}
	if sessions := g.sessions.Val(); len(sessions) > 0 {
		h.Lapse = time.UnixMilli(int64(sessions[0].Score)).UTC()
		if !h.Lapse.After(now) {
			return h, false
		}
	}
	return h, true
}

// nobodyHolds notes which of the callers that ask for lapses alone ask in vain: nobody holds a job there.
func (s *store) nobodyHolds(ctx context.Context, calls []protocol.PollCall, quiet []bool) {
	var partitions []protocol.Partition
	var asked []int
	for i, c := range calls {
		if c.Lapses && !c.Sleep {
			partitions, asked = append(partitions, c.Partition), append(asked, i)
		}
	}
	there, errs := s.there(ctx, partitions, func(k *partitionKeys) string { return k.sessions })
	for n, i := range asked {
		quiet[i] = errs[n] == nil && !there[n]
	}
}

// there tells which of the partitions have a key, a sorted set: in one command where one server has them all and none is there.
func (s *store) there(ctx context.Context, partitions []protocol.Partition, key func(*partitionKeys) string) (there []bool, errs []error) {
	there, errs = make([]bool, len(partitions)), make([]error, len(partitions))
	if len(partitions) == 0 {
		return there, errs
	}
	keys := make([]string, len(partitions))
	for i, p := range partitions {
		k := s.keys.partition(p)
		keys[i] = key(&k)
	}
	if _, one := s.client.(*redis.Client); one && len(keys) > 1 {
		if n, err := s.client.Exists(ctx, keys...).Result(); err == nil && n == 0 {
			return there, errs
		}
	}
	pipe := s.client.Pipeline()
	found := make([]*redis.StringSliceCmd, len(keys))
	for i := range keys {
		found[i] = pipe.ZRange(ctx, keys[i], 0, 0)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for i := range found {
		there[i], errs[i] = len(found[i].Val()) > 0, found[i].Err()
	}
	return there, errs
}
