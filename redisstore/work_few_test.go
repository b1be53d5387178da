package redisstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A fewQueue is a queue with one worker. If few is true, each call tries work_few.lua first.
type fewQueue struct {
	*bench
	at      protocol.Partition
	few     bool
	calls   int64
	carried int // calls that work_few.lua has carried out
	sent    int64
	late    *protocol.WorkCall // the last call that work_few.lua has carried out
	fences  map[string]int64
}

// work makes a call. What work_few.lua has carried out, it sends again, which returns the same jobs and refuses nothing.
func (q *fewQueue) work(call protocol.WorkCall) protocol.WorkAnswer {
	q.Helper()
	q.calls++
	call.Partition, call.Session, call.Worker, call.Number, call.TTL = q.at, "session", "worker", q.calls, time.Minute
	for i := range call.Settle {
		call.Settle[i].Fence = q.fences[call.Settle[i].ID]
	}
	hot := q.store.hotKeys(q.at)
	hot.few.skips.Store(1 << 30)
	var answer protocol.WorkAnswer
	done := false
	if q.late != nil {
		if _, late := q.store.workFewAnswer(q.late, q.store.run(q.Context(), q.client, q.store.workFewCall(q.late))[0]); late {
			q.Errorf("a late copy of call %d was carried out", q.late.Number)
		}
	}
	if q.few && isFew(&call) {
		if answer, done = q.store.workFewAnswer(&call, q.store.run(q.Context(), q.client, q.store.workFewCall(&call))[0]); done && answer.Err == nil {
			q.carried++
			copied := call
			q.late = &copied
			if _, again := q.store.workFewAnswer(&call, q.store.run(q.Context(), q.client, q.store.workFewCall(&call))[0]); again {
				q.Errorf("call %d was carried out twice", call.Number)
			}
			repeated := q.store.Work(q.Context(), []protocol.WorkCall{call})[0]
			if fmt.Sprint(repeated.Taken, repeated.Refused, repeated.Err) != fmt.Sprint(answer.Taken, answer.Refused, answer.Err) {
				q.Errorf("call %d took %v, and sent again %v, %v", call.Number, answer.Taken, repeated.Taken, repeated.Err)
			}
		}
	}
	if !done {
		answer = q.store.Work(q.Context(), []protocol.WorkCall{call})[0]
	}
	if answer.Err != nil {
		q.Fatal(answer.Err)
	}
	for _, job := range answer.Taken {
		if !job.Begun || string(job.Body) != "\x01"+job.ID && len(job.Body) < largeBody || q.fences[job.ID] >= job.Fence {
			q.Errorf("took %+v, and its fence before was %d", job, q.fences[job.ID])
		}
		q.fences[job.ID] = job.Fence
	}
	return answer
}

// state formats what the queue has, without instants.
func (q *fewQueue) state() string {
	k, ctx := q.store.keys.partition(q.at), q.Context()
	held := q.client.HKeys(ctx, k.inflight("session")).Val()
	slices.Sort(held)
	state := q.client.HGetAll(ctx, k.state).Val()
	delete(state, "fence")
	return fmt.Sprint("ready ", q.client.LRange(ctx, k.ready, 0, -1).Val(), " jobs ", q.client.HLen(ctx, k.jobs).Val(), " held ", held, " idle ", q.client.ZRange(ctx, k.idle, 0, -1).Val(),
		" due ", q.client.ZRange(ctx, k.due, 0, -1).Val(), " state ", state)
}

