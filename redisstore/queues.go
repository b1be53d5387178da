package redisstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	pauseQueueScript   = scripts.Load("queues/pause_queue")
	countFlightsScript = scripts.Load("sessions/count_flights")
	oldestInLineScript = scripts.Load("groups/oldest_in_line")
)

const maxCounted = 350 // partitions that are counted in a round trip

// PauseQueue stops taking from a queue, with a note, or resumes it, in all its partitions. Jobs are still added while it is paused. A
// failing partition does not stop the others; the call may be repeated.
func (s *store) PauseQueue(ctx context.Context, queue string, paused bool, note protocol.Note) error {
	found, err := s.queues.lookUp(ctx, queue)
	if err := cmp.Or(err, firstError(found)); err != nil {
		return err
	}
	if found[0].partitions == 0 {
		return fmt.Errorf("redisstore: queue %q: %w", queue, protocol.ErrNotFound)
	}
	stored, err := queueNote(note)
	if err != nil {
		return err
	}
	calls, name := make([]call, found[0].partitions), rand.Text()
	for i := range calls {
		calls[i] = s.pauseQueue(protocol.Partition{Queue: queue, Index: i}, flag(paused), stored, name)
	}
	var failed []error
	for _, cmd := range s.run(ctx, s.client, calls...) {
		if err := cmd.Err(); err != nil {
			failed = append(failed, failure("pause or resume queue", queue, err))
		}
	}
	return errors.Join(failed...)
}

// pauseQueue returns a call of pause_queue.lua.
func (s *store) pauseQueue(p protocol.Partition, what, note, name string) call {
	k := s.keys.partition(p)
	return newCall(&pauseQueueScript, []string{k.state, k.idle, k.due, k.ready, k.turns, k.opens, k.callers, k.ends}, []any{what, s.keys.wake(), note, name})
}

// QueueStats counts queues, all partitions of each together, about maxCounted partitions in a round trip. It registers nothing and
// writes nothing.
func (s *store) QueueStats(ctx context.Context, queues []string) ([]protocol.QueueStats, error) {
	found, err := s.queues.lookUp(ctx, queues...)
	if err := cmp.Or(err, firstError(found)); err != nil {
		return nil, err
	}
	stats := make([]protocol.QueueStats, len(queues))
	var counts []*partitionCount
	left := flightsRead
	for i, queue := range queues {
		stats[i] = protocol.QueueStats{Queue: queue, Partitions: found[i].partitions}
		for index := range found[i].partitions {
			counts = append(counts, &partitionCount{keys: s.keys.partition(protocol.Partition{Queue: queue, Index: index}), to: &stats[i]})
			if len(counts) == maxCounted {
				if err := s.count(ctx, counts, &left); err != nil {
					return nil, err
				}
				counts = counts[:0]
			}
		}
	}
	return stats, s.count(ctx, counts, &left)
}

func firstError(found []lookup) error {
	for i := range found {
		if found[i].err != nil {
			return found[i].err
		}
	}
	return nil
}

// count counts partitions in a few round trips and adds what they hold to their queues. left is how many fields of sessions the reading may still read.
func (s *store) count(ctx context.Context, counts []*partitionCount, left *int) error {
	if len(counts) == 0 {
		return nil
	}
	first := s.client.Pipeline()
	now := first.Time(ctx)
	for _, c := range counts {
		c.ask(ctx, first)
	}
	cmds, err := first.Exec(ctx)
	if err := cmp.Or(err, complete(cmds...)); err != nil {
		return failure("count queues", "", err)
	}
	if err := cmp.Or(s.look(ctx, counts), s.countFlights(ctx, counts, now.Val(), left), s.countParked(ctx, counts), s.readFronts(ctx, counts)); err != nil {
		return failure("count queues", "", err)
	}
	for _, c := range counts {
		c.add()
		c.to.Now = now.Val().UTC()
	}
	return nil
}

// look reads the rest of partitions that are not empty.
func (s *store) look(ctx context.Context, counts []*partitionCount) error {
	pipe := s.client.Pipeline()
	for _, c := range counts {
		c.askMore(ctx, pipe)
	}
	if pipe.Len() == 0 {
		return nil
	}
	_, err := pipe.Exec(ctx)
	return err
}

