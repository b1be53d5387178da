package chimetest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// quiet is a store that answers from memory the calls that roles repeat while nothing happens. Roles repeat them because on a network
// messages are lost and processes vanish. Here neither happens, and a simulated week would need half a million useless calls.
//
// These rules hold:
//
//   - The store is quiet as long as no command is sent to it that may change it. Every command of every role and of the test goes through
//     one client, and a hook sees it. The commands of the calls below are not counted: they change only the signs of life of their callers.
//   - A call is answered from memory only while the store is quiet, and only if its real answer during that time was empty. Events that need
//     no command, such as a job that becomes due or a session that lapses, are read from the store in time.
//   - A sign of life that was answered from memory is sent to the store before anything that depends on it: that a worker sleeps, before
//     the command that ends the quiet; which jobs it handles, before a call that reads this. So a live worker is never overlooked.
type quiet struct {
	protocol.Store

	mu        sync.Mutex
	changes   int64         // grows when a command that may change the store begins, and when it ends
	changed   time.Time     // when it last grew
	postponed time.Time     // when a schedule was last postponed
	woken     chan struct{} // closed when changes grows
	memory    map[string]*memory
	signs     map[string]*sign
	fit       bool   // the store was found fit
	leads     *lease // nil: no known scheduler leads
	renewals  int64  // of leases
	heads     map[string]time.Time
	headsAt   int64 // changes, when heads were read

	sending sync.Mutex // one goroutine sends signs of life at a time
}

// A memory is the answer to a call.
type memory struct {
	changes int64
	at      time.Time
	args    any
	answer  any
}

const (
	// maxMemory is how long an answer is repeated. It limits the delay of work that depends only on time, such as sweeping.
	maxMemory = time.Hour
	// owedAfter is a little longer than the time after which a store lists a schedule as owed its next occurrence.
	owedAfter = 2 * time.Second
	// headMargin is how long before a job is due sleeping workers must read it: a little longer than the time between two of their polls.
	headMargin = protocol.IdleRetention + time.Second
	// longestRest is how long an empty answer may take: less than a scheduler's timeout.
	longestRest = 25 * time.Second
	// postponedFor is a little longer than the time for which a schedule that cannot be computed is postponed.
	postponedFor = 2 * time.Minute
)

func newQuiet(store protocol.Store, client *redis.Client) *quiet {
	q := &quiet{Store: store, woken: make(chan struct{}), memory: make(map[string]*memory), signs: make(map[string]*sign), heads: make(map[string]time.Time)}
	client.AddHook(hook{q})
	return q
}

// upkeepKey is the key of a ctx whose commands do not end the quiet.
type upkeepKey struct{}

func upkeep(ctx context.Context) context.Context { return context.WithValue(ctx, upkeepKey{}, true) }

// A hook sees the commands of the client.
type hook struct{ *quiet }

func (h hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if h.disturbs(ctx, cmd) {
			h.disturb(ctx)
			defer h.change()
		}
		return next(ctx, cmd)
	}
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if h.disturbs(ctx, cmds...) {
			h.disturb(ctx)
			defer h.change()
		}
		return next(ctx, cmds)
	}
}

// reading lists the commands of Redis that change nothing. All others may change something, scripts in particular.
var reading = map[string]bool{
	"hello": true, "ping": true, "time": true, "info": true, "config": true, "acl": true, "script": true, "client": true, "select": true,
	"exists": true, "type": true, "hget": true, "hmget": true, "hgetall": true, "hlen": true, "hscan": true, "hexists": true, "llen": true, "lrange": true,
	"lpos": true, "scard": true, "zcard": true, "zcount": true, "zrange": true, "zrangebylex": true, "zrangebyscore": true, "zscore": true, "zmscore": true,
	"xrange": true, "xrevrange": true, "xlen": true,
}

func (q *quiet) disturbs(ctx context.Context, cmds ...redis.Cmder) bool {
	return ctx.Value(upkeepKey{}) == nil && slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool { return !reading[strings.ToLower(cmd.Name())] })
}

// disturb ends the quiet. Before that it sends the store which workers sleep.
func (q *quiet) disturb(ctx context.Context) {
	q.sendSigns(ctx, pollSign)
	q.change()
}

func (q *quiet) change() {
	q.mu.Lock()
	q.changes++
	q.changed = time.Now()
	close(q.woken)
	q.woken = make(chan struct{})
	q.mu.Unlock()
}

// recall returns the answer to a call, if it is still valid.
func (q *quiet) recall(key string, same func(args any) bool) (answer any, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := q.memory[key]
	if m == nil || m.changes != q.changes || time.Since(m.at) >= maxMemory || !same(m.args) {
		return nil, false
	}
	return m.answer, true
}

