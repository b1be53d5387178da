// Package long sets the amount of work of the long tests. `go test ./...` takes the first seeds of a random walk and some hours of a day; with
// `-tags long`, as in `./test.sh all`, it takes all of them. With CHIME_SEEDS=few in the environment, a program that was built with that tag takes the
// first ones too.
package long

import "os"

// Enabled reports whether the tests take all seeds.
var Enabled = tagged && os.Getenv("CHIME_SEEDS") != "few"

// Seeds returns the number of seeds that a test takes: few, or all of them.
func Seeds(few, all int) int {
	if Enabled {
		return all
	}
	return few
}
