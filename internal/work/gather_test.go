package work

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// Whatever comes and goes, each flight leaves the gatherer once, in a call that Many allows, in time, and with its own kind.
func TestFlightsLeaveTheGathererOnceInACallThatManyAllows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	handlers := []*Handler{
		{Name: "a", Many: &Many{Size: 7, Wait: 50 * time.Millisecond, Bytes: 1000}},
		{Name: "b", Many: &Many{Size: 20, Wait: 0, Bytes: 300}},
		{Name: "c", Many: &Many{Size: 5, Wait: time.Second, Bytes: 5000, ByGroup: true}},
	}
	var lanes []*lane
	var sessions []*session
	for i := range 3 {
		lanes = append(lanes, newLane(protocol.Partition{Queue: "q", Index: i}, new(share)))
		sessions = append(sessions, newSession(lanes[i].partition(), time.Second))
	}
	g := newGatherer()
	now := time.Unix(1e9, 0)
	var held []*flight // in the order of arrival
	added := map[*flight]time.Time{}
	leave := func(step int, f *flight) {
		at := slices.Index(held, f)
		if at < 0 {
			t.Fatalf("step %d: a flight leaves that is not held", step)
		}
		held = slices.Delete(held, at, at+1)
	}
	check := func(step int, calls [][]*flight, all bool) {
		for _, flights := range calls {
			many, bytes := flights[0].handler.Many, 0
			for i, f := range flights {
				bytes += len(f.message.Payload)
				if keyOf(f.claimed(), f.session) != keyOf(flights[0].claimed(), flights[0].session) {
					t.Fatalf("step %d: a call has flights of different keys", step)
				}
				if i > 0 && added[f].Before(added[flights[i-1]]) {
					t.Fatalf("step %d: a call is not in the order of arrival", step)
				}
				if f.session.isSilent() {
					t.Fatalf("step %d: a flight of a silent session begins", step)
				}
				leave(step, f)
			}
			if len(flights) > many.Size || bytes > many.Bytes {
				t.Fatalf("step %d: a call of %d jobs and %d bytes, want at most %d and %d", step, len(flights), bytes, many.Size, many.Bytes)
			}
		}
		for _, f := range held {
			if !f.session.isSilent() && (all || !now.Before(added[f].Add(f.handler.Many.Wait)) || f.lane.limitReached()) {
				t.Fatalf("step %d: a flight of %s that came %v ago has not begun", step, f.handler.Name, now.Sub(added[f]))
			}
		}
	}
	for step := range 100_000 {
		now = now.Add(time.Duration(random.IntN(3)) * time.Millisecond)
		switch random.IntN(20) {
		case 0:
			s := sessions[random.IntN(len(sessions))]
			s.silent = !s.silent
		case 1:
			lanes[random.IntN(len(lanes))].noteLimit(protocol.LimitState(random.IntN(5)))
		case 2:
			at := random.IntN(len(sessions))
			for _, f := range g.drop(func(f *flight) bool { return f.session != sessions[at] }) {
				leave(step, f)
			}
			sessions[at] = newSession(lanes[at].partition(), time.Second)
		case 3:
			for _, f := range g.drop(func(*flight) bool { return random.IntN(4) > 0 }) {
				leave(step, f)
			}
		case 4:
			check(step, g.all(nil), true)
		case 5, 6:
			check(step, g.ready(now, random.IntN(3)), false)
		default:
			at := random.IntN(len(lanes))
			f := &flight{lane: lanes[at], session: sessions[at], claim: claim{handler: handlers[random.IntN(len(handlers))], clock: new(storeClock)}}
			f.timeout = time.Duration(random.IntN(2)) * time.Second
			f.last = random.IntN(50) == 0
			f.message.Payload = make([]byte, random.IntN(min(200, f.handler.Many.Bytes)))
			if group := random.IntN(3); group > 0 {
				f.message.Details = &wire.Details{Group: fmt.Sprint(group)}
			}
			held, added[f] = append(held, f), now
			g.add(f, now)
		}
		n, open := 0, map[*Handler]int{}
		g.each(func(f *flight) { n++ })
		for _, group := range g.gatherings {
			if !group.complete {
				open[group.handler] += len(group.flights)
			}
		}
		if n != len(held) || g.len() != n {
			t.Fatalf("step %d: %d flights are visited and len is %d, want %d", step, n, g.len(), len(held))
		}
		for handler, jobs := range open {
			if jobs >= handler.Many.Size || jobs != g.opened[handler] {
				t.Fatalf("step %d: %d jobs of %s are in open gatherings, counted as %d; want less than %d", step, jobs, handler.Name, g.opened[handler], handler.Many.Size)
			}
		}
	}
}