// fetch gets an answer from the store. do reports whether to keep it.
func (q *quiet) fetch(ctx context.Context, key string, args any, do func(ctx context.Context) (answer any, keep bool)) {
	q.mu.Lock()
	m := &memory{changes: q.changes, at: time.Now(), args: args}
	q.mu.Unlock()
	answer, keep := do(upkeep(ctx))
	m.answer = answer
	q.mu.Lock()
	if delete(q.memory, key); keep {
		q.memory[key] = m
	}
	q.mu.Unlock()
}

// Check is called once: this server is never replaced by another one.
func (q *quiet) Check(ctx context.Context) error {
	q.mu.Lock()
	fit := q.fit
	q.mu.Unlock()
	if fit {
		return nil
	}
	err := q.Store.Check(upkeep(ctx))
	q.mu.Lock()
	q.fit = err == nil
	q.mu.Unlock()
	return err
}

// Owed returns nothing while the store is quiet, if it had been quiet for long enough at the last empty answer. The answer takes as long as
// the quiet lasts, or longestRest, because a scheduler polls every second and would have nothing to do.
func (q *quiet) Owed(ctx context.Context, partitions []protocol.Partition) (owed []protocol.Owed, err error) {
	same := func(args any) bool { return slices.Equal(args.([]protocol.Partition), partitions) }
	if _, ok := q.recall("owed", same); ok {
		q.rest(ctx)
		return nil, nil
	}
	q.mu.Lock()
	settled := time.Since(q.changed) >= owedAfter && time.Since(q.postponed) >= postponedFor
	q.mu.Unlock()
	q.fetch(ctx, "owed", slices.Clone(partitions), func(ctx context.Context) (any, bool) {
		owed, err = q.Store.Owed(ctx, partitions)
		return nil, settled && err == nil && len(owed) == 0
	})
	return owed, err
}

// rest waits while the store is quiet, but not for long.
func (q *quiet) rest(ctx context.Context) {
	q.mu.Lock()
	woken := q.woken
	q.mu.Unlock()
	timer := time.NewTimer(longestRest)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-woken:
	case <-timer.C:
	}
}

// Postpone makes a schedule wait. During that time Owed is not answered from memory.
func (q *quiet) Postpone(ctx context.Context, owed protocol.Owed) error {
	err := q.Store.Postpone(ctx, owed)
	q.mu.Lock()
	q.postponed = time.Now()
	q.mu.Unlock()
	return err
}

// head returns when the first delayed job of a queue is due: in a hundred years without such a job, long ago if a job already waits.
func (q *quiet) head(ctx context.Context, queue string) time.Time {
	q.mu.Lock()
	changes := q.changes
	if q.headsAt != changes {
		clear(q.heads)
		q.headsAt = changes
	}
	at, ok := q.heads[queue]
	q.mu.Unlock()
	if ok {
		return at
	}
	stats, err := q.Store.QueueStats(upkeep(ctx), []string{queue})
	if err != nil || len(stats) != 1 {
		return time.Time{}
	}
	switch at = stats[0].FirstDue; {
	case stats[0].Waiting > 0 && !stats[0].Paused: // for a limit, which ends with time
		at = time.Time{}
	case at.IsZero():
		at = time.Now().Add(protocol.MaxDelay)
	}
	q.mu.Lock()
	if q.headsAt == changes && q.changes == changes {
		q.heads[queue] = at
	}
	q.mu.Unlock()
	return at
}

// QueueStats is answered from memory while the store is quiet.
func (q *quiet) QueueStats(ctx context.Context, queues []string) (stats []protocol.QueueStats, err error) {
	same := func(args any) bool { return slices.Equal(args.([]string), queues) }
	if known, ok := q.recall("stats", same); ok {
		stats = slices.Clone(known.([]protocol.QueueStats))
		for i := range stats {
			stats[i].Now = time.Now().Truncate(time.Microsecond)
		}
		return stats, nil
	}
	q.fetch(ctx, "stats", slices.Clone(queues), func(ctx context.Context) (any, bool) {
		stats, err = q.Store.QueueStats(ctx, queues)
		return slices.Clone(stats), err == nil
	})
	return stats, err
}

// Queues is answered from memory while the store is quiet.
func (q *quiet) Queues(ctx context.Context, cursor string) (queues []protocol.QueueSize, next string, err error) {
	type page struct {
		queues []protocol.QueueSize
		next   string
	}
	if known, ok := q.recall("queues "+cursor, func(any) bool { return true }); ok {
		p := known.(page)
		return slices.Clone(p.queues), p.next, nil
	}
	q.fetch(ctx, "queues "+cursor, nil, func(ctx context.Context) (any, bool) {
		queues, next, err = q.Store.Queues(ctx, cursor)
		return page{slices.Clone(queues), next}, err == nil
	})
	return queues, next, err
}