// For random calls between which jobs arrive, are delayed or cancelled, and the queue is paused, work_few.lua does what work.lua does, or nothing.
func TestFewJobsAreWorkedAsMany(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		carried := 0
		for seed := range uint64(4) {
			dice := rand.New(rand.NewPCG(seed, 11))
			var both [2]*fewQueue
			for i := range both {
				at := protocol.Partition{Queue: fmt.Sprintf("q%d.%d", seed, i)}
				both[i] = &fewQueue{bench: b, at: at, few: i == 1, fences: map[string]int64{}}
				if seed%2 == 1 { // all ordinary fields of the state, so that the script counts them
					b.client.HSet(b.Context(), b.store.keys.partition(at).state, "enqueued", 0, "done", 0, "fence", "1", "swept", "1700000000", "tended", "1700000000")
				}
			}
			var held []string
			for step := range 120 {
				var items []protocol.EnqueueItem
				for n := range dice.IntN(4) {
					item := storesuite.Job(fmt.Sprintf("j%d.%d", step, n))
					switch dice.IntN(40) {
					case 0:
						item.In = time.Hour
					case 1:
						item.Body = append(item.Body, strings.Repeat("x", largeBody)...)
					case 2:
						item = storesuite.Own("mail@" + item.ID)
					}
					items = append(items, item)
				}
				dice.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
				call := protocol.WorkCall{Take: []int{0, 1, 2, 5, 100}[dice.IntN(5)]}
				call.Sleep, call.Lapses = call.Take > 0 && dice.IntN(4) > 0, dice.IntN(20) == 0
				ends := dice.IntN(len(held) + 1)
				call.SleepOn = call.Take == 0 && ends > 0 && dice.IntN(2) == 0
				if call.Take > 5 && dice.IntN(2) == 0 {
					call.Ahead = 3
				}
				event, wrong := dice.IntN(30), dice.IntN(30) == 0
				var answers, states [2]string
				for i, q := range both {
					if len(items) > 0 {
						q.sent++
						if answer := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{{Partition: q.at, Caller: "enqueuer", Number: q.sent, Items: items}})[0]; answer.Err != nil {
							b.Fatal(answer.Err)
						}
					}
					k := b.store.keys.partition(q.at)
					switch {
					case event == 0:
						b.client.HSet(b.Context(), k.state, "paused", "1700000000000")
					case event == 1:
						b.client.HDel(b.Context(), k.state, "paused")
					case event == 2 && len(held) > 0:
						if _, err := b.store.CancelJob(b.Context(), q.at.Queue, held[0], nil); err != nil {
							b.Fatal(err)
						}
					}
					own := call
					for _, id := range held[:ends] {
						own.Settle = append(own.Settle, protocol.Settlement{ID: id, Kind: protocol.SettleDone})
					}
					if wrong && ends > 0 {
						q.fences[held[0]]--
					}
					if q.calls == 0 && len(own.Settle) == 0 && own.Take == 0 {
						own.Take = 1
					}
					answer := q.work(own)
					var ids []string
					for _, job := range answer.Taken {
						ids = append(ids, job.ID)
					}
					if q.calls == 1 && len(ids) == 0 {
						q.calls = 0 // there is no session yet
					}
					answers[i] = fmt.Sprint(ids, answer.Refused, answer.More, answer.Paused, answer.Next > 0, answer.Second)
					states[i] = q.state()
				}
				if answers[0] != answers[1] || states[0] != states[1] {
					b.Fatalf("seed %d, step %d: %+v\nwork.lua:     %s\n%s\nwork_few.lua: %s\n%s", seed, step, call, answers[0], states[0], answers[1], states[1])
				}
				held = held[:0]
				for _, id := range b.client.HKeys(b.Context(), b.store.keys.partition(both[0].at).inflight("session")).Val() {
					if id != "\x01" {
						held = append(held, id)
					}
				}
				slices.Sort(held)
			}
			carried += both[1].carried
			if hot := b.store.hotKeys(both[1].at); seed%2 == 1 != hot.few.isPlain("session") {
				b.Errorf("seed %d: the session has seen all ordinary fields: %v", seed, hot.few.isPlain("session"))
			}
		}
		if carried < 30 {
			b.Errorf("work_few.lua has carried out %d of 480 calls, want 30 at least", carried)
		}
	})
}

// A partition that went back may not know its batches: only work.lua counts the end of a member then.
func TestTheEndOfAMemberIsNotForTheShortScript(t *testing.T) {
	call := protocol.WorkCall{Number: 2, TTL: time.Minute, Take: 1, Settle: []protocol.Settlement{{ID: "j", Fence: 1, Kind: protocol.SettleDone}}}
	if !isFew(&call) {
		t.Error("an ordinary job: not a call for work_few.lua")
	}
	call.Settle[0].Batch = "import"
	if isFew(&call) {
		t.Error("a member of a batch: a call for work_few.lua, which does not count its end")
	}
}

// Only the session that has seen all ordinary fields of a partition's state lets the script count them: the data may have gone back since, and its own last call
// shows that they have not.
func TestAnotherSessionLooksAtTheFieldsOfTheStateItself(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := protocol.Partition{Queue: "q"}
		one := &fewQueue{bench: b, at: at, few: true, fences: map[string]int64{}}
		add := func(id string) {
			if answer := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{{Partition: at, Caller: id, Number: 1, Items: []protocol.EnqueueItem{storesuite.Job(id)}}})[0]; answer.Err != nil {
				b.Fatal(answer.Err)
			}
		}
		state := b.store.keys.partition(at).state
		var mode []any
		for i, id := range []string{"first", "second", "third"} {
			add(id)
			b.client.HSet(b.Context(), state, "enqueued", 0, "done", 0, "swept", "1700000000", "tended", "1700000000")
			call := protocol.WorkCall{Partition: at, Session: "session", Worker: "worker", Number: 9, TTL: time.Minute, Take: 5, Sleep: true}
			mode = append(mode, b.store.workFewCall(&call).args[3+6+3])
			if i == 2 {
				call.Session = "another"
				mode = append(mode, b.store.workFewCall(&call).args[3+6+3])
			}
			if taken := one.work(protocol.WorkCall{Take: 5, Sleep: true}).Taken; len(taken) != 1 || taken[0].ID != id {
				b.Fatalf("took %v, want %s", taken, id)
			}
		}
		b.Want("the modes", fmt.Sprint(mode), "[4 4 4p 4]")
	})
}

// A call that work_few.lua leaves to work.lua makes the next ones go to work.lua at once: 1, then 3, 7, …, until one is carried out.
func TestCallsThatAreLeftTryLessOften(t *testing.T) {
	var f fewPace
	tried := func() (n int) {
		for !f.tries() {
			n++
		}
		return n
	}
	var skipped []int
	for range 9 {
		skipped = append(skipped, tried())
		f.ended(false)
	}
	if got := fmt.Sprint(skipped); got != "[0 1 3 7 15 31 63 127 255]" {
		t.Errorf("calls without a try between those that are left: %s", got)
	}
	f.ended(true)
	if n := tried(); n != 0 {
		t.Errorf("%d calls without a try after one that was carried out, want none", n)
	}
}
