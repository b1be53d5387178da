// Package faketime runs tests that use bubbles of testing/synctest on a simulated Redis.
package faketime

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// Main is for TestMain. It runs the tests on one processor: in a bubble one goroutine runs after the other, and on two processors they would have
// to wake each other, which costs half as much again. It collects garbage less often, because the simulated server makes much garbage and keeps
// little memory.
func Main(m *testing.M) {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)
	SmallLuaStates()
	os.Exit(m.Run())
}

// SmallLuaStates lets the simulated server create smaller stacks. It creates a Lua state for each call of a script, and to clear the stacks of the
// default size, 100 KiB, costs more than many scripts do. A script that needs more fails with "registry overflow".
func SmallLuaStates() {
	lua.RegistrySize, lua.CallStackSize = 2048, 64
}
