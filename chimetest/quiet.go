package chimetest

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// quiet is a store that answers from memory what roles ask again and again while nothing happens. Roles do so because on a network
// messages are lost and processes vanish; here neither happens, and a simulated week would be half a million calls for nothing.
//
// What holds:
//
//   - The store is quiet as long as no command is sent to it that may change it. Every command of every role and of the test goes through
//     one client, whose hook sees it. Those of the calls below are not counted: they change nothing but the signs of life of who makes them.
//   - A question is answered from memory only while the store is quiet, and only if its real answer, given while the store was quiet, was
//     that there is nothing: what could happen by itself, a job that becomes due or a session that lapses, is asked for in time.
//   - A sign of life that was answered from memory is given to the store before anything that depends on it: that a worker sleeps, before
//     the command that ends the quiet; what it handles, before a question that reads it. So no worker is passed over that is there.
type quiet struct {
	protocol.Store

	mu       sync.Mutex
	changes  int64         // grows when a command that may change the store begins, and when it ends
	changed  time.Time     // when it grew last
	stirred  chan struct{} // closed when it grows
	memory   map[string]*memory
	signs    map[string]*sign
	fit      bool   // the store was found fit
	leads    *lease // nil: nobody leads, as far as is known
	renewals int64  // of leases
	heads    map[string]time.Time
	headsAt  int64 // changes, when heads were read

	giving sync.Mutex // one gives signs of life at a time
}

// A memory is what a question was answered with.
type memory struct {
	changes int64
	at      time.Time
	asked   any
	answer  any
}

// The kinds of signs of life: that a worker sleeps, which jobs it handles, and what it is.
const (
	pollSign     = "poll "
	announceSign = "announce "
	workerSign   = "worker "
)

// A lease is the leader's.
type lease struct {
	protocol.Leadership
	until time.Time
}

// A sign is a sign of life that the store has not got.
type sign struct {
	give  func(ctx context.Context)
	until time.Time // as long as it would count
}

const (
	// maxMemory is how long an answer is given again. It bounds what is done late that only time brings about, such as sweeping.
	maxMemory = time.Hour
	// owedAfter is how long a schedule is owed its next occurrence before a store names it, and a bit.
	owedAfter = 2 * time.Second
	// headMargin is how long before a job is due sleeping workers are told of it: a bit more than the time between two of their polls.
	headMargin = protocol.IdleRetention + time.Second
	// longestRest is how long an answer that there is nothing may take, and leaseMargin how long before the end of the lease it comes.
	longestRest = 20 * time.Second
	leaseMargin = 500 * time.Millisecond
	// announcedFor is how long a worker that has announced itself counts as alive.
	announcedFor = 5 * time.Minute
	// postponedFor is how long a schedule waits that cannot be computed, and a bit.
	postponedFor = 2 * time.Minute
)

func newQuiet(store protocol.Store, client *redis.Client) *quiet {
	q := &quiet{Store: store, stirred: make(chan struct{}), memory: make(map[string]*memory), signs: make(map[string]*sign), heads: make(map[string]time.Time)}
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

// reading are commands of Redis that change nothing. Any other may: scripts in particular.
var reading = map[string]bool{
	"hello": true, "ping": true, "time": true, "info": true, "config": true, "acl": true, "script": true, "client": true, "select": true,
	"exists": true, "type": true, "hget": true, "hmget": true, "hgetall": true, "hlen": true, "hscan": true, "hexists": true, "llen": true, "lrange": true,
	"lpos": true, "scard": true, "zcard": true, "zcount": true, "zrange": true, "zrangebylex": true, "zrangebyscore": true, "zscore": true, "zmscore": true,
	"xrange": true, "xrevrange": true, "xlen": true,
}

func (q *quiet) disturbs(ctx context.Context, cmds ...redis.Cmder) bool {
	return ctx.Value(upkeepKey{}) == nil && slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool { return !reading[strings.ToLower(cmd.Name())] })
}

// disturb ends the quiet: first the store gets to know who sleeps.
func (q *quiet) disturb(ctx context.Context) {
	q.giveSigns(ctx, pollSign)
	q.change()
}

func (q *quiet) change() {
	q.mu.Lock()
	q.changes++
	q.changed = time.Now()
	close(q.stirred)
	q.stirred = make(chan struct{})
	q.mu.Unlock()
}

