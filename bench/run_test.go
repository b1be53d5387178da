package main

import (
	"bytes"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var tiny = sizes{
	short: true, rounds: 2, backlog: 200, enqueue: 100, workOff: 20 * time.Second, enqueueFor: 20 * time.Second, steady: 100 * time.Millisecond, calls: 3,
}

// testbedOf is a testbed with a Redis of the test's own.
func testbedOf(t *testing.T, s sizes) *testbed {
	t.Helper()
	r := newTestbed(t, false)
	r.sizes = s
	return r
}

// openEmpty empties the server of a peer, and opens its library until the test ends.
func openEmpty(t *testing.T, r *testbed, p peer) library {
	t.Helper()
	if err := r.server(p).empty(t.Context()); err != nil {
		t.Fatal(err)
	}
	lib, err := p.open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lib.Close() })
	return lib
}

func TestARunMeasuresChimeFromEndToEnd(t *testing.T) {
	u := run{
		testbed: testbedOf(t, tiny), measures: chosenMeasures("process,enqueue,life,life steady,memory"), peers: []peer{chimePeer},
		random: rand.New(rand.NewPCG(1, 0)), progress: io.Discard,
	}
	var all samples
	u.record = func(s sample) error { all = append(all, s); return nil }
	if err := u.do(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, m := range u.measures {
		rounds := map[int]int{}
		for _, s := range all {
			if s.Measure == m.name {
				rounds[s.Round]++
				if s.Value <= 0 && !strings.Contains(s.Figure, "CPU") { // a few jobs may take less CPU time than the server can measure
					t.Errorf("%s, %s is %v", m.name, s.Figure, s.Value)
				}
			}
		}
		if want := m.rounds(tiny); len(rounds) != want {
			t.Errorf("%s: figures a round %v, want %d rounds", m.name, rounds, want)
		}
	}
	var report bytes.Buffer
	if err := writeReport(&report, recording{samples: all}, false); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(report.String(), "process 100: a backlog") {
		t.Errorf("the report does not contain process 100:\n%s", report.String())
	}
}

// Every Redis peer runs all jobs once and leaves none, as the measures assume.
func TestEveryPeerOnRedisWorksOffItsJobs(t *testing.T) {
	onRedis := slices.DeleteFunc(slices.Clone(peers), func(p peer) bool { return p.server != nil })
	small := tiny
	small.rounds = 1
	u := run{testbed: testbedOf(t, small), measures: chosenMeasures("process 10"), peers: onRedis, progress: io.Discard}
	recorded := map[string]bool{}
	u.record = func(s sample) error { recorded[s.Peer] = true; return nil }
	if err := u.do(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, p := range onRedis {
		if !recorded[p.name()] {
			t.Errorf("%s recorded nothing", p.name())
		}
	}
}

func TestNoRoundBeginsThatWouldNotEndInTime(t *testing.T) {
	s := tiny
	s.rounds = 5
	var progress bytes.Buffer
	rounds := 0
	u := run{
		testbed: testbedOf(t, s), peers: []peer{chimePeer}, within: time.Nanosecond, progress: &progress, record: func(sample) error { rounds++; return nil },
		measures: chosenMeasures("enqueue 1"),
	}
	if err := u.do(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(progress.String(), "round 2 would not end") {
		t.Errorf("reported %q, want that round 2 is left out", progress.String())
	}
	if rounds == 0 {
		t.Error("the first round recorded nothing")
	}
}
