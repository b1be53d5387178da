package redisstore

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A limitWalk makes random calls to a queue whose limit changes, and computes what each may take: it counts the held jobs of each session, and
// the starts of the last Per.
type limitWalk struct {
	*bench
	random *rand.Rand
	made   int
	held   map[string]map[string]int64 // session → job ID → fence
	ended  map[string]int
	fences map[string]int64 // the last fence of each job
	now    time.Time        // of miniredis; zero: another server, which has its own clock

	sessions []string
	ahead    map[string]bool // jobs that were taken ahead while no starts were counted: they have no token

	limit   protocol.QueueLimit
	started map[string]int64 // job → when it started under a limit of starts, Unix µs; a start that was given back is removed
	steady  bool             // the clock never steps back
	stepped bool             // the clock has stepped back, so a fence no longer shows when its job started
	kept    int              // pairs of starts that the last change of the limit has kept: there may be more than starts until they end
	counted []int64          // the same starts, but of those that were given back the oldest ones are removed instead
}

// For all calls in any order, answered or repeated, and with any steps of the clock: the counted jobs are the held ones, no more is
// taken than the limit allows, what the limit allows is taken, and each job ends once.
func TestRandomCallsUnderALimitCountWhatIsHeld(t *testing.T) {
	seeds, steps := storesuite.WalkSize(2, 250)
	for _, seed := range seeds {
		onServersWith(t, randomCalls, func(b *bench) {
			w := &limitWalk{bench: b, steady: seed%2 == 0, random: rand.New(rand.NewPCG(seed, 7)), held: map[string]map[string]int64{}, ended: map[string]int{}, sessions: []string{"s0", "s1", "s2"}, ahead: map[string]bool{}, started: map[string]int64{}, fences: map[string]int64{}}
			if b.SetClock != nil {
				w.pass(0)
			}
			for step := range steps {
				w.step()
				w.check("step")
				w.VerifiedNowAndThen(step)
			}
			w.drain()
			w.Verified()
		})
	}
}

func (w *limitWalk) step() {
	session := w.sessions[w.random.IntN(len(w.sessions))]
	switch n := w.random.IntN(20); {
	case n < 4:
		w.add()
	case n == 4:
		w.setLimit()
	case n == 5:
		w.reapSession(session)
	case n == 6:
		if _, err := w.sweep(); err != nil {
			w.Fatal(err)
		}
		w.written(w.clock().UnixMicro())
	case n == 7 && !w.steady:
		w.stepped = true
		w.pass(-time.Duration(w.random.IntN(3_600_000)) * time.Millisecond)
	case n < 10:
		w.pass(time.Duration(w.random.IntN(30)) * time.Millisecond)
	default:
		w.call(session, false)
	}
}

// pass lets time pass, or steps the clock back; it does nothing on a server with its own clock.
func (w *limitWalk) pass(d time.Duration) {
	if w.SetClock == nil {
		return
	}
	if w.now.IsZero() {
		w.now = time.Date(2026, 3, 8, 9, 0, 0, 0, time.UTC)
	}
	w.now = w.now.Add(d)
	w.SetClock(w.now)
}

func (w *limitWalk) add() {
	var items []protocol.EnqueueItem
	for range 1 + w.random.IntN(5) {
		w.made++
		item := storesuite.Job(fmt.Sprintf("job%05d", w.made))
		if w.random.IntN(4) == 0 {
			item.In = time.Duration(1+w.random.IntN(20)) * time.Millisecond
		}
		items = append(items, item)
	}
	w.Enqueue(items...)
}

