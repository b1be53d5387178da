//go:build unix

package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/chimejobs/chime/internal/childproc"
	"github.com/chimejobs/chime/internal/faultproxy"
)

// fleetSize is the number of processes of each role.
var fleetSize = map[string]int{"worker": 4, "scheduler": 2, "enqueuer": 2, "changer": 1}

// A fleet is all processes of a run, each behind its own proxy.
type fleet struct {
	t       testing.TB
	history *History
	slots   map[string][]*slot
	leaving []*childproc.Process
}

// newFleet starts all processes. Each proxy loses one of loss replies to script calls.
func newFleet(t testing.TB, h *History, server string, c config, loss int) *fleet {
	f := &fleet{t: t, history: h, slots: map[string][]*slot{}}
	for _, role := range []string{"scheduler", "worker", "enqueuer", "changer"} {
		for i := range fleetSize[role] {
			proxy := faultproxy.Start(t, server)
			proxy.CountReplies("-CHIMELOST")
			if loss > 0 {
				proxy.LoseReplies(faultproxy.All(faultproxy.Named("EVALSHA"), chance(c.Seed+uint64(i), loss)))
			}
			s := &slot{t: t, history: h, role: role, name: fmt.Sprintf("%s%d", role, i), proxy: proxy, config: c}
			s.config.Addr, s.config.Retries = proxy.Addr(), 3
			if i%2 == 1 {
				s.config.Retries = -1
			}
			s.config.Rate = c.Rate / float64(fleetSize["enqueuer"])
			f.slots[role] = append(f.slots[role], s)
			s.start()
		}
	}
	return f
}

// chance matches one of n commands, at random.
func chance(seed uint64, n int) faultproxy.Match {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 2))
	return func(faultproxy.Command) bool {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n) == 0
	}
}

// pick returns a slot of a role.
func (f *fleet) pick(role string, n int) *slot { return f.slots[role][n%len(f.slots[role])] }

// leader returns the slot of the most recently elected scheduler.
func (f *fleet) leader() *slot {
	slots := f.slots["scheduler"]
	leads := slots[0]
	f.history.Note(func() {
		for _, s := range slots {
			if s.record.Elected.After(leads.record.Elected) {
				leads = s
			}
		}
	})
	return leads
}

// all calls a function for every slot.
func (f *fleet) all(visit func(s *slot)) {
	for _, role := range []string{"scheduler", "worker", "enqueuer", "changer"} {
		for _, s := range f.slots[role] {
			visit(s)
		}
	}
}

// counts adds the counters of the proxies and the calls of reaped sessions that the server has refused.
func (f *fleet) counts() (lost, refused int64) {
	f.all(func(s *slot) {
		counts := s.proxy.Counts()
		lost, refused = lost+counts.Lost, refused+counts.Watched
	})
	return lost, refused
}

// end stops all processes, enqueuers first and schedulers last, and waits for them.
func (f *fleet) end() {
	f.all(func(s *slot) { s.thaw(s.record); s.hold(false) })
	for _, role := range []string{"changer", "enqueuer", "worker", "scheduler"} {
		for _, s := range f.slots[role] {
			s.check()
			s.process.Signal(syscall.SIGTERM)
			f.leaving = append(f.leaving, s.process)
		}
	}
	for _, p := range slices.Backward(f.leaving) {
		if state := p.Wait(); !state.Success() {
			f.history.Problem("process %d ended with %v on request: %s", p.PID(), state, p.Stderr())
		}
	}
}
