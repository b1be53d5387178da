package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

const sessionTTL = 12 * time.Second // a worker's default

// limitMeasures time the longest script of a call of the store at its largest batch. While a script runs the server does
// nothing else: none may take longer than 5 ms.
func limitMeasures() []measure {
	var all []measure
	for _, c := range slices.Concat(largestCalls, pageCalls) {
		all = append(all, c.measure())
	}
	return all
}

// A largestCall is a call of the store as large as the roles make it, or as large as the store lets it be. Its name says what
// one call carries.
type largestCall struct {
	name string
	prep func(ctx context.Context, l *limits) error // once, before the store is filled
	fill filling
	// each prepares one call and times it.
	each func(ctx context.Context, l *limits) error
}

const limitCalls = 15 // of each kind

// A filling describes the other content of the store while a call is timed: a backlog of jobs of each kind, and a tenth as many schedules.
// Its text is for the long form.
type filling string

const (
	crowded filling = "100,000 jobs waiting, 100,000 delayed and 10,000 schedules around"
	// delayedOnly is for calls that take due jobs: otherwise half of the taken jobs would be waiting ones.
	delayedOnly filling = "100,000 jobs delayed and 10,000 schedules around"
)

var largestCalls = []largestCall{
	{"enqueue 500 of 100 B", nil, crowded, func(ctx context.Context, l *limits) error { return l.enqueue(ctx, 500, payloadBytes, now) }},
	{"enqueue 100 of 10 KiB", nil, crowded, func(ctx context.Context, l *limits) error { return l.enqueue(ctx, 100, 10<<10, now) }},
	{"enqueue 10 of 100 KiB", nil, crowded, func(ctx context.Context, l *limits) error { return l.enqueue(ctx, 10, 100<<10, now) }},
	{"enqueue 500 delayed, own IDs", nil, crowded, func(ctx context.Context, l *limits) error { return l.enqueue(ctx, 500, payloadBytes, later) }},
	{"take 500", nil, crowded, func(ctx context.Context, l *limits) error { return l.take(ctx, 500) }},
	{"take 100 of 10 KiB", atTheHead(100, 10<<10), crowded, func(ctx context.Context, l *limits) error { return l.takeAndFinish(ctx, 100, 10<<10) }},
	{"take 10 of 100 KiB", atTheHead(10, 100<<10), crowded, func(ctx context.Context, l *limits) error { return l.takeAndFinish(ctx, 10, 100<<10) }},
	{"take 500 that are due", nil, delayedOnly, func(ctx context.Context, l *limits) error { return l.takeDue(ctx) }},
	{"settle 500 and take 500", nil, crowded, func(ctx context.Context, l *limits) error { return l.settle(ctx, 500, protocol.SettleDone, 0) }},
	{"retry 256 of 2 KiB and take 500", nil, crowded, func(ctx context.Context, l *limits) error {
		return l.settle(ctx, 256, protocol.SettleLater, 2<<10)
	}},
	{"bury 256 of 2 KiB and take 500", nil, crowded, func(ctx context.Context, l *limits) error { return l.settle(ctx, 256, protocol.SettleDead, 2<<10) }},
	{"give 500 back and take 500", nil, crowded, func(ctx context.Context, l *limits) error { return l.settle(ctx, 500, protocol.SettleBack, 0) }},
	{"park 500 and take 500", nil, crowded, func(ctx context.Context, l *limits) error { return l.settle(ctx, 500, protocol.SettlePark, 0) }},
	{"declare 100 of 250 B", nil, crowded, func(ctx context.Context, l *limits) error { return l.declare(ctx, 100, 250) }},
	{"declare 100 of 5 KiB", nil, crowded, func(ctx context.Context, l *limits) error { return l.declare(ctx, 100, 5<<10) }},
	{"place 500", nil, crowded, func(ctx context.Context, l *limits) error { return l.place(ctx) }},
	{"take 150 occurrences", nil, delayedOnly, func(ctx context.Context, l *limits) error { return l.takeOccurrences(ctx) }},
	{"skip 150 occurrences", nil, delayedOnly, func(ctx context.Context, l *limits) error { return l.skipOccurrences(ctx) }},
	{"settle 250 occurrences and take 50", nil, delayedOnly, func(ctx context.Context, l *limits) error { return l.settleOccurrences(ctx) }},
	{"reap 500", nil, crowded, func(ctx context.Context, l *limits) error { return l.reap(ctx, 500, l.jobs) }},
	{"reap 250 occurrences", nil, delayedOnly, func(ctx context.Context, l *limits) error { return l.reap(ctx, 250, l.occurrences) }},
	{"look", nil, crowded, func(ctx context.Context, l *limits) error { return l.look(ctx) }},
	{"sweep 500 dead", nil, crowded, func(ctx context.Context, l *limits) error { return l.sweep(ctx) }},
	{"names", nil, crowded, func(ctx context.Context, l *limits) error { return l.names(ctx) }},
}

