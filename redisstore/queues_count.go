package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	countQueueScript   = scripts.Load("queues/count_queue")
	countFlightsScript = scripts.Load("sessions/count_flights")
)

// QueueStats counts queues, all partitions of each together, each with one call of a script, and countTogether partitions in a round trip. It registers nothing and
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
			if len(counts) == countTogether {
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

// count counts partitions and adds what they hold to their queues. left is how many fields of sessions the reading may still read.
func (s *store) count(ctx context.Context, counts []*partitionCount, left *int) error {
	if len(counts) == 0 {
		return nil
	}
	calls := make([]call, len(counts))
	for i, c := range counts {
		k := c.keys
		calls[i] = newCall(&countQueueScript, []string{
			k.state, k.counters, k.callers, k.sessions, k.ready, k.stale, k.due, k.dead, k.jobs, k.schedules, k.gone, k.unhandled, k.line, k.places, k.turns, k.grules,
		}, append([]any{protocol.MaxItems, ruleOfQueue, longHead}, partitionCounters...)).readOnly()
	}
	now, cmds, err := s.runTimed(ctx, calls...)
	if err != nil {
		return failure("count queues", "", err)
	}
	for i, cmd := range cmds {
		counts[i].now = now
		answer, err := list("count queue", counts[i].to.Queue, cmd)
		if err == nil {
			err = counts[i].read(answer)
		}
		if err != nil {
			return err
		}
	}
	if err := cmp.Or(s.countFlights(ctx, counts, left), s.countParked(ctx, counts)); err != nil {
		return failure("count queues", "", err)
	}
	for _, c := range counts {
		c.add()
	}
	return nil
}

const (
	// countTogether is how many partitions, sessions or lists of parked jobs are counted in a round trip: there may be thousands of each.
	countTogether = 50
	// sessionsCounted and flightsCounted are how many sessions a call of count_flights.lua counts, and how many of their fields it reads: about 1 ms.
	sessionsCounted = 10
	flightsCounted  = 5000
	// flightsRead is how many fields a whole reading of queues reads, with all its calls: about 25 ms.
	flightsRead     = flightsTogether * flightsCounted
	flightsTogether = 25 // calls in a round trip
)

// countFlights counts what sessions hold. A session that has lapsed is not counted with the others: its worker is gone.
func (s *store) countFlights(ctx context.Context, counts []*partitionCount, left *int) error {
	var keys [][]string
	var of []flightCount
	for _, c := range counts {
		names, gone := lapsedSessions(c.sessions, c.now)
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
		calls := make([]call, min(len(of), flightsTogether))
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
		for _, name := range c.unhandled {
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

// A partitionCount has what QueueStats reads of one partition: first the answer of count_queue.lua, then how many jobs each session holds, and how many
// are parked under each name, because the keys of these have names that the answer contains.
type partitionCount struct {
	keys partitionKeys
	to   *protocol.QueueStats

	answer    reply
	now       time.Time
	sessions  []redis.Z
	unhandled []string // names of parked jobs
	parked    []*redis.IntCmd
}

// The values of an answer, in the order of count_queue.lua.
const (
	countState = iota
	countCounters
	countEnqueued
	countSessions
	countReady
	countDue
	countDead
	countSchedules
	countFront
	countEnvelope
	countFirstDue
	countGone
	countUnhandled
	countRule
	countLine
	countPlaces
	countTurns
	countOldest
	countValues
)

// Fields of the state of a partition, in the order of count_queue.lua.
const (
	statePaused = iota
	stateDone
	stateEnqueued
	stateLimit
	stateRules        // exists while a group has a rule or a pause: scripts/lib/groups.lua
	stateOutbox       // sums of the outbox: scripts/lib/outbox.lua
	stateBlocked      // exists while a line of the outbox is blocked: scripts/outbox/block_outbox.lua
	stateFields  = 11 // with those that only the script needs
)

// read takes the answer of the script. An answer that lacks a value is an error: a proxy may give one, and it must not be read as values that are 0.
func (c *partitionCount) read(answer reply) error {
	if len(answer) != countValues || len(answer.list(countState)) != stateFields || len(answer.list(countCounters)) != len(partitionCounters) {
		return failure("count queue", c.to.Queue, errShortAnswer)
	}
	c.answer, c.unhandled = answer, answer.texts(countUnhandled)
	sessions := answer.texts(countSessions)
	for i := 0; i+1 < len(sessions); i += 2 {
		lapse, _ := strconv.ParseFloat(sessions[i+1], 64)
		c.sessions = append(c.sessions, redis.Z{Member: sessions[i], Score: lapse})
	}
	return nil
}

// partitionCounters are the counters of a partition that are read.
var partitionCounters = []any{"/failed", "/retried", "/died", "/cancelled", "/expired"}

// add adds what the partition holds to its queue.
func (c *partitionCount) add() {
	to, answer, state := c.to, c.answer, c.answer.list(countState)
	to.Now = c.now
	if paused := state.text(statePaused); paused != "" && !to.Paused {
		to.Paused, to.Note = true, parsePause(paused)
	}
	if limit := state.text(stateLimit); limit != "" {
		stored := parseLimit(limit)
		to.Limit, to.LimitUnreadable = stored.QueueLimit, stored.unreadable
	}
	to.Waiting += answer.number(countReady) + answer.number(countLine)
	addOutbox(&to.Outbox, state.text(stateOutbox), state.text(stateBlocked))
	c.addGroups()
	to.Delayed += answer.number(countDue)
	if first, err := strconv.ParseFloat(answer.text(countFirstDue), 64); err == nil {
		if at := time.UnixMilli(int64(max(0, min(first, 1e14)))).UTC(); to.FirstDue.IsZero() || at.Before(to.FirstDue) {
			to.FirstDue = at
		}
	}
	to.Dead += answer.number(countDead)
	to.Schedules += answer.number(countSchedules)
	for _, definition := range answer.texts(countGone) {
		if h, ok := parseHead(definition); ok && h.movedTo != "" {
			to.Schedules-- // it lives elsewhere
		}
	}
	to.Done += state.number(stateDone)
	to.Enqueued += state.number(stateEnqueued)                                                                               // one at a time; the others are counted in callers
	if enqueued, err := strconv.ParseFloat(answer.text(countEnqueued), 64); err == nil && enqueued > 0 && enqueued < 1<<53 { // otherwise it was edited by hand
		to.Enqueued += int64(enqueued)
	}
	for i, counter := range []*int64{&to.Failed, &to.Retried, &to.Died, &to.Cancelled, &to.Expired} {
		*counter += answer.list(countCounters).number(i)
	}
	if id := answer.text(countFront); id != "" {
		to.Heads = append(to.Heads, protocol.Head{ID: id, Body: []byte(answer.text(countEnvelope))})
	}
	for _, n := range c.parked {
		to.Parked += n.Val()
	}
}

// addGroups adds the counts of groups, and since when the job waits that has waited longest among the first jobs of groups.
func (c *partitionCount) addGroups() {
	to, answer := &c.to.Groups, c.answer
	to.Jobs, to.Waiting, to.MayStart = to.Jobs+answer.number(countPlaces), to.Waiting+answer.number(countLine), to.MayStart+answer.number(countTurns)
	if text := answer.list(countState).text(stateRules); text != "" {
		rules, _, _ := strings.Cut(text, " ")
		n, _ := strconv.ParseInt(rules, 10, 64) // 0 if it cannot be read
		to.Rules, to.Rule = to.Rules+n, parseGroupRule(strings.Fields(answer.text(countRule)))
	}
	if since := placeTime(strconv.FormatInt(answer.number(countOldest), 10)); !since.IsZero() && (c.to.FirstInLine.IsZero() || since.Before(c.to.FirstInLine)) {
		c.to.FirstInLine = since
	}
}