// setLimit sets a random limit, and sets it again, as after a lost reply.
func (w *limitWalk) setLimit() {
	var limit protocol.QueueLimit
	if w.random.IntN(4) > 0 {
		limit.Running = w.random.IntN([]int{5, 20}[w.random.IntN(2)])
	}
	if w.random.IntN(2) == 0 {
		limit.Starts, limit.Per = 1+w.random.IntN(6), time.Duration(1+w.random.IntN(40))*time.Millisecond
	}
	for range 2 {
		if err := w.store.LimitQueue(w.Context(), "default", limit); err != nil {
			w.Fatal(err)
		}
	}
	text := w.client.HGet(w.Context(), w.keys().state, "limit").Val() // empty: it was removed
	w.kept = len(parseLimit(text).pairs)
	now := w.clock().UnixMicro()
	w.written(now)
	if w.limit.Starts == 0 || limit.Starts == 0 {
		w.counted = nil
		clear(w.started)
	}
	for _, per := range []time.Duration{w.limit.Per, limit.Per} { // a start that does not count under one of the limits is forgotten
		w.counted = slices.DeleteFunc(w.counted, func(at int64) bool { return now-at > per.Microseconds() })
		maps.DeleteFunc(w.started, func(_ string, at int64) bool { return now-at > per.Microseconds() })
	}
	w.limit = limit
}

// written notes that a script has written the limit at an instant: starts that do not count are gone, and no start is later.
func (w *limitWalk) written(now int64) {
	w.counted = slices.DeleteFunc(w.counted, func(at int64) bool { return now-at > w.limit.Per.Microseconds() })
	for i, at := range w.counted {
		w.counted[i] = min(at, now)
	}
	for id, at := range w.started {
		w.started[id] = min(at, now)
	}
}

// used returns how many starts count at an instant, and how many jobs have really started within the Per before it.
func (w *limitWalk) used(now int64) (counted, started int) {
	for _, at := range w.counted {
		if now-at <= w.limit.Per.Microseconds() {
			counted++
		}
	}
	for _, at := range w.started {
		if now-at <= w.limit.Per.Microseconds() {
			started++
		}
	}
	return counted, started
}

func (w *limitWalk) flights() (n int) {
	for _, held := range w.held {
		n += len(held)
	}
	return n
}

// check verifies that the counted jobs are the held ones.
func (w *limitWalk) check(when string) {
	w.Helper()
	s, flights := w.Stats(), w.flights()
	text, err := w.client.HGet(w.Context(), w.keys().state, "limit").Result()
	stored, limited := parseLimit(text), err == nil
	counted, _ := w.used(w.now.UnixMicro())
	switch {
	case s.Limit != w.limit || limited != (w.limit != protocol.QueueLimit{}):
		w.Fatalf("%s: limit %+v, want %+v", when, s.Limit, w.limit)
	case int(s.InFlight()) != flights:
		w.Fatalf("%s: %d in flight, want %d", when, s.InFlight(), flights)
	case limited && int(stored.flights) != flights:
		w.Fatalf("%s: %d are counted, %d in flight: %q", when, stored.flights, flights, text)
	case limited && len(stored.pairs) > max(w.limit.Starts, w.kept):
		w.Fatalf("%s: %d pairs for %d starts: %q", when, len(stored.pairs), w.limit.Starts, text)
	case w.SetClock != nil && stored.used(w.now) != counted:
		w.Fatalf("%s: %d starts are counted, want %d: %q at %v, %v", when, stored.used(w.now), counted, text, w.now, w.counted)
	}
	if closed := w.client.ZScore(w.Context(), w.keys().idle, "#closed").Err() == nil; closed != limited {
		w.Fatalf("%s: the gate is closed: %v, limited: %v", when, closed, limited)
	}
}

// call settles some jobs of a session and takes more; sometimes it repeats the same call.
func (w *limitWalk) call(session string, draining bool) {
	held := w.held[session]
	if held == nil {
		held = map[string]int64{}
		w.held[session] = held
	}
	call := protocol.WorkCall{Take: w.random.IntN(8), Sleep: w.random.IntN(2) == 0, TTL: time.Millisecond}
	if w.random.IntN(3) == 0 {
		call.Ahead = w.random.IntN(call.Take + 1)
	}
	if draining || w.random.IntN(2) == 0 {
		call.Serve = storesuite.WalkParks
	}
	ending := 0
	var backs []string
	for id, fence := range held {
		if !draining && w.random.IntN(2) == 0 {
			continue
		}
		s := w.settlement(id, fence, draining)
		if (s.Unbegun || s.Kind == protocol.SettlePark) && !w.ahead[id] {
			backs = append(backs, id)
		}
		ending++
		call.Settle = append(call.Settle, s)
	}
	if len(call.Settle) > 0 && w.random.IntN(4) == 0 { // a job that it does not hold
		call.Settle = append(call.Settle, protocol.Settlement{ID: "job99999", Fence: 7, Kind: protocol.SettleBack, Unbegun: true})
	}
	answer := w.Work(session, call)
	for w.Numbers[session] > 0 && w.random.IntN(3) == 0 {
		again := w.Repeat(session, call)
		if !reflect.DeepEqual(again.Taken, storesuite.Unparked(answer.Taken)) || again.Err != nil {
			w.Fatalf("call %d of %s repeated: %v, took %+v, want %+v", w.Numbers[session], session, again.Err, again.Taken, answer.Taken)
		}
	}
	for i, s := range call.Settle {
		if slices.Contains(answer.Refused, i) {
			continue
		}
		delete(held, s.ID)
		if s.Kind == protocol.SettleDone || s.Kind == protocol.SettleDead {
			w.ended[s.ID]++
		}
	}
	w.taken(held, &call, &answer, ending, backs)
}

