package redisstore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A producer enqueues like an enqueuer: one call after the other, each with the ticket of the previous answer.
type producer struct {
	*bench
	number int64
	ticket protocol.EnqueueTicket
}

func newProducer(b *bench) *producer {
	p := &producer{bench: b}
	p.add("first") // makes it known, and gives it a ticket
	return p
}

// add enqueues a job and returns the answer.
func (p *producer) add(id string) protocol.EnqueueAnswer {
	p.Helper()
	p.number++
	answer := p.again(id)
	if answer.Err != nil {
		p.Fatalf("call %d: %v", p.number, answer.Err)
	}
	p.ticket = answer.Ticket
	return answer
}

// again repeats the last call.
func (p *producer) again(id string) protocol.EnqueueAnswer {
	call := protocol.EnqueueCall{Partition: storesuite.DefaultPartition, Caller: "producer", Number: p.number, Ticket: p.ticket, Items: []protocol.EnqueueItem{storesuite.Job(id)}}
	return p.store.Enqueue(p.Context(), []protocol.EnqueueCall{call})[0]
}

// one runs enqueue_one.lua alone, like a late copy of a call, and returns its answer.
func (p *producer) one(number int64, id string) any {
	call := protocol.EnqueueCall{Partition: storesuite.DefaultPartition, Caller: "producer", Number: number, Ticket: p.ticket, Items: []protocol.EnqueueItem{storesuite.Job(id)}}
	return p.store.run(p.Context(), p.client, p.store.enqueueOneCall(&call))[0].Val()
}

// ways enqueues a job and reports which scripts it used: an answer with the time comes from enqueue.lua.
func (p *producer) ways(id string) (short, whole bool) {
	p.Helper()
	next := protocol.EnqueueCall{Number: p.number + 1, Ticket: p.ticket, Items: []protocol.EnqueueItem{storesuite.Job(id)}}
	return goesAlone(&next), !p.add(id).Now.IsZero()
}

func TestASingleJobGoesByTheShortWay(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		p := newProducer(b)
		for i := range 3 {
			if short, whole := p.ways(fmt.Sprint("j", i)); !short || whole {
				b.Errorf("job %d: short path %v, whole path %v; want only the short one", i, short, whole)
			}
		}
		b.Want("waiting", strings.Join(b.ready(), " "), "first j0 j1 j2")
		if s := b.Stats(); s.Enqueued != 4 || s.Waiting != 4 {
			b.Errorf("stats %+v, want 4 enqueued, which wait", s)
		}
		b.Want("its body", string(b.Take("s", 2)[1].Body), "\x01j0")
	})
}

func (b *bench) ready() []string {
	return b.client.LRange(b.Context(), b.keys().ready, 0, -1).Val()
}

// After a lost reply the same call is repeated: go-redis repeats the short one, and so does the enqueuer.
func TestARepeatedShortCallAddsNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		p := newProducer(b)
		for _, done := range []bool{false, true} {
			ticket := p.ticket
			id := fmt.Sprint("done ", done)
			p.add(id)
			if done {
				for _, taken := range b.Take("s", 5) {
					b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone})
				}
			}
			before := snapshotOf(b)
			for _, p.ticket = range []protocol.EnqueueTicket{ticket, {}} {
				if answer := p.again(id); answer.Err != nil || slices.Contains(answer.Existing, true) {
					b.Errorf("%s: %+v, want the answer of the first", id, answer)
				}
			}
			b.Want(id, snapshotOf(b), before)
			p.add(id + ", after")
		}
	})
}

// A copy of a call that arrives after a later call adds nothing, on either path.
func TestAShortCallThatComesLateAddsNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		p := newProducer(b)
		short := p.ticket
		p.add("a")
		p.add("b")
		after := *p
		p.ticket = protocol.EnqueueTicket{}
		p.add("c") // by the whole path
		before := snapshotOf(b)
		for number := int64(1); number <= 4; number++ {
			for _, ticket := range []protocol.EnqueueTicket{short, after.ticket, p.ticket} {
				late := producer{bench: b, ticket: ticket}
				b.Want(fmt.Sprint("late call ", number), fmt.Sprint(late.one(number, "late")), "0")
			}
		}
		p.number = 2
		if answer := p.again("a"); answer.Err == nil {
			b.Error("call 2 after call 4 was accepted")
		}
		b.Want("the keys", snapshotOf(b), before)
	})
}