// Standings is answered from memory while the store is quiet.
func (q *quiet) Standings(ctx context.Context, args []protocol.Address) (standings []protocol.Standing, err error) {
	same := func(earlier any) bool { return slices.Equal(earlier.([]protocol.Address), args) }
	if known, ok := q.recall("standings", same); ok {
		return slices.Clone(known.([]protocol.Standing)), nil
	}
	q.fetch(ctx, "standings", slices.Clone(args), func(ctx context.Context) (any, bool) {
		standings, err = q.Store.Standings(ctx, args)
		return slices.Clone(standings), err == nil
	})
	return standings, err
}

// Sweep and RepairOrphans run once while the store is quiet, and then every maxMemory.
func (q *quiet) Sweep(ctx context.Context, partitions []protocol.Partition, unless time.Duration) (answers []protocol.SweepAnswer) {
	same := func(args any) bool { return slices.Equal(args.([]protocol.Partition), partitions) }
	if _, ok := q.recall("sweep", same); ok {
		return make([]protocol.SweepAnswer, len(partitions))
	}
	q.fetch(ctx, "sweep", slices.Clone(partitions), func(ctx context.Context) (any, bool) {
		answers = q.Store.Sweep(ctx, partitions, unless)
		return nil, !slices.ContainsFunc(answers, func(a protocol.SweepAnswer) bool { return a.Err != nil || a.More || len(a.Expired) > 0 })
	})
	return answers
}

// Sample takes samples while something happens. A quiet minute needs none: the next sample covers it.
func (q *quiet) Sample(ctx context.Context, partitions []protocol.Partition, missing int) (answers []protocol.SampleAnswer) {
	if _, ok := q.recall("sample", func(any) bool { return true }); ok {
		answers = make([]protocol.SampleAnswer, len(partitions))
		for i := range answers {
			answers[i].Now = time.Now()
		}
		return answers
	}
	q.fetch(ctx, "sample", nil, func(ctx context.Context) (any, bool) {
		answers = q.Store.Sample(ctx, partitions, missing)
		return nil, !slices.ContainsFunc(answers, func(a protocol.SampleAnswer) bool { return a.Err != nil })
	})
	return answers
}

// EndPauses is answered from memory as long as no pause has an end.
func (q *quiet) EndPauses(ctx context.Context, partitions []protocol.Partition) (ended protocol.EndedPauses, err error) {
	same := func(args any) bool { return slices.Equal(args.([]protocol.Partition), partitions) }
	if _, ok := q.recall("end pauses", same); ok {
		return protocol.EndedPauses{Next: -1}, nil
	}
	q.fetch(ctx, "end pauses", slices.Clone(partitions), func(ctx context.Context) (any, bool) {
		ended, err = q.Store.EndPauses(ctx, partitions)
		return nil, err == nil && ended.Next < 0
	})
	return ended, err
}

// DueReports returns nothing while the store is quiet, if it had been quiet for long enough at the last empty answer: counts are due at most a second after
// they have changed. Those that are reported again, because a home may have gone back, wait until the store changes: here none goes back.
func (q *quiet) DueReports(ctx context.Context, partition protocol.Partition) (due []protocol.PartitionCounts, more bool, err error) {
	key := "reports " + partition.Path()
	if _, ok := q.recall(key, func(any) bool { return true }); ok {
		return nil, false, nil
	}
	q.mu.Lock()
	settled := time.Since(q.changed) >= owedAfter
	q.mu.Unlock()
	q.fetch(ctx, key, nil, func(ctx context.Context) (any, bool) {
		due, more, err = q.Store.DueReports(ctx, partition)
		return nil, settled && err == nil && len(due) == 0
	})
	return due, more, err
}

// TendBatches reads the batches of a home once while the store is quiet, if nobody has to look after one, and then every maxMemory.
func (q *quiet) TendBatches(ctx context.Context, home int) (tended []protocol.BatchRecord, owes bool, err error) {
	key := "tend " + strconv.Itoa(home)
	if _, ok := q.recall(key, func(any) bool { return true }); ok {
		return nil, false, nil
	}
	q.fetch(ctx, key, nil, func(ctx context.Context) (any, bool) {
		tended, owes, err = q.Store.TendBatches(ctx, home)
		return nil, err == nil && len(tended) == 0 && !owes
	})
	return tended, owes, err
}

func (q *quiet) RepairOrphans(ctx context.Context, cursor string) (next string, repaired []protocol.Orphan, err error) {
	if _, ok := q.recall("repair orphans", func(any) bool { return cursor == "" }); ok {
		return "", nil, nil
	}
	q.fetch(ctx, "repair orphans", nil, func(ctx context.Context) (any, bool) {
		next, repaired, err = q.Store.RepairOrphans(ctx, cursor)
		return nil, err == nil && cursor == "" && next == "" && len(repaired) == 0
	})
	return next, repaired, err
}