const (
	// countTogether is how many counts go in one round trip: there may be a thousand lists of parked jobs, and as many sessions.
	countTogether = 25
	// sessionsCounted and flightsCounted are how many sessions a call of count_flights.lua counts, and how many of their fields it reads: about 1 ms.
	sessionsCounted = 10
	flightsCounted  = 5000
	// flightsRead is how many fields a whole reading of queues reads, with all its calls: about 25 ms.
	flightsRead = countTogether * flightsCounted
)

// countFlights counts what sessions hold. A session that has lapsed is not counted with the others: its worker is gone.
func (s *store) countFlights(ctx context.Context, counts []*partitionCount, now time.Time, left *int) error {
	var keys [][]string
	var of []flightCount
	for _, c := range counts {
		names, gone := lapsedSessions(c.sessions.Val(), now)
		c.to.Sessions += int64(len(names) - len(gone))
		for some := range slices.Chunk(names, sessionsCounted) {
			its := make([]string, len(some))
			for i, session := range some {
				its[i] = c.keys.inflight(session)
			}
			keys, of = append(keys, its), append(of, flightCount{c.to, some, gone})
		}
	}
	for len(of) > 0 {
		calls := make([]call, min(len(of), countTogether))
		most := min(flightsCounted, *left/len(calls)) // together they read no more than is left
		for i := range calls {
			calls[i] = newCall(&countFlightsScript, keys[i], []any{most}).readOnlyForAll()
		}
		for i, cmd := range s.run(ctx, s.client, calls...) {
			held, err := cmd.Int64Slice()
			if err == nil && len(held) != 2*len(of[i].sessions) {
				err = fmt.Errorf("%d numbers of %d sessions", len(held), len(of[i].sessions))
			}
			if err != nil {
				return err
			}
			*left -= of[i].add(held)
		}
		keys, of = keys[len(calls):], of[len(calls):]
	}
	return nil
}

// A flightCount is one call of count_flights.lua.
type flightCount struct {
	to       *protocol.QueueStats
	sessions []string
	gone     map[string]time.Time // sessions that have lapsed
}

// add adds the answer: for each session the number of its jobs, and how many of them have not begun, -1 if that is not known. It returns how many
// fields were read for it: one for each job, and the session's own.
func (c *flightCount) add(held []int64) (fields int) {
	for i, session := range c.sessions {
		all, ahead := held[2*i], held[2*i+1]
		if ahead >= 0 {
			fields += int(all) + 1
		}
		switch _, lapsed := c.gone[session]; {
		case lapsed:
			c.to.Vanished += all
		case ahead < 0:
			c.to.Running, c.to.AheadUnknown = c.to.Running+all, true
		default:
			c.to.Running, c.to.Ahead = c.to.Running+all-ahead, c.to.Ahead+ahead
		}
	}
	return fields
}

func (s *store) countParked(ctx context.Context, counts []*partitionCount) error {
	pipe := s.client.Pipeline()
	exec := func(from int) error {
		if pipe.Len() <= from {
			return nil
		}
		_, err := pipe.Exec(ctx)
		return err
	}
	for _, c := range counts {
		if c.unhandled == nil {
			continue
		}
		for _, name := range c.unhandled.Val() {
			c.parked = append(c.parked, pipe.ZCard(ctx, c.keys.parked(name)))
			if err := exec(countTogether); err != nil {
				return err
			}
		}
	}
	return exec(0)
}

// longHead is the most bytes that are read of a job to find since when it waits.
const longHead = 64 << 10