func (c largestCall) measure() measure {
	return measure{
		name: "limit: " + c.name, group: "limits", only: []string{"chime"}, slow: true,
		about: fmt.Sprintf("the time of the longest script or command of a call, as SLOWLOG has it, the median and the longest of "+
			"%d calls, with %s (a fifth of that in the short form)", limitCalls, c.fill),
		run: func(ctx context.Context, r *testbed, _ peer) ([]figure, error) {
			s := openNamespace(r, "limits")
			defer s.close()
			l := &limits{namespace: s, testbed: r, part: protocol.Partition{Queue: "default"}, caller: fmt.Sprintf("%016x", rand.Uint64())}
			if err := l.ready(ctx, c); err != nil {
				return nil, err
			}
			if err := r.redis.client.ConfigSet(ctx, "slowlog-log-slower-than", "0").Err(); err != nil {
				return nil, err
			}
			defer r.redis.client.ConfigSet(context.WithoutCancel(ctx), "slowlog-log-slower-than", "10000")
			for range l.testbed.sizes.calls {
				if err := c.each(ctx, l); err != nil {
					return nil, err
				}
			}
			return []figure{
				{name: "median", unit: "ms", value: middle(l.times), less: true},
				{name: "longest", unit: "ms", value: slices.Max(l.times), less: true},
			}, nil
		},
	}
}

// limits makes the calls of one largestCall.
type limits struct {
	*namespace
	testbed *testbed
	part    protocol.Partition
	caller  string
	calls   int64
	ids     int64
	session string
	number  int64
	after   string    // of a page
	times   []float64 // of the longest command of each timed call, ms
}

// timed calls do and records the time of its longest command.
func (l *limits) timed(ctx context.Context, do func() error) error {
	if err := l.client.Do(ctx, "SLOWLOG", "RESET").Err(); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	log, err := l.client.SlowLogGet(ctx, 100).Result()
	if err != nil {
		return err
	}
	var longest time.Duration
	for _, entry := range log {
		if len(entry.Args) > 0 && !strings.EqualFold(entry.Args[0], "SLOWLOG") {
			longest = max(longest, entry.Duration)
		}
	}
	l.times = append(l.times, micros(longest)/1e3)
	return nil
}

type instant func(item *protocol.EnqueueItem)

func now(*protocol.EnqueueItem)        {}
func later(item *protocol.EnqueueItem) { item.In, item.Own = time.Hour, true }

// items are new jobs.
func (l *limits) items(n, bytes int, when instant) []protocol.EnqueueItem {
	items := make([]protocol.EnqueueItem, n)
	body := []byte("\x01" + strings.Repeat("x", bytes-1))
	for i := range items {
		l.ids++
		items[i] = protocol.EnqueueItem{ID: fmt.Sprintf("job%010d", l.ids), Body: body}
		when(&items[i])
	}
	return items
}

func (l *limits) send(ctx context.Context, items []protocol.EnqueueItem) error {
	l.calls++
	return l.store.Protocol().Enqueue(ctx, []protocol.EnqueueCall{{Partition: l.part, Caller: l.caller, Number: l.calls, Items: items}})[0].Err
}

func (l *limits) enqueue(ctx context.Context, n, bytes int, when instant) error {
	items := l.items(n, bytes, when)
	return l.timed(ctx, func() error { return l.send(ctx, items) })
}