// giveSigns gives the store the signs of life of a kind that it has not got and that still count.
func (q *quiet) giveSigns(ctx context.Context, kind string) {
	q.giving.Lock()
	defer q.giving.Unlock()
	signs := make(map[string]*sign)
	q.mu.Lock()
	for who, s := range q.signs {
		if strings.HasPrefix(who, kind) {
			signs[who] = s
			delete(q.signs, who)
		}
	}
	q.mu.Unlock()
	for _, who := range slices.Sorted(maps.Keys(signs)) {
		if time.Now().Before(signs[who].until) {
			signs[who].give(upkeep(context.WithoutCancel(ctx)))
		}
	}
}

// sign keeps a sign of life until the store is to get it. The caller holds mu.
func (q *quiet) sign(who string, lasts time.Duration, give func(ctx context.Context)) {
	q.signs[who] = &sign{give: give, until: time.Now().Add(lasts)}
}

// recall returns what a question was answered with, if that is still the answer.
func (q *quiet) recall(question string, same func(asked any) bool) (answer any, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := q.memory[question]
	if m == nil || m.changes != q.changes || time.Since(m.at) >= maxMemory || !same(m.asked) {
		return nil, false
	}
	return m.answer, true
}

// ask has a question answered by the store. keep reports whether the answer is one to remember.
func (q *quiet) ask(ctx context.Context, question string, asked any, do func(ctx context.Context) (answer any, keep bool)) {
	q.mu.Lock()
	m := &memory{changes: q.changes, at: time.Now(), asked: asked}
	q.mu.Unlock()
	answer, keep := do(upkeep(ctx))
	m.answer = answer
	q.mu.Lock()
	if delete(q.memory, question); keep {
		q.memory[question] = m
	}
	q.mu.Unlock()
}

// Check is done once: no server takes this one's place.
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

// Owed is answered with nothing while the store is quiet, if it was quiet for long enough when it said so. The answer takes as long as the
// quiet lasts, for a scheduler has a turn a second, and nothing to do in it: but only until the leader is to renew its lease.
func (q *quiet) Owed(ctx context.Context, partitions []protocol.Partition) (owed []protocol.Owed, err error) {
	same := func(asked any) bool { return slices.Equal(asked.([]protocol.Partition), partitions) }
	if _, ok := q.recall("owed", same); ok {
		q.rest(ctx)
		return nil, nil
	}
	q.mu.Lock()
	settled := time.Since(q.changed) >= owedAfter
	q.mu.Unlock()
	q.ask(ctx, "owed", slices.Clone(partitions), func(ctx context.Context) (any, bool) {
		owed, err = q.Store.Owed(ctx, partitions)
		return nil, settled && err == nil && len(owed) == 0
	})
	return owed, err
}

// rest waits while the store is quiet and the leader's lease lasts, but not for long.
func (q *quiet) rest(ctx context.Context) {
	q.mu.Lock()
	stirred, most := q.stirred, longestRest
	if q.leads != nil {
		most = min(most, time.Until(q.leads.until)-leaseMargin)
	}
	q.mu.Unlock()
	if most <= 0 {
		return
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-stirred:
	case <-timer.C:
	}
}

// Postpone makes a schedule wait: for as long, nothing is said from memory of what is owed.
func (q *quiet) Postpone(ctx context.Context, owed protocol.Owed) error {
	err := q.Store.Postpone(ctx, owed)
	q.mu.Lock()
	q.changed = time.Now().Add(postponedFor)
	q.mu.Unlock()
	return err
}