// The server's clock may step back: jobs enqueued before that are not enqueued again.
func TestAShortCallOfBeforeAClockStepAddsNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		p := newProducer(b)
		p.add("a")
		late := *p
		for _, taken := range b.Take("s", 5) {
			b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone})
		}
		score := b.client.ZScore(b.Context(), b.keys().callers, "producer").Val()
		b.client.ZAdd(b.Context(), b.keys().callers, redisZ(score+600*callerRound, "producer")) // written ten minutes before the clock stepped back
		late.ticket.Score += 600 * callerRound
		p.ticket = protocol.EnqueueTicket{}
		p.add("b")
		b.Want("the late copy", fmt.Sprint(late.one(2, "a")), "0")
		p.add("c")
		b.Want("waiting", strings.Join(b.ready(), " "), "b c")
	})
}

// A caller that the server does not know, as after a restart without its data, uses the whole path, which writes the keys of a partition.
func TestACallerThatTheServerForgotGoesTheWholeWay(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		p := newProducer(b)
		b.client.Del(b.Context(), b.keys().callers, b.keys().state, b.keys().ready, b.keys().jobs)
		if short, whole := p.ways("a"); !short || !whole {
			b.Errorf("short path %v, whole path %v; want both", short, whole)
		}
		b.Want("waiting", strings.Join(b.ready(), " "), "a")
		b.Want("layout", b.client.HGet(b.Context(), b.keys().state, "layout").Val(), layout)
	})
}

// The score for enqueue_one.lua is computed in the same way as in enqueue.lua.
func TestTheScoreOfACallerIsTheSameByBothWays(t *testing.T) {
	if round := luaValues(t, "callers", "ROUND")[0]; round != fmt.Sprint(callerRound) {
		t.Errorf("ROUND is %s in lib/callers.lua, and %d in Go", round, callerRound)
	}
}

// A call of anything but one small job that runs now uses the whole path, and so does every call with an old ticket.
func TestWhatTheShortWayCannotDoGoesTheWholeWay(t *testing.T) {
	p := protocol.EnqueueTicket{Score: 1000*callerRound + 5, Until: time.Now().Add(time.Hour)}
	later, large := storesuite.Job("later"), storesuite.Job("large")
	later.In, large.Body = time.Second, make([]byte, largeBody+1)
	for what, c := range map[string]struct {
		call protocol.EnqueueCall
		want bool
	}{
		"one job":         {protocol.EnqueueCall{Number: 6, Ticket: p, Items: []protocol.EnqueueItem{storesuite.Job("a")}}, true},
		"no ticket":       {protocol.EnqueueCall{Number: 6, Items: []protocol.EnqueueItem{storesuite.Job("a")}}, false},
		"an old ticket":   {protocol.EnqueueCall{Number: 6, Ticket: protocol.EnqueueTicket{Score: p.Score, Until: time.Now()}, Items: []protocol.EnqueueItem{storesuite.Job("a")}}, false},
		"the same number": {protocol.EnqueueCall{Number: 5, Ticket: p, Items: []protocol.EnqueueItem{storesuite.Job("a")}}, false},
		"a new round":     {protocol.EnqueueCall{Number: callerRound, Ticket: p, Items: []protocol.EnqueueItem{storesuite.Job("a")}}, false},
		"two jobs":        {protocol.EnqueueCall{Number: 6, Ticket: p, Items: []protocol.EnqueueItem{storesuite.Job("a"), storesuite.Job("b")}}, false},
		"a delayed job":   {protocol.EnqueueCall{Number: 6, Ticket: p, Items: []protocol.EnqueueItem{later}}, false},
		"an ID of users":  {protocol.EnqueueCall{Number: 6, Ticket: p, Items: []protocol.EnqueueItem{storesuite.Own("a")}}, false},
		"a large body":    {protocol.EnqueueCall{Number: 6, Ticket: p, Items: []protocol.EnqueueItem{large}}, false},
	} {
		if got := goesAlone(&c.call); got != c.want {
			t.Errorf("%s: short %v, want %v", what, got, c.want)
		}
	}
}

// A paused queue wakes no worker, and a resumed one does again.
func TestAPausedQueueWakesNobody(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		p := newProducer(b)
		b.Take("s", 5)
		b.Sleeping("a")
		b.pause(true)
		if swept := b.store.Sweep(b.Context(), []protocol.Partition{storesuite.DefaultPartition}, 0)[0]; swept.Err != nil {
			b.Fatal(swept.Err)
		}
		for i := range 3 {
			if short, whole := p.ways(fmt.Sprint("paused ", i)); short != (i == 0) || !whole {
				b.Errorf("job %d while the queue is paused: short path %v, whole path %v; want the whole one, for the first job after the short one", i, short, whole)
			}
		}
		if b.asleepSince("a").IsZero() {
			b.Error("a job for a paused queue woke a worker")
		}
		b.pause(false)
		if !b.asleepSince("a").IsZero() {
			b.Error("no worker was woken when the queue was resumed")
		}
		b.Work("a", protocol.WorkCall{Take: 10, Sleep: true})
		b.Sleeping("b")
		p.add("resumed")
		p.add("by the short path")
		if !b.asleepSince("b").IsZero() {
			b.Error("a job for the resumed queue woke no worker")
		}
		if n := len(b.ready()); n != 2 {
			b.Errorf("%d wait, want the two last", n)
		}
	})
}