// readFronts reads the envelopes of the jobs at the front, and the remains of schedules that have moved. If one of the partition's envelopes
// may be long, it reads its length first.
func (s *store) readFronts(ctx context.Context, counts []*partitionCount) error {
	pipe := s.client.Pipeline()
	for _, c := range counts {
		if id := c.first(); id != "" && reply(c.state.Val()).text(stateLarge) != "" {
			c.size = pipe.HStrLen(ctx, c.keys.jobs, id)
		}
	}
	if pipe.Len() > 0 {
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
	}
	pipe = s.client.Pipeline()
	for _, c := range counts {
		if id := c.first(); id != "" && (c.size == nil || c.size.Val() <= longHead) {
			c.body = pipe.HGet(ctx, c.keys.jobs, id)
		}
		if c.gone != nil && len(c.gone.Val()) > 0 {
			c.left = pipe.HMGet(ctx, c.keys.schedules, c.gone.Val()...)
		}
		if pipe.Len() >= countTogether {
			if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
		}
	}
	if pipe.Len() == 0 {
		return nil
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	return nil
}

// A partitionCount has what QueueStats reads of one partition: first the counts and the names of the sessions. Then it reads, if they
// exist, the heads of ready and due, the names of the parked jobs and the schedules that have left. Then it reads how many jobs each session
// holds, how many are parked under each name, the job at the front, and the remains of the schedules that have left.
type partitionCount struct {
	keys partitionKeys
	to   *protocol.QueueStats

	ready, due, dead, schedules *redis.IntCmd
	sessions                    *redis.ZSliceCmd
	state, counters             *redis.SliceCmd
	enqueued                    *redis.FloatSliceCmd

	// These are nil if nothing was read.
	front, unhandled *redis.StringSliceCmd
	head             *redis.ZSliceCmd
	stale            *redis.IntCmd // jobs in ready that are void, counted together with readyNow
	readyNow         *redis.IntCmd
	line             *redis.IntCmd         // jobs of groups that wait; nil: the queue has no jobs of groups
	places, turns    *redis.IntCmd         // jobs of groups; groups that may start one; nil as line
	oldestInLine     *redis.Cmd            // since when the job waits that has waited longest, among the first ones of some of these groups
	rule             *redis.SliceCmd       // for all groups; nil: the queue has no rules and pauses of groups
	gone             *redis.StringSliceCmd // schedules that have moved away or were deleted
	left             *redis.SliceCmd       // their remains
	size             *redis.IntCmd         // bytes of the envelope of the job at the front, if that may be long
	body             *redis.StringCmd
	parked           []*redis.IntCmd
}

// Fields of the state of a partition, in the order of the constants below.
const (
	statePaused = iota
	stateDone
	stateEnqueued
	stateLimit
	stateLarge   // exists while an envelope may be long
	stateParked  // exists while a job is parked: scripts/lib/parked.lua
	stateStale   // exists while an ID in ready is void: scripts/lib/stale.lua
	stateGroups  // exists while a job belongs to a group: scripts/lib/line.lua
	stateRules   // exists while a group has a rule or a pause: scripts/lib/groups.lua
	stateOutbox  // sums of the outbox: scripts/lib/outbox.lua
	stateBlocked // exists while a line of the outbox is blocked: scripts/outbox/block_outbox.lua
)

func (c *partitionCount) ask(ctx context.Context, pipe redis.Pipeliner) {
	k := c.keys
	c.ready, c.due, c.dead, c.schedules = pipe.LLen(ctx, k.ready), pipe.ZCard(ctx, k.due), pipe.ZCard(ctx, k.dead), pipe.HLen(ctx, k.schedules)
	c.sessions = pipe.ZRangeWithScores(ctx, k.sessions, 0, -1)
	c.state = pipe.HMGet(ctx, k.state, "paused", "done", "enqueued", "limit", "large", "parked", "stale", "groups", "grules", "outbox", "blocked")
	c.enqueued = pipe.ZMScore(ctx, k.callers, "#enqueued")
	c.counters = pipe.HMGet(ctx, k.counters, "/failed", "/retried", "/died", "/cancelled", "/expired")
}

// askMore requests what exists according to the first answers: most partitions have little of it.
func (c *partitionCount) askMore(ctx context.Context, pipe redis.Pipeliner) {
	k, state := c.keys, reply(c.state.Val())
	if c.ready.Val() > 0 {
		c.front = pipe.LRange(ctx, k.ready, 0, 0)
	}
	if c.due.Val() > 0 {
		c.head = pipe.ZRangeWithScores(ctx, k.due, 0, 0)
	}
	if c.schedules.Val() > 0 {
		c.gone = pipe.ZRange(ctx, k.gone, 0, protocol.MaxItems-1)
	}
	if state.text(stateParked) != "" {
		c.unhandled = pipe.ZRange(ctx, k.unhandled, 0, -1)
	}
	if state.text(stateGroups) != "" {
		c.line, c.places, c.turns = pipe.ZCard(ctx, k.line), pipe.HLen(ctx, k.places), pipe.ZCard(ctx, k.turns)
		oldest := newCall(&oldestInLineScript, []string{k.line, k.turns}, nil).readOnlyForAll()
		c.oldestInLine = oldest.command(ctx)
		_ = pipe.Process(ctx, c.oldestInLine) // the command has the error
	}
	if state.text(stateRules) != "" {
		c.rule = pipe.HMGet(ctx, k.grules, ruleOfQueue)
	}
	if state.text(stateStale) != "" { // beside the number of which it is a part
		c.readyNow, c.stale = pipe.LLen(ctx, k.ready), pipe.ZCard(ctx, k.stale)
	}
}

// first returns the ID at the front of ready; empty: ready is empty.
func (c *partitionCount) first() string {
	if c.front == nil || len(c.front.Val()) == 0 {
		return ""
	}
	return c.front.Val()[0]
}

func (c *partitionCount) add() {
	to, state, counters := c.to, reply(c.state.Val()), reply(c.counters.Val())
	if paused := state.text(statePaused); paused != "" && !to.Paused {
		to.Paused, to.Note = true, parsePause(paused)
	}
	if limit := state.text(stateLimit); limit != "" {
		stored := parseLimit(limit)
		to.Limit, to.LimitUnreadable = stored.QueueLimit, stored.unreadable
	}
	if c.stale == nil {
		to.Waiting += c.ready.Val()
	} else {
		to.Waiting += max(c.readyNow.Val()-c.stale.Val(), 0) // void IDs in it are not jobs
	}
	if c.line != nil {
		to.Waiting += c.line.Val()
	}
	addOutbox(&to.Outbox, state.text(stateOutbox), state.text(stateBlocked))
	c.addGroups()
	c.addInLine()
	to.Delayed += c.due.Val()
	if c.head != nil {
		for _, head := range c.head.Val() {
			if at := time.UnixMilli(int64(max(0, min(head.Score, 1e14)))).UTC(); to.FirstDue.IsZero() || at.Before(to.FirstDue) {
				to.FirstDue = at
			}
		}
	}
	to.Dead += c.dead.Val()
	to.Schedules += c.schedules.Val()
	if c.left != nil {
		for _, text := range c.left.Val() {
			definition, _ := text.(string)
			if h, ok := parseHead(definition); ok && h.movedTo != "" {
				to.Schedules-- // it lives elsewhere
			}
		}
	}
	to.Done += state.number(stateDone)
	to.Enqueued += state.number(stateEnqueued) // one at a time; the others are counted in callers
	to.Failed += counters.number(0)
	to.Retried += counters.number(1)
	to.Died += counters.number(2)
	to.Cancelled += counters.number(3)
	to.Expired += counters.number(4)
	if enqueued := c.enqueued.Val(); len(enqueued) > 0 && enqueued[0] > 0 && enqueued[0] < 1<<53 { // otherwise it was edited by hand
		to.Enqueued += int64(enqueued[0])
	}
	if id := c.first(); id != "" {
		head := protocol.Head{ID: id}
		if c.body != nil {
			head.Body = []byte(c.body.Val())
		}
		to.Heads = append(to.Heads, head)
	}
	for _, n := range c.parked {
		to.Parked += n.Val()
	}
}

// addGroups adds the counts of groups.
func (c *partitionCount) addGroups() {
	to := &c.to.Groups
	if c.line != nil {
		to.Jobs, to.Waiting, to.MayStart = to.Jobs+c.places.Val(), to.Waiting+c.line.Val(), to.MayStart+c.turns.Val()
	}
	if c.rule != nil {
		rules, _, _ := strings.Cut(reply(c.state.Val()).text(stateRules), " ")
		n, _ := strconv.ParseInt(rules, 10, 64) // 0 if it cannot be read
		to.Rules, to.Rule = to.Rules+n, parseGroupRule(strings.Fields(reply(c.rule.Val()).text(0)))
	}
}

// addInLine adds since when the job waits that has waited longest among the first jobs of groups.
func (c *partitionCount) addInLine() {
	if c.oldestInLine == nil {
		return
	}
	place, _ := c.oldestInLine.Val().([]any)
	if since := placeTime(strconv.FormatInt(reply(place).number(0), 10)); !since.IsZero() && (c.to.FirstInLine.IsZero() || since.Before(c.to.FirstInLine)) {
		c.to.FirstInLine = since
	}
}