// Poll is answered from memory if all of its calls can be.
func (q *quiet) Poll(ctx context.Context, calls []protocol.PollCall) (answers []protocol.PollAnswer) {
	now := time.Now().Truncate(time.Microsecond)
	answers = make([]protocol.PollAnswer, len(calls))
	for i := range calls {
		call := &calls[i]
		known, ok := q.recall(pollKey(call), func(any) bool { return true })
		if !ok || call.Sleep && q.head(ctx, call.Partition.Queue).Before(now.Add(headMargin)) {
			return q.poll(ctx, calls)
		}
		answers[i] = known.(protocol.PollAnswer)
		if answers[i].Now = now; call.Sleep {
			answers[i].Since = now
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range calls {
		if calls[i].Sleep {
			again := calls[i]
			again.Since = time.Time{}
			q.sign(pollKey(&again), protocol.IdleRetention, func(ctx context.Context) { q.Store.Poll(ctx, []protocol.PollCall{again}) })
		}
	}
	return answers
}

func (q *quiet) poll(ctx context.Context, calls []protocol.PollCall) (answers []protocol.PollAnswer) {
	q.mu.Lock()
	changes := q.changes
	q.mu.Unlock()
	answers = q.Store.Poll(upkeep(ctx), calls)
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range answers {
		a, key := answers[i], pollKey(&calls[i])
		delete(q.memory, key)
		delete(q.signs, key)
		if a.Err == nil && !a.More && a.Next == 0 && a.Lapse.IsZero() && len(a.Lapsed) == 0 && a.ParkedMark == 0 && len(a.Parked) == 0 {
			q.memory[key] = &memory{changes: changes, at: now, answer: a}
		}
	}
	return answers
}

// pollKey names the question of a poll: a worker asks for itself, and who asks for lapsed sessions only asks what everybody asks.
func pollKey(call *protocol.PollCall) string {
	key := pollSign + strconv.Itoa(call.Partition.Index) + " " + call.Partition.Queue + " "
	if call.Sleep {
		key += call.Worker
	}
	return key
}

// head is when the first delayed job of a queue is due; a hundred years hence if there is none.
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
	if at = stats[0].FirstDue; at.IsZero() {
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
	same := func(asked any) bool { return slices.Equal(asked.([]string), queues) }
	if known, ok := q.recall("stats", same); ok {
		stats = slices.Clone(known.([]protocol.QueueStats))
		for i := range stats {
			stats[i].Now = time.Now().Truncate(time.Microsecond)
		}
		return stats, nil
	}
	q.ask(ctx, "stats", slices.Clone(queues), func(ctx context.Context) (any, bool) {
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
	q.ask(ctx, "queues "+cursor, nil, func(ctx context.Context) (any, bool) {
		queues, next, err = q.Store.Queues(ctx, cursor)
		return page{slices.Clone(queues), next}, err == nil
	})
	return queues, next, err
}

// Standings is answered from memory while the store is quiet.
func (q *quiet) Standings(ctx context.Context, asked []protocol.Address) (standings []protocol.Standing, err error) {
	same := func(before any) bool { return slices.Equal(before.([]protocol.Address), asked) }
	if known, ok := q.recall("standings", same); ok {
		return slices.Clone(known.([]protocol.Standing)), nil
	}
	q.ask(ctx, "standings", slices.Clone(asked), func(ctx context.Context) (any, bool) {
		standings, err = q.Store.Standings(ctx, asked)
		return slices.Clone(standings), err == nil
	})
	return standings, err
}

// Sweep and Mend are done once while the store is quiet, and then every maxMemory.
func (q *quiet) Sweep(ctx context.Context, partitions []protocol.Partition, unless time.Duration) (answers []protocol.SweepAnswer) {
	same := func(asked any) bool { return slices.Equal(asked.([]protocol.Partition), partitions) }
	if _, ok := q.recall("sweep", same); ok {
		return make([]protocol.SweepAnswer, len(partitions))
	}
	q.ask(ctx, "sweep", slices.Clone(partitions), func(ctx context.Context) (any, bool) {
		answers = q.Store.Sweep(ctx, partitions, unless)
		return nil, !slices.ContainsFunc(answers, func(a protocol.SweepAnswer) bool { return a.Err != nil || a.More })
	})
	return answers
}

func (q *quiet) Mend(ctx context.Context, cursor string) (next string, mended []protocol.Mended, err error) {
	if _, ok := q.recall("mend", func(any) bool { return cursor == "" }); ok {
		return "", nil, nil
	}
	q.ask(ctx, "mend", nil, func(ctx context.Context) (any, bool) {
		next, mended, err = q.Store.Mend(ctx, cursor)
		return nil, err == nil && cursor == "" && next == "" && len(mended) == 0
	})
	return next, mended, err
}

// Announce is a sign of life: the store gets it the first time, and then when somebody looks.
func (q *quiet) Announce(ctx context.Context, worker string, handled []protocol.Handled) (err error) {
	again := func(ctx context.Context) { err = q.Store.Announce(ctx, worker, handled) }
	q.announce(ctx, announceSign+worker, again)
	return err
}

// AnnounceWorker is like Announce.
func (q *quiet) AnnounceWorker(ctx context.Context, worker protocol.WorkerEntry) (err error) {
	began := time.Now().Add(-worker.Age)
	again := func(ctx context.Context) {
		worker.Age = time.Since(began)
		err = q.Store.AnnounceWorker(ctx, worker)
	}
	q.announce(ctx, workerSign+worker.Name, again)
	return err
}

func (q *quiet) announce(ctx context.Context, who string, give func(ctx context.Context)) {
	q.mu.Lock()
	first := q.memory[who] == nil
	if q.memory[who] = new(memory); !first {
		q.sign(who, announcedFor, give)
	}
	q.mu.Unlock()
	if first {
		give(upkeep(ctx))
	}
}

// RetireWorker ends what is known of a worker.
func (q *quiet) RetireWorker(ctx context.Context, name string) error {
	q.mu.Lock()
	for _, who := range []string{announceSign + name, workerSign + name} {
		delete(q.memory, who)
		delete(q.signs, who)
	}
	q.mu.Unlock()
	return q.Store.RetireWorker(ctx, name)
}

// Workers reads signs of life.
func (q *quiet) Workers(ctx context.Context) ([]protocol.WorkerEntry, error) {
	q.giveSigns(ctx, workerSign)
	return q.Store.Workers(ctx)
}

// Served reads signs of life.
func (q *quiet) Served(ctx context.Context, also []string) ([]protocol.QueueSize, error) {
	q.giveSigns(ctx, announceSign)
	return q.Store.Served(upkeep(ctx), also)
}

// Work reads signs of life if it parks a job: it wakes a worker that handles it.
func (q *quiet) Work(ctx context.Context, calls []protocol.WorkCall) []protocol.WorkAnswer {
	for i := range calls {
		if slices.ContainsFunc(calls[i].Settle, func(s protocol.Settlement) bool { return s.Kind == protocol.SettlePark }) {
			q.giveSigns(ctx, announceSign)
			break
		}
	}
	return q.Store.Work(ctx, calls)
}

// Unhandled reads signs of life.
func (q *quiet) Unhandled(ctx context.Context, asked []protocol.Handled) (missing []protocol.Handled, err error) {
	same := func(before any) bool { return slices.Equal(before.([]protocol.Handled), asked) }
	if _, ok := q.recall("unhandled", same); ok {
		return nil, nil
	}
	q.giveSigns(ctx, announceSign)
	q.ask(ctx, "unhandled", slices.Clone(asked), func(ctx context.Context) (any, bool) {
		missing, err = q.Store.Unhandled(ctx, asked)
		return nil, err == nil && len(missing) == 0
	})
	return missing, err
}

// Lead is answered from memory as long as the leader renews its lease in time: nothing but these three calls reads it.
func (q *quiet) Lead(ctx context.Context, candidate string, ttl time.Duration) (protocol.Leadership, error) {
	now := time.Now()
	q.mu.Lock()
	if q.leads != nil && now.Before(q.leads.until) {
		defer q.mu.Unlock()
		leads := q.leads.Leadership
		if leads.Leading = leads.Leader == candidate; leads.Leading {
			q.leads.until = now.Add(ttl)
			q.renewals++
		}
		leads.Left = q.leads.until.Sub(now)
		return leads, nil
	}
	q.mu.Unlock()
	leads, err := q.Store.Lead(upkeep(ctx), candidate, ttl)
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.memory, "lease")
	q.renewals++
	if q.leads = nil; err == nil {
		q.leads = &lease{leads, time.Now().Add(leads.Left)}
	}
	return leads, err
}

// Resign ends what is remembered of who leads.
func (q *quiet) Resign(ctx context.Context, candidate string) error {
	q.mu.Lock()
	q.leads = nil
	delete(q.memory, "lease")
	q.mu.Unlock()
	return q.Store.Resign(ctx, candidate)
}

// Lease says whether the lease was renewed since it was asked for last.
func (q *quiet) Lease(ctx context.Context) (text string, err error) {
	q.mu.Lock()
	led, renewals := q.leads != nil && time.Now().Before(q.leads.until), q.renewals
	q.mu.Unlock()
	if led {
		return "renewed " + strconv.FormatInt(renewals, 10), nil
	}
	if _, ok := q.recall("lease", func(any) bool { return true }); ok {
		return "", nil
	}
	q.ask(ctx, "lease", nil, func(ctx context.Context) (any, bool) {
		text, err = q.Store.Lease(ctx)
		return nil, err == nil && text == ""
	})
	return text, err
}