func (w *limitWalk) settlement(id string, fence int64, draining bool) protocol.Settlement {
	s := protocol.Settlement{ID: id, Fence: fence, Kind: protocol.SettleDone}
	if draining {
		return s
	}
	switch w.random.IntN(8) {
	case 0:
		s.Kind, s.Delay, s.Failed = protocol.SettleLater, time.Duration(w.random.IntN(10))*time.Millisecond, w.random.IntN(2) == 0
	case 1, 2:
		s.Kind, s.Unbegun = protocol.SettleBack, w.random.IntN(2) == 0
	case 3:
		s.Kind, s.Name = protocol.SettlePark, storesuite.WalkParks[w.random.IntN(2)]
	case 4:
		s.Kind, s.Unbegun = protocol.SettleDead, w.random.IntN(2) == 0
	}
	return s
}

// taken verifies that a call took only what the limit allows, and as much of that as exists.
func (w *limitWalk) taken(held map[string]int64, call *protocol.WorkCall, answer *protocol.WorkAnswer, ending int, backs []string) {
	w.Helper()
	n, limited := len(answer.Taken), w.limit != (protocol.QueueLimit{})
	most := call.Take
	if limited {
		most -= call.Ahead
	}
	if w.limit.Running > 0 {
		most = min(most, max(w.limit.Running-w.flights(), 0))
	}
	if w.limit.Starts > 0 {
		most = min(most, w.starts(answer, ending, backs))
	}
	begin, room := most, 0 // jobs that begin, and those that are taken ahead of others: only while at most half of the allowed jobs are in flight
	switch {
	case !limited:
		begin, most = call.Take-call.Ahead, call.Take
	case w.limit.Starts == 0:
		room = max(w.limit.Running/2-w.flights()-begin, 0)
		most += min(call.Ahead, room)
	}
	if n > most {
		w.Fatalf("%d taken, want at most %d: limit %+v, %d in flight", n, most, w.limit, w.flights())
	}
	for i, job := range answer.Taken {
		if job.Begun != (i < begin) {
			w.Fatalf("job %d of a call for %d with %d ahead under %+v is begun: %v", i, call.Take, call.Ahead, w.limit, job.Begun)
		}
		held[job.ID], w.ahead[job.ID], w.fences[job.ID] = job.Fence, !job.Begun, job.Fence
	}
	suspects := slices.ContainsFunc(answer.Taken, func(j protocol.TakenJob) bool { return j.Suspect() })
	if n < most && !answer.More && !suspects && w.SetClock != nil { // elsewhere time has passed since
		if left := w.waiting(); left > 0 {
			w.Fatalf("%d taken, %d allowed, no more, and %d wait", n, most, left)
		}
	}
	if answer.More && answer.Limit.Reached() {
		w.Fatalf("there is more to take, and the limit is reached: %+v", answer.WaitHint)
	}
	if limited != (answer.Limit != protocol.Unlimited) || room > 0 != (answer.Limit == protocol.LimitFar) {
		w.Fatalf("limit %+v, room for %d ahead, the answer says %v", w.limit, room, answer.Limit)
	}
}