// A call occupies one slot. What it lasts is known of all its jobs, so as many are taken ahead as the calls in the slots will run.
func TestThePaceCountsTheJobsOfACall(t *testing.T) {
	one, hundred := new(pace), new(pace)
	now := time.Now()
	for range 2 * paceJobs {
		now = now.Add(time.Millisecond / 10)
		one.ended(time.Millisecond, 1, now)
		hundred.ended(time.Millisecond, 100, now)
	}
	if got := one.target(10); got != 40 {
		t.Errorf("handlers of 1 ms in 10 slots: target %d, want 40", got)
	}
	if got := hundred.target(10); got != maxAhead {
		t.Errorf("calls of 100 jobs and 1 ms in 10 slots: target %d, want %d, the most", got, maxAhead)
	}
	if got := hundred.each; got != time.Microsecond {
		t.Errorf("a job costs %v, want 1µs: a hundred in 100 µs", got)
	}
}

// A call waits and runs as one, and a flight may leave it until it begins.
func TestAFlightMayLeaveACallThatWaits(t *testing.T) {
	s := newSlots(1, true, true)
	handler := &Handler{Many: &Many{Size: 10}}
	var flights []*flight
	for i := range 3 {
		f := &flight{session: newSession(protocol.Partition{}, time.Second), claim: claim{id: fmt.Sprint(i), handler: handler, clock: new(storeClock), ahead: true}, Attempt: new(Attempt)}
		flights = append(flights, f)
	}
	now := time.Now()
	base := newHandlerContext(t.Context())
	lead := newCall(slices.Clone(flights), base).lead()
	s.waiting.push(lead)
	if s.waiting.len() != 1 || s.waiting.jobs() != 3 {
		t.Errorf("%d calls of %d jobs wait, want one of three", s.waiting.len(), s.waiting.jobs())
	}
	flights[1].endContext(ErrCancelled)
	for _, f := range s.drop(func(f *flight) bool { return f != flights[0] }) {
		if f != flights[0] || f.shared() != nil {
			t.Error("another flight than the first one has left")
		}
	}
	if s.waiting.len() != 1 || s.waiting.jobs() != 2 || s.waiting.head() != flights[1] {
		t.Fatalf("%d calls of %d jobs wait, want one of two, which the second flight leads", s.waiting.len(), s.waiting.jobs())
	}
	s.mu.Lock()
	s.begin(s.waiting.pop(), now)
	s.mu.Unlock()
	flights[2].endContext(ErrReplaced)
	if cause := flights[1].shared().reason(); cause == nil {
		t.Error("the ctx has not ended although no job is left that was not cancelled or replaced")
	}
	s.mu.Lock()
	s.end(flights[1], now.Add(time.Second))
	s.mu.Unlock()
	var c collected
	s.collect(&c, now)
	if len(c.began) != 2 || len(c.started) != 2 || len(c.ended) != 2 || len(s.busy) != 0 {
		t.Errorf("%d have begun, %d were reported, %d have ended and %d slots are busy; want 2, 2, 2 and 0", len(c.began), len(c.started), len(c.ended), len(s.busy))
	}
}

// The jobs of a call may have been replaced before it was made, and the others may leave it while it waits: its ctx ends then.
func TestTheCtxOfACallEndsIfAllJobsWereReplacedBeforeItBegan(t *testing.T) {
	base := newHandlerContext(t.Context())
	flights := func() (all []*flight) {
		for i := range 2 {
			all = append(all, &flight{session: newSession(protocol.Partition{}, time.Second), claim: claim{id: fmt.Sprint(i), handler: &Handler{Many: &Many{Size: 2}}, clock: new(storeClock)}, Attempt: new(Attempt)})
		}
		return all
	}
	gathered := flights()
	for _, f := range gathered {
		f.endContext(ErrReplaced)
	}
	if c := newCall(gathered, base); c.reason() != ErrReplaced {
		t.Errorf("all jobs were replaced while they gathered: the ctx has ended with %v, want ErrReplaced", c.reason())
	}
	waiting := flights()
	c := newCall(waiting, base)
	waiting[0].endContext(ErrReplaced)
	if c.reason() != nil {
		t.Errorf("the ctx has ended with %v although one of two jobs is left", c.reason())
	}
	c.drop(func(f *flight) bool { return f.id == "0" }, nil)
	if c.reason() != ErrReplaced {
		t.Errorf("only a replaced job is left: the ctx has ended with %v, want ErrReplaced", c.reason())
	}
}
