// Package faketime runs tests that use bubbles of testing/synctest on a simulated Redis.
package faketime

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

// Main is for TestMain. It runs the tests on one processor: in a bubble one goroutine runs after the other, and on two processors they would have
// to wake each other, which costs half as much again. It collects garbage less often, because the simulated server makes much garbage and keeps
// little memory.
func Main(m *testing.M) {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