// starts returns how many jobs a call may start, whose answer this is, after it has given back the starts of some jobs; it notes their starts.
func (w *limitWalk) starts(answer *protocol.WorkAnswer, ending int, backs []string) (most int) {
	w.Helper()
	now := answer.Now.UnixMicro()
	before := slices.Clone(w.counted)
	late := slices.ContainsFunc(before, func(at int64) bool { return at > now })
	w.written(now)
	back := 0
	for _, id := range backs {
		if n := len(w.counted); n > 0 && w.fences[id] >= w.counted[0] && w.fences[id] <= w.counted[n-1]+protocol.MaxItems {
			back++
		}
		delete(w.started, id)
	}
	w.counted = w.counted[min(back, len(w.counted)):]
	counted, started := w.used(now)
	if len(answer.Taken) == 0 && ending == 0 && back == 0 && !late {
		w.counted = before // nothing is written
	}
	if len(answer.Taken) > 0 && started+len(answer.Taken) > w.limit.Starts && !w.stepped {
		w.Fatalf("%d jobs start, and %d have started within %v: the limit is %d", len(answer.Taken), started, w.limit.Per, w.limit.Starts)
	}
	for _, job := range answer.Taken {
		w.counted, w.started[job.ID] = append(w.counted, now), now
	}
	return max(w.limit.Starts-counted, 0)
}

// waiting returns how many jobs are ready, or due.
func (w *limitWalk) waiting() int64 {
	due := w.client.ZCount(w.Context(), w.keys().due, "-inf", fmt.Sprint(w.now.UnixMilli())).Val()
	return due + w.client.LLen(w.Context(), w.keys().ready).Val()
}

// reapSession reaps a session that has lapsed; a repeated call reaps nothing more.
func (w *limitWalk) reapSession(session string) {
	w.pass(2 * time.Millisecond)
	lapsed, err := w.store.Lapsed(w.Context(), storesuite.DefaultPartition)
	if err != nil {
		w.Fatal(err)
	}
	for _, l := range lapsed {
		if l.Session != session {
			continue
		}
		call := protocol.ReapCall{Partition: storesuite.DefaultPartition, Session: session, Seen: l.Lapse, Seed: w.random.Int64N(1000)}
		for range 2 {
			if done, err := w.ReapStep(call); err != nil || !done {
				w.Fatalf("reap: %v, %v", done, err)
			}
		}
		w.written(w.clock().UnixMicro())
		delete(w.held, session)
		// its name is not used again
		for i := range w.sessions {
			if w.sessions[i] == session {
				w.sessions[i] = session[:2] + fmt.Sprint("-", w.made, "-", w.random.Int())
			}
		}
	}
}

// drain takes and ends all jobs, under a limit that allows one at a time.
func (w *limitWalk) drain() {
	w.limit, w.counted = protocol.QueueLimit{Running: 1}, nil
	if err := w.store.LimitQueue(w.Context(), "default", w.limit); err != nil {
		w.Fatal(err)
	}
	deadline := time.Now().Add(90 * time.Second) // crashed jobs wait for up to a minute, on a server with its own clock
	for round := 0; ; round++ {
		for _, session := range w.sessions {
			w.call(session, true)
			w.check("drain")
		}
		w.pass(20 * time.Second)
		s := w.Stats()
		if ahead := s.FirstDue.Sub(s.Now); w.SetClock != nil && !s.FirstDue.IsZero() && ahead > 0 {
			w.pass(ahead) // by hours, if the clock has stepped back since
		}
		if s.Waiting+s.Delayed+s.InFlight()+s.Parked == 0 || w.SetClock == nil && s.Delayed > 0 && s.Waiting+s.InFlight()+s.Parked == 0 {
			break
		}
		if w.SetClock == nil && time.Now().After(deadline) || w.SetClock != nil && round > 10*w.made+100 {
			w.Fatalf("not drained after %d rounds: %+v", round, s)
		}
	}
	for i := 1; i <= w.made && w.SetClock != nil; i++ {
		if n := w.ended[fmt.Sprintf("job%05d", i)]; n != 1 {
			w.Fatalf("job%05d ended %d times, want once", i, n)
		}
	}
	if keys, _ := w.client.Keys(w.Context(), w.keys().prefix+"*").Result(); strings.Contains(fmt.Sprint(keys), "ready") {
		w.Errorf("jobs are left in ready")
	}
}
