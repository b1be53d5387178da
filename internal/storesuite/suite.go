// Package storesuite is the conformance suite of protocol.Store: the promises of every store, whatever it keeps its jobs in. It uses only the
// protocol. A store runs it with Run.
package storesuite

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A Suite describes how to test a store. Its methods whose names begin with Test are the tests; each name is a promise.
type Suite struct {
	Lacks Need                                  // what its servers do not have: tests that need it do not run
	Open  func(t *testing.T, needs Need) Server // starts an empty server, for one test with these needs or a part of it
}

// A Server is an empty store with the controls of a test.
type Server struct {
	Store    protocol.Store
	SetClock func(time.Time)       // sets its clock; nil, with SettableClock in Lacks: that cannot be done
	Backdate func(schedule string) // makes a schedule of the default queue look as if it had been created in 2020
}

// A Need is a feature of a server that a test needs and that not every server has.
type Need int

// The needs. Other bits are for tests of a store's own.
const (
	SettableClock Need = 1 << iota // its clock can be set
	Listening                      // the store can be listened to
	ManualRuns                     // the store can enqueue runs of a schedule
	Repairing                      // the store can repair what Verify finds
	RandomCalls                    // it is tested with random calls: the tests of a user's rights need none
)

// Run runs the tests of the suite, each as a subtest on a server of its own.
func Run(t *testing.T, s Suite) {
	ran := 0
	for method, test := range reflect.ValueOf(&s).Methods() {
		if name, is := strings.CutPrefix(method.Name, "Test"); is {
			ran++
			t.Run(name, test.Interface().(func(*testing.T)))
		}
	}
	if ran < 50 {
		t.Errorf("%d tests ran, want the whole suite", ran)
	}
}

// onEveryServer runs a test on a new server.
func (s *Suite) onEveryServer(t *testing.T, test func(b *Bench)) {
	t.Helper()
	s.onServersWith(t, 0, test)
}

// onServersWith runs a test on a new server, if it has what the test needs.
func (s *Suite) onServersWith(t *testing.T, needs Need, test func(b *Bench)) {
	t.Helper()
	if s.Lacks&needs != 0 {
		return // it runs where such a server exists
	}
	t.Run("server", func(t *testing.T) { test(NewBench(t, s.Open(t, needs))) })
}