// ready fills the store for a timed call.
func (l *limits) ready(ctx context.Context, c largestCall) error {
	if c.prep != nil {
		if err := c.prep(ctx, l); err != nil {
			return err
		}
	}
	if ok, err := l.fillMany(ctx, c.fill, l.testbed.sizes.backlog*pageBacklogs); ok || err != nil {
		return err
	}
	for range l.testbed.sizes.backlog / 500 {
		if err := l.send(ctx, l.items(500, payloadBytes, later)); err != nil {
			return err
		}
		if c.fill == delayedOnly {
			continue
		}
		if err := l.send(ctx, l.items(500, payloadBytes, now)); err != nil {
			return err
		}
	}
	return l.standing(ctx, l.testbed.sizes.backlog/10)
}

// atTheHead sends the jobs that will be taken before all others, enough for every call.
func atTheHead(n, bytes int) func(context.Context, *limits) error {
	return func(ctx context.Context, l *limits) error {
		for range l.testbed.sizes.calls {
			if err := l.send(ctx, l.items(n, bytes, now)); err != nil {
				return err
			}
		}
		return nil
	}
}

// begin starts a session.
func (l *limits) begin() { l.session, l.number = fmt.Sprintf("%016x", rand.Uint64()), 0 }

// work makes the session's next call.
func (l *limits) work(ctx context.Context, call protocol.WorkCall) (protocol.WorkAnswer, error) {
	l.number++
	call.Partition, call.Worker, call.Session, call.Number = l.part, "bench", l.session, l.number
	if call.TTL == 0 {
		call.TTL = sessionTTL
	}
	answer := l.store.Protocol().Work(ctx, []protocol.WorkCall{call})[0]
	if answer.Err == nil && len(answer.Refused) > 0 {
		answer.Err = errors.New("settlements were refused")
	}
	return answer, answer.Err
}

// takenAll takes n jobs and fails if there are fewer.
func (l *limits) takenAll(ctx context.Context, n int, call protocol.WorkCall) (protocol.WorkAnswer, error) {
	call.Take = n
	answer, err := l.work(ctx, call)
	if err == nil && len(answer.Taken) != n {
		err = fmt.Errorf("took %d of %d", len(answer.Taken), n)
	}
	return answer, err
}

// finish settles the taken jobs as done.
func (l *limits) finish(ctx context.Context, jobs []protocol.TakenJob) error {
	_, err := l.work(ctx, protocol.WorkCall{Settle: settlements(jobs, protocol.SettleDone, nil)})
	return err
}

func settlements(jobs []protocol.TakenJob, kind protocol.SettleKind, body []byte) []protocol.Settlement {
	all := make([]protocol.Settlement, len(jobs))
	for i, job := range jobs {
		all[i] = protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: kind, Body: body}
		switch kind {
		case protocol.SettleLater:
			all[i].Delay, all[i].Failed = time.Hour, true
		case protocol.SettlePark:
			all[i].Name = "nobody"
		}
	}
	return all
}

// take takes the first waiting jobs, and replaces them with as many others.
func (l *limits) take(ctx context.Context, n int) error {
	if err := l.jobs(ctx, n); err != nil {
		return err
	}
	return l.takeAndFinish(ctx, n, payloadBytes)
}

func (l *limits) takeAndFinish(ctx context.Context, n, bytes int) error {
	l.begin()
	var answer protocol.WorkAnswer
	if err := l.timed(ctx, func() (err error) { answer, err = l.takenAll(ctx, n, protocol.WorkCall{}); return err }); err != nil {
		return err
	}
	for _, job := range answer.Taken {
		if len(job.Body) != bytes {
			return fmt.Errorf("took job %s of %d bytes, want %d", job.ID, len(job.Body), bytes)
		}
	}
	return l.finish(ctx, answer.Taken)
}

// takeDue takes due jobs; many others are due later.
func (l *limits) takeDue(ctx context.Context) error {
	due := l.items(500, payloadBytes, func(item *protocol.EnqueueItem) { item.In, item.Own = time.Millisecond, true })
	if err := l.send(ctx, due); err != nil {
		return err
	}
	if err := pause(ctx, 10*time.Millisecond); err != nil {
		return err
	}
	return l.takeAndFinish(ctx, 500, payloadBytes)
}