// The short path compares a registration with the instant of the caller, which may be oneFor old: it is at most two seconds older, or the script asks the clock.
// So a worker is woken if it sleeps for less than IdleRetention, and passed over if it sleeps for longer.
func TestAShortCallPassesOverAWorkerThatIsGone(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, caller := range []time.Duration{0, oneFor - time.Second} { // ago
			for ago, woken := range map[time.Duration]bool{
				0: true, time.Second: true, 3 * time.Second: true, protocol.IdleRetention - time.Second: true, protocol.IdleRetention + time.Second: false, time.Hour: false,
			} {
				k, now := b.keys(), time.Now()
				b.client.Del(b.Context(), k.ready, k.jobs, k.callers, k.idle, k.state)
				p := newProducer(b)
				p.ticket.Score -= int64(caller/time.Second) * callerRound
				b.client.ZAdd(b.Context(), k.callers, redisZ(float64(p.ticket.Score), "producer"))
				b.client.ZAdd(b.Context(), k.idle, redisZ(float64(now.Add(-ago).UnixMilli()), "w-a"), redisZ(float64(now.UnixMilli()), "w-b"))
				if _, whole := p.ways("j"); whole {
					b.Fatal("by the whole path")
				}
				if got := !b.asleepSince("b").IsZero(); got != woken || !b.asleepSince("a").IsZero() {
					b.Errorf("a worker asleep for %v, a caller with an instant of %v ago: woken alone %v, want %v", ago, caller, got, woken)
				}
			}
		}
	})
}

func (b *bench) pause(paused bool) {
	b.Helper()
	if err := b.store.PauseQueue(b.Context(), "default", paused, protocol.Note{}); err != nil {
		b.Fatal(err)
	}
}

// A newer version raises the layout while this one has a ticket: this one stops at its next call and reports the reason.
func TestAShortCallStopsAtANewerLayout(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		p := newProducer(b)
		b.client.HSet(b.Context(), b.keys().state, "layout", "99")
		b.client.ZAdd(b.Context(), b.keys().idle, redisZ(-1, "#closed"))
		before := snapshotOf(b)
		p.number++
		if answer := p.again("a"); answer.Err == nil || !strings.Contains(answer.Err.Error(), "99") {
			b.Errorf("%v, want an error that names the layout", answer.Err)
		}
		b.Want("the keys", snapshotOf(b), before)
	})
}

// A key of a wrong type: the job is not added, and the answer is an error; when the key is gone, the same call adds the job.
func TestEnqueuingMeetsAWrongTypeBeforeItHasAddedAnything(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		k := b.keys()
		for _, way := range []string{"short", "whole"} {
			for _, key := range []string{k.ready, k.jobs, k.callers, k.idle, k.state} {
				b.client.Del(b.Context(), k.ready, k.jobs, k.callers, k.idle, k.state)
				p := newProducer(b)
				p.add("second")
				if way == "whole" {
					p.ticket = protocol.EnqueueTicket{}
				}
				b.Sleeping("a")
				kept := b.client.Dump(b.Context(), key).Val()
				b.client.Del(b.Context(), key)
				b.client.Set(b.Context(), key, "theirs", 0)
				before := snapshotOf(b)
				p.number++
				if answer := p.again("a"); answer.Err == nil || !strings.Contains(answer.Err.Error(), "WRONGTYPE") {
					b.Errorf("%s path, %s: %v, want WRONGTYPE", way, key, answer.Err)
				}
				b.Want(way+" path, "+key, snapshotOf(b), before)
				b.client.Del(b.Context(), key)
				if kept != "" && key == k.callers {
					b.client.ZAdd(b.Context(), key, redisZ(float64(p.ticket.Score), "producer"))
				}
				if answer := p.again("a"); answer.Err != nil || !slices.Contains(b.ready(), "a") || !b.client.HExists(b.Context(), k.jobs, "a").Val() {
					b.Errorf("%s path, %s: the same call afterwards: %v, ready %v", way, key, answer.Err, b.ready())
				}
			}
		}
	})
}

// snapshotOf returns the content of the keys that enqueuing uses.
func snapshotOf(b *bench) string {
	b.Helper()
	k := b.keys()
	var all []string
	for _, key := range k.enqueueing() {
		all = append(all, fmt.Sprint(key, " ", b.client.Get(b.Context(), key).Val(), b.client.LRange(b.Context(), key, 0, -1).Val(),
			b.client.HGetAll(b.Context(), key).Val(), b.client.ZRangeWithScores(b.Context(), key, 0, -1).Val()))
	}
	return strings.Join(all, "\n")
}
