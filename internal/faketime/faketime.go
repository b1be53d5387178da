// Package faketime runs the tests of a package that spend their time in bubbles of testing/synctest, on a simulated Redis.
package faketime

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

// Main is for TestMain. It runs the tests on one processor, because in a bubble one goroutine after the other has something to do: on two they wake
// each other, which costs half as much again. It collects garbage less often: the simulated server makes much of it and keeps little.
func Main(m *testing.M) {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
