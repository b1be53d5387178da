// Package long sets the amount of work of the long tests. `go test ./...` takes the first seeds of a random walk and some hours of a day; with
// `-tags long`, as in `./test.sh all`, it takes all of them.
package long

// Seeds returns the number of seeds that a test takes: few, or all of them.
func Seeds(few, all int) int {
	if Enabled {
		return all
	}
	return few
}