// settle settles n of 500 jobs with one outcome and takes 500 more in the same call.
func (l *limits) settle(ctx context.Context, n int, kind protocol.SettleKind, bytes int) error {
	for range 2 {
		if err := l.send(ctx, l.items(500, payloadBytes, now)); err != nil {
			return err
		}
	}
	l.begin()
	answer, err := l.takenAll(ctx, 500, protocol.WorkCall{})
	if err != nil {
		return err
	}
	settled := settlements(answer.Taken[:n], kind, []byte(strings.Repeat("\x01", bytes)))
	rest := answer.Taken[n:]
	if err := l.timed(ctx, func() error {
		answer, err = l.takenAll(ctx, 500, protocol.WorkCall{Settle: settled})
		return err
	}); err != nil {
		return err
	}
	if err := l.finish(ctx, append(rest, answer.Taken...)); err != nil || kind != protocol.SettleBack {
		return err
	}
	if answer, err = l.takenAll(ctx, 500, protocol.WorkCall{}); err != nil { // the jobs that were returned
		return err
	}
	return l.finish(ctx, answer.Taken)
}

// jobs makes n ready.
func (l *limits) jobs(ctx context.Context, n int) error {
	return l.send(ctx, l.items(n, payloadBytes, now))
}

// reap returns n jobs of an expired session.
func (l *limits) reap(ctx context.Context, n int, fill func(context.Context, int) error) error {
	if err := fill(ctx, n); err != nil {
		return err
	}
	l.begin()
	if _, err := l.takeAll(ctx, n, 50*time.Millisecond); err != nil {
		return err
	}
	if err := pause(ctx, 60*time.Millisecond); err != nil {
		return err
	}
	look := l.store.Protocol().Poll(ctx, []protocol.PollCall{{Partition: l.part, Worker: "bench"}})[0]
	if look.Err != nil || len(look.Lapsed) != 1 {
		return fmt.Errorf("one session lapsed, but the store says %+v", look)
	}
	call := protocol.ReapCall{Partition: l.part, Session: l.session, Seen: look.Lapsed[0].Lapse, Seed: 1}
	var answer protocol.ReapAnswer
	reap := func() error {
		answer = l.store.Protocol().Reap(ctx, []protocol.ReapCall{call})[0]
		return answer.Err
	}
	err := l.timed(ctx, reap)
	for err == nil && !answer.Done {
		err = reap()
	}
	if err != nil {
		return err
	}
	l.begin()
	taken, err := l.takeAll(ctx, n, sessionTTL)
	if err != nil {
		return err
	}
	return l.finish(ctx, taken)
}

func (l *limits) look(ctx context.Context) error {
	return l.timed(ctx, func() error {
		return l.store.Protocol().Poll(ctx, []protocol.PollCall{{Partition: l.part, Worker: "bench", Sleep: true}})[0].Err
	})
}

// deadKept is how many dead jobs a store keeps by default.
const deadKept = 10_000

// sweep deletes 500 dead jobs that are too old; the store keeps its maximum of others.
func (l *limits) sweep(ctx context.Context) error {
	for dead := int64(0); dead < deadKept-500; {
		if err := l.send(ctx, l.items(500, payloadBytes, now)); err != nil {
			return err
		}
		l.begin()
		answer, err := l.takenAll(ctx, 500, protocol.WorkCall{})
		if err != nil {
			return err
		}
		if _, err := l.work(ctx, protocol.WorkCall{Settle: settlements(answer.Taken, protocol.SettleDead, []byte("\x01"))}); err != nil {
			return err
		}
		if dead, err = l.client.ZCard(ctx, l.key("dead")).Result(); err != nil {
			return err
		}
	}
	old := make([]redis.Z, 500)
	for i := range old {
		old[i] = redis.Z{Score: 1, Member: fmt.Sprint("old-", i)}
	}
	if err := l.client.ZAdd(ctx, l.key("dead"), old...).Err(); err != nil {
		return err
	}
	return l.timed(ctx, func() error { return l.store.Protocol().Sweep(ctx, []protocol.Partition{l.part}, 0)[0].Err })
}
