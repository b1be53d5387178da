package storesuite

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
)

// A walk makes random calls of three sessions and records which session holds which job.
type walk struct {
	*Bench
	random *rand.Rand
	made   int
	held   map[string]map[string]int64 // session → job ID → fence
	ended  map[string]int              // job ID → times it succeeded or died
	fence  int64                       // the highest so far
}

// WalkParks are the names under which walks park jobs.
var WalkParks = []string{"mail", "report"}

// For all calls in any order, answered or repeated: a job is held by one session at a time, under a fence that was never
// used before, comes with its own body, and ends once.
func (s *Suite) TestRandomCallsLoseNoJobAndRunNoneTwice(t *testing.T) {
	seeds, steps := WalkSize(4, 150)
	for _, seed := range seeds {
		s.onServersWith(t, RandomCalls, func(b *Bench) {
			w := &walk{Bench: b, random: rand.New(rand.NewPCG(seed, 1)), held: map[string]map[string]int64{}, ended: map[string]int{}}
			for step := range steps {
				w.step()
				w.VerifiedNowAndThen(step)
			}
			w.drain()
			w.Verified()
		})
	}
}

func (w *walk) step() {
	if w.random.IntN(3) == 0 {
		w.add()
		return
	}
	w.call(fmt.Sprintf("s%d", w.random.IntN(3)), false)
}

// add enqueues up to seven jobs: with IDs of one length or of several, chosen or not, now or a moment later.
func (w *walk) add() {
	var items []protocol.EnqueueItem
	for range 1 + w.random.IntN(7) {
		w.made++
		id := fmt.Sprintf("job%05d", w.made)
		if w.random.IntN(8) == 0 {
			id += "-longer"
		}
		item := Job(id)
		item.Own = w.random.IntN(4) == 0
		if w.random.IntN(4) == 0 {
			item.In = time.Duration(1+w.random.IntN(3000)) * time.Microsecond
		}
		items = append(items, item)
	}
	w.Enqueue(items...)
}

// call settles some of the jobs of a session and takes more, and sometimes repeats the same call.
func (w *walk) call(session string, draining bool) (taken int) {
	held := w.held[session]
	if held == nil {
		held = map[string]int64{}
		w.held[session] = held
	}
	call := protocol.WorkCall{Take: w.random.IntN(8), Sleep: w.random.IntN(2) == 0, Lapses: w.random.IntN(2) == 0}
	call.Ahead = w.random.IntN(call.Take + 1)
	if draining || w.random.IntN(2) == 0 {
		call.Serve = WalkParks[:1+w.random.IntN(2)]
	}
	for id, fence := range held {
		if draining || w.random.IntN(2) == 0 {
			call.Settle = append(call.Settle, w.settlement(id, fence, draining))
		}
	}
	if len(call.Settle) > 0 && w.random.IntN(4) == 0 { // a job that it does not hold
		call.Settle = append(call.Settle, protocol.Settlement{ID: "job99999", Fence: 7, Kind: protocol.SettleDone})
	}
	answer := w.Work(session, call)
	if w.Numbers[session] > 0 && w.random.IntN(3) == 0 {
		again := w.Repeat(session, call)
		if !reflect.DeepEqual(again.Taken, Unparked(answer.Taken)) || again.Err != nil {
			w.Fatalf("call %d of %s repeated: %v, took %+v, want %+v", w.Numbers[session], session, again.Err, again.Taken, answer.Taken)
		}
	}
	w.settled(held, call, answer)
	w.taken(held, call, answer)
	return len(answer.Taken)
}

// Unparked returns jobs as a repeated answer has them: without the instant since which they are parked.
func Unparked(taken []protocol.TakenJob) []protocol.TakenJob {
	taken = slices.Clone(taken)
	for i := range taken {
		taken[i].ParkedAt = time.Time{}
	}
	return taken
}

func (w *walk) settlement(id string, fence int64, draining bool) protocol.Settlement {
	s := protocol.Settlement{ID: id, Fence: fence, Kind: protocol.SettleDone}
	if draining {
		return s
	}
	switch w.random.IntN(9) {
	case 0:
		s.Kind, s.Delay, s.Failed = protocol.SettleLater, time.Duration(w.random.IntN(3000))*time.Microsecond, true
	case 1:
		s.Kind = protocol.SettleBack
	case 2:
		s.Kind, s.Name = protocol.SettlePark, WalkParks[w.random.IntN(2)]
	case 3:
		s.Kind = protocol.SettleDead
	}
	return s
}

func (w *walk) settled(held map[string]int64, call protocol.WorkCall, answer protocol.WorkAnswer) {
	for i, s := range call.Settle {
		if refused := slices.Contains(answer.Refused, i); refused != (held[s.ID] != s.Fence) {
			w.Fatalf("settlement of %s with fence %d refused: %v; held with %d", s.ID, s.Fence, refused, held[s.ID])
		} else if refused {
			continue
		}
		delete(held, s.ID)
		if s.Kind == protocol.SettleDone || s.Kind == protocol.SettleDead {
			w.ended[s.ID]++
		}
	}
}

func (w *walk) taken(held map[string]int64, call protocol.WorkCall, answer protocol.WorkAnswer) {
	if len(answer.Taken) > call.Take {
		w.Fatalf("%d taken, want at most %d", len(answer.Taken), call.Take)
	}
	for i, job := range answer.Taken {
		for session, jobs := range w.held {
			if jobs[job.ID] != 0 {
				w.Fatalf("%s was taken while %s held it", job.ID, session)
			}
		}
		switch {
		case string(job.Body) != "\x01"+job.ID:
			w.Fatalf("%s came with the body %q", job.ID, job.Body)
		case job.Fence <= w.fence:
			w.Fatalf("%s has fence %d, and %d was used before", job.ID, job.Fence, w.fence)
		case job.Begun != (i < call.Take-call.Ahead):
			w.Fatalf("job %d of a call for %d with %d ahead is begun: %v", i, call.Take, call.Ahead, job.Begun)
		}
		w.fence, held[job.ID] = job.Fence, job.Fence
	}
}

// drain takes and ends all jobs.
func (w *walk) drain() {
	deadline := time.Now().Add(20 * time.Second)
	for {
		for _, session := range []string{"s0", "s1", "s2"} {
			w.call(session, true)
		}
		s := w.Stats()
		if s.Waiting+s.Delayed+s.InFlight()+s.Parked == 0 {
			break
		}
		if time.Now().After(deadline) {
			w.Fatalf("not drained: %+v", s)
		}
	}
	for i := 1; i <= w.made; i++ {
		id := fmt.Sprintf("job%05d", i)
		if n := w.ended[id] + w.ended[id+"-longer"]; n != 1 {
			w.Fatalf("%s ended %d times, want once", id, n)
		}
	}
	if s := w.Stats(); s.Done+s.Died != int64(w.made) || s.Enqueued != int64(w.made) {
		w.Fatalf("%d jobs added, stats %+v", w.made, s)
	}
}

// WalkSize returns the seeds of a walk, which are some of the first ones (see package long), and how many steps each has. CHIME_WALK="<seeds> <steps>"
// sets another number of each.
func WalkSize(all, steps int) (seeds []uint64, n int) {
	text := os.Getenv("CHIME_WALK")
	if text == "" {
		return long.Draw(1, all), steps
	}
	if _, err := fmt.Sscan(text, &all, &steps); err != nil {
		panic("CHIME_WALK: " + err.Error())
	}
	for seed := range uint64(all) {
		seeds = append(seeds, seed)
	}
	return seeds, steps
}
